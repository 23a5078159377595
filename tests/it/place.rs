//! Places of a test's own that only root can build: mounts and networks that nobody else sees, and that
//! are gone with the last process in them.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::UdpSocket,
    os::fd::AsRawFd,
    path::Path,
    process::{Child, Command, Stdio},
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

/// Whether a test that needs root can be done here. Where everything is to be tried, it has to be.
#[must_use]
pub fn is_root(what_for: &str) -> bool {
    can(nix::unistd::geteuid().is_root(), &format!("only root can {what_for}"))
}

/// Whether a program is there that a test cannot do without.
#[must_use]
pub fn has_program(name: &str, what_for: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    can(found, &format!("there is no `{name}` to {what_for}"))
}

/// Whether a test can be done. Says why not; where everything is to be tried, that is a failure.
#[must_use]
pub fn can(can: bool, why_not: &str) -> bool {
    let must = std::env::var_os("CI").is_some_and(|it| it == "true");
    assert!(can || !must, "this has to be tried in CI, but {why_not}");
    if !can {
        // Not by `eprintln`, whose words are kept from people as long as a test does not fail.
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "{name} is skipped: {why_not}");
    }
    can
}

/// Runs `work` in a thread with mounts of its own, and whatever it starts with them.
pub fn with_own_mounts<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    in_own(CloneFlags::CLONE_NEWNS, work)
}

/// The same with a network of its own, in which there is nothing but a loopback.
pub fn with_own_mounts_and_network<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    in_own(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET, || {
        loopback_up();
        work()
    })
}

fn in_own<T: Send>(what: CloneFlags, work: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        unshare(what).unwrap();
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Mounts a fresh memory disk; `options` such as `size=16m` bound it.
pub fn mount_small_disk(at: &Path, options: &str) {
    fs::create_dir_all(at).unwrap();
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some(options)).unwrap();
}

/// Makes system calls of a process fail, as a dying disk does, for as long as it lives.
pub struct FailingCalls(Child);

impl FailingCalls {
    /// Which calls, and how, is said as `strace` wants it.
    pub fn of(pid: u32, which: &[&str]) -> Self {
        let mut command = Command::new("strace");
        command.arg("-f").args(which).args(["-p", &pid.to_string()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("attached"), "{line}");
        // Somebody has to listen, or it would stop to speak, and with it the process to run.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self(child)
    }
}

impl Drop for FailingCalls {
    fn drop(&mut self) {
        // Asked politely, it lets the process go unharmed.
        // SAFETY: plain system call on a process of this test.
        unsafe { libc::kill(self.0.id().cast_signed(), libc::SIGTERM) };
        self.0.wait().unwrap();
    }
}

fn loopback_up() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: the request is all zeroes but for a name and flags, and outlives the call.
    let done = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l'.cast_signed();
        request.ifr_name[1] = b'o'.cast_signed();
        request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    };
    assert_eq!(done, 0, "the loopback does not come up");
}
