//! Init: the first process of the child's tree. In a pid namespace it is pid 1, and its end is the end
//! of everyone in there; without one it is everyone's adoptive parent.

use std::{
    fs, io,
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

use model::order::RunOrder;

use super::{
    cgroup::Door,
    child::{self, Paths, Pipes, Program, exit_now},
    clues,
    leash::{Down, Leash, Up},
    pattern::Pattern,
    reach::{guests::Guests, line::Line},
    sandbox::{self, Rooms},
    secrets, signals, spawn, text, tree,
};

/// What init needs to know, put together before it is forked.
pub struct Task<'a> {
    pub walls: Walls,
    /// The groups init goes into before it does anything else.
    pub doors: &'a [Door],
    pub rooms: &'a Rooms,
    pub order: &'a RunOrder,
    pub pipes: Pipes,
    /// Of which the task gets a copy, where that is all it needs.
    pub pattern: Option<&'a Pattern>,
    /// By which guests are asked for, where others may reach into this task.
    pub line: Option<Line>,
}

/// Which namespaces are around init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walls {
    /// A user namespace, in which our user and group are those we have outside.
    pub user: Option<(u32, u32)>,
    pub mount_and_pid: bool,
}

impl Walls {
    /// The namespaces that init is born into.
    pub fn namespaces(self) -> i32 {
        let user = if self.user.is_some() { libc::CLONE_NEWUSER } else { 0 };
        user | if self.mount_and_pid { libc::CLONE_NEWNS | libc::CLONE_NEWPID } else { 0 }
    }

    /// What goes missing when the kernel says no.
    pub fn refused(self, error: &io::Error) -> String {
        match self.user {
            Some(_) => format!("user, mount and pid namespaces were refused: {error}"),
            None => format!("mount and pid namespaces were refused: {error}"),
        }
    }
}

/// Runs init in the process that was just made for it. Never returns.
pub fn run(mut task: Task<'_>, leash: Leash) -> ! {
    let line = task.line.take();
    match prepare(&task, &leash) {
        Ok(Some((main, paths))) => {
            drop(task.pipes);
            let guests = line.map(|line| Guests::new(line, task.order, paths));
            Init::new(task.walls, task.order, (leash, main), guests).mind();
        }
        Ok(None) => {}
        Err(error) => refuse(&leash, &error),
    }
    exit_now(0)
}

/// Says why nothing can be started here, and ends.
pub fn refuse(leash: &Leash, error: &io::Error) -> ! {
    let _ = leash.say(&Up::Refused { why: error.to_string() });
    exit_now(1)
}

/// Sets up the rooms and forks the child. `None` if the supervisor went away meanwhile.
fn prepare(task: &Task<'_>, leash: &Leash) -> io::Result<Option<(i32, Paths)>> {
    if let Some((user, group)) = task.walls.user {
        map_user(user, group).map_err(|error| io::Error::other(task.walls.refused(&error)))?;
    }
    // SAFETY: plain system calls on this process alone. The death signal is set after the user namespace,
    // which would clear it.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"trainmaster-init".as_ptr());
        if task.walls.mount_and_pid {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        } else {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        }
    }
    let mut missing: Vec<String> = task.doors.iter().filter_map(Door::enter).collect();
    let (unfurnished, paths) = match task.pattern {
        Some(pattern) => (sandbox::move_into_copy(task.rooms, pattern)?, Paths::in_sandbox(None)),
        None => move_in(task),
    };
    missing.extend(unfurnished);
    let (setup, program) = (Program::before(task.order, &paths)?, Program::new(task.order, &paths)?);
    if leash.hear::<Down>()?.is_none() {
        return Ok(None);
    }
    let ready = Up::Ready { missing };
    let become_program = || -> ! { child::become_program((setup.as_ref(), &program), &task.pipes, &paths.code, (leash.as_fd(), &ready)) };
    // A child that is let go at once needs no memory of its own before it is; nobody has to be heeded meanwhile.
    if setup.is_none() && task.order.gang.is_none() {
        return spawn::fork_to_exec(|| become_program()).map(|main| Some((main, paths)));
    }
    // SAFETY: this process has one thread, so the copy is whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_program(),
        main => Ok(Some((main, paths))),
    }
}

/// Answers what is missing, and where the child finds its rooms.
fn move_in(task: &Task<'_>) -> (Vec<String>, Paths) {
    let outside = |why: &str| {
        let paths = format!("{why}: /input, /output, /code and /cache are only to be found through TRAINMASTER_INPUT and its sisters");
        let mut missing = vec![paths, "the server's data directory can be seen by the task".to_owned()];
        if let Err(error) = secrets::lay_out(&task.rooms.secrets, &task.rooms.dir) {
            missing.push(format!("its secrets are not in {}: {error}", task.rooms.dir.secrets().display()));
        }
        if let Some(Err(error)) = task.rooms.gang.as_ref().map(|gang| gang.do_without(&task.rooms.dir)) {
            missing.push(format!("other tasks cannot be reached: {error}"));
        }
        (missing, Paths::without_sandbox(task.rooms))
    };
    if !task.walls.mount_and_pid {
        return outside("there is no mount namespace");
    }
    match sandbox::move_in(task.rooms, task.walls.user.is_some()) {
        Ok(missing) => (missing, Paths::in_sandbox(task.rooms.environment.clone())),
        Err(error) => outside(&format!("the sandbox could not be built ({error})")),
    }
}

fn map_user(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
}

struct Init<'a> {
    walls: Walls,
    grace: Duration,
    leash: Leash,
    main: i32,
    main_ended: bool,
    supervisor_gone: bool,
    /// When the grace is over, if a stop was asked.
    deadline: Option<Instant>,
    killing: bool,
    guests: Option<Guests<'a>>,
    /// How long to stay if the main process fails.
    keep: Option<Duration>,
    /// It has failed, and the sandbox stays until then.
    kept_until: Option<Instant>,
}

impl<'a> Init<'a> {
    fn new(walls: Walls, order: &RunOrder, (leash, main): (Leash, i32), guests: Option<Guests<'a>>) -> Self {
        let (grace, keep) = (Duration::from_millis(order.stop_grace_ms), order.keep_failed_ms.map(Duration::from_millis));
        let (main_ended, supervisor_gone, deadline, killing, kept_until) = (false, false, None, false, None);
        Self { walls, grace, leash, main, main_ended, supervisor_gone, deadline, killing, guests, keep, kept_until }
    }

    /// Minds the tree until nobody is left in it, and nobody may want to step in any more.
    fn mind(&mut self) {
        let Ok(children) = signals::descriptor(&[libc::SIGCHLD]) else { return };
        while self.reap() {
            self.end_what_must_end();
            let leash = if self.supervisor_gone { -1 } else { self.leash.as_fd().as_raw_fd() };
            let line = self.guests.as_ref().map_or(-1, |guests| guests.line().as_raw_fd());
            let [a_word, _, asked] = signals::wait_for([leash, children.as_raw_fd(), line], self.patience());
            signals::take(&children);
            // Nobody is let in any more when the house is about to be empty.
            let heeded = asked && !self.main_ended && self.guests.as_mut().is_some_and(Guests::heed);
            if asked && !heeded {
                self.guests = None;
            }
            // Looked at again before the word: a stop that comes after the main process has ended finds
            // nothing to stop, and the true ending stands.
            if a_word && self.reap() {
                self.heed();
            }
        }
    }

    /// Buries the dead, and answers whether anyone lives or the sandbox is kept.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: the status outlives the call.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return self.kept_left().is_some(),
                0 => return true,
                pid if pid == self.main => {
                    self.main_ended = true;
                    let full_shm = if status == 0 { None } else { clues::room(Path::new("/dev/shm")).filter(|it| clues::is_full(*it)) };
                    self.tell(&Up::MainEnded { status, full_shm });
                    self.keep_if_failed(status);
                }
                pid => {
                    if let Some(guests) = &mut self.guests {
                        guests.ended(pid, status);
                    }
                }
            }
        }
    }

    /// Whoever was there with the main process ends with it; whoever steps in later does not. A main process that was
    /// asked to stop has not failed.
    fn keep_if_failed(&mut self, status: i32) {
        let Some(keep) = self.keep.filter(|_| status != 0 && self.deadline.is_none()) else { return };
        self.signal_everyone(libc::SIGKILL);
        self.kept_until = Instant::now().checked_add(keep);
        self.tell(&Up::Kept);
    }

    fn kept_left(&self) -> Option<Duration> {
        let left = self.kept_until.filter(|_| !self.supervisor_gone)?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    fn heed(&mut self) {
        match self.leash.hear::<Down>() {
            Ok(Some(heard)) if heard.word == Down::Stop && !self.main_ended && self.deadline.is_none() => {
                self.tell(&Up::Stopping);
                self.deadline = Some(Instant::now() + self.grace);
                self.signal_everyone(libc::SIGTERM);
            }
            Ok(Some(heard)) if heard.word == Down::Stop => self.kept_until = None,
            Ok(Some(heard)) if heard.word == Down::Stay => text::settle(),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => self.supervisor_gone = true,
        }
    }

    /// The rest of the tree ends with the main process, and all of it with the supervisor; a stop gives
    /// everyone its grace first.
    fn end_what_must_end(&mut self) {
        let overdue = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if overdue && !self.killing {
            self.killing = true;
            self.tell(&Up::Killing);
        }
        let alone = self.main_ended && self.deadline.is_none() && self.kept_left().is_none();
        if overdue || self.supervisor_gone || alone {
            self.signal_everyone(libc::SIGKILL);
        }
    }

    /// Killing is repeated until it has worked.
    fn patience(&self) -> Option<Duration> {
        const BETWEEN_KILLS: Duration = Duration::from_millis(100);
        if let Some(left) = self.kept_left() {
            return Some(left);
        }
        match self.deadline {
            Some(deadline) if !self.killing => Some(deadline.saturating_duration_since(Instant::now())),
            None if !self.main_ended && !self.supervisor_gone => None,
            Some(_) | None => Some(BETWEEN_KILLS),
        }
    }

    /// To pid 1 of a namespace "everyone" is everyone in it. Elsewhere it would be the whole machine, so
    /// there we walk the tree.
    fn signal_everyone(&self, signal: i32) {
        if self.walls.mount_and_pid {
            // SAFETY: a plain system call, made by pid 1 of our own namespace.
            unsafe { libc::kill(-1, signal) };
        } else if signal == libc::SIGKILL {
            tree::kill_below(std::process::id().cast_signed(), None);
        } else {
            tree::signal_below(std::process::id().cast_signed(), signal);
        }
    }

    /// A supervisor that cannot hear is gone, which the next look at the line will show.
    fn tell(&self, word: &Up) {
        let _ = self.leash.say(word);
    }
}
