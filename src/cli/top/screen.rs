//! The whole terminal, for as long as somebody watches, and back as it was after that.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr},
};

use super::Order;
use crate::cli::output::{self, Sink};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    Sort(Order),
    Other,
}

impl Key {
    fn of(byte: u8) -> Self {
        const CTRL_C: u8 = 3;
        match byte {
            b'q' | b'Q' | CTRL_C => Key::Quit,
            b'c' => Key::Sort(Order::Cpu),
            b'm' => Key::Sort(Order::Memory),
            b'd' => Key::Sort(Order::Disk),
            b'n' => Key::Sort(Order::Network),
            b'g' => Key::Sort(Order::Accelerator),
            b'j' => Key::Sort(Order::Name),
            _ => Key::Other,
        }
    }
}

pub struct Screen {
    /// How the terminal was; none if keys cannot be read one by one.
    before: Option<Termios>,
}

const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

impl Screen {
    pub fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut keys = before.clone();
            keys.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
            tcsetattr(io::stdin(), SetArg::TCSANOW, &keys)?;
        }
        output::bytes(Sink::Stdout, ENTER)?;
        Ok(Self { before })
    }

    /// Writes over what was there, so that nothing flickers. What does not fit gives way to the last line.
    pub fn draw(&mut self, text: &str, last: &str) -> io::Result<()> {
        let rows = output::height().unwrap_or(usize::MAX);
        let lines: Vec<&str> = text.lines().take(rows.saturating_sub(1)).chain([last]).collect();
        let text = lines.join("\x1b[K\r\n");
        let frame = format!("\x1b[H{text}\x1b[K\x1b[J");
        let plain = || format!("\x1b[H\x1b[J{}", anstream::adapter::strip_str(&lines.join("\r\n")));
        output::bytes(Sink::Stdout, if Sink::Stdout.has_colour() { frame } else { plain() }.as_bytes())
    }

    /// Waits for a key, but not longer than that.
    pub fn key(&mut self, patience: Duration) -> Option<Key> {
        let stdin = io::stdin();
        let fd: BorrowedFd<'_> = stdin.as_fd();
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        let pressed = poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], timeout).is_ok_and(|ready| ready > 0);
        let mut byte = [0];
        match pressed.then(|| nix::unistd::read(fd, &mut byte)) {
            None => None,
            Some(Ok(1)) => Some(Key::of(byte[0])),
            // Nobody is there to press anything any more.
            Some(Ok(_) | Err(_)) => Some(Key::Quit),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = output::bytes(Sink::Stdout, LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, before);
        }
    }
}
