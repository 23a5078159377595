//! The last steps before the user's program: everything of ours is put away, and then it is exec'ed.

use std::{
    collections::BTreeMap,
    ffi::CString,
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use model::{
    order::{RunOrder, SECRETS},
    rendezvous::DIRECTORY,
};

use super::{
    leash::{self, Up},
    neighbours,
    sandbox::Rooms,
};

const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The user's program, ready for `execve`.
pub struct Program {
    /// Every place the program may be, in the order of `PATH`.
    candidates: Vec<CString>,
    argv: Vec<CString>,
    envp: Vec<CString>,
}

/// The ends of the pipes the child holds.
pub struct Pipes {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// A byte in it is the word to go; its end is the supervisor's death.
    pub go: OwnedFd,
    /// Closed by a successful exec; else it carries the number of the error.
    pub failure: OwnedFd,
}

/// Where the child finds its rooms: at their proper paths in a sandbox, where they really are without one.
pub struct Paths {
    pub input: PathBuf,
    pub output: PathBuf,
    pub code: PathBuf,
    pub cache: PathBuf,
    pub tmp: PathBuf,
    pub peers: PathBuf,
    pub secrets: PathBuf,
    /// Of Python; in the same place inside and outside.
    pub environment: Option<PathBuf>,
    pub gang: PathBuf,
}

impl Paths {
    pub fn in_sandbox(environment: Option<PathBuf>) -> Self {
        let [input, output, code, cache, tmp] = ["/input", "/output", "/code", "/cache", "/tmp"].map(PathBuf::from);
        Self {
            input,
            output,
            code,
            cache,
            tmp,
            peers: DIRECTORY.into(),
            secrets: SECRETS.into(),
            environment,
            gang: neighbours::ROOM.into(),
        }
    }

    pub fn without_sandbox(rooms: &Rooms) -> Self {
        let dir = &rooms.dir;
        let input = match &rooms.input {
            Some(directory) if directory.is_dir() => directory.clone(),
            None if rooms.channels.is_empty() => dir.root(),
            Some(_) | None => dir.inputs(),
        };
        Self {
            input,
            output: dir.output(),
            code: rooms.code.clone().unwrap_or_else(|| dir.tmp()),
            cache: dir.cache(),
            tmp: dir.tmp(),
            peers: dir.peers(),
            secrets: dir.secrets(),
            environment: rooms.environment.clone(),
            gang: dir.gang(),
        }
    }

    /// Where a path of the sandbox really is: `/peers/hostfile` is the file `hostfile` in the peers' room.
    fn real(&self, path: &str) -> PathBuf {
        let rooms = |it: &Self| [&it.input, &it.output, &it.code, &it.cache, &it.tmp, &it.peers, &it.secrets].map(Clone::clone);
        let mut path = PathBuf::from(path);
        for (name, room) in rooms(&Self::in_sandbox(None)).iter().zip(rooms(self)) {
            if let Ok(rest) = path.strip_prefix(name) {
                path = room.components().chain(rest.components()).collect();
                break;
            }
        }
        path
    }
}

impl Program {
    pub fn new(order: &RunOrder, paths: &Paths) -> io::Result<Self> {
        let told = order.freight.arguments.iter().map(|it| format!("{}={}", it.flag, paths.real(&it.path).to_string_lossy()));
        let command: Vec<String> = order.command.iter().cloned().chain(told).collect();
        Self::of(&command, order, paths)
    }

    /// What runs before it, if anything.
    pub fn before(order: &RunOrder, paths: &Paths) -> io::Result<Option<Self>> {
        let shell = |line: &String| ["/bin/sh".into(), "-c".into(), line.clone()];
        order.setup.as_ref().map(|line| Self::of(&shell(line), order, paths)).transpose()
    }

    /// Another command in the same surroundings.
    pub fn of(command: &[String], order: &RunOrder, paths: &Paths) -> io::Result<Self> {
        let env = environment(order, paths);
        let path = env.get("PATH").map_or(PATH_DEFAULT, String::as_str);
        let first = command.first().map_or("", String::as_str);
        let candidates = if first.contains('/') {
            vec![first.to_owned()]
        } else {
            path.split(':').map(|dir| format!("{}/{first}", if dir.is_empty() { "." } else { dir })).collect()
        };
        let envp = env.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(Self { candidates: all_c(candidates)?, argv: all_c(command.iter().cloned())?, envp: all_c(envp)? })
    }

    /// Answers why it could not. A place where there is nothing, or where we may not look, says nothing
    /// about the program, and to look first is cheaper than to try in vain.
    pub fn exec(&self) -> i32 {
        let pointers = |of: &[CString]| of.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
        let (argv, envp) = (pointers(&self.argv), pointers(&self.envp));
        let mut telling = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: the string ends with a null and outlives the call.
            if unsafe { libc::access(candidate.as_ptr(), libc::F_OK) } != 0 {
                continue;
            }
            // SAFETY: both lists end with a null, and their strings live in `self`.
            unsafe { libc::execve(candidate.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
            match io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
                libc::EACCES => telling = libc::EACCES,
                // The program is there, so it is what should run it that is not.
                libc::ENOENT => return NO_INTERPRETER,
                error => return error,
            }
        }
        telling
    }
}

/// How we call the missing of an interpreter, to tell it from the missing of the program.
const NO_INTERPRETER: i32 = libc::ELIBACC;

fn all_c(texts: impl IntoIterator<Item = String>) -> io::Result<Vec<CString>> {
    texts.into_iter().map(|text| Ok(CString::new(text)?)).collect()
}

/// The order's variables over our few defaults. Nothing else of our own environment gets through.
fn environment(order: &RunOrder, paths: &Paths) -> BTreeMap<String, String> {
    let ours = |name: &str, default: &str| std::env::var(name).ok().filter(|it| !it.is_empty()).unwrap_or_else(|| default.into());
    let home = Some(ours("HOME", "/")).filter(|home| Path::new(home).is_dir());
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut env = BTreeMap::from([
        ("PATH".into(), ours("PATH", PATH_DEFAULT)),
        ("HOME".into(), home.unwrap_or_else(|| text(&paths.tmp))),
        ("USER".into(), ours("USER", "trainmaster")),
        ("LANG".into(), ours("LANG", "C.UTF-8")),
        ("TERM".into(), "dumb".into()),
        ("TMPDIR".into(), text(&paths.tmp)),
        ("TRAINMASTER_INPUT".into(), text(&paths.input)),
        ("TRAINMASTER_OUTPUT".into(), text(&paths.output)),
        ("TRAINMASTER_CODE".into(), text(&paths.code)),
        ("TRAINMASTER_CACHE".into(), text(&paths.cache)),
        (RUN_VARIABLE.into(), order.run.to_string()),
    ]);
    env.extend(neighbours::variables(order, &paths.gang));
    env.extend(order.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    let told = order.paths.iter().chain(&order.freight.paths);
    env.extend(told.map(|(name, path)| (name.clone(), text(&paths.real(path)))));
    if let Some(environment) = &paths.environment {
        let path = env.get("PATH").map_or(PATH_DEFAULT, String::as_str);
        let path = format!("{}:{path}", text(&environment.join("bin")));
        env.extend([("PATH".into(), path), ("VIRTUAL_ENV".into(), text(environment))]);
    }
    neighbours::put_first(&mut env, order, &paths.gang);
    env
}

/// By this a process can be told to be a run's, when nothing else is left that could tell.
pub const RUN_VARIABLE: &str = "TRAINMASTER_RUN";

/// Becomes the user's program. Called in a process that was just forked for it; never returns.
pub fn become_program((setup, program): (Option<&Program>, &Program), pipes: &Pipes, cwd: &Path, ready: (BorrowedFd<'_>, &Up)) -> ! {
    if let Err(error) = prepare(pipes, cwd) {
        let _ = leash::say(ready.0, &Up::Refused { why: format!("the child could not be prepared: {error}") });
        exit_now(127);
    }
    // No word to go means that the supervisor is dead, and then nothing may start. Whoever asks all the
    // same must not take it for a success.
    let is_set_up = || setup.is_none_or(|setup| heard_go(&pipes.go) && set_up(setup, ready.0));
    if leash::say(ready.0, ready.1).is_err() || !is_set_up() || !heard_go(&pipes.go) {
        exit_now(127);
    }
    let bytes = program.exec().to_ne_bytes();
    // SAFETY: the buffer outlives the call.
    unsafe { libc::write(pipes.failure.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    exit_now(127)
}

/// Runs it beside us, with everything we have. Answers whether it went well, and tells how it went.
fn set_up(setup: &Program, up: BorrowedFd<'_>) -> bool {
    const COULD_NOT: i32 = 127 << 8;
    let mut status = COULD_NOT;
    // SAFETY: this process has one thread, so the copy is whole; and the status outlives the call.
    unsafe {
        match libc::fork() {
            0 => {
                setup.exec();
                exit_now(127);
            }
            -1 => {}
            pid => while libc::waitpid(pid, &raw mut status, 0) == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {},
        }
    }
    leash::say(up, &Up::SetupEnded { status }).is_ok() && status == 0
}

fn heard_go(go: &OwnedFd) -> bool {
    let mut byte = 0_u8;
    // SAFETY: the byte outlives the call.
    unsafe { libc::read(go.as_raw_fd(), (&raw mut byte).cast(), 1) == 1 }
}

/// Ends this process without running anything that belongs to the process it was forked from.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: that is what this call is for.
    unsafe { libc::_exit(code) }
}

fn prepare(pipes: &Pipes, cwd: &Path) -> io::Result<()> {
    let null: OwnedFd = std::fs::File::open("/dev/null")?.into();
    put_ours_away([&null, &pipes.stdout, &pipes.stderr], cwd)
}

/// Leaves nothing of ours to a process of the user's but its three streams.
pub fn put_ours_away(streams: [&OwnedFd; 3], cwd: &Path) -> io::Result<()> {
    // SAFETY: plain system calls on descriptors we own and on this process alone.
    unsafe {
        libc::setsid();
        for (stream, number) in streams.iter().zip(0..) {
            libc::dup2(stream.as_raw_fd(), number);
        }
        // Closed by the exec, not before: the pipes are still needed until then.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        libc::umask(0o022);
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
    }
    reset_signals();
    give_up_power();
    // A child of a protected server is not protected itself.
    let _ = std::fs::write("/proc/self/oom_score_adj", "0");
    std::env::set_current_dir(cwd)
}

/// Asked of the kernel directly: the C library keeps two signals to itself and would leave them ignored
/// if they were.
fn reset_signals() {
    const SIGNALS_MAX: i32 = 64;
    let default = [0_u64; 4];
    // SAFETY: all zeroes is the default action, valid for every signal; those that have no other refuse,
    // which is fine. The size is that of the kernel's own set.
    unsafe {
        for signal in 1..=SIGNALS_MAX {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u8>(), size_of::<u64>());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// A root child keeps what programs need (files, users, ports) and loses what undoes a sandbox (mounts,
/// devices, modules, other processes). Anyone else can never gain anything.
fn give_up_power() {
    // chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
    // ipc_lock, sys_chroot, sys_nice, audit_write, setfcap
    const KEPT: [i32; 15] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 14, 18, 23, 29, 31];
    const CAPABILITIES_MAX: i32 = 63;
    // SAFETY: plain system calls on this process alone.
    unsafe {
        if libc::geteuid() != 0 {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            return;
        }
        for capability in (0..=CAPABILITIES_MAX).filter(|it| !KEPT.contains(it)) {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                break;
            }
        }
    }
}

/// Why the program could not be started, in words for the person who wrote the command.
pub fn explain(command: &str, errno: i32) -> String {
    match errno {
        libc::ENOENT if command.contains('/') => format!("no program `{command}`"),
        libc::ENOENT => format!("no program `{command}` in PATH"),
        NO_INTERPRETER => format!("`{command}`: the interpreter its first line names is not there"),
        libc::EACCES => format!("permission denied: `{command}` may not be executed"),
        libc::ENOEXEC => format!("exec format error: `{command}` is neither a program for this machine nor a script with a #! line"),
        libc::E2BIG => format!("the arguments and environment of `{command}` are too long"),
        other => format!("`{command}`: {}", io::Error::from_raw_os_error(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_sandbox_a_path_of_it_is_where_its_room_really_is() {
        let rooms =
            ["/real/in", "/real/out", "/real/code", "/real/cache", "/real/tmp", "/real/run/peers", "/real/run/secrets"].map(PathBuf::from);
        let [input, output, code, cache, tmp, peers, secrets] = rooms;
        let outside = Paths { input, output, code, cache, tmp, peers, secrets, environment: None, gang: "/g".into() };
        for (path, real) in [
            ("/peers/hostfile", "/real/run/peers/hostfile"),
            ("/secrets/key", "/real/run/secrets/key"),
            ("/output", "/real/out"),
            ("/input/a/b", "/real/in/a/b"),
            ("/outputs", "/outputs"),
            ("/etc/hosts", "/etc/hosts"),
        ] {
            assert_eq!(outside.real(path), Path::new(real));
            assert_eq!(Paths::in_sandbox(None).real(path), Path::new(path));
            assert_eq!(outside.real(path).as_os_str(), real, "without a slash behind it");
        }
    }
}
