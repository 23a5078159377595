//! A line between two networks that a test can cut, and on which answers can be lost.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{Arc, Mutex},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Whole,
    /// Nothing gets through, and what was on its way is lost.
    Cut,
    /// Requests arrive and are acted upon; the answers to those that hold this do not come back.
    LosesAnswers(&'static str),
}

struct State {
    line: Line,
    open: Vec<TcpStream>,
    answers_lost: usize,
}

pub struct Relay {
    listener: TcpListener,
    state: Arc<Mutex<State>>,
}

impl Relay {
    /// Passes on what comes to the listener, wherever that is, to a server where we are.
    pub fn new(listener: TcpListener, server: SocketAddr) -> Self {
        let state = Arc::new(Mutex::new(State { line: Line::Whole, open: Vec::new(), answers_lost: 0 }));
        let (accepting, shared) = (listener.try_clone().unwrap(), state.clone());
        std::thread::spawn(move || {
            while let Ok((caller, _)) = accepting.accept() {
                let state = shared.clone();
                std::thread::spawn(move || drop(pass_on(caller, server, &state)));
            }
        });
        Self { listener, state }
    }

    pub fn set(&self, line: Line) {
        let mut state = self.state.lock().unwrap();
        state.line = line;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn answers_lost(&self) -> usize {
        self.state.lock().unwrap().answers_lost
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set(Line::Cut);
        // SAFETY: a plain system call on a descriptor we own; it wakes the thread that accepts.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

fn pass_on(caller: TcpStream, server: SocketAddr, state: &Arc<Mutex<State>>) -> std::io::Result<()> {
    let line = state.lock().unwrap().line;
    if line == Line::Cut {
        return Ok(());
    }
    let mut first = vec![0; 16 << 10];
    let length = (&caller).read(&mut first)?;
    let mut server = TcpStream::connect(server)?;
    state.lock().unwrap().open.extend([caller.try_clone()?, server.try_clone()?]);
    server.write_all(&first[..length])?;
    let (requests, to_server) = (caller.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || copy(requests, to_server));
    match line {
        Line::LosesAnswers(to) if String::from_utf8_lossy(&first).contains(to) => {
            // The first byte of an answer says that the request was acted upon.
            let heard = server.read(&mut [0])?;
            state.lock().unwrap().answers_lost += heard;
            caller.shutdown(Shutdown::Both)?;
            server.shutdown(Shutdown::Both)
        }
        Line::LosesAnswers(_) | Line::Whole | Line::Cut => {
            copy(server, caller);
            Ok(())
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(length) = from.read(&mut buffer)
        && length > 0
        && to.write_all(&buffer[..length]).is_ok()
    {}
    let _ = to.shutdown(Shutdown::Write);
}
