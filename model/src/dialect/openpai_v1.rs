//! OpenPAI's first job files, JSON, as versions 0.1 to 1.0 took them.

use crate::{
    dialect::{Dialect, Given, Notes, Source, loose_json, note::with_words, openpai_common},
    located::{Node, Place, Value},
    said,
    spec::{Convention, Elsewhere, Field, JobSpec, Keys, Problem, Retries, RetriesWord},
};

pub(super) mod dirs;
mod envs;
mod kill_all;
mod ports;
pub(super) mod reader;
pub(super) mod roles;

use dirs::Submission;
use reader::Reader;

pub(super) const DIALECT: Dialect = Dialect { name: "openpai_v1", title: "OpenPAI v1", parse: loose_json::parse, recognises, read };

const START_OF_FILE: Place = Place { line: 1, column: 1 };

const OF_A_ROLE: Elsewhere = Elsewhere {
    keys: &[
        "name",
        "taskNumber",
        "cpuNumber",
        "memoryMB",
        "shmMB",
        "gpuNumber",
        "portList",
        "command",
        "minFailedTaskCount",
        "minSucceededTaskCount",
    ],
    place: ("in a role, under `taskRoles`", "写在 `taskRoles` 下的角色里"),
};

/// Neither OpenPAI's later files nor our own have `jobName`, or `image` beside `taskRoles`.
fn recognises(root: &Node) -> bool {
    let Value::Map(entries) = &root.value else { return false };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let others = ["protocolVersion", "protocol_version", "roles"].into_iter().any(has);
    let signs = ["jobName", "image", "taskRoles"].into_iter().filter(|key| has(key)).count();
    signs >= 2 && !others
}

fn read(source: &Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>> {
    let mut r = Reader::default();
    let spec = job(&mut r, source);
    r.done(spec)
}

fn job(r: &mut Reader, source: &Source<'_>) -> Option<JobSpec> {
    let whole = Field { path: String::new(), node: source.root };
    let keys = &mut r.walk.keys(&whole, START_OF_FILE, ("a job file begins with {\"jobName\": …", "作业文件以 {\"jobName\": … 开头"))?;
    let name = name(r, keys, source.given);
    let image = image(r, keys);
    login(r, keys);
    let dirs = dirs::dirs(r, keys, &Submission { job: &name, user: source.given.user.as_deref() });
    virtual_cluster(r, keys);
    let gpu_type = gpu_type(r, keys);
    let retries = r.field(keys, "retryCount").and_then(|it| retries(r, &it));
    let kill_all = r.field(keys, "killAllOnCompletedTaskNumber");
    let envs = envs::envs(r, keys);
    extras(r, keys);
    let shared = roles::Shared { gpu_type: gpu_type.as_deref(), first_line: dirs.code.as_deref().and_then(dirs::code_by_its_name) };
    let mut roles = roles::roles(r, keys, &shared);
    let kill_all = kill_all.and_then(|field| kill_all::apply(r, &field, &mut roles));
    r.walk.no_more(keys, &OF_A_ROLE);
    let mut env = dirs.env;
    env.extend(kill_all.map(|number| ("PAI_KILL_ALL_ON_COMPLETED_TASK_NUM".into(), number.to_string())));
    env.extend(envs.env);
    let mut spec = JobSpec {
        name,
        retries,
        keep_failed: envs.keep_failed,
        image,
        conventions: Some(vec![Convention::PaiV1, Convention::Mpi]),
        code: dirs.code.map(Into::into),
        input: dirs.input.map(Into::into),
        output: dirs.output.map(Into::into),
        env,
        ..JobSpec::default()
    };
    roles::put(r, roles, &mut spec);
    Some(spec)
}

fn name(r: &mut Reader, keys: &mut Keys<'_>, given: &Given) -> String {
    let field = r.walk.required(keys, "jobName", ("give the job a name, such as \"mnist\"", "请给作业起名，如 \"mnist\""));
    let written = field.and_then(|it| Some((r.name(&it, "-._~")?, it)));
    noted_name(r, written, given)
}

/// The name the job will have, with a note on the one in the file.
pub(super) fn noted_name(r: &mut Reader, written: Option<(String, Field<'_>)>, given: &Given) -> String {
    let Some((written, field)) = written else { return given.name.clone().unwrap_or_default() };
    if let Some(name) = &given.name {
        r.changed(&field, with_words("name", ("the one that was given beside the file counts", "以文件之外另给的名称为准")));
        return name.clone();
    }
    let (name, changed) = openpai_common::job_name(&written);
    if changed {
        let en = format!("it is `{name}` here, because a name has at most 64 characters and begins with a letter or a digit");
        let zh = format!("在这里叫 `{name}`，因为名称最多 64 个字符，以字母或数字开头");
        r.changed(&field, with_words("name", (en, zh)));
    } else {
        r.kept(&field, "name");
    }
    name
}

fn image(r: &mut Reader, keys: &mut Keys<'_>) -> Option<String> {
    let field = r.walk.required(keys, "image", ("name a container image, such as \"python:3.12\"", "请写容器镜像，如 \"python:3.12\""))?;
    let image = r.walk.text(&field, ("write the name of an image", "请写镜像名"))?;
    if image.is_empty() {
        r.walk.tell(
            &field,
            ("is empty", "是空的"),
            ("name a container image, such as \"python:3.12\"", "请写容器镜像，如 \"python:3.12\""),
        );
        return None;
    }
    r.changed(&field, openpai_common::image_note(&image));
    Some(image)
}

fn login(r: &mut Reader, keys: &mut Keys<'_>) {
    if let Some((field, _)) = r.text_or_nothing(keys, "authFile") {
        r.ignored(
            &field,
            (
                "files of OpenPAI's file system cannot be read here; sign in to the image's registry on the machines that run images",
                "这里读不到 OpenPAI 文件系统里的文件；请在运行镜像的机器上登录镜像仓库",
            ),
        );
    }
}

pub(super) fn virtual_cluster(r: &mut Reader, keys: &mut Keys<'_>) {
    let Some((field, text)) = r.text_or_nothing(keys, "virtualCluster") else { return };
    if text == "default" {
        r.kept(&field, ("jobs wait in the one queue there is", "所有作业在同一个队列里等待"));
    } else {
        let en = "there is one queue for all jobs here; use `priority` to let some go first";
        r.ignored(&field, (en, "这里所有作业共用一个队列；想让某些作业先运行，请用 `priority`"));
    }
}

/// The type of every accelerator the roles ask for.
pub(super) fn gpu_type(r: &mut Reader, keys: &mut Keys<'_>) -> Option<String> {
    let (field, kind) = r.text_or_nothing(keys, "gpuType")?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._~-".contains(c);
    if kind.len() > 64 || !kind.chars().all(good) {
        r.walk.tell(
            &field,
            said!("{} is not a name for a type of accelerator", "{} 不能用作加速卡型号", crate::spec::shown(&kind)),
            ("use 1 to 64 letters, digits, `-`, `.`, `_` and `~`", "请用 1 到 64 个字母、数字、`-`、`.`、`_` 或 `~`"),
        );
        return None;
    }
    r.kept(&field, with_words("roles.*.accelerators", ("every accelerator is of this type", "所有加速卡都是这个型号")));
    Some(kind)
}

pub(super) fn retries(r: &mut Reader, field: &Field<'_>) -> Option<Retries> {
    match r.whole(field, -2..=u32::MAX as i64)? {
        -2 => {
            r.kept(field, with_words("retries", ("-2 means forever, also after a success", "-2 表示无限次，成功之后也重来")));
            Some(Retries::Word(RetriesWord::Forever))
        }
        -1 => {
            r.kept(field, with_words("retries", ("-1 means as often as it fails", "-1 表示失败多少次就重试多少次")));
            Some(Retries::Word(RetriesWord::Always))
        }
        count => {
            r.kept(field, "retries");
            Some(Retries::Count(count as u32))
        }
    }
}

fn extras(r: &mut Reader, keys: &mut Keys<'_>) {
    let Some(field) = r.field(keys, "extras") else { return };
    for (name, field, _) in r.map(&field, ("write a map, or remove it", "请写键值对，或把它删掉")) {
        if name.contains(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_') {
            let en = "it was for plugins of OpenPAI's pages, and nothing here reads it; remove it";
            r.ignored(&field, (en, "它是给 OpenPAI 网页插件用的，这里没有谁会读它；请删掉"));
        } else {
            r.walk.tell(
                &field,
                said!("unknown key {}", "不认识的键 {}", crate::spec::shown(name)),
                ("a key has letters, digits, `.` and `_`", "键由字母、数字、`.` 和 `_` 组成"),
            );
        }
    }
}
