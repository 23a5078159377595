//! What tasks, roles, jobs, nodes and the machine use. Only what runs is there, so there are no more series than tasks that
//! run at once; and where those are very many, roles and jobs must do.

use std::collections::BTreeMap;

use model::{
    ids::TaskName,
    usage::{Figure, UsageTotals},
    wire::usage::{JobNow, NodeNow, TaskNow, UsageNow, add},
};

use super::page::{Kind, Page};

const TASKS_MAX: usize = 2_000;

type Now = BTreeMap<Figure, f64>;

pub fn write(page: &mut Page, usage: &UsageNow) {
    let tasks: Vec<(&JobNow, &TaskNow)> = usage.jobs.iter().flat_map(|job| job.tasks.iter().map(move |task| (job, task))).collect();
    page.family("trainmaster_tasks_running", Kind::Gauge, "Tasks that run or are being started.");
    page.sample(&[], tasks.len() as f64);
    page.family("trainmaster_tasks_without_series", Kind::Gauge, "Tasks that have no series of their own because there are too many.");
    page.sample(&[], tasks.len().saturating_sub(TASKS_MAX) as f64);
    let shown = &tasks[..tasks.len().min(TASKS_MAX)];
    task_counters(page, shown);
    task_gauges(page, shown);
    of_roles(page, &usage.jobs);
    of_jobs(page, &usage.jobs);
    of_nodes(page, usage);
    of_machine(page, usage);
}

fn labelled(page: &mut Page, (job, task): &(&JobNow, &TaskNow), value: Option<f64>) {
    let role = task.task.parse::<TaskName>().map_or_else(|_| task.task.clone(), |it| it.role.to_string());
    let labels =
        [("id", job.id.as_str()), ("name", &job.label), ("owner", &job.owner), ("role", &role), ("task", &task.task), ("node", &task.node)];
    if let Some(value) = value {
        page.sample(&labels, value);
    }
}

fn task_counters(page: &mut Page, tasks: &[(&JobNow, &TaskNow)]) {
    type Total = fn(&UsageTotals) -> Option<f64>;
    let counters: [(&str, &str, Total); 5] = [
        ("cpu_seconds", "CPU time.", |it| Some(it.cpu_ms? as f64 / 1000.0)),
        ("read_bytes", "Bytes fetched from storage.", |it| Some(it.read_bytes? as f64)),
        ("written_bytes", "Bytes written to files, when they were written.", |it| Some(it.written_bytes? as f64)),
        ("received_bytes", "Bytes that came over the network.", |it| Some(it.received_bytes? as f64)),
        ("sent_bytes", "Bytes that went over the network.", |it| Some(it.sent_bytes? as f64)),
    ];
    for (name, help, total) in counters {
        page.family(&format!("trainmaster_task_{name}"), Kind::Counter, help);
        tasks.iter().for_each(|task| labelled(page, task, total(&task.1.totals)));
    }
}

/// What is shown as it stands.
const GAUGES: [(&str, &str, Figure); 6] = [
    ("cpu_cores", "Cores that are busy.", Figure::CpuCores),
    ("memory_bytes", "Memory in use, without file cache that would be dropped first.", Figure::MemoryBytes),
    ("processes", "Processes.", Figure::Processes),
    ("threads", "Threads.", Figure::Threads),
    ("accelerators_busy", "Accelerators that are busy; a half busy one is a half.", Figure::AcceleratorUse),
    ("accelerator_memory_bytes", "Memory taken on accelerators.", Figure::AcceleratorMemoryBytes),
];

const RATES: [(&str, &str, Figure); 4] = [
    ("read_bytes_per_second", "Bytes fetched from storage in a second.", Figure::ReadBytesPerS),
    ("written_bytes_per_second", "Bytes written to files in a second.", Figure::WrittenBytesPerS),
    ("received_bytes_per_second", "Bytes that come over the network in a second.", Figure::ReceivedBytesPerS),
    ("sent_bytes_per_second", "Bytes that go over the network in a second.", Figure::SentBytesPerS),
];

fn task_gauges(page: &mut Page, tasks: &[(&JobNow, &TaskNow)]) {
    for (name, help, figure) in GAUGES {
        page.family(&format!("trainmaster_task_{name}"), Kind::Gauge, help);
        tasks.iter().for_each(|task| labelled(page, task, task.1.now.get(&figure).copied()));
    }
    page.family("trainmaster_task_memory_limit_bytes", Kind::Gauge, "Memory it may have.");
    tasks.iter().for_each(|task| labelled(page, task, task.1.limits.memory_bytes.map(|it| it as f64)));
    page.family("trainmaster_task_cpu_limit_cores", Kind::Gauge, "Cores it may have.");
    tasks.iter().for_each(|task| labelled(page, task, task.1.limits.cpus));
}

/// A family for each figure, with a sample for each of these that has it.
fn families(page: &mut Page, what: &str, of: &[(Vec<(&str, &str)>, &Now)]) {
    for (name, help, figure) in GAUGES.into_iter().chain(RATES) {
        page.family(&format!("trainmaster_{what}_{name}"), Kind::Gauge, help);
        for (labels, now) in of {
            if let Some(value) = now.get(&figure) {
                page.sample(labels, *value);
            }
        }
    }
}

fn of_roles(page: &mut Page, jobs: &[JobNow]) {
    let mut roles: BTreeMap<(&str, &str, String), Now> = BTreeMap::new();
    for (job, task) in jobs.iter().flat_map(|job| job.tasks.iter().map(move |task| (job, task))) {
        let role = task.task.parse::<TaskName>().map_or_else(|_| task.task.clone(), |it| it.role.to_string());
        add(roles.entry((&job.id, &job.label, role)).or_default(), &task.now);
    }
    let of: Vec<(Vec<(&str, &str)>, &Now)> =
        roles.iter().map(|((id, name, role), now)| (vec![("id", *id), ("name", *name), ("role", role.as_str())], now)).collect();
    families(page, "role", &of);
}

fn of_jobs(page: &mut Page, jobs: &[JobNow]) {
    let of: Vec<(Vec<(&str, &str)>, &Now)> =
        jobs.iter().map(|job| (vec![("id", job.id.as_str()), ("name", &job.label), ("owner", &job.owner)], &job.now)).collect();
    families(page, "job", &of);
}

fn of_nodes(page: &mut Page, usage: &UsageNow) {
    let of: Vec<(Vec<(&str, &str)>, &Now)> = usage.nodes.iter().map(|node| (vec![("node", node.name.as_str())], &node.now)).collect();
    families(page, "node", &of);
    type Amount = fn(&NodeNow) -> f64;
    let amounts: [(&str, &str, Amount); 5] = [
        ("cpus", "CPUs it has to give.", |node| node.capacity.cpus_milli as f64 / 1000.0),
        ("cpus_free", "CPUs that nobody holds.", |node| node.free.cpus_milli as f64 / 1000.0),
        ("memory_capacity_bytes", "Memory it has to give.", |node| node.capacity.memory_bytes as f64),
        ("memory_free_bytes", "Memory that nobody holds.", |node| node.free.memory_bytes as f64),
        ("open", "Whether tasks may be placed on it.", |node| f64::from(u8::from(node.open))),
    ];
    for (name, help, amount) in amounts {
        page.family(&format!("trainmaster_node_{name}"), Kind::Gauge, help);
        usage.nodes.iter().for_each(|node| page.sample(&[("node", &node.name)], amount(node)));
    }
}

fn of_machine(page: &mut Page, usage: &UsageNow) {
    let machine = &usage.machine;
    families(page, "machine", &[(Vec::new(), &machine.now)]);
    for (name, help, figure) in [
        ("load", "Load over a minute.", Figure::Load),
        ("disk_used_bytes", "What is taken of the disk with the data.", Figure::DiskUsedBytes),
    ] {
        page.family(&format!("trainmaster_machine_{name}"), Kind::Gauge, help);
        machine.now.get(&figure).into_iter().for_each(|value| page.sample(&[], *value));
    }
    for (name, help, value) in [
        ("cpus", "CPUs of the machine.", machine.cpus),
        ("memory_capacity_bytes", "Memory of the machine.", machine.memory_bytes),
        ("disk_capacity_bytes", "Size of the disk with the data.", machine.disk_bytes),
    ] {
        page.family(&format!("trainmaster_machine_{name}"), Kind::Gauge, help);
        page.sample(&[], value as f64);
    }
}
