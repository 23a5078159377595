//! The pattern: a root with the machine in it, built once by the nursery. A task whose rooms are of the usual kind gets a
//! copy of it, because to bring the whole machine into a root of its own takes longer than many a task runs.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

use super::{
    child::exit_now,
    sandbox::{self, Rooms},
    spawn,
};
use crate::rundir::{RunDir, private_dir};

pub struct Pattern {
    /// The mount namespace it stands in. Nobody lives there.
    namespace: File,
    /// Whose files are hidden in it.
    private: PathBuf,
    /// What could not be had.
    pub missing: Vec<String>,
}

/// How the machine looked when a pattern was built.
pub struct Machine {
    /// Becomes readable in its own way when something is mounted or taken away.
    mounts: File,
    root_changed_at: (i64, i64),
}

impl Pattern {
    /// Builds one for the tasks whose directories lie beside this one.
    pub fn build(dir: &RunDir) -> io::Result<Self> {
        private_dir(&dir.root())?;
        let (said, say) = spawn::pipe()?;
        let (done, hold) = spawn::pipe()?;
        let builder = match spawn::fork_with(libc::CLONE_NEWNS, None)? {
            0 => {
                drop((said, hold));
                build_in_here(dir, say.into(), done.into())
            }
            builder => builder,
        };
        drop((say, done));
        let mut line = String::new();
        BufReader::new(File::from(said)).read_line(&mut line)?;
        let missing = serde_json::from_str::<Result<_, String>>(&line)?.map_err(io::Error::other)?;
        let namespace = File::open(format!("/proc/{builder}/ns/mnt"))?;
        // Until here the builder has stood in it.
        drop(hold);
        Ok(Self { namespace, private: dir.private().to_owned(), missing })
    }

    /// Whether a copy of it is all that a task needs besides its own rooms.
    pub fn suits(&self, rooms: &Rooms) -> bool {
        let Rooms { dir, code, input, channels, outputs: _, files, secrets, environment, shared_memory_bytes: _, gang } = rooms;
        let has_more = code.is_some() || input.is_some() || environment.is_some() || gang.is_some();
        !has_more && channels.is_empty() && files.is_empty() && secrets.0.is_empty() && dir.private() == self.private
    }

    /// Goes into a copy that is this process's own.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: plain system calls on this process alone, with a descriptor we own.
        let done = unsafe { libc::setns(self.namespace.as_raw_fd(), libc::CLONE_NEWNS) == 0 && libc::unshare(libc::CLONE_NEWNS) == 0 };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.namespace.as_raw_fd()
    }
}

/// Builds it in a process that was made for that, says what is missing, and stays until it is let go. Never returns.
fn build_in_here(dir: &RunDir, mut say: File, mut done: File) -> ! {
    let built = sandbox::build_pattern(&dir.root(), dir.private()).map_err(|error| error.to_string());
    let line = serde_json::to_string(&built).unwrap_or_default() + "\n";
    if say.write_all(line.as_bytes()).is_ok() {
        let _ = done.read(&mut [0]);
    }
    exit_now(0)
}

impl Machine {
    pub fn look() -> io::Result<Self> {
        Ok(Self { mounts: File::open("/proc/self/mountinfo")?, root_changed_at: changed_at(Path::new("/"))? })
    }

    /// Whether it still looks like that; nobody who cannot tell should go by it.
    pub fn is_as_it_was(&self) -> bool {
        changed_at(Path::new("/")).is_ok_and(|at| at == self.root_changed_at) && !self.mounts_changed()
    }

    fn mounts_changed(&self) -> bool {
        let mut entry = libc::pollfd { fd: self.mounts.as_raw_fd(), events: libc::POLLPRI, revents: 0 };
        // SAFETY: the entry is ours and outlives the call.
        unsafe { libc::poll(&raw mut entry, 1, 0) != 0 }
    }
}

fn changed_at(path: &Path) -> io::Result<(i64, i64)> {
    let about = fs::metadata(path)?;
    Ok((about.mtime(), about.mtime_nsec()))
}

/// A directory as a mount that stands nowhere yet.
pub fn detached(path: &Path) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    const OPEN_TREE_CLONE: i32 = 1;
    let path = sandbox::c_path(path)?;
    // SAFETY: the path outlives the call, and the descriptor is ours from here on.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), OPEN_TREE_CLONE | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Puts such a mount in its place.
pub fn attach(mount: &OwnedFd, target: &Path) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: i32 = 4;
    let target = sandbox::c_path(target)?;
    // SAFETY: both paths outlive the call, and the descriptor is ours.
    let done = unsafe {
        let from = c"".as_ptr();
        libc::syscall(libc::SYS_move_mount, mount.as_raw_fd(), from, libc::AT_FDCWD, target.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
