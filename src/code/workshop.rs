//! The room in which packages are built. Whoever builds a package runs what is in it, so a command in here sees the
//! machine, what it was given, and nothing of the server's; and nobody it starts outlives it.

use std::{
    fs, io,
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::Command,
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

#[derive(Clone, Debug, Default)]
pub struct Workshop {
    /// Directories that are empty in here.
    pub hidden: Vec<PathBuf>,
    /// What is there all the same, and may be written to.
    pub shown: Vec<PathBuf>,
}

impl Workshop {
    /// From its start on the command is in here. The kernel may refuse; then the command does not start.
    pub fn enclose(self, command: &mut Command) {
        let place = command.get_current_dir().map_or_else(|| PathBuf::from("/"), Path::to_owned);
        // SAFETY: whoever starts commands has one thread, so the copy it is run in is whole.
        unsafe { command.pre_exec(move || self.enter(&place)) };
    }

    fn enter(&self, place: &Path) -> io::Result<()> {
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let walls = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
        if user.is_root() {
            unshare(walls)?;
        } else {
            unshare(walls | CloneFlags::CLONE_NEWUSER)?;
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
            fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        }
        become_first()?;
        self.furnish()?;
        // The old one is still the machine's, and a way out.
        std::env::set_current_dir(place)?;
        give_up_power();
        Ok(())
    }

    fn furnish(&self) -> io::Result<()> {
        let shown = self.shown.iter().filter(|path| path.exists());
        let shown: Vec<(&PathBuf, fs::File)> = shown.map(|path| Ok((path, open_path(path)?))).collect::<io::Result<_>>()?;
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
        let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("proc"), "/proc", Some("proc"), quiet | MsFlags::MS_NOEXEC, None::<&str>)?;
        // Where one is inside another, it is gone with that.
        for hidden in self.hidden.iter().filter(|path| path.is_dir()) {
            mount(Some("tmpfs"), hidden, Some("tmpfs"), quiet, Some("mode=755"))?;
        }
        for (path, file) in shown {
            fs::create_dir_all(path)?;
            let source = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            mount(Some(&source), path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
        }
        Ok(())
    }
}

/// Goes on as the first process of the new namespace. The one before waits, and ends as it does.
fn become_first() -> io::Result<()> {
    // SAFETY: plain system calls on this process and its child. The one that waits holds nothing open: whoever
    // started it would wait for that.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        let pid = libc::fork();
        if pid <= 0 {
            return if pid == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        }
        libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
        let mut status = 0;
        while libc::waitpid(pid, &raw mut status, 0) == -1 && *libc::__errno_location() == libc::EINTR {}
        libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) })
    }
}

/// What a root without more than files can do, it may do; what undoes a room, it may not.
fn give_up_power() {
    // chown, dac_override, fowner
    const KEPT: [i32; 3] = [0, 1, 3];
    const CAPABILITIES_MAX: i32 = 63;
    // SAFETY: plain system calls on this process alone. Beyond the last capability the kernel says no, which is fine.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        for capability in (0..=CAPABILITIES_MAX).filter(|it| !KEPT.contains(it)) {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
    }
}

fn open_path(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)
}
