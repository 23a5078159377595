//! The child's output on its way to disk. The supervisor alone stands in the byte path, and only to
//! note for every piece when it came and from which stream.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
};

use model::logs::{Piece, Stream};

mod pace;
mod sluice;

use self::{pace::Pace, sluice::Sluice};
use super::journal::{self, now_us};
use crate::{
    config::Keeping,
    crash,
    rundir::{RunDir, gap::Cap, new_private_file},
};

/// As much as is read before it is written.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// After less than this the next is sooner read than moved. How much waits is not asked: the kernel answers only when the child is
/// not writing.
const MOVED_BYTES_MIN: usize = 64 << 10;

/// `output.log` and `output.idx`, made when the child says its first word.
pub struct Logs {
    dir: RunDir,
    files: Option<Files>,
    log_bytes: u64,
    index_bytes: u64,
    /// Since there was last room on the disk.
    dropped_bytes: u64,
    /// None where everything is kept.
    cap: Option<Cap>,
    batch: Batch,
    /// How much there was the last time.
    last_bytes: usize,
    pace: Pace,
}

struct Files {
    log: File,
    index: File,
    /// For what the kernel moves by itself.
    moved: Option<Moved>,
}

struct Moved {
    /// The log once more: the kernel moves nothing to where every write goes to the end.
    log: File,
    sluice: Sluice,
}

/// How much of a pipe was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// There may be more.
    Some,
    /// Everything that was there.
    All,
    /// Nobody will write any more.
    End,
}

/// What was read and not yet written. The offsets of its pieces count from its own beginning.
struct Batch {
    buffer: Box<[u8]>,
    filled: usize,
    pieces: Vec<Piece>,
}

impl Logs {
    pub fn new(dir: &RunDir) -> Self {
        let batch = Batch { buffer: vec![0; BATCH_BYTES_MAX].into_boxed_slice(), filled: 0, pieces: Vec::new() };
        let cap = Keeping::of_this_process().run_bytes_max.map(Cap::new);
        let (last_bytes, pace) = (0, Pace::default());
        Self { dir: dir.clone(), files: None, log_bytes: 0, index_bytes: 0, dropped_bytes: 0, cap, batch, last_bytes, pace }
    }

    /// The files, made on the first call that finds room for them.
    fn files(&mut self) -> io::Result<&mut Files> {
        match &mut self.files {
            Some(files) => Ok(files),
            none => {
                let log = made_or_empty(&self.dir.log())?;
                Ok(none.insert(Files { log, index: made_or_empty(&self.dir.index())?, moved: None }))
            }
        }
    }

    /// Reads once from a pipe, into the batch; if there is very much, past it into the log.
    pub fn read(&mut self, pipe: BorrowedFd<'_>, stream: Stream) -> io::Result<Read> {
        if self.last_bytes >= MOVED_BYTES_MIN && self.move_on(pipe, stream) {
            return Ok(Read::Some);
        }
        if self.batch.filled == BATCH_BYTES_MAX {
            self.flush();
        }
        let room = &mut self.batch.buffer[self.batch.filled..];
        let room_bytes = room.len();
        // SAFETY: the buffer is ours, as long as it says, and outlives the call.
        let got = unsafe { libc::read(pipe.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        let length = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        self.batch.note(stream, length);
        self.last_bytes = length;
        match length {
            0 => Ok(Read::End),
            _ if length < room_bytes => Ok(Read::All),
            _ => Ok(Read::Some),
        }
    }

    /// Has the kernel move much at once from a pipe to the log, which saves copying it twice. Answers whether anything was taken from
    /// the pipe: what the disk does not take of it is in the batch.
    fn move_on(&mut self, pipe: BorrowedFd<'_>, stream: Stream) -> bool {
        self.flush();
        let (path, end) = (self.dir.log(), self.log_bytes);
        if self.dropped_bytes > 0 || self.files().and_then(|files| files.get_ready_to_move(&path)).is_err() {
            return false;
        }
        let at_us = now_us();
        let Some(length) = self.moved().map(|moved| moved.sluice.fill(pipe)).filter(|length| *length > 0) else { return false };
        self.last_bytes = length;
        let piece = Piece { offset: 0, at_us, length: length as u32, stream };
        let written = self.append_by(&[piece], length, |files| files.moved.as_ref().map_or(0, |it| it.sluice.empty(&it.log, end)));
        if written < length {
            let rest = self.take_the_rest(stream);
            self.dropped_bytes += (length - written - rest) as u64;
        }
        self.keep_within_bounds();
        true
    }

    /// Takes into the batch what is left in the sluice, which may be more than one batch.
    fn take_the_rest(&mut self, stream: Stream) -> usize {
        let mut taken = 0;
        loop {
            let Self { files, batch, .. } = self;
            let moved = files.as_ref().and_then(|files| files.moved.as_ref());
            let length = moved.map_or(0, |moved| moved.sluice.rest(&mut batch.buffer[batch.filled..]));
            batch.note(stream, length);
            taken += length;
            if batch.filled < BATCH_BYTES_MAX {
                return taken;
            }
            self.flush();
        }
    }

    fn moved(&self) -> Option<&Moved> {
        self.files.as_ref()?.moved.as_ref()
    }

    /// Rests for a moment if one stream speaks without a pause, and not so much that its pipe could fill meanwhile.
    pub fn rest_after(&mut self, stream: Stream) {
        self.pace.rest_after(stream, self.last_bytes);
    }

    /// Takes everything that is in a pipe now.
    pub fn drain(&mut self, pipe: BorrowedFd<'_>, stream: Stream) {
        while let Ok(Read::Some) = self.read(pipe, stream) {}
    }

    /// Writes the batch.
    ///
    /// A full disk does not hold the child up: what does not fit is counted, and said in the log as
    /// soon as there is room again.
    pub fn flush(&mut self) {
        if self.batch.filled == 0 {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, Batch { buffer: Box::default(), filled: 0, pieces: Vec::new() });
        let written = if self.say_what_was_dropped() { self.append(&batch.pieces, &batch.buffer[..batch.filled]) } else { 0 };
        self.dropped_bytes += (batch.filled - written) as u64;
        self.keep_within_bounds();
        self.batch = Batch {
            filled: 0,
            pieces: {
                let mut pieces = batch.pieces;
                pieces.clear();
                pieces
            },
            buffer: batch.buffer,
        };
    }

    /// Words of our own. Of very many, the last.
    pub fn say(&mut self, words: &str) {
        const WORDS_BYTES_MAX: usize = 128 << 10;
        self.flush();
        let from = (words.len().saturating_sub(WORDS_BYTES_MAX)..words.len()).find(|at| words.is_char_boundary(*at)).unwrap_or(words.len());
        let line = format!("[trainmaster: {}]\n", &words[from..]);
        self.append(&[ours(&line)], line.as_bytes());
    }

    fn keep_within_bounds(&mut self) {
        let (Some(cap), Some(files)) = (&mut self.cap, &self.files) else { return };
        if let Err(error) = cap.keep(&self.dir, &files.log, self.log_bytes, now_us() / 1000) {
            journal::say(&format!("nothing of the log can be dropped, so it grows beyond its bound: {error}"));
            self.cap = None;
        }
    }

    /// The last words, and everything safe on disk.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush();
        self.say_what_was_dropped();
        if let Some(files) = &self.files {
            files.log.sync_data()?;
            files.index.sync_data()?;
        }
        Ok(())
    }

    /// Answers whether the log is whole again, as far as it can be.
    fn say_what_was_dropped(&mut self) -> bool {
        if self.dropped_bytes == 0 {
            return true;
        }
        let words = format!("\n[trainmaster: {} bytes dropped: no space left on the disk]\n", self.dropped_bytes);
        let said = self.append(&[ours(&words)], words.as_bytes()) == words.len();
        if said {
            self.dropped_bytes = 0;
        }
        said
    }

    /// Answers how many bytes are in the log with their place in the index.
    ///
    /// The index is written first, so that no byte of the log is without its time: after a crash in
    /// between, the index speaks of bytes that are not there, which a reader can see.
    fn append(&mut self, pieces: &[Piece], bytes: &[u8]) -> usize {
        self.append_by(pieces, bytes.len(), |files| write_as_much_as_fits(&mut files.log, bytes))
    }

    fn append_by(&mut self, pieces: &[Piece], length: usize, write: impl FnOnce(&mut Files) -> usize) -> usize {
        let entries = self.entries(pieces, length);
        let Ok(files) = self.files() else { return 0 };
        if files.index.write_all(&entries).is_err() {
            self.back_to(self.log_bytes);
            return 0;
        }
        crash::point("run.log-append-before-index");
        let written = write(files);
        if written == length {
            self.index_bytes += entries.len() as u64;
            self.log_bytes += written as u64;
            return written;
        }
        self.settle_for(pieces, written)
    }

    /// The disk took only a part: the index is made to say so, or the part is given up as well.
    fn settle_for(&mut self, pieces: &[Piece], written: usize) -> usize {
        self.back_to(self.log_bytes + written as u64);
        let entries = self.entries(pieces, written);
        if self.files().and_then(|files| files.index.write_all(&entries)).is_err() {
            self.back_to(self.log_bytes);
            return 0;
        }
        self.index_bytes += entries.len() as u64;
        self.log_bytes += written as u64;
        written
    }

    /// Cuts both files to what is known to be right. Making a file shorter needs no room.
    fn back_to(&mut self, log_bytes: u64) {
        if let Some(files) = &self.files {
            let _ = files.index.set_len(self.index_bytes);
            let _ = files.log.set_len(log_bytes);
        }
    }

    /// The index entries of the first `length` bytes of a batch.
    fn entries(&self, pieces: &[Piece], length: usize) -> Vec<u8> {
        let length = length as u64;
        let inside = pieces.iter().take_while(|piece| piece.offset < length);
        let clip = |piece: &Piece| Piece {
            offset: self.log_bytes + piece.offset,
            length: u64::from(piece.length).min(length - piece.offset) as u32,
            ..*piece
        };
        inside.flat_map(|piece| clip(piece).encode()).collect()
    }
}

impl Files {
    fn get_ready_to_move(&mut self, path: &Path) -> io::Result<()> {
        if self.moved.is_none() {
            let log = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
            self.moved = Some(Moved { log, sluice: Sluice::build()? });
        }
        Ok(())
    }
}

impl Batch {
    fn note(&mut self, stream: Stream, length: usize) {
        const TOGETHER_US: u64 = 1000;
        if length == 0 {
            return;
        }
        let at_us = now_us();
        match self.pieces.last_mut() {
            Some(last) if last.stream == stream && at_us.saturating_sub(last.at_us) < TOGETHER_US => last.length += length as u32,
            _ => self.pieces.push(Piece { offset: self.filled as u64, at_us, length: length as u32, stream }),
        }
        self.filled += length;
    }
}

/// A piece of our own words.
fn ours(words: &str) -> Piece {
    Piece { offset: 0, at_us: now_us(), length: words.len() as u32, stream: Stream::Platform }
}

/// A disk that had room for the first file and not for the second leaves the first one empty.
fn made_or_empty(path: &Path) -> io::Result<File> {
    match new_private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => OpenOptions::new().append(true).open(path),
        made => made,
    }
}

fn write_as_much_as_fits(file: &mut File, bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => break,
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::fd::AsFd};

    use super::*;

    /// What is in a pipe now. We alone read from it, so it does not become less.
    fn waiting_bytes(pipe: BorrowedFd<'_>) -> usize {
        let mut waiting: libc::c_int = 0;
        // SAFETY: a plain system call on a descriptor that is open; the number outlives it.
        unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut waiting) };
        usize::try_from(waiting).unwrap_or(0)
    }

    fn numbers(bytes: usize) -> Vec<u8> {
        (0u64..).flat_map(u64::to_le_bytes).take(bytes).collect()
    }

    struct Said {
        home: tempfile::TempDir,
        logs: Logs,
        out: io::PipeWriter,
        pipe: io::PipeReader,
    }

    impl Said {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let logs = Logs::new(&RunDir::at(home.path()));
            let (pipe, out) = io::pipe().unwrap();
            super::super::spawn::widen(pipe.as_fd());
            Self { home, logs, out, pipe }
        }

        fn say(&mut self, bytes: &[u8]) {
            self.out.write_all(bytes).unwrap();
            while waiting_bytes(self.pipe.as_fd()) > 0 {
                self.logs.read(self.pipe.as_fd(), Stream::Stdout).unwrap();
            }
            self.logs.flush();
        }

        fn ends_with(mut self, said: &[u8]) {
            drop(self.out);
            assert_eq!(self.logs.read(self.pipe.as_fd(), Stream::Stdout).unwrap(), Read::End);
            self.logs.finish().unwrap();
            let dir = RunDir::at(self.home.path());
            assert!(std::fs::read(dir.log()).unwrap() == said, "the log is another");
            assert_eq!(indexed(&dir), said.len() as u64);
        }
    }

    /// Little and very much in turns, so that some of it is read and some is moved.
    #[test]
    fn much_at_once_is_in_the_log_byte_for_byte_and_all_of_it_in_the_index() {
        let (mut all, mut it) = (numbers(3 * BATCH_BYTES_MAX + 12_345), Said::new());
        it.say(&all[..7]);
        assert!(it.logs.moved().is_none(), "little is not moved");
        it.say(&all[7..MOVED_BYTES_MIN + 9]);
        assert!(it.logs.moved().is_none(), "the first of much is read");
        it.say(&all[MOVED_BYTES_MIN + 9..BATCH_BYTES_MAX]);
        assert!(it.logs.moved().is_some(), "what follows is moved");
        it.say(&all[BATCH_BYTES_MAX..]);
        it.say(b"end");
        all.extend_from_slice(b"end");
        it.ends_with(&all);
    }

    #[test]
    fn what_the_kernel_cannot_move_is_read() {
        let (all, mut it) = (numbers(2 * BATCH_BYTES_MAX), Said::new());
        it.say(&all[..MOVED_BYTES_MIN]);
        let log = File::open(RunDir::at(it.home.path()).log()).unwrap();
        it.logs.files().unwrap().moved = Some(Moved { log, sluice: Sluice::build().unwrap() });
        it.say(&all[MOVED_BYTES_MIN..]);
        it.ends_with(&all);
    }

    /// How far the index goes without a gap.
    fn indexed(dir: &RunDir) -> u64 {
        let mut index = Vec::new();
        File::open(dir.index()).unwrap().read_to_end(&mut index).unwrap();
        let pieces = index.chunks_exact(Piece::ENCODED_BYTES).map(|entry| Piece::decode(entry.try_into().unwrap()).unwrap());
        pieces.fold(0, |end, piece| {
            assert_eq!(piece.offset, end);
            end + u64::from(piece.length)
        })
    }
}
