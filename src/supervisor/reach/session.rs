//! One caller: who they are, what they want started, and the bytes to and fro until it is over.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{FromRawFd, OwnedFd},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
        unix::pipe,
    },
    sync::mpsc,
    time::timeout,
};

use super::{
    Asked, House,
    wire::{DATA_BYTES_MAX, Decoder, Frame, MAGIC, Meeting, NONCE_BYTES, Nonce, PROOF_BYTES, Side, Start},
};
use crate::supervisor::spawn;

/// How long a caller has to prove themselves and to say what they want.
const GREETING_MAX: Duration = Duration::from_secs(10);
/// How long output is waited for after the guest has ended: somebody it left behind may hold the pipe.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);
const FRAMES_WAITING_MAX: usize = 16;

/// A caller who has shown the key and said what they want.
pub struct Welcome {
    stream: TcpStream,
    decoder: Decoder,
    start: Start,
}

pub async fn welcome(house: &House, mut stream: TcpStream) -> io::Result<Welcome> {
    stream.set_nodelay(true)?;
    let mut decoder = Decoder::default();
    let start = timeout(GREETING_MAX, async {
        greet(house, &mut stream).await?;
        first_frame(&mut stream, &mut decoder).await
    });
    let start = start.await.map_err(|_| io::ErrorKind::TimedOut)??;
    Ok(Welcome { stream, decoder, start })
}

impl Welcome {
    pub async fn attend(self, house: &House) -> io::Result<()> {
        let (reads, writes) = self.stream.into_split();
        match begin(house, &self.start) {
            Ok(guest) => guest.attend(house, Caller { reads, decoder: self.decoder, writes }).await,
            Err(error) => say_last(writes, Frame::Failed(format!("it could not be started: {error}"))).await,
        }
    }
}

/// Both sides show that they have the key. We go first: a caller must know whom they give their command to.
async fn greet(house: &House, stream: &mut TcpStream) -> io::Result<()> {
    let mut hello = [0; MAGIC.len() + NONCE_BYTES];
    stream.read_exact(&mut hello).await?;
    let (magic, nonce) = hello.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let caller: Nonce = nonce.try_into().map_err(io::Error::other)?;
    let task = fresh_nonce()?;
    let meeting = Meeting { caller: &caller, task: &task, name: &house.name };
    stream.write_all(&[task, house.key.proof(Side::Task, &meeting)].concat()).await?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof).await?;
    if house.key.is_proof(Side::Caller, &meeting, &proof) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

pub fn fresh_nonce() -> io::Result<Nonce> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(nonce)
}

async fn first_frame(stream: &mut TcpStream, decoder: &mut Decoder) -> io::Result<Start> {
    let mut bytes = vec![0; DATA_BYTES_MAX];
    loop {
        match decoder.frame().map_err(io::Error::other)? {
            Some(Frame::Start(start)) => return Ok(start),
            Some(_) => return Err(io::ErrorKind::InvalidData.into()),
            None => {}
        }
        match stream.read(&mut bytes).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => decoder.feed(&bytes[..read]),
        }
    }
}

/// Our ends of a guest's streams.
struct Guest {
    asked: Asked,
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

fn begin(house: &House, start: &Start) -> io::Result<Guest> {
    let (their_stdin, stdin) = spawn::pipe()?;
    let (stdout, their_stdout) = spawn::pipe()?;
    let (stderr, their_stderr) = spawn::pipe()?;
    // Before it is asked for: what fails after that would have to be taken back.
    let (stdin, stdout, stderr) =
        (pipe::Sender::from_owned_fd(stdin)?, pipe::Receiver::from_owned_fd(stdout)?, pipe::Receiver::from_owned_fd(stderr)?);
    let asked = house.begin([&written_down(start)?, &their_stdin, &their_stdout, &their_stderr])?;
    Ok(Guest { asked, stdin, stdout, stderr })
}

/// A command may be longer than a word on the line, so it goes as a file that is nowhere.
fn written_down(start: &Start) -> io::Result<OwnedFd> {
    // SAFETY: the name outlives the call, and the descriptor is ours from here on.
    let fd = unsafe { libc::memfd_create(c"guest".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(&serde_json::to_vec(start)?)?;
    Ok(file.into())
}

struct Caller {
    reads: OwnedReadHalf,
    decoder: Decoder,
    writes: OwnedWriteHalf,
}

impl Guest {
    /// Until the guest has ended, or the caller has gone: then nobody is left to want it.
    async fn attend(self, house: &House, caller: Caller) -> io::Result<()> {
        let Guest { asked: Asked { id, mut ended }, stdin, stdout, stderr } = self;
        let (frames, written) = mpsc::channel(FRAMES_WAITING_MAX);
        let also = frames.clone();
        let mut outputs = Box::pin(async move { tokio::join!(pour(stdout, Frame::Stdout, frames), pour(stderr, Frame::Stderr, also)) });
        let Caller { reads, decoder, writes } = caller;
        let (heed, deliver) = (heed(house, id, reads, decoder, stdin), deliver(writes, written));
        tokio::pin!(heed, deliver);
        let (mut all_said, mut delivered) = (false, None);
        let status = loop {
            tokio::select! {
                status = &mut ended => break status.ok().flatten(),
                _ = &mut outputs, if !all_said => all_said = true,
                writes = &mut deliver, if delivered.is_none() => match writes {
                    Ok(writes) => delivered = Some(writes),
                    Err(error) => {
                        house.signal(id, KILL);
                        return Err(error);
                    }
                },
                () = &mut heed => {
                    house.signal(id, KILL);
                    return Ok(());
                }
            }
        };
        let last_words = async {
            if !all_said {
                let _ = timeout(LAST_WORDS_MAX, &mut outputs).await;
            }
            // With it go the senders, and so the delivery comes to its end.
            drop(outputs);
        };
        let writes = match delivered {
            Some(writes) => writes,
            None => tokio::select! {
                ((), writes) = async { tokio::join!(last_words, &mut deliver) } => writes?,
                () = &mut heed => return Ok(()),
            },
        };
        say_last(writes, Frame::Exit(shown(status))).await
    }
}

const KILL: u8 = libc::SIGKILL as u8;

/// The code a shell would show. Nobody knows how a guest ended that ended with its whole task.
fn shown(status: Option<i32>) -> u8 {
    const UNKNOWN: u8 = 255;
    match status {
        Some(status) if libc::WIFEXITED(status) => libc::WEXITSTATUS(status) as u8,
        Some(status) => 128_u8.saturating_add(libc::WTERMSIG(status) as u8),
        None => UNKNOWN,
    }
}

async fn pour(mut from: impl AsyncRead + Unpin, frame: impl Fn(Vec<u8>) -> Frame, to: mpsc::Sender<Frame>) {
    let mut bytes = vec![0; DATA_BYTES_MAX];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if to.send(frame(bytes[..read].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Sends what the guest says until it says no more, and gives the line back.
async fn deliver(mut writes: OwnedWriteHalf, mut frames: mpsc::Receiver<Frame>) -> io::Result<OwnedWriteHalf> {
    while let Some(frame) = frames.recv().await {
        writes.write_all(&frame.bytes()).await?;
    }
    Ok(writes)
}

async fn say_last(mut writes: OwnedWriteHalf, frame: Frame) -> io::Result<()> {
    writes.write_all(&frame.bytes()).await?;
    writes.shutdown().await
}

/// Does what the caller says until they hang up or talk nonsense.
async fn heed(house: &House, id: u64, mut reads: OwnedReadHalf, mut decoder: Decoder, stdin: pipe::Sender) {
    let (mut stdin, mut bytes) = (Some(stdin), vec![0; DATA_BYTES_MAX]);
    loop {
        match decoder.frame() {
            Ok(Some(Frame::Stdin(input))) => {
                let Some(pipe) = &mut stdin else { continue };
                tokio::select! {
                    // A guest that has closed its input does not want more of it.
                    written = pipe.write_all(&input) => if written.is_err() { stdin = None },
                    () = hung_up(&reads) => return,
                }
            }
            Ok(Some(Frame::StdinEnd)) => stdin = None,
            Ok(Some(Frame::Signal(number))) => house.signal(id, number),
            Ok(Some(Frame::Start(_) | Frame::Stdout(_) | Frame::Stderr(_) | Frame::Exit(_) | Frame::Failed(_))) | Err(_) => return,
            Ok(None) => match reads.read(&mut bytes).await {
                Ok(read @ 1..) => decoder.feed(&bytes[..read]),
                Ok(0) | Err(_) => return,
            },
        }
    }
}

/// While a guest does not take its input we do not read on, and so do not see an end behind what is unread.
async fn hung_up(reads: &OwnedReadHalf) {
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if reads.ready(Interest::READABLE).await.is_ok_and(|it| it.is_read_closed()) {
            return;
        }
    }
}
