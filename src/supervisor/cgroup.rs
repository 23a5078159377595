//! Control groups: limits that hold, proof of an out-of-memory kill, and what a task has used.
//!
//! Three kinds of machine are met: version 2 alone, version 1 alone, and version 1 with a version 2
//! beside it that has no controllers but can kill. One directory for each run and hierarchy, made
//! directly below a group we may write to, so that nothing is left when the run is over.

use std::{
    fs,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use model::{ids::RunKey, order::Limits};

mod hierarchy;
mod now;
mod v1;
mod v2;

pub use hierarchy::{Hierarchies, Hierarchy};

/// What we ask a controller for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    pub const ALL: [Controller; 3] = [Controller::Memory, Controller::Cpu, Controller::Pids];

    pub fn name(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Cpu => "cpu",
            Controller::Pids => "pids",
        }
    }

    /// What a task goes without if there is none.
    pub fn serves(self) -> &'static str {
        match self {
            Controller::Memory => "the memory limit",
            Controller::Cpu => "the CPU limit",
            Controller::Pids => "the limit on processes",
        }
    }

    fn is_wanted(self, limits: &Limits) -> bool {
        match self {
            Controller::Memory => limits.memory_bytes > 0,
            Controller::Cpu => limits.cpus_milli > 0,
            Controller::Pids => limits.processes_max > 0,
        }
    }
}

/// Where a run's groups will be, before any of them is made: written down first, so that whoever
/// cleans up after us knows where to look.
#[derive(Debug)]
pub struct Blueprint {
    /// The version 2 group, with what it controls; on a mixed machine it controls nothing.
    pub unified: Option<(PathBuf, Vec<Controller>)>,
    pub single: Vec<(Controller, PathBuf)>,
    pub missing: Vec<String>,
}

/// A run's groups, made and limited.
#[derive(Debug, Default)]
pub struct Group {
    unified: Option<(PathBuf, Vec<Controller>)>,
    single: Vec<(Controller, PathBuf)>,
}

/// A way into a group.
pub struct Door {
    file: fs::File,
    group: PathBuf,
}

impl Door {
    /// Goes in. Answers what goes missing if that is refused.
    pub fn enter(&self) -> Option<String> {
        (&self.file).write_all(b"0").err().map(|error| not_entered(&self.group, &error))
    }
}

fn not_entered(group: &Path, error: &io::Error) -> String {
    format!("the limits of {} are not enforced: it cannot be entered: {error}", group.display())
}

/// What a run has used, as far as its groups can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// For memory: of its own limit, of a group around ours, and of the whole machine.
    pub oom_kills: u64,
    /// Whether it ran into its own limit; none where no limit holds.
    pub reached_limit: Option<bool>,
    pub peak_memory_bytes: Option<u64>,
    pub cpu_ms: Option<u64>,
}

/// The name of a run's group in every hierarchy.
pub fn group_name(run: &RunKey) -> String {
    format!("trainmaster-{}-{}.{}", run.job, run.task, run.attempt)
}

impl Blueprint {
    pub fn draw(hierarchies: &Hierarchies, run: &RunKey, limits: &Limits) -> Self {
        let name = group_name(run);
        let wanted: Vec<Controller> = Controller::ALL.into_iter().filter(|it| it.is_wanted(limits)).collect();
        let mut missing = Vec::new();
        let (mut single, mut left) = (Vec::new(), Vec::new());
        for controller in wanted {
            match hierarchies.single(controller) {
                Some(hierarchy) => single.push((controller, hierarchy.own.join(&name))),
                None => left.push(controller),
            }
        }
        let unified = hierarchies.unified.as_ref().and_then(|it| v2::place(it, &left)).map(|(base, gives)| (base.join(&name), gives));
        let given = unified.as_ref().map_or(&[][..], |(_, gives)| gives);
        for controller in left.into_iter().filter(|it| !given.contains(it)) {
            missing.push(format!(
                "{} is not enforced: no control group with the `{}` controller may be made here",
                controller.serves(),
                controller.name()
            ));
        }
        Self { unified, single, missing }
    }

    /// Whether a process is best born into its group, which costs nothing, rather than moved.
    pub fn has_unified_controllers(&self) -> bool {
        self.unified.as_ref().is_some_and(|(_, gives)| !gives.is_empty())
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        let unified = self.unified.iter().map(|(path, _)| path.clone());
        unified.chain(self.single.iter().map(|(_, path)| path.clone())).collect()
    }

    /// Makes and limits the groups. What cannot be had is said and left out.
    pub fn build(&self, limits: &Limits, without_pid_namespace: bool) -> (Group, Vec<String>) {
        let mut missing = self.missing.clone();
        let (mut unified, mut single) = (None, Vec::new());
        for (controller, path) in &self.single {
            match make(path).and_then(|()| v1::limit(path, *controller, limits)) {
                Ok(()) => single.push((*controller, path.clone())),
                Err(error) => {
                    // One that was made and could not be limited is of no use, and would be left behind.
                    let _ = fs::remove_dir(path);
                    missing.push(refusal(*controller, path, &error));
                }
            }
        }
        // A group that controls nothing is only good for killing, and a pid namespace kills as well.
        if let Some((path, gives)) = self.unified.as_ref().filter(|(_, gives)| without_pid_namespace || !gives.is_empty()) {
            let made = make(path);
            let limited = |controller: &Controller| match &made {
                Ok(()) => v2::limit(path, *controller, limits).err().map(|error| refusal(*controller, path, &error)),
                Err(error) => Some(refusal(*controller, path, error)),
            };
            missing.extend(gives.iter().filter_map(limited));
            unified = made.is_ok().then(|| (path.clone(), gives.clone()));
        }
        (Group { unified, single }, missing)
    }
}

fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn refusal(controller: Controller, path: &Path, error: &io::Error) -> String {
    let place = path.parent().unwrap_or(path).display();
    format!("{} is not enforced: a control group under {place} was refused: {error}", controller.serves())
}

impl Group {
    /// The version 2 group as a descriptor, so that a process can be born in it.
    pub fn birthplace(&self) -> Option<OwnedFd> {
        let (path, _) = self.unified.as_ref()?;
        fs::File::open(path).ok().map(OwnedFd::from)
    }

    /// The way into each version 1 group, for a process that goes in by itself. A thread that moves
    /// itself needs no lock of the whole machine; to be moved takes many times as long.
    pub fn doors(&self) -> (Vec<Door>, Vec<String>) {
        let (mut doors, mut missing) = (Vec::new(), Vec::new());
        for (_, path) in &self.single {
            match fs::OpenOptions::new().write(true).open(path.join("tasks")) {
                Ok(file) => doors.push(Door { file, group: path.clone() }),
                Err(error) => missing.push(not_entered(path, &error)),
            }
        }
        (doors, missing)
    }

    /// Moves a process into the version 2 group. Its children will be born inside.
    pub fn attach(&self, pid: i32) -> Vec<String> {
        let refused = |(path, _): &(PathBuf, Vec<Controller>)| {
            let error = fs::write(path.join("cgroup.procs"), pid.to_string()).err()?;
            Some(not_entered(path, &error))
        };
        self.unified.iter().filter_map(refused).collect()
    }

    pub fn usage(&self) -> Usage {
        let mut usage = self.unified.as_ref().map(|(path, gives)| v2::usage(path, gives)).unwrap_or_default();
        if let Some((_, path)) = self.single.iter().find(|(controller, _)| *controller == Controller::Memory) {
            usage.oom_kills = v1::oom_kills(path);
            usage.reached_limit = v1::reached_limit(path);
            usage.peak_memory_bytes = v1::peak_memory_bytes(path);
        }
        usage
    }

    /// How often the limit on processes said no.
    pub fn refused_processes(&self) -> u64 {
        let single = self.single.iter().find(|(controller, _)| *controller == Controller::Pids).map(|(_, path)| path);
        let group = single.or_else(|| self.unified.as_ref().map(|(path, _)| path));
        group.and_then(|path| read_field(&path.join("pids.events"), "max")).unwrap_or(0)
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let unified = self.unified.iter().map(|(path, _)| path.as_path());
        unified.chain(self.single.iter().map(|(_, path)| path.as_path()))
    }

    /// Answers who cannot be got out.
    pub fn remove(&self) -> Result<(), String> {
        const PATIENCE: Duration = Duration::from_secs(5);
        self.paths().try_for_each(|path| clear_away(path, PATIENCE))
    }
}

/// Kills whoever is still inside a group, waits until it is empty, and removes it with the groups that a task made in it. A group that is
/// not there is a success, and so is one that stays though nobody is left in it: an empty group holds nothing up.
pub fn clear_away(path: &Path, patience: Duration) -> Result<(), String> {
    // Nearly all groups have no others in them, and only take a moment to be left.
    const A_MOMENT: Duration = Duration::from_millis(10);
    let began = Instant::now();
    loop {
        let is_deep = began.elapsed() >= A_MOMENT;
        let groups = if is_deep { with_all_below(path) } else { vec![path.to_owned()] };
        let Err(error) = groups.iter().rev().try_for_each(|group| is_gone(fs::remove_dir(group))) else { return Ok(()) };
        if is_deep && began.elapsed() > patience {
            let lives = groups.iter().any(|group| is_inhabited(group));
            return if lives { Err(format!("{} cannot be emptied: {error}", path.display())) } else { Ok(()) };
        }
        groups.iter().for_each(|group| kill_inside(group));
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The group and every one in it, those further out first.
fn with_all_below(path: &Path) -> Vec<PathBuf> {
    let mut groups = vec![path.to_owned()];
    let mut next = 0;
    while let Some(group) = groups.get(next).cloned() {
        let inside = fs::read_dir(&group).into_iter().flatten().flatten();
        groups.extend(inside.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()));
        next += 1;
    }
    groups
}

/// Whoever cannot be shown to be gone is still there.
fn is_inhabited(group: &Path) -> bool {
    match fs::read_to_string(group.join("cgroup.procs")) {
        Ok(members) => !members.trim().is_empty(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Who is to end must be able to: a group that has run far beyond its share would have to wait until it has
/// paid for it, and nobody inside could even die meanwhile.
pub fn lift_cpu_limit(path: &Path) {
    for (file, unlimited) in [("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")] {
        if let Ok(mut file) = fs::OpenOptions::new().write(true).open(path.join(file)) {
            // A group that is gone has nobody left to wait.
            let _ = file.write_all(unlimited.as_bytes());
        }
    }
}

fn kill_inside(path: &Path) {
    let door = fs::OpenOptions::new().write(true).open(path.join("cgroup.kill"));
    if door.and_then(|mut door| door.write_all(b"1")).is_ok() {
        return;
    }
    for pid in members(path) {
        // SAFETY: a plain system call; the kernel has just said that this process is in our group.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

pub fn members(path: &Path) -> Vec<i32> {
    let text = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    // A process of a pid namespace we cannot see into is listed as 0.
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
}

fn read_number(path: &Path) -> Option<u64> {
    at_once(path)?.trim().parse().ok()
}

/// Reads `name N` out of a file of such lines.
fn read_field(path: &Path, name: &str) -> Option<u64> {
    field(&at_once(path)?, name)
}

/// The kernel says what it has to say in one go to whoever has room for it. Who cannot know its length has to ask it many times.
fn at_once(path: &Path) -> Option<String> {
    let mut text = [0; 4096];
    let length = fs::File::open(path).ok()?.read(&mut text).ok()?;
    std::str::from_utf8(&text[..length]).ok().map(str::to_owned)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// How much of each period a task may run, in microseconds. The kernel takes no less than one millisecond.
const CPU_PERIOD_US: u64 = 100_000;

fn cpu_quota_us(limits: &Limits) -> u64 {
    const QUOTA_US_MIN: u64 = 1_000;
    (limits.cpus_milli * CPU_PERIOD_US / 1_000).max(QUOTA_US_MIN)
}

/// Init is in the group as well, and is not the task's to pay for.
fn processes_with_init(limits: &Limits) -> u64 {
    limits.processes_max + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    #[test]
    fn a_group_goes_with_the_groups_that_a_task_made_in_it() {
        let home = tempfile::tempdir().unwrap();
        let group = home.path().join("run");
        fs::create_dir_all(group.join("docker/abc")).unwrap();
        fs::create_dir_all(group.join("systemd")).unwrap();
        clear_away(&group, PATIENCE).unwrap();
        assert!(!group.exists());
        clear_away(&group, PATIENCE).unwrap();
    }

    #[test]
    fn a_kill_by_the_machine_is_told_from_one_by_the_own_limit() {
        let home = tempfile::tempdir().unwrap();
        let group = home.path();
        let write = |name: &str, text: &str| fs::write(group.join(name), text).unwrap();
        let two = |events: &str| {
            write("memory.events", events);
            let usage = v2::usage(group, &[Controller::Memory]);
            (usage.oom_kills, usage.reached_limit)
        };
        assert_eq!(two("low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n"), (1, Some(true)));
        assert_eq!(two("low 0\nhigh 0\nmax 7\noom 0\noom_kill 1\n"), (1, Some(false)), "full of cache once, and that could be dropped");
        assert_eq!(v2::usage(group, &[]).reached_limit, None);
        let one = |failures: &str| {
            write("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
            write("memory.failcnt", failures);
            (v1::oom_kills(group), v1::reached_limit(group))
        };
        assert_eq!((one("3\n"), one("0\n")), ((1, Some(true)), (1, Some(false))));
    }

    #[test]
    fn only_a_group_that_somebody_lives_in_holds_an_ending_up() {
        let home = tempfile::tempdir().unwrap();
        let group = home.path().join("run");
        fs::create_dir_all(group.join("inside")).unwrap();
        // Of a namespace we cannot see into, and so a number that nobody can kill.
        fs::write(group.join("inside/cgroup.procs"), "0\n").unwrap();
        let why = clear_away(&group, PATIENCE).unwrap_err();
        assert!(why.contains("run cannot be emptied"), "{why}");
        fs::write(group.join("inside/cgroup.procs"), "").unwrap();
        clear_away(&group, PATIENCE).unwrap();
        assert!(group.exists(), "what else keeps it there is not our business");
    }
}
