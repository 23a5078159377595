//! The line by which a supervisor asks its init for guests. Words may bring descriptors with them.

use std::{
    io::{self, IoSlice, IoSliceMut},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use nix::sys::socket::{AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg, socketpair};
use serde::{Serialize, de::DeserializeOwned};

const WORD_BYTES_MAX: usize = 4 << 10;
const FDS_MAX: usize = 4;

/// One end of the line.
pub struct Line(OwnedFd);

impl Line {
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub fn pair() -> io::Result<(Line, Line)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    Ok((Line(ours), Line(theirs)))
}

pub fn say<T: Serialize>(line: BorrowedFd<'_>, word: &T, fds: &[RawFd]) -> io::Result<()> {
    let bytes = serde_json::to_vec(word)?;
    let rights = [ControlMessage::ScmRights(fds)];
    let rights = if fds.is_empty() { &[] } else { &rights[..] };
    sendmsg::<()>(line.as_raw_fd(), &[IoSlice::new(&bytes)], rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// The next word with its descriptors, if there is one; `None` when the other side is gone. Never waits.
pub fn hear<T: DeserializeOwned>(line: BorrowedFd<'_>) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; WORD_BYTES_MAX];
    let mut space = nix::cmsg_space!([RawFd; FDS_MAX]);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(line.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut fds = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(given) = part {
            // SAFETY: the kernel has just made them for us, and nobody else knows of them.
            fds.extend(given.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    let length = message.bytes;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes[..length])?, fds)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_word_brings_its_descriptors_and_an_end_is_heard() {
        let (ours, theirs) = pair().unwrap();
        let (mut read, write) = io::pipe().unwrap();
        say(ours.as_fd(), &"take this", &[write.as_raw_fd()]).unwrap();
        drop(write);
        let (word, fds) = hear::<String>(theirs.as_fd()).unwrap().unwrap();
        assert_eq!((word.as_str(), fds.len()), ("take this", 1));
        std::fs::File::from(fds.into_iter().next().unwrap()).write_all(b"through").unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        assert_eq!(hear::<String>(theirs.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(ours);
        assert!(hear::<String>(theirs.as_fd()).unwrap().is_none());
    }
}
