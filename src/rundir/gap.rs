//! What was dropped of a run's log: written down before it is done, so that nobody ever takes a hole for something a task wrote.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
};

use model::logs::{Dropped, Gap};

use super::RunDir;

/// The beginning of a log says what was started and with what; it is kept.
const HEAD_BYTES_MAX: u64 = 1 << 20;
const STEP_BYTES_MAX: u64 = 64 << 20;
const BLOCK_BYTES: u64 = 4096;

/// The newest word on what is gone. Each begins where the one before began and goes further.
pub fn read(dir: &RunDir) -> io::Result<Option<Gap>> {
    const TAIL_BYTES: u64 = 512;
    let file = match File::open(dir.gaps()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; (length - from) as usize];
    file.read_exact_at(&mut tail, from)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &tail[..end]);
    Ok(whole.rsplit(|byte| *byte == b'\n').next().and_then(|line| serde_json::from_slice(line).ok()))
}

/// Drops bytes of a log. Everything behind them stays where it is.
pub fn drop_bytes(dir: &RunDir, log: &File, gap: &Gap) -> io::Result<()> {
    write_down(dir, gap)?;
    crate::crash::point("run.gap-written-before-hole");
    punch(log, gap.from, gap.to)
}

/// A record that outlives the machine. Whoever drops bytes in another way than `drop_bytes` writes it first.
pub fn write_down(dir: &RunDir, gap: &Gap) -> io::Result<()> {
    let line = serde_json::to_string(gap)? + "\n";
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(dir.gaps())?;
    let length = file.metadata()?.len();
    if let Err(error) = file.write_all(line.as_bytes()).and_then(|()| file.sync_data()) {
        file.set_len(length)?;
        return Err(error);
    }
    if length == 0 { File::open(dir.path())?.sync_all() } else { Ok(()) }
}

fn punch(log: &File, from: u64, to: u64) -> io::Result<()> {
    let number = |it: u64| libc::off_t::try_from(it).map_err(io::Error::other);
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a plain system call on a descriptor that is open.
    match unsafe { libc::fallocate(log.as_raw_fd(), mode, number(from)?, number(to.saturating_sub(from))?) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Keeps a log that grows within what one run may have.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    most_bytes: u64,
    head_bytes: u64,
    step_bytes: u64,
    dropped_to: u64,
}

impl Cap {
    pub fn new(most_bytes: u64) -> Self {
        let part = |most: u64| (most_bytes / 16).min(most) / BLOCK_BYTES * BLOCK_BYTES;
        let (head_bytes, step_bytes) = (part(HEAD_BYTES_MAX), part(STEP_BYTES_MAX).max(BLOCK_BYTES));
        Self { most_bytes, head_bytes, step_bytes, dropped_to: head_bytes }
    }

    /// What is known of a log that others have kept within its bounds before.
    pub fn of(dir: &RunDir, most_bytes: u64) -> io::Result<Self> {
        let cap = Self::new(most_bytes);
        Ok(Self { dropped_to: read(dir)?.map_or(cap.head_bytes, |gap| gap.to), ..cap })
    }

    /// Drops the oldest bytes behind the head if there are too many. A disk that cannot make holes keeps them all.
    pub fn keep(&mut self, dir: &RunDir, log: &File, log_bytes: u64, at_ms: u64) -> io::Result<()> {
        let kept = self.head_bytes + log_bytes.saturating_sub(self.dropped_to);
        if kept <= self.most_bytes {
            return Ok(());
        }
        let tail_bytes = self.most_bytes.saturating_sub(self.head_bytes + self.step_bytes);
        let to = (log_bytes - tail_bytes.min(log_bytes)) / BLOCK_BYTES * BLOCK_BYTES;
        // Behind the end there is nothing to lose: a disk that cannot says so here, before anything is written down.
        punch(log, log_bytes + BLOCK_BYTES, log_bytes + 2 * BLOCK_BYTES)?;
        let why = Dropped::TooLarge { most_bytes: self.most_bytes };
        drop_bytes(dir, log, &Gap { from: self.head_bytes, to, at_ms, why })?;
        self.dropped_to = to;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_log_over_its_bound_loses_its_middle_and_keeps_its_head_and_its_end() {
        let place = tempfile::tempdir().unwrap();
        let dir = RunDir::at(place.path());
        let mut log = super::super::new_private_file(&dir.log()).unwrap();
        let mut cap = Cap::new(1 << 20);
        assert_eq!(read(&dir).unwrap(), None);
        for number in 1..=64u64 {
            log.write_all(&[number as u8; 64 << 10]).unwrap();
            cap.keep(&dir, &log, number * (64 << 10), number).unwrap();
        }
        let gap = read(&dir).unwrap().unwrap();
        assert_eq!((gap.from, gap.why), (64 << 10, Dropped::TooLarge { most_bytes: 1 << 20 }));
        let bytes = std::fs::read(dir.log()).unwrap();
        assert!(bytes[..gap.from as usize].iter().all(|byte| *byte == 1));
        assert!(bytes[gap.from as usize..gap.to as usize].iter().all(|byte| *byte == 0));
        assert!(bytes[gap.to as usize..].iter().all(|byte| *byte != 0) && bytes.len() == 4 << 20);
        let on_disk = std::fs::metadata(dir.log()).unwrap().blocks() * 512;
        assert!(on_disk <= (1 << 20) + BLOCK_BYTES, "{on_disk} bytes are on disk");
        assert_eq!(Cap::of(&dir, 1 << 20).unwrap().dropped_to, gap.to);
    }

    #[test]
    fn a_torn_word_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let dir = RunDir::at(place.path());
        let gap = |to| Gap { from: 1, to, at_ms: 0, why: Dropped::TooOld { most_ms: 1 } };
        write_down(&dir, &gap(5)).unwrap();
        write_down(&dir, &gap(9)).unwrap();
        assert_eq!(read(&dir).unwrap(), Some(gap(9)));
        let whole = std::fs::read(dir.gaps()).unwrap();
        std::fs::write(dir.gaps(), &whole[..whole.len() - 1]).unwrap();
        assert_eq!(read(&dir).unwrap(), Some(gap(5)));
    }
}
