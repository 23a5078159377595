//! How much went over the TCP connections of some processes. They share the machine's network, so no interface can tell; but
//! the kernel keeps for each connection how many bytes came and how many were acknowledged, and gives that to whoever asks.

use std::{
    collections::{HashMap, HashSet},
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// One connection as the kernel shows it.
struct Seen {
    /// What no other socket will ever be called.
    cookie: u64,
    inode: u32,
    received: u64,
    sent: u64,
}

/// Follows the connections of one task.
#[derive(Default)]
pub struct Connections {
    /// How far each was when it was last seen.
    followed: HashMap<u64, (u64, u64)>,
    inodes: HashSet<u32>,
    received: u64,
    sent: u64,
    looks: u32,
    line: Option<OwnedFd>,
    refused: bool,
}

/// A task with sockets of which none was ever a connection is asked about only so often.
const IDLE_LOOKS: u32 = 10;

impl Connections {
    /// Received and sent so far, by whichever connection had one of these inodes when it was looked at. None if the kernel
    /// does not tell.
    pub fn look(&mut self, inodes: HashSet<u32>) -> Option<(u64, u64)> {
        let fresh = !inodes.is_subset(&self.inodes);
        let due = self.looks == 0 || !self.followed.is_empty() || fresh || (!inodes.is_empty() && self.looks.is_multiple_of(IDLE_LOOKS));
        self.looks += 1;
        self.inodes = inodes;
        if due && !self.refused {
            match self.dump() {
                Ok(seen) => self.note(seen),
                Err(_) => self.refused = true,
            }
        }
        (!self.refused).then_some((self.received, self.sent))
    }

    /// A connection that was closed has no inode any more, but what is still under way is its own.
    fn note(&mut self, seen: Vec<Seen>) {
        let mut followed = HashMap::new();
        for it in seen {
            let before = match self.followed.get(&it.cookie) {
                Some(before) => *before,
                None if self.inodes.contains(&it.inode) => (0, 0),
                None => continue,
            };
            self.received += it.received.saturating_sub(before.0);
            self.sent += it.sent.saturating_sub(before.1);
            followed.insert(it.cookie, (it.received, it.sent));
        }
        self.followed = followed;
    }

    fn dump(&mut self) -> io::Result<Vec<Seen>> {
        let line = match self.line.take() {
            Some(line) => line,
            None => open_line()?,
        };
        let mut seen = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            ask(&line, family as u8)?;
            while hear(&line, &mut seen)? {}
        }
        self.line = Some(line);
        Ok(seen)
    }
}

const HEAD_BYTES: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
/// Every state but listening, waiting to be forgotten, and half open: there no byte has moved.
const STATES: u32 = 0b1011_1011_0110;

fn open_line() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it answers is ours from here on.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    let line = unsafe { OwnedFd::from_raw_fd(fd) };
    nix::sys::socket::setsockopt(&line, nix::sys::socket::sockopt::ReceiveTimeout, &nix::sys::time::TimeVal::new(1, 0))?;
    Ok(line)
}

/// A request for all TCP sockets of a family, with what is known of each.
fn ask(line: &OwnedFd, family: u8) -> io::Result<()> {
    const REQUEST_BYTES: usize = HEAD_BYTES + 56;
    let mut request = [0_u8; REQUEST_BYTES];
    request[..4].copy_from_slice(&(REQUEST_BYTES as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[HEAD_BYTES..HEAD_BYTES + 3].copy_from_slice(&[family, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1)]);
    request[HEAD_BYTES + 4..HEAD_BYTES + 8].copy_from_slice(&STATES.to_ne_bytes());
    // SAFETY: the bytes outlive the call.
    let sent = unsafe { libc::send(line.as_raw_fd(), request.as_ptr().cast(), REQUEST_BYTES, 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes the next piece of the answer. Answers whether there is more.
fn hear(line: &OwnedFd, seen: &mut Vec<Seen>) -> io::Result<bool> {
    /// The most the kernel puts into one piece.
    const PIECE_BYTES: usize = 32 << 10;
    /// So that a machine full of connections does not fill our memory.
    const SEEN_MAX: usize = 100_000;
    let mut piece = vec![0_u8; PIECE_BYTES];
    // SAFETY: as many bytes are given as there are.
    let length = unsafe { libc::recv(line.as_raw_fd(), piece.as_mut_ptr().cast(), PIECE_BYTES, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut rest = &piece[..length];
    while let Some((kind, body, after)) = next_message(rest) {
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => return Err(io::Error::other("the kernel does not tell about sockets")),
            _ if seen.len() < SEEN_MAX => seen.extend(read_socket(body)),
            _ => {}
        }
        rest = after;
    }
    Ok(length > 0)
}

/// The kind and body of the first message, and what follows it.
fn next_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEAD_BYTES..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// `struct inet_diag_msg`, then attributes; `struct tcp_info` is one of them.
fn read_socket(body: &[u8]) -> Option<Seen> {
    const COOKIE_AT: usize = 44;
    const INODE_AT: usize = 68;
    const MESSAGE_BYTES: usize = 72;
    const ACKED_AT: usize = 120;
    const RECEIVED_AT: usize = 128;
    let word = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let cookie = u64::from(word(COOKIE_AT)?) | u64::from(word(COOKIE_AT + 4)?) << 32;
    let inode = word(INODE_AT)?;
    let info = attribute(body.get(MESSAGE_BYTES..)?, INET_DIAG_INFO)?;
    let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    Some(Seen { cookie, inode, received: long(RECEIVED_AT)?, sent: long(ACKED_AT)? })
}

fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        if kind == wanted {
            return rest.get(4..length);
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    fn inode_of(socket: &TcpStream) -> u32 {
        let target = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        target.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
    }

    #[test]
    fn each_end_of_a_connection_has_its_own_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let (mut mine, mut theirs, mut nobodys) = (Connections::default(), Connections::default(), Connections::default());
        let look = |whose: &mut Connections, socket: &TcpStream| whose.look(HashSet::from([inode_of(socket)])).unwrap();
        for round in 1..=3_u64 {
            near.write_all(&[7; 100_000]).unwrap();
            far.read_exact(&mut [0; 100_000]).unwrap();
            far.write_all(&[7; 10]).unwrap();
            near.read_exact(&mut [0; 10]).unwrap();
            let received = look(&mut theirs, &far).0;
            assert_eq!(received, round * 100_000);
            let (received, sent) = look(&mut mine, &near);
            // The byte with which a connection begins is acknowledged too.
            assert!((received, sent.abs_diff(round * 100_000) <= 1) == (round * 10, true), "{sent}");
            assert_eq!(nobodys.look(HashSet::new()), Some((0, 0)));
        }
        // What is counted stays so when the connection is gone.
        drop((near, far));
        assert_eq!(mine.look(HashSet::new()).unwrap().0, 30);
    }
}
