//! The line between the supervisor and the init of the child's tree. Each side sees at once when the
//! other is gone, because the line then reads as ended.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

const WORD_BYTES_MAX: usize = 16 << 10;

/// What init, and the child before it execs, tell the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// The child stands before its exec and waits for the word. With it goes what the kernel refused.
    Ready { missing: Vec<String> },
    /// What runs before the command has ended, with this status of `waitpid`.
    SetupEnded { status: i32 },
    /// The child cannot be started in these namespaces.
    Refused { why: String },
    /// The stop came while the main process lived; everyone was asked to end.
    Stopping,
    /// The grace was over and something still lived.
    Killing,
    /// The main process ended, with this status of `waitpid`. If it failed and `/dev/shm` was full: what was free of it, and
    /// its size. Nobody else can see that, and not for long.
    MainEnded { status: i32, full_shm: Option<(u64, u64)> },
    /// It has failed, and everyone else was ended; init stays, and the sandbox with it.
    Kept,
}

/// What the supervisor tells init.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down {
    /// Limits are in place: fork.
    Fork,
    /// It is not over in a blink.
    Stay,
    Stop,
}

/// One end of the line.
pub struct Leash {
    fd: OwnedFd,
}

/// A word, and who said it: the kernel vouches for the pid and translates it into our own numbers.
pub struct Heard<T> {
    pub word: T,
    pub pid: i32,
}

pub fn pair() -> io::Result<(Leash, Leash)> {
    let mut fds = [0; 2];
    // SAFETY: the kernel fills the two descriptors, which are ours from here on.
    let done = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let [ours, theirs] = fds.map(|fd| Leash { fd: unsafe { OwnedFd::from_raw_fd(fd) } });
    ours.ask_for_credentials()?;
    Ok((ours, theirs))
}

impl Leash {
    fn ask_for_credentials(&self) -> io::Result<()> {
        let on: i32 = 1;
        // SAFETY: the option is an int and lives for the length of the call.
        let done = unsafe {
            libc::setsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const on).cast(), size_of::<i32>() as u32)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    pub fn say<T: Serialize>(&self, word: &T) -> io::Result<()> {
        say(self.as_fd(), word)
    }

    /// Waits for the next word; `None` when the other side is gone.
    pub fn hear<T: DeserializeOwned>(&self) -> io::Result<Option<Heard<T>>> {
        hear(self.as_fd(), 0)
    }

    /// The next word if there is one; else the error says that it would have to wait.
    pub fn hear_now<T: DeserializeOwned>(&self) -> io::Result<Option<Heard<T>>> {
        hear(self.as_fd(), libc::MSG_DONTWAIT)
    }
}

pub fn say<T: Serialize>(fd: BorrowedFd<'_>, word: &T) -> io::Result<()> {
    let bytes = serde_json::to_vec(word)?;
    // SAFETY: the buffer outlives the call.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if sent >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn hear<T: DeserializeOwned>(fd: BorrowedFd<'_>, flags: i32) -> io::Result<Option<Heard<T>>> {
    let mut bytes: Vec<u8> = Vec::with_capacity(WORD_BYTES_MAX);
    let mut control = [0_u64; 8];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.capacity() };
    // SAFETY: all zeroes is a valid empty message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer in the header outlives the call.
    let got = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC | flags) };
    match got {
        ..0 => match io::Error::last_os_error() {
            // It went and left a word of ours unheard. That is told first, and once; what it said itself comes after it.
            error if error.kind() == io::ErrorKind::ConnectionReset => hear(fd, flags),
            error => Err(error),
        },
        0 => Ok(None),
        _ => {
            // SAFETY: the kernel has just filled that many bytes.
            unsafe { bytes.set_len(got.cast_unsigned()) };
            let word = serde_json::from_slice(&bytes)?;
            Ok(Some(Heard { word, pid: sender(&message) }))
        }
    }
}

fn sender(message: &libc::msghdr) -> i32 {
    // SAFETY: the kernel has just filled the header, and its control buffer is still there.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(message);
        if first.is_null() || (*first).cmsg_type != libc::SCM_CREDENTIALS {
            return 0;
        }
        std::ptr::read_unaligned(libc::CMSG_DATA(first).cast::<libc::ucred>()).pid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_with_their_speaker_and_an_end_is_heard() {
        let (ours, theirs) = pair().unwrap();
        theirs.say(&Up::MainEnded { status: 256, full_shm: None }).unwrap();
        let heard = ours.hear::<Up>().unwrap().unwrap();
        assert_eq!(heard.word, Up::MainEnded { status: 256, full_shm: None });
        assert_eq!(heard.pid, std::process::id().cast_signed());
        drop(theirs);
        assert!(ours.hear::<Up>().unwrap().is_none());
    }

    #[test]
    fn who_goes_without_having_heard_us_is_heard_to_its_last_word() {
        let (ours, theirs) = pair().unwrap();
        theirs.say(&Up::MainEnded { status: 0, full_shm: None }).unwrap();
        ours.say(&Down::Stop).unwrap();
        drop(theirs);
        assert_eq!(ours.hear::<Up>().unwrap().unwrap().word, Up::MainEnded { status: 0, full_shm: None });
        assert!(ours.hear::<Up>().unwrap().is_none());
    }
}
