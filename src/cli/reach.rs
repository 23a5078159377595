//! `trainmaster reach TASK -- COMMAND`: runs a command in another task of one's own gang. The same program
//! called `ssh` takes ssh's arguments, so that launchers that know only ssh find the other tasks.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    failure::{Exit, Failure},
    output,
};
use crate::supervisor::{
    ROOM_VARIABLE,
    reach::{
        book::{Book, Entry, KEY_FILE},
        fresh_nonce,
        wire::{DATA_BYTES_MAX, Decoder, Frame, Key, MAGIC, Meeting, NONCE_BYTES, PROOF_BYTES, Side, Start},
    },
    signals,
};

mod ssh;

const GREETING_MAX: Duration = Duration::from_secs(10);
/// What ssh says when it was its own failure and not the command's.
const OUR_FAILURE: u8 = 255;

#[derive(Clone, Debug, clap::Args)]
pub struct ReachArgs {
    /// A task of the same job, such as worker-1
    pub task: String,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// Called from inside a task, where everything it needs lies ready.
pub fn reach(args: &ReachArgs) -> Result<Exit, Failure> {
    let room = room().ok_or_else(|| wrong("this is not a task whose job has the mpi convention, so there is nobody to reach"))?;
    let book = Book::read(&room).map_err(|error| wrong(&format!("{} cannot be read: {error}", room.display())))?;
    let (task, entry) = book.find(&args.task).ok_or_else(|| {
        let tasks: Vec<&str> = book.tasks.keys().map(String::as_str).collect();
        wrong(&format!("there is no task {} in this job; there are {}", args.task, tasks.join(", ")))
    })?;
    let call = Call { room: &room, task, entry, with_stdin: true };
    Ok(Exit::Code(call.make(args.command.clone()).map_err(|error| away(task, &error))?))
}

fn room() -> Option<PathBuf> {
    std::env::var_os(ROOM_VARIABLE).map(PathBuf::from)
}

fn wrong(message: &str) -> Failure {
    Failure::new(Exit::You, "reach", message)
}

fn away(task: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Code(OUR_FAILURE), "reach", format!("{task} cannot be reached: {error}"))
}

/// What this program does when it is called `ssh`.
pub fn as_ssh(arguments: Vec<OsString>) -> ExitCode {
    let asked = ssh::read(&arguments);
    let known = room().and_then(|room| Some((Book::read(&room).ok()?, room)));
    let entry = known.as_ref().zip(asked.as_ref()).and_then(|((book, _), asked)| book.find(&asked.host));
    let (Some((task, entry)), Some((_, room)), Some(asked)) = (entry, &known, &asked) else {
        return step_aside(&arguments, asked.as_ref());
    };
    let call = Call { room, task, entry, with_stdin: asked.with_stdin };
    call.make(asked.shell_command()).map_or_else(
        |error| {
            output::failure(&away(task, &error), false);
            ExitCode::from(OUR_FAILURE)
        },
        ExitCode::from,
    )
}

/// The host is none of the gang's: that is for the machine's own ssh, if it has one.
fn step_aside(arguments: &[OsString], asked: Option<&ssh::Asked>) -> ExitCode {
    let own = std::env::current_exe().ok();
    let is_other =
        |program: &PathBuf| program.canonicalize().is_ok_and(|it| Some(it) != own) && room().is_none_or(|room| !program.starts_with(room));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let other = std::env::split_paths(&path).map(|dir| dir.join("ssh")).filter(|it| it.is_file()).find(is_other);
    let host = asked.map_or("no host", |asked| asked.host.as_str());
    let why = match other {
        Some(program) => Command::new(program).args(arguments).exec().to_string(),
        None => format!("{host} is no task of this job, and this machine has no ssh"),
    };
    output::failure(&Failure::new(Exit::Code(OUR_FAILURE), "reach", why), false);
    ExitCode::from(OUR_FAILURE)
}

struct Call<'a> {
    room: &'a Path,
    task: &'a str,
    entry: &'a Entry,
    with_stdin: bool,
}

impl Call<'_> {
    /// Answers the command's exit code.
    fn make(&self, command: Vec<String>) -> io::Result<u8> {
        // Before there are threads, so that the signals of all of them come to the one that waits.
        const HANDED_ON: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];
        signals::hold_back(&HANDED_ON);
        let mut stream = TcpStream::connect((self.entry.address.as_str(), self.entry.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(GREETING_MAX))?;
        self.greet(&mut stream)?;
        stream.set_read_timeout(None)?;
        stream.write_all(&Frame::Start(Start { command }).bytes())?;
        let line = Arc::new(Mutex::new(stream.try_clone()?));
        let (to_signal, to_feed, with_stdin) = (line.clone(), line, self.with_stdin);
        std::thread::spawn(move || hand_on_signals(&HANDED_ON, &to_signal));
        std::thread::spawn(move || feed(&to_feed, with_stdin));
        listen(stream)
    }

    /// Whoever answers has to show the key before the command goes out, and we show it after them.
    fn greet(&self, stream: &mut TcpStream) -> io::Result<()> {
        let key = std::fs::read_to_string(self.room.join(KEY_FILE))?;
        let key = Key::read(&key).ok_or_else(|| io::Error::other("the gang's key cannot be read"))?;
        let caller = fresh_nonce()?;
        stream.write_all(&[&MAGIC[..], &caller].concat())?;
        let (mut task, mut proof) = ([0; NONCE_BYTES], [0; PROOF_BYTES]);
        stream.read_exact(&mut task)?;
        stream.read_exact(&mut proof)?;
        let meeting = Meeting { caller: &caller, task: &task, name: self.task };
        if !key.is_proof(Side::Task, &meeting, &proof) {
            return Err(io::Error::other("somebody else listens there"));
        }
        stream.write_all(&key.proof(Side::Caller, &meeting))
    }
}

/// Prints what the command says until it is over.
fn listen(mut stream: TcpStream) -> io::Result<u8> {
    let (mut decoder, mut bytes) = (Decoder::default(), vec![0; DATA_BYTES_MAX]);
    loop {
        while let Some(frame) = decoder.frame().map_err(io::Error::other)? {
            match frame {
                // Nobody may listen any more; the command sees that as it would see it here.
                Frame::Stdout(bytes) => output::bytes(output::Sink::Stdout, &bytes)?,
                Frame::Stderr(bytes) => output::bytes(output::Sink::Stderr, &bytes)?,
                Frame::Exit(code) => return Ok(code),
                Frame::Failed(why) => return Err(io::Error::other(why)),
                Frame::Start(_) | Frame::Stdin(_) | Frame::StdinEnd | Frame::Signal(_) => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        match stream.read(&mut bytes)? {
            0 => return Err(io::Error::other("it ended, and nobody said how")),
            read => decoder.feed(&bytes[..read]),
        }
    }
}

fn feed(line: &Mutex<TcpStream>, with_stdin: bool) {
    if with_stdin {
        feed_all(line, io::stdin().lock());
    }
    tell(line, &Frame::StdinEnd);
}

fn feed_all(line: &Mutex<TcpStream>, mut stdin: impl Read) {
    let mut bytes = vec![0; DATA_BYTES_MAX];
    loop {
        match stdin.read(&mut bytes) {
            Ok(read @ 1..) if tell(line, &Frame::Stdin(bytes[..read].to_vec())) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn tell(line: &Mutex<TcpStream>, frame: &Frame) -> bool {
    let mut line = line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    line.write_all(&frame.bytes()).is_ok()
}

/// A signal that cannot be handed on ends us, and with the line everything at its other end.
fn hand_on_signals(which: &[i32], line: &Mutex<TcpStream>) {
    let Ok(descriptor) = signals::descriptor(which) else { return };
    loop {
        signals::wait_for([std::os::fd::AsRawFd::as_raw_fd(&descriptor)], None);
        let Some(number) = signals::take_number(&descriptor) else { continue };
        let handed_on = line.try_lock().is_ok_and(|mut line| line.write_all(&Frame::Signal(number).bytes()).is_ok());
        if !handed_on {
            std::process::exit(128 + i32::from(number));
        }
    }
}
