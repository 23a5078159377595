//! `resourcePerInstance` and `extraContainerOptions`.

use std::collections::BTreeMap;

use super::super::field::{ASKS_FOR_NONE, Field, Keys, Reader};
use crate::{
    dialect::note::with_words,
    said,
    spec::{Accelerators, PortCount, Ports, RoleSpec, Size, join},
    words::Said,
};

/// As the file says them.
#[derive(Debug, Default)]
pub(in super::super) struct Resources {
    pub cpu: i64,
    pub memory_mb: i64,
    pub gpu: i64,
    /// 0 if not given: variables say so, although 512 is used (hazard H10).
    pub shm_mb: i64,
    /// Only one of OpenPAI's descendants has it; 0 is no limit.
    disk_gb: i64,
    ports: BTreeMap<String, u32>,
}

const SHM_MB_DEFAULT: i64 = 512;
/// Every task has these, asked for or not.
const ALWAYS: [&str; 2] = ["http", "ssh"];

impl Resources {
    /// A role with nothing but resources.
    pub fn spec(&self) -> RoleSpec {
        let mib = |count: i64| Size::Text(format!("{count}MiB"));
        let ports = self.ports.iter().filter(|(_, count)| **count > 0);
        RoleSpec {
            cpus: (self.cpu > 0).then_some(self.cpu as f64),
            memory: (self.memory_mb > 0).then(|| mib(self.memory_mb)),
            shared_memory: Some(mib(if self.shm_mb == 0 { SHM_MB_DEFAULT } else { self.shm_mb })),
            disk: (self.disk_gb > 0).then(|| Size::Text(format!("{}GiB", self.disk_gb))),
            accelerators: u32::try_from(self.gpu).ok().filter(|count| *count > 0).map(Accelerators::AnyType),
            ports: Some(Ports::Counts(ports.map(|(label, count)| (label.clone(), PortCount::Any(*count))).collect())),
            ..RoleSpec::default()
        }
    }
}

pub(super) fn read(reader: &mut Reader, keys: &mut Keys<'_>, role: &str) -> Resources {
    const HINT: Said = ("write `cpu`, `memoryMB` and `gpu` under it", "请在它下面写 `cpu`、`memoryMB` 和 `gpu`");
    let role = join("roles", role);
    let mut resources = Resources { ports: ALWAYS.map(|label| (label.to_owned(), 1)).into(), ..Resources::default() };
    if let Some(field) = reader.required(keys, "resourcePerInstance", HINT)
        && let Some(mut keys) = reader.keys(&field, &["cpu", "memoryMB", "gpu", "storageGB", "ports"], HINT)
    {
        let mut amount = |key, ours| {
            reader.required(&mut keys, key, ("write a whole number", "请写整数")).map_or(0, |it| amount(reader, &it, &join(&role, ours)))
        };
        resources.cpu = amount("cpu", "cpus");
        resources.memory_mb = amount("memoryMB", "memory");
        resources.gpu = amount("gpu", "accelerators");
        if let Some(field) = keys.take("storageGB") {
            resources.disk_gb = disk_gb(reader, &field, &join(&role, "disk"));
        }
        if let Some(field) = keys.take("ports") {
            ports(reader, &field, &role, &mut resources.ports);
        }
        reader.no_more(keys);
    }
    if let Some(field) = keys.take("extraContainerOptions") {
        resources.shm_mb = container_options(reader, &field, &role);
    }
    resources
}

fn amount(reader: &mut Reader, field: &Field<'_>, becomes: &str) -> i64 {
    let Some(count) = reader.integer(field, ("write a whole number", "请写整数")) else { return 0 };
    if !(0..=i64::from(u32::MAX)).contains(&count) {
        reader.tell(
            field,
            said!("is {count}, which no machine can give", "写的是 {count}，没有机器给得了这么多"),
            ("write a number such as 2", "请写一个数，如 2"),
        );
        return 0;
    }
    if count == 0 && !becomes.ends_with("accelerators") {
        let about = ("0 set no limit in OpenPAI; here it means the usual amount", "在 OpenPAI 里 0 表示不限，在这里表示默认的量");
        reader.notes.changed(&field.path, field.place, with_words(becomes, about));
    } else {
        reader.notes.kept(&field.path, field.place, becomes);
    }
    count
}

fn disk_gb(reader: &mut Reader, field: &Field<'_>, becomes: &str) -> i64 {
    const HINT: Said = ("write a number of gigabytes, such as 5", "请写吉字节数，如 5");
    let Some(count) = reader.integer(field, HINT) else { return 0 };
    if !(1..=1 << 20).contains(&count) {
        reader.tell(field, said!("is {count}; a task has 1 to {} GiB", "写的是 {count}，任务可以有 1 到 {} GiB", 1 << 20), HINT);
        return 0;
    }
    reader.notes.kept(&field.path, field.place, becomes);
    count
}

fn ports(reader: &mut Reader, field: &Field<'_>, role: &str, ports: &mut BTreeMap<String, u32>) {
    for (label, field) in reader.named(field, ("write how many by label, such as `{grpc: 1}`", "请写每个标签要几个，如 `{grpc: 1}`"))
    {
        let Some(count) = reader.integer(&field, ("write how many, such as 1", "请写要几个，如 1")) else { continue };
        let becomes = join(&join(role, "ports"), label);
        if count <= 0 {
            let about = ("it asks for no port, and gets none", "没有要端口，也就不分配");
            reader.notes.changed(&field.path, field.place, with_words(becomes, about));
        } else {
            reader.notes.kept(&field.path, field.place, becomes);
        }
        ports.insert(label.to_owned(), u32::try_from(count.max(0)).unwrap_or(u32::MAX));
    }
}

/// Answers the megabytes of shared memory; unknown keys pass, for the server's schema has its lock in the wrong place.
fn container_options(reader: &mut Reader, field: &Field<'_>, role: &str) -> i64 {
    let Some(mut keys) =
        reader.keys(field, &["shmMB", "infiniband"], ("write `shmMB: 1024` under it", "请在它下面写 `shmMB: 1024` 这样的内容"))
    else {
        return 0;
    };
    let shm = keys.take("shmMB").map_or(0, |it| shm_mb(reader, &it, &join(role, "shared_memory")));
    if let Some(field) = keys.take("infiniband") {
        infiniband(reader, &field);
    }
    for (_, other) in keys.rest() {
        reader.no_effect(&other);
    }
    shm
}

fn shm_mb(reader: &mut Reader, field: &Field<'_>, becomes: &str) -> i64 {
    let Some(count) = reader.integer(field, ("write a number of megabytes, such as 1024", "请写兆字节数，如 1024")) else {
        return 0;
    };
    match count {
        0 => {
            let en = format!("0 means the default of {SHM_MB_DEFAULT}, as in OpenPAI");
            let zh = format!("0 表示默认值 {SHM_MB_DEFAULT}，与 OpenPAI 相同");
            reader.notes.changed(&field.path, field.place, with_words(becomes, (en, zh)));
        }
        1.. => reader.notes.kept(&field.path, field.place, becomes),
        _ => reader.tell(
            field,
            said!("is {count}; there is no memory below nothing", "写的是 {count}，内存不能是负数"),
            ("write a number of megabytes, such as 1024", "请写兆字节数，如 1024"),
        ),
    }
    count.max(0)
}

fn infiniband(reader: &mut Reader, field: &Field<'_>) {
    match reader.truth(field) {
        Some(true) => {
            let reason = (
                "a task sees the network devices its machine shows it; none is asked for by name here",
                "机器给任务看到哪些网络设备，任务就用哪些；这里不按名字申请",
            );
            reader.notes.ignored(&field.path, field.place, reason);
        }
        Some(false) => reader.for_people(field, ASKS_FOR_NONE),
        None => {}
    }
}
