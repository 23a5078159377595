//! What is outside already, on disk, so that whoever comes after us sends only what differs.
//!
//! The first line says where that is: what was sent elsewhere is not there. Then a line for each file that was sent, the last one of
//! a path counts; in memory a few bytes for each path.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{File, Metadata, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
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
    file: File,
    end: u64,
    sent: HashMap<[u8; 16], Known>,
    /// Went out in parts, or was about to.
    in_parts: BTreeSet<String>,
}

#[derive(Clone, Copy)]
struct Known {
    stamp: u64,
    /// Where its line begins.
    at: u64,
}

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
        let mut ledger = Self { file, end: 0, sent: HashMap::new(), in_parts: BTreeSet::new() };
        ledger.read(places)?;
        if ledger.end == 0 {
            ledger.append(&Line::At(places.to_owned()))?;
        }
        Ok(ledger)
    }

    fn read(&mut self, places: &str) -> io::Result<()> {
        let mut reader = BufReader::new(self.file.try_clone()?);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text)? > 0 {
            // A line that is not whole was being written when somebody died; nothing came after it.
            let Ok(line) = serde_json::from_slice::<Line>(&text) else { break };
            let begins_here = matches!(&line, Line::At(at) if at == places);
            if self.end == 0 && !begins_here {
                break;
            }
            self.note(&line, self.end);
            self.end += text.len() as u64;
            text.clear();
        }
        self.file.set_len(self.end)
    }

    fn note(&mut self, line: &Line, at: u64) {
        match line {
            Line::At(_) => {}
            Line::Begun(key) => _ = self.in_parts.insert(key.clone()),
            Line::Sent(sent) => _ = self.sent.insert(name(&sent.key), Known { stamp: short(&sent.stamp), at }),
            Line::Clear => self.in_parts.clear(),
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all_at(&text, self.end)?;
        self.note(line, self.end);
        self.end += text.len() as u64;
        Ok(())
    }

    pub fn begin(&mut self, key: &str) -> io::Result<()> {
        self.append(&Line::Begun(key.to_owned()))
    }

    pub fn add(&mut self, sent: Sent) -> io::Result<()> {
        self.append(&Line::Sent(sent))
    }

    pub fn has(&self, key: &str, stamp: &str) -> bool {
        self.sent.get(&name(key)).is_some_and(|known| known.stamp == short(stamp))
    }

    /// Everything that was begun came to its end, and nothing of it is left.
    pub fn clear(&mut self) -> io::Result<()> {
        if self.in_parts.is_empty() { Ok(()) } else { self.append(&Line::Clear) }
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
        let mut text = vec![0; 16 << 10];
        let read = self.file.read_at(&mut text, known.at)?;
        let line = text[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice(line)? {
            Line::Sent(sent) => Ok(Some(sent)),
            Line::At(_) | Line::Begun(_) | Line::Clear => Ok(None),
        }
    }

    pub fn make_durable(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.sync_data()
    }
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
