//! What is outside already, on disk, so that whoever comes after us sends only what differs.
//!
//! The first line says where that is: what was sent elsewhere is not there. Then a line for each file that was sent, the last one of
//! a path counts; in memory a few bytes for each path. It lies on the disk that the task writes to: when that is full, what is sent is
//! remembered without it, or nothing could ever leave.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{File, Metadata, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, BufRead, BufReader},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Where everything went that the lines below tell of.
    At(String),
    /// From now on something may be left half.
    Begun(String),
    Sent(Sent),
    /// What was sent under this key, or below it, is no longer there.
    Gone(String),
    /// Nothing is left half of what was begun before.
    Clear,
}

/// A file that is outside, by its key below `/output`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    pub key: String,
    pub size: u64,
    pub etag: String,
    /// What the file was like.
    pub stamp: String,
}

pub struct Ledger {
    path: PathBuf,
    /// Where its files are.
    places: String,
    file: File,
    end: u64,
    sent: HashMap<[u8; 16], Known>,
    /// What a full disk did not take. Whoever comes after us sends it once more, which does no harm.
    unwritten: HashMap<[u8; 16], Sent>,
    /// Went out in parts, or was about to.
    in_parts: BTreeSet<String>,
}

#[derive(Clone, Copy)]
struct Known {
    stamp: u64,
    /// Where its line begins; nowhere if it is unwritten.
    at: Option<u64>,
}

/// So many files are remembered without the disk.
const UNWRITTEN_MAX: usize = 100_000;

/// Another content has another one. The time of the last change is the kernel's own, and nobody can set it.
pub fn stamp(metadata: &Metadata) -> String {
    let (modified, changed) = ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()));
    format!("{}-{}.{:09}-{}.{:09}-{}", metadata.len(), modified.0, modified.1, changed.0, changed.1, metadata.ino())
}

impl Ledger {
    /// What has gone to these places. One that tells of others, or does not say which, is begun anew.
    pub fn open(path: &Path, places: &str) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
        let mut ledger = Self {
            path: path.to_owned(),
            places: places.to_owned(),
            file,
            end: 0,
            sent: HashMap::new(),
            unwritten: HashMap::new(),
            in_parts: BTreeSet::new(),
        };
        ledger.read()?;
        Ok(ledger)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut reader = BufReader::new(self.file.try_clone()?);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text)? > 0 {
            // A line that is not whole was being written when somebody died; nothing came after it.
            let Ok(line) = serde_json::from_slice::<Line>(&text) else { break };
            let begins_here = matches!(&line, Line::At(at) if *at == self.places);
            if self.end == 0 && !begins_here {
                break;
            }
            self.note(&line, Some(self.end))?;
            self.end += text.len() as u64;
            text.clear();
        }
        self.file.set_len(self.end)
    }

    fn note(&mut self, line: &Line, at: Option<u64>) -> io::Result<()> {
        match line {
            Line::At(_) => {}
            Line::Begun(key) => _ = self.in_parts.insert(key.clone()),
            Line::Sent(sent) => _ = self.sent.insert(name(&sent.key), Known { stamp: short(&sent.stamp), at }),
            Line::Gone(key) => self.forget(key)?,
            Line::Clear => self.in_parts.clear(),
        }
        Ok(())
    }

    /// Whole keys are on the disk only, so they are read again up to here. That is seldom.
    fn forget(&mut self, gone: &str) -> io::Result<()> {
        let (below, end) = (format!("{gone}/"), self.end);
        let (mut reader, mut text, mut at) = (BufReader::new(File::open(&self.path)?), Vec::new(), 0);
        while at < end && reader.read_until(b'\n', &mut text)? > 0 {
            if let Line::Sent(sent) = serde_json::from_slice(&text)?
                && (sent.key == gone || sent.key.starts_with(&below))
            {
                self.sent.remove(&name(&sent.key));
            }
            at += text.len() as u64;
            text.clear();
        }
        let (unwritten, sent) = (&mut self.unwritten, &mut self.sent);
        unwritten.retain(|name, it| it.key != gone && !it.key.starts_with(&below) || sent.remove(name).is_none());
        Ok(())
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        if self.end == 0 {
            self.write(&Line::At(self.places.clone()))?;
        }
        self.write(line)
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if let Err(error) = self.file.write_all_at(&text, self.end) {
            // What was taken of the line is no line.
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.note(line, Some(self.end))?;
        self.end += text.len() as u64;
        Ok(())
    }

    /// As far as there is room; what only we know is noted all the same.
    fn append_if_room(&mut self, line: &Line) -> io::Result<()> {
        match self.append(line) {
            Err(error) if is_full(&error) => self.note(line, None),
            other => other,
        }
    }

    pub fn begin(&mut self, key: &str) -> io::Result<()> {
        self.append_if_room(&Line::Begun(key.to_owned()))
    }

    pub fn add(&mut self, sent: Sent) -> io::Result<()> {
        let (name, line) = (name(&sent.key), Line::Sent(sent));
        match self.append(&line) {
            Err(error) if is_full(&error) && self.unwritten.len() < UNWRITTEN_MAX => {
                self.note(&line, None)?;
                let Line::Sent(sent) = line else { return Ok(()) };
                self.unwritten.insert(name, sent);
            }
            other => {
                other?;
                self.unwritten.remove(&name);
            }
        }
        Ok(())
    }

    /// Something else is outside in its place.
    pub fn remove(&mut self, key: &str) -> io::Result<()> {
        self.append(&Line::Gone(key.to_owned()))
    }

    pub fn has(&self, key: &str, stamp: &str) -> bool {
        self.sent.get(&name(key)).is_some_and(|known| known.stamp == short(stamp))
    }

    /// Everything that was begun came to its end, and nothing of it is left.
    pub fn clear(&mut self) -> io::Result<()> {
        if self.in_parts.is_empty() { Ok(()) } else { self.append_if_room(&Line::Clear) }
    }

    /// Of these something may be left half.
    pub fn in_parts(&self) -> Vec<String> {
        self.in_parts.iter().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// What is known of a file that was sent.
    pub fn get(&self, key: &str) -> io::Result<Option<Sent>> {
        let Some(known) = self.sent.get(&name(key)) else { return Ok(None) };
        let Some(at) = known.at else { return Ok(self.unwritten.get(&name(key)).cloned()) };
        let mut text = vec![0; 16 << 10];
        let read = self.file.read_at(&mut text, at)?;
        let line = text[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice(line)? {
            Line::Sent(sent) => Ok(Some(sent)),
            Line::At(_) | Line::Begun(_) | Line::Gone(_) | Line::Clear => Ok(None),
        }
    }

    /// With all that found no room before, if there is some now.
    pub fn make_durable(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.unwritten).into_values().try_for_each(|sent| self.add(sent))?;
        match self.file.sync_data() {
            Err(error) if is_full(&error) => Ok(()),
            other => other,
        }
    }
}

pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn name(key: &str) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(key).into();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

fn short(stamp: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    stamp.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sent(key: &str, stamp: &str) -> Sent {
        Sent { key: key.into(), size: 3, etag: format!("etag of {stamp}"), stamp: stamp.into() }
    }

    #[test]
    fn what_was_sent_is_known_again_and_half_a_line_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sent");
        let mut ledger = Ledger::open(&path, "here").unwrap();
        assert!(ledger.is_empty());
        ledger.begin("a").unwrap();
        ledger.begin("b").unwrap();
        ledger.add(sent("a", "1")).unwrap();
        ledger.add(sent("a", "2")).unwrap();
        ledger.make_durable().unwrap();
        drop(ledger);
        let whole = std::fs::metadata(&path).unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(br#"{"sent":{"key":"b","#).unwrap();
        let mut ledger = Ledger::open(&path, "here").unwrap();
        assert_eq!((ledger.has("a", "1"), ledger.has("a", "2"), ledger.has("b", "1")), (false, true, false));
        assert_eq!((ledger.in_parts(), ledger.get("a").unwrap()), (vec!["a".to_owned(), "b".to_owned()], Some(sent("a", "2"))));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), whole);
        ledger.add(sent("b", "3")).unwrap();
        assert_eq!(ledger.get("b").unwrap(), Some(sent("b", "3")));
        ledger.clear().unwrap();
        let ledger = Ledger::open(&path, "here").unwrap();
        assert_eq!((ledger.in_parts(), ledger.get("b").unwrap()), (vec![], Some(sent("b", "3"))));
    }

    #[test]
    fn what_is_gone_is_forgotten_with_all_below_it_and_may_come_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sent");
        let mut ledger = Ledger::open(&path, "here").unwrap();
        for key in ["best/x", "best/d/y", "bester", "other"] {
            ledger.add(sent(key, "1")).unwrap();
        }
        ledger.remove("best").unwrap();
        ledger.add(sent("best", "2")).unwrap();
        ledger.make_durable().unwrap();
        for ledger in [ledger, Ledger::open(&path, "here").unwrap()] {
            let known = ["best/x", "best/d/y", "bester", "other"].map(|key| ledger.has(key, "1"));
            assert_eq!((known, ledger.has("best", "2")), ([false, false, true, true], true));
        }
    }

    #[test]
    fn what_went_elsewhere_is_not_here() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sent");
        Ledger::open(&path, "bucket a").unwrap().add(sent("model", "1")).unwrap();
        assert!(Ledger::open(&path, "bucket a").unwrap().has("model", "1"));
        let mut ledger = Ledger::open(&path, "bucket b").unwrap();
        assert!(ledger.is_empty() && ledger.get("model").unwrap().is_none());
        ledger.add(sent("log", "1")).unwrap();
        let ledger = Ledger::open(&path, "bucket b").unwrap();
        assert_eq!((ledger.has("log", "1"), ledger.has("model", "1")), (true, false));
        std::fs::write(&path, "{\"sent\":{\"key\":\"model\",\"size\":3,\"etag\":\"e\",\"stamp\":\"1\"}}\n").unwrap();
        assert!(Ledger::open(&path, "bucket b").unwrap().is_empty(), "it does not say where");
    }
}
