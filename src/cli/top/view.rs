//! What `top` shows, as text.

use std::collections::BTreeMap;

use model::{
    job::JobState,
    resources::show_duration_ms,
    usage::{Figure, UsageTotals},
    wire::usage::{BasisView, JobNow, JobUsage, MachineNow, NodeNow, TaskNow, UsageNow},
};

use super::Order;
use crate::cli::{
    people::{took, verb},
    style::{self, paint},
    table::{Cell, Table},
};

type Now = BTreeMap<Figure, f64>;

pub struct View<'a> {
    pub now: &'a UsageNow,
    pub order: Order,
    pub width: Option<usize>,
    /// Whether one job was asked for.
    pub alone: bool,
    pub at_ms: u64,
}

impl View<'_> {
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.alone {
            text += &machine(&self.now.machine);
            text += &nodes(&self.now.nodes).render(self.width, "NODE");
            text.push('\n');
        }
        text += &self.jobs();
        if self.alone {
            text += &absences(self.now.jobs.iter().flat_map(|job| &job.tasks).map(|task| (task.task.as_str(), &task.basis)));
        }
        text
    }

    fn jobs(&self) -> String {
        if self.now.jobs.is_empty() {
            return format!("nothing runs; {} wait\n", self.now.queued);
        }
        let mut table =
            Table::new(["JOB", "STATE", "NODE", "CPU", "MEMORY", "OF", "READ/S", "WRITE/S", "NET IN/S", "OUT/S", "ACCEL", "TIME"]);
        let mut jobs: Vec<&JobNow> = self.now.jobs.iter().collect();
        jobs.sort_by(|a, b| self.compare((&a.now, &a.label), (&b.now, &b.label)));
        for job in jobs {
            let is_one = job.tasks.len() == 1;
            table.row(self.job_row(job, is_one));
            let mut tasks: Vec<&TaskNow> = job.tasks.iter().filter(|_| !is_one || self.alone).collect();
            tasks.sort_by(|a, b| self.compare((&a.now, &a.task), (&b.now, &b.task)));
            tasks.into_iter().for_each(|task| table.row(self.task_row(task)));
        }
        table.render(self.width, "JOB")
    }

    /// The most first; names decide between those that use the same.
    fn compare(&self, a: (&Now, &String), b: (&Now, &String)) -> std::cmp::Ordering {
        let amount = |now: &Now| self.order.figures().iter().filter_map(|figure| now.get(figure)).sum::<f64>();
        amount(b.0).total_cmp(&amount(a.0)).then_with(|| a.1.cmp(b.1))
    }

    /// A job of one task shows what there is to say of that.
    fn job_row(&self, job: &JobNow, is_one: bool) -> [Cell; 12] {
        let only = job.tasks.first().filter(|_| is_one);
        let limit: Option<u64> = job.tasks.iter().map(|task| task.limits.memory_bytes).sum();
        let started = job.tasks.iter().filter_map(|task| task.started_at_ms).min();
        let [cpu, memory, of, read, written, received, sent, device] = amounts(&job.now, limit);
        [
            Cell::styled(style::LOUD, &job.label),
            Cell::styled(style::job(job.state), job.state.text()),
            only.map_or("-", |task| &task.node).into(),
            cpu,
            memory,
            of,
            read,
            written,
            received,
            sent,
            device,
            took(started, None, self.at_ms).into(),
        ]
    }

    fn task_row(&self, task: &TaskNow) -> [Cell; 12] {
        let [cpu, memory, of, read, written, received, sent, device] = amounts(&task.now, task.limits.memory_bytes);
        [
            format!("  {}", task.task).into(),
            Cell::styled(style::task(task.state), task.state.text()),
            task.node.as_str().into(),
            cpu,
            memory,
            of,
            read,
            written,
            received,
            sent,
            device,
            took(task.started_at_ms, None, self.at_ms).into(),
        ]
    }
}

/// What the keys do, below everything.
pub fn keys(order: Order) -> String {
    let words = format!("sorted by {}; c CPU, m memory, d disk, n network, g accelerators, j job; q quits", order.text());
    paint(style::QUIET, &words)
}

fn amounts(now: &Now, memory_limit: Option<u64>) -> [Cell; 8] {
    let at = |figure: Figure| now.get(&figure).copied();
    let bytes = |figure: Figure| at(figure).map_or("-".to_owned(), short_bytes);
    let memory = at(Figure::MemoryBytes);
    let tight = memory.zip(memory_limit).is_some_and(|(memory, limit)| memory > limit as f64 * 0.9);
    [
        at(Figure::CpuCores).map_or("-".into(), |it| format!("{it:.2}")).into(),
        Cell::styled(if tight { style::BAD } else { style::NONE }, &bytes(Figure::MemoryBytes)),
        memory_limit.map_or("-".into(), |it| short_bytes(it as f64)).into(),
        bytes(Figure::ReadBytesPerS).into(),
        bytes(Figure::WrittenBytesPerS).into(),
        bytes(Figure::ReceivedBytesPerS).into(),
        bytes(Figure::SentBytesPerS).into(),
        at(Figure::AcceleratorUse).map_or("-".into(), |it| format!("{:.0}%", it * 100.0)).into(),
    ]
}

fn machine(machine: &MachineNow) -> String {
    let at = |figure: Figure| machine.now.get(&figure).copied().unwrap_or(0.0);
    let bytes = |figure: Figure| short_bytes(at(figure));
    format!(
        "machine  CPU {} {:.1}/{}  memory {} {}/{}  disk {}/{}  load {:.2}\n         read {}/s  write {}/s  net in {}/s  out {}/s\n\n",
        bar(at(Figure::CpuCores) / machine.cpus.max(1) as f64),
        at(Figure::CpuCores),
        machine.cpus,
        bar(at(Figure::MemoryBytes) / machine.memory_bytes.max(1) as f64),
        bytes(Figure::MemoryBytes),
        short_bytes(machine.memory_bytes as f64),
        bytes(Figure::DiskUsedBytes),
        short_bytes(machine.disk_bytes as f64),
        at(Figure::Load),
        bytes(Figure::ReadBytesPerS),
        bytes(Figure::WrittenBytesPerS),
        bytes(Figure::ReceivedBytesPerS),
        bytes(Figure::SentBytesPerS),
    )
}

/// What tasks use on each node, and what they hold whether they use it or not.
fn nodes(nodes: &[NodeNow]) -> Table {
    let mut table = Table::new(["NODE", "STATE", "CPU", "USED", "HELD", "OF", "MEMORY", "USED", "HELD", "OF", "ACCEL"]);
    for node in nodes {
        let at = |figure: Figure| node.now.get(&figure).copied().unwrap_or(0.0);
        let (cpus, memory) = (node.capacity.cpus_milli as f64 / 1000.0, node.capacity.memory_bytes as f64);
        let held_cpus = node.capacity.cpus_milli.saturating_sub(node.free.cpus_milli) as f64 / 1000.0;
        let held_memory = node.capacity.memory_bytes.saturating_sub(node.free.memory_bytes) as f64;
        let (state, words) = if node.open { (style::GOOD, "open") } else { (style::WAITS, "closed") };
        let devices: u32 = node.capacity.accelerators.values().sum();
        table.row([
            node.name.as_str().into(),
            Cell::styled(state, words),
            bar(at(Figure::CpuCores) / cpus.max(0.001)).into(),
            format!("{:.2}", at(Figure::CpuCores)).into(),
            format!("{held_cpus}").into(),
            format!("{cpus}").into(),
            bar(at(Figure::MemoryBytes) / memory.max(1.0)).into(),
            short_bytes(at(Figure::MemoryBytes)).into(),
            short_bytes(held_memory).into(),
            short_bytes(memory).into(),
            if devices == 0 { "-".into() } else { format!("{:.1}/{devices}", at(Figure::AcceleratorUse)).into() },
        ]);
    }
    table
}

/// `█████░░░░░`.
fn bar(part: f64) -> String {
    const LENGTH: usize = 10;
    let full = (part.clamp(0.0, 1.0) * LENGTH as f64).round() as usize;
    "█".repeat(full) + &"░".repeat(LENGTH - full)
}

/// Three digits and a letter, such as `1.5G`.
pub fn short_bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1_099_511_627_776.0, "T"), (1_073_741_824.0, "G"), (1_048_576.0, "M"), (1024.0, "K")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        None => format!("{bytes:.0}"),
        Some((size, unit)) if bytes / size < 9.95 => format!("{:.1}{unit}", bytes / size),
        Some((size, unit)) => format!("{:.0}{unit}", bytes / size),
    }
}

/// Why figures are absent, each reason once.
fn absences<'a>(tasks: impl Iterator<Item = (&'a str, &'a BasisView)>) -> String {
    let mut by_reason: BTreeMap<&str, (Vec<&str>, Vec<String>)> = BTreeMap::new();
    for (task, basis) in tasks {
        for (figure, absent) in &basis.absent {
            let (tasks, figures) = by_reason.entry(&absent.reason).or_default();
            let figure = serde_json::to_value(figure).ok().and_then(|it| it.as_str().map(|it| it.replace('_', " "))).unwrap_or_default();
            if !tasks.contains(&task) {
                tasks.push(task);
            }
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
    }
    let line = |(reason, (tasks, figures)): (&str, (Vec<&str>, Vec<String>))| {
        let more = if tasks.len() > 3 { format!(" and {} more", tasks.len() - 3) } else { String::new() };
        format!("no {} of {}{more}: {reason}\n", figures.join(", "), tasks[..tasks.len().min(3)].join(", "))
    };
    by_reason.into_iter().map(line).collect()
}

pub fn over(label: &str, state: JobState, usage: &JobUsage, width: Option<usize>) -> String {
    let mut table = Table::new(["TASK", "CPU TIME", "PEAK MEMORY", "READ", "WRITTEN", "RECEIVED", "SENT"]);
    usage.tasks.iter().for_each(|task| table.row(totals_row(&task.task, &task.totals)));
    table.row(totals_row("all", &usage.total.totals));
    let why = absences(usage.tasks.iter().map(|task| (task.task.as_str(), &task.basis)));
    let (verb, state) = (verb(state), state.text());
    format!("{label} {verb} {state}; this is what it has used\n{}{why}", table.render(width, "TASK"))
}

fn totals_row(name: &str, totals: &UsageTotals) -> [Cell; 7] {
    let bytes = |it: Option<u64>| it.map_or("-".to_owned(), |it| short_bytes(it as f64)).into();
    [
        name.into(),
        totals.cpu_ms.map_or("-".into(), show_duration_ms).into(),
        bytes(totals.peak_memory_bytes),
        bytes(totals.read_bytes),
        bytes(totals.written_bytes),
        bytes(totals.received_bytes),
        bytes(totals.sent_bytes),
    ]
}

#[cfg(test)]
mod tests {
    use model::{
        job::JobState,
        task::TaskState,
        usage::{Absence, Basis},
        wire::usage::UsageLimits,
    };

    use super::*;
    use crate::cli::fake::amount;

    fn task(name: &str, cpu: f64, memory: f64) -> TaskNow {
        let mut basis = Basis::default();
        basis.note(&[Figure::AcceleratorUse, Figure::AcceleratorMemoryBytes], Err(Absence::NoDevice));
        TaskNow {
            task: name.into(),
            attempt: 1,
            state: TaskState::Running,
            node: "left".into(),
            started_at_ms: Some(1_000),
            limits: UsageLimits { cpus: Some(1.0), memory_bytes: Some(1 << 30) },
            now: BTreeMap::from([(Figure::CpuCores, cpu), (Figure::MemoryBytes, memory), (Figure::WrittenBytesPerS, 2_500_000.0)]),
            totals: UsageTotals::default(),
            basis: (&basis).into(),
        }
    }

    fn job(label: &str, tasks: Vec<TaskNow>) -> JobNow {
        let mut now = Now::new();
        tasks.iter().for_each(|task| model::wire::usage::add(&mut now, &task.now));
        JobNow { id: label.into(), label: label.into(), owner: "ann".into(), state: JobState::Running, now, tasks }
    }

    fn now() -> UsageNow {
        let tasks = vec![task("worker-0", 0.5, 1e9), task("worker-1", 0.9, 1.05e9)];
        UsageNow {
            at_ms: 61_000,
            machine: MachineNow {
                cpus: 4,
                memory_bytes: 8 << 30,
                disk_bytes: 100 << 30,
                now: BTreeMap::from([(Figure::CpuCores, 2.0), (Figure::MemoryBytes, 4e9), (Figure::Load, 1.5)]),
            },
            nodes: vec![NodeNow {
                name: "left".into(),
                open: true,
                capacity: amount(4, 8, &[("A100", 2)]),
                free: amount(1, 6, &[("A100", 2)]),
                now: BTreeMap::from([(Figure::CpuCores, 1.0), (Figure::MemoryBytes, 2e9)]),
            }],
            jobs: vec![job("quiet@1", vec![task("main-0", 0.01, 5e6)]), job("digits@3", tasks)],
            queued: 2,
        }
    }

    fn shown(order: Order, alone: bool) -> String {
        let now = now();
        let view = View { now: &now, order, width: None, alone, at_ms: 61_000 };
        anstream::adapter::strip_str(&view.text()).to_string()
    }

    #[test]
    fn machine_nodes_jobs_and_tasks_the_busiest_first() {
        insta::assert_snapshot!(shown(Order::Cpu, false), @"
        machine  CPU █████░░░░░ 2.0/4  memory █████░░░░░ 3.7G/8.0G  disk 0/100G  load 1.50
                 read 0/s  write 0/s  net in 0/s  out 0/s

        NODE  STATE  CPU         USED  HELD  OF  MEMORY      USED  HELD  OF    ACCEL
        left  open   ███░░░░░░░  1.00  3     4   ██░░░░░░░░  1.9G  2.0G  8.0G  0.0/2

        JOB         STATE    NODE  CPU   MEMORY  OF    READ/S  WRITE/S  NET IN/S  OUT/S  ACCEL  TIME
        digits@3    running  -     1.40  1.9G    2.0G  -       4.8M     -         -      -      1m
          worker-1  running  left  0.90  1001M   1.0G  -       2.4M     -         -      -      1m
          worker-0  running  left  0.50  954M    1.0G  -       2.4M     -         -      -      1m
        quiet@1     running  left  0.01  4.8M    1.0G  -       2.4M     -         -      -      1m
        ");
    }

    #[test]
    fn by_name_and_alone_with_why_figures_are_absent() {
        insta::assert_snapshot!(shown(Order::Name, true), @"
        JOB         STATE    NODE  CPU   MEMORY  OF    READ/S  WRITE/S  NET IN/S  OUT/S  ACCEL  TIME
        digits@3    running  -     1.40  1.9G    2.0G  -       4.8M     -         -      -      1m
          worker-0  running  left  0.50  954M    1.0G  -       2.4M     -         -      -      1m
          worker-1  running  left  0.90  1001M   1.0G  -       2.4M     -         -      -      1m
        quiet@1     running  left  0.01  4.8M    1.0G  -       2.4M     -         -      -      1m
          main-0    running  left  0.01  4.8M    1.0G  -       2.4M     -         -      -      1m
        no accelerator use, accelerator memory bytes of main-0, worker-0, worker-1: it was given no accelerator
        ");
    }

    #[test]
    fn amounts_are_short() {
        for (bytes, words) in [(0.0, "0"), (1023.0, "1023"), (1536.0, "1.5K"), (123_456_789.0, "118M"), (10_737_418_240.0, "10G")] {
            assert_eq!(short_bytes(bytes), words);
        }
        assert_eq!((bar(0.0), bar(0.55), bar(7.0)), ("░".repeat(10), "██████░░░░".into(), "█".repeat(10)));
    }

    #[test]
    fn where_nothing_runs_that_is_said() {
        let now = UsageNow { jobs: Vec::new(), ..now() };
        let view = View { now: &now, order: Order::Cpu, width: None, alone: false, at_ms: 0 };
        assert!(view.text().ends_with("nothing runs; 2 wait\n"));
    }
}
