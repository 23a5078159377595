//! From an order to a running child.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    net::{TcpListener, UdpSocket},
    os::fd::{AsRawFd, OwnedFd},
    time::Duration,
};

use model::{
    order::{Report, RunOrder},
    secret::SecretValues,
    step::StepKind,
    task::{Cause, Whose},
};
use serde::{Deserialize, Serialize};

use super::{
    cgroup::{self, Blueprint, Group},
    child::{Pipes, explain},
    gang,
    init::{self, Walls},
    journal::{now_ms, say},
    leash::{self, Down, Leash, Up},
    logs::Logs,
    memory::{self, Witness},
    neighbours::Neighbours,
    pattern::Pattern,
    porter::Left,
    reach::{
        Door,
        line::{self, Line},
    },
    report::Home,
    sandbox::{self, Rooms},
    setup::Setup,
    signals, spawn,
    stage::Ready,
    steps::Steps,
};
use crate::{crash, identity::Identity, rundir::RunDir};

/// A child that runs, and the ends of everything that leads to it.
pub struct Launched {
    pub init: i32,
    pub pid_namespace: bool,
    pub child: i32,
    pub started_at_ms: u64,
    pub missing: Vec<String>,
    pub leash: Leash,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub group: Group,
    pub witness: Witness,
    /// Where other tasks of the gang may start something in this one.
    pub door: Option<Door>,
    /// What was carried in stays where it is for as long as these are held; and so do the child's mounts, which would else
    /// have to be taken apart before init can be counted as gone.
    pub _held: Vec<File>,
    /// Who fetched it and is still busy with that, in no way one of the child's.
    pub porter: Option<Left>,
}

/// What `supervisor.json` says then: whom to look for when the supervisor is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRecord {
    /// The first process of the tree.
    pub init: Identity,
    pub child: Identity,
    /// Whether the end of init is the end of everyone.
    pub pid_namespace: bool,
    /// What the kernel refused.
    pub missing: Vec<String>,
}

/// What a start needs, and the same for every try at it.
pub struct Ground<'a> {
    pub dir: &'a RunDir,
    pub order: &'a RunOrder,
    /// The first word of the command without any secret in it.
    pub program: &'a str,
    /// What only the child may see.
    pub secret_files: SecretValues,
    pub ready: Ready,
    pub blueprint: &'a Blueprint,
    /// Signals that ask us to stop wait here.
    pub stop: &'a OwnedFd,
    pub home: &'a Home,
    pub steps: &'a Steps,
    pub pattern: Option<&'a Pattern>,
}

/// Starts the child, with as much around it as the kernel grants. The error is how the run ended
/// without ever having begun. With the child comes its log, in which there may be something already.
pub fn launch(mut ground: Ground<'_>) -> Result<(Launched, Logs), Cause> {
    let (held, porter) = (std::mem::take(&mut ground.ready.fetched.held), ground.ready.fetched.left.take());
    let (mut launched, logs) = launch_in_walls(&ground)?;
    launched._held.extend(held);
    launched.porter = porter;
    Ok((launched, logs))
}

fn launch_in_walls(ground: &Ground<'_>) -> Result<(Launched, Logs), Cause> {
    let rooms = rooms(ground)?;
    address_and_ports_are_ours(ground.order)?;
    sandbox::furnish(&rooms).map_err(|error| platform(format!("the run's directories could not be made: {error}")))?;
    let mut refused = Vec::new();
    for (walls, pattern) in ways_to_try(ground, &rooms) {
        match (Try { ground, rooms: &rooms, walls, pattern, refused: &refused }).start() {
            Ok(launched) => return Ok(launched),
            // Nothing is missing where it is built anew.
            Err(Failed::Walls(why)) if pattern.is_some() => say(&format!("no copy of a root could be had: {why}")),
            Err(Failed::Walls(why)) => refused.push(why),
            Err(Failed::Cause(cause)) => return Err(cause),
        }
    }
    Err(platform(refused.join("; ")))
}

enum Failed {
    /// The kernel refuses these walls; fewer may do.
    Walls(String),
    Cause(Cause),
}

fn platform(why: String) -> Cause {
    Cause::CannotStart { why, whose: Whose::Platform }
}

fn user(why: String) -> Cause {
    Cause::CannotStart { why, whose: Whose::User }
}

/// From the strongest to none at all. Root needs no user namespace, unless it is root in name only.
fn walls_to_try() -> Vec<Walls> {
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let around_user = Walls { user: Some((uid.as_raw(), gid.as_raw())), mount_and_pid: true };
    let none = Walls { user: None, mount_and_pid: false };
    if uid.is_root() { vec![Walls { user: None, mount_and_pid: true }, around_user, none] } else { vec![around_user, none] }
}

/// The strongest walls can also be had around a copy, which is quicker.
fn ways_to_try<'a>(ground: &Ground<'a>, rooms: &Rooms) -> impl Iterator<Item = (Walls, Option<&'a Pattern>)> {
    let strongest = Walls { user: None, mount_and_pid: true };
    let copy = ground.pattern.filter(|pattern| pattern.suits(rooms)).map(|pattern| (strongest, Some(pattern)));
    copy.into_iter().chain(walls_to_try().into_iter().map(|walls| (walls, None)))
}

fn rooms(ground: &Ground<'_>) -> Result<Rooms, Cause> {
    let (order, staged) = (ground.order, &ground.ready.fetched.staged);
    if order.command.is_empty() {
        return Err(user("the command is empty".into()));
    }
    let mut texts = order.command.iter().chain(&order.setup).chain(order.env.keys()).chain(order.env.values());
    if let Some(text) = texts.find(|text| text.contains('\0')) {
        return Err(user(format!("`{}` has a null character in it", text.escape_default())));
    }
    Ok(Rooms {
        dir: ground.dir.clone(),
        code: staged.code.clone(),
        input: staged.input.clone(),
        channels: staged.channels.clone(),
        outputs: order.freight.outputs.iter().filter_map(|it| it.name.clone()).collect(),
        files: order.files.clone(),
        secrets: ground.secret_files.clone(),
        environment: ground.ready.environment.clone(),
        shared_memory_bytes: order.limits.shared_memory_bytes,
        gang: order.gang.as_ref().map(|gang| Neighbours::new(gang, order.run.task.to_string())),
    })
}

/// A place that is not ours, or ports that are not free, are the platform's fault: it gave them out.
fn address_and_ports_are_ours(order: &RunOrder) -> Result<(), Cause> {
    if let Err(error) = UdpSocket::bind((order.address.as_str(), 0)) {
        return Err(platform(format!("the address {} is not of this machine: {error}", order.address)));
    }
    for port in &order.ports {
        if let Err(error) = TcpListener::bind((order.address.as_str(), *port)) {
            return Err(platform(format!("port {port} on {} cannot be used: {error}", order.address)));
        }
    }
    Ok(())
}

/// One try at a start, within certain walls.
struct Try<'a> {
    ground: &'a Ground<'a>,
    rooms: &'a Rooms,
    walls: Walls,
    pattern: Option<&'a Pattern>,
    /// What earlier tries have shown to be missing.
    refused: &'a [String],
}

/// Our ends of the pipes to the child.
struct Ends {
    leash: Leash,
    stdout: OwnedFd,
    stderr: OwnedFd,
    go: File,
    failure: File,
    line: Option<Line>,
}

impl Try<'_> {
    fn start(&self) -> Result<(Launched, Logs), Failed> {
        let order = self.ground.order;
        let is_reached = order.gang.as_ref().is_some_and(|gang| gang.launch.is_some());
        let (ends, pipes, theirs) =
            ends(is_reached).map_err(|error| Failed::Cause(platform(format!("no pipes could be made: {error}"))))?;
        let (group, unlimited) = self.build_group();
        let (doors, unopened) = group.doors();
        // A process can only be born into a group that is there already.
        let birthplace = if self.ground.blueprint.has_unified_controllers() { group.birthplace() } else { None };
        // Whoever gets a copy goes into a namespace of mounts by itself.
        let namespaces = if self.pattern.is_some() { libc::CLONE_NEWPID } else { self.walls.namespaces() };
        let init = match spawn::fork_with(namespaces, birthplace.as_ref()) {
            Ok(0) => {
                drop(ends);
                self.be_init(pipes, theirs, &doors)
            }
            Ok(init) => init,
            Err(error) => return Err(self.refused_by_kernel(&group, &error)),
        };
        drop((pipes, theirs, doors));
        let unattached = if birthplace.is_some() { Vec::new() } else { group.attach(init) };
        let missing = [self.refused, &unlimited, &unopened, &unattached].concat();
        let begun = Begun { init, group, ends, missing, walls: self.walls };
        begun.bring_to_exec(self.ground, order)
    }

    fn build_group(&self) -> (Group, Vec<String>) {
        self.ground.blueprint.build(&self.ground.order.limits, !self.walls.mount_and_pid)
    }

    fn be_init(&self, pipes: Pipes, (leash, line): (Leash, Option<Line>), doors: &[cgroup::Door]) -> ! {
        let Try { walls, rooms, pattern, .. } = *self;
        init::run(init::Task { walls, doors, rooms, order: self.ground.order, pipes, pattern, line }, leash)
    }

    fn refused_by_kernel(&self, group: &Group, error: &io::Error) -> Failed {
        let _ = group.remove();
        Failed::Walls(self.walls.refused(error))
    }
}

/// Our ends, the child's, and init's: its leash, and the line for guests if there may be any.
fn ends(is_reached: bool) -> io::Result<(Ends, Pipes, (Leash, Option<Line>))> {
    let (leash, their_leash) = leash::pair()?;
    let (line, their_line) = if is_reached { line::pair().map(|(ours, theirs)| (Some(ours), Some(theirs)))? } else { (None, None) };
    let (stdout, their_stdout) = spawn::open_pipe()?;
    let (stderr, their_stderr) = spawn::open_pipe()?;
    let (their_go, go) = spawn::pipe()?;
    let (failure, their_failure) = spawn::pipe()?;
    let pipes = Pipes { stdout: their_stdout, stderr: their_stderr, go: their_go, failure: their_failure };
    Ok((Ends { leash, stdout, stderr, go: go.into(), failure: failure.into(), line }, pipes, (their_leash, their_line)))
}

/// Init exists; the child does not yet.
struct Begun {
    init: i32,
    group: Group,
    ends: Ends,
    missing: Vec<String>,
    walls: Walls,
}

impl Begun {
    fn bring_to_exec(mut self, ground: &Ground<'_>, order: &RunOrder) -> Result<(Launched, Logs), Failed> {
        let child = match self.wait_until_ready() {
            Ok(child) => child,
            Err(failed) => return Err(self.undo(failed)),
        };
        let recorded = self.record(ground.dir, child);
        if let Err(error) = recorded {
            return Err(self.undo(Failed::Cause(platform(format!("the child could not be written down: {error}")))));
        }
        crash::point("start.after-identity-before-exec");
        if signals::take(ground.stop) {
            return Err(self.undo(Failed::Cause(Cause::Stopped { killed: false })));
        }
        let mut logs = Logs::new(ground.dir);
        if let Some(cause) = order.setup.as_ref().and_then(|_| ground.steps.time(StepKind::Setup, || self.set_up(ground, &mut logs))) {
            return Err(self.undo(Failed::Cause(cause)));
        }
        let door = match Door::open(order, self.ends.line.take()) {
            Ok(door) => door,
            Err(error) => return Err(self.undo(Failed::Cause(platform(format!("its launcher cannot listen: {error}"))))),
        };
        let wait = |gang| ground.steps.time(StepKind::Gang, || gang::wait(gang, ground.home, ground.stop, &self.ends.leash));
        if let Some(cause) = order.gang.as_ref().and_then(wait) {
            return Err(self.undo(Failed::Cause(cause)));
        }
        if let Some(why) = self.exec(ground.program) {
            return Err(self.undo(Failed::Cause(why)));
        }
        let mounts = if self.walls.mount_and_pid { File::open(format!("/proc/{}/ns/mnt", self.init)).ok() } else { None };
        let Ends { leash, stdout, stderr, .. } = self.ends;
        let launched = Launched {
            init: self.init,
            pid_namespace: self.walls.mount_and_pid,
            child,
            started_at_ms: now_ms(),
            missing: self.missing,
            leash,
            stdout,
            stderr,
            group: self.group,
            witness: Witness::from_now([self.init, child]),
            door,
            _held: mounts.into_iter().collect(),
            porter: None,
        };
        Ok((launched, logs))
    }

    /// Answers the child's pid, in our own numbers.
    fn wait_until_ready(&mut self) -> Result<i32, Failed> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let gone = |why: &str| Failed::Cause(platform(why.to_owned()));
        if self.ends.leash.say(&Down::Fork).is_err() {
            return Err(self.why_init_died());
        }
        let [a_word] = signals::wait_for([self.ends.leash.as_fd().as_raw_fd()], Some(PATIENCE));
        if !a_word {
            return Err(gone("the sandbox was not ready within a minute"));
        }
        match self.ends.leash.hear::<Up>() {
            Ok(Some(heard)) => match heard.word {
                Up::Ready { missing } => {
                    self.missing.extend(missing);
                    Ok(heard.pid)
                }
                Up::Refused { why } => Err(Failed::Walls(why)),
                Up::SetupEnded { .. } | Up::Stopping | Up::Killing | Up::MainEnded { .. } | Up::Kept => {
                    Err(gone("the child ended before it was started"))
                }
            },
            Ok(None) => Err(self.why_init_died()),
            Err(error) => Err(gone(&format!("init cannot be understood: {error}"))),
        }
    }

    /// Answers how the run ended, if what comes before the command did not succeed.
    fn set_up(&self, ground: &Ground<'_>, logs: &mut Logs) -> Option<Cause> {
        let task = &ground.order.run.task;
        let (what, zh) = (format!("{task} runs its setup"), format!("{task} 正在运行准备脚本"));
        ground.home.knock(&Report::Preparing { what, zh });
        let Ends { leash, go, stdout, stderr, .. } = &self.ends;
        let cause = Setup { leash, go, stdout, stderr, stop: ground.stop }.run(logs).err()?;
        let for_memory = memory::cause(self.group.usage(), &ground.order.limits, None);
        logs.say(&format!("{cause}; the command was not started"));
        let _ = logs.finish();
        match cause {
            Cause::SetupFailed { .. } => Some(for_memory.unwrap_or(cause)),
            cause => Some(cause),
        }
    }

    fn why_init_died(&self) -> Failed {
        let usage = self.group.usage();
        let too_small = usage.oom_kills > 0 && usage.reached_limit != Some(false);
        let why = if too_small { "its memory limit is too small even to start it" } else { "init died before it was ready" };
        Failed::Cause(platform(why.into()))
    }

    fn record(&self, dir: &RunDir, child: i32) -> io::Result<()> {
        let (init, child) = (Identity::of(self.init)?, Identity::of(child)?);
        let record = ChildRecord { init, child, pid_namespace: self.walls.mount_and_pid, missing: self.missing.clone() };
        let line = serde_json::to_string(&record)? + "\n";
        fs::OpenOptions::new().append(true).open(dir.supervisor())?.write_all(line.as_bytes())
    }

    /// Gives the word. Answers why the program could not be started, if it could not.
    fn exec(&self, command: &str) -> Option<Cause> {
        if let Err(error) = (&self.ends.go).write_all(b"!") {
            return Some(platform(format!("the child did not wait for its start: {error}")));
        }
        let mut errno = [0; 4];
        match (&self.ends.failure).read_exact(&mut errno) {
            Ok(()) => Some(user(explain(command, i32::from_ne_bytes(errno)))),
            // Closed without a word: the exec has succeeded.
            Err(_) => None,
        }
    }

    /// Takes everything back.
    fn undo(self, failed: Failed) -> Failed {
        drop(self.ends);
        wait_for_end(self.init);
        match self.group.remove() {
            Ok(()) => failed,
            Err(why) => Failed::Cause(platform(why)),
        }
    }
}

/// What a process and everyone it has waited for were charged for, when it is gone.
#[derive(Clone, Copy, Debug)]
pub struct LastAccount {
    pub cpu: Duration,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Waits until a process of ours is gone, and answers its account.
pub fn wait_for_end(pid: i32) -> Option<LastAccount> {
    const BLOCK_BYTES: u64 = 512;
    // SAFETY: all zeroes is a valid value, and both outlive the call.
    let (done, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut status = 0;
        (libc::wait4(pid, &raw mut status, 0, &raw mut usage), usage)
    };
    let time = |it: libc::timeval| Duration::from_secs(it.tv_sec.cast_unsigned()) + Duration::from_micros(it.tv_usec.cast_unsigned());
    (done == pid).then(|| LastAccount {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        read_bytes: usage.ru_inblock.cast_unsigned() * BLOCK_BYTES,
        written_bytes: usage.ru_oublock.cast_unsigned() * BLOCK_BYTES,
    })
}
