//! Two kinds of mount the sandbox is made of.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::mount::{MsFlags, mount};

use super::sandbox::c_path;

pub fn bind(source: &Path, target: &Path, with_all_below: bool) -> io::Result<()> {
    let flags = if with_all_below { MsFlags::MS_BIND | MsFlags::MS_REC } else { MsFlags::MS_BIND };
    Ok(mount(Some(source), target, None::<&str>, flags, None::<&str>)?)
}

/// A directory that is open, as a path that always means it, whatever is mounted above.
pub fn path_of(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Nobody writes here any more. Kernels before 5.12 can say that only of one mount, not of all below it.
pub fn make_read_only(target: &Path, with_all_below: bool) -> io::Result<()> {
    const READ_ONLY: u64 = 1;
    let attributes = MountAttributes { set: READ_ONLY, clear: 0, propagation: 0, user_namespace: 0 };
    let path = c_path(target)?;
    let flags = if with_all_below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attributes outlive the call, and the size is that of the attributes.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw const attributes, size_of::<MountAttributes>())
    };
    match (done, io::Error::last_os_error()) {
        (0, _) => Ok(()),
        (_, error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
            Ok(mount(None::<&str>, target, None::<&str>, flags, None::<&str>)?)
        }
        (_, error) => Err(error),
    }
}
