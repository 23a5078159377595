//! What a disk shows, and what of it would be left if the power went now.
//!
//! A file that is synced takes its name and the directories above it along, as on every file system of Linux. All else lasts when its
//! directory is synced, and not before.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    time::SystemTime,
};

use fuser::{Errno, FileType};

pub const ROOT: u64 = 1;
const PAGE_BYTES: usize = 4096;

#[derive(Clone)]
pub struct Node {
    pub kind: FileType,
    pub mode: u16,
    pub owner: (u32, u32),
    pub changed: SystemTime,
    pub names: u32,
    pub body: Body,
}

#[derive(Clone)]
pub enum Body {
    Directory(BTreeMap<OsString, u64>),
    File(Vec<u8>),
    Link(PathBuf),
    /// A pipe or a socket.
    Nothing,
}

type Nodes = BTreeMap<u64, Node>;

pub struct Disk {
    shown: Nodes,
    lasting: Nodes,
    /// By which name each was last made or moved.
    called: BTreeMap<u64, (u64, OsString)>,
    next: u64,
    pub is_off: bool,
}

/// What becomes of all that was not synced when the power goes.
#[derive(Clone, Copy, Debug)]
pub enum Unsynced {
    Lost,
    /// Some of it lasts, page by page and name by name.
    Torn {
        seed: u64,
    },
}

impl Node {
    pub fn new(kind: FileType, mode: u32, owner: (u32, u32)) -> Self {
        let body = match kind {
            FileType::Directory => Body::Directory(BTreeMap::new()),
            FileType::RegularFile => Body::File(Vec::new()),
            _ => Body::Nothing,
        };
        Self { kind, mode: (mode & 0o7777) as u16, owner, changed: SystemTime::now(), names: 1, body }
    }

    /// It is there, and nothing is in it.
    fn husk(&self) -> Self {
        let body = match &self.body {
            Body::Directory(_) => Body::Directory(BTreeMap::new()),
            Body::File(_) => Body::File(Vec::new()),
            other => other.clone(),
        };
        Self { body, ..self.clone() }
    }

    pub fn entries(&self) -> Result<&BTreeMap<OsString, u64>, Errno> {
        if let Body::Directory(entries) = &self.body { Ok(entries) } else { Err(Errno::ENOTDIR) }
    }

    fn entries_mut(&mut self) -> Result<&mut BTreeMap<OsString, u64>, Errno> {
        self.changed = SystemTime::now();
        if let Body::Directory(entries) = &mut self.body { Ok(entries) } else { Err(Errno::ENOTDIR) }
    }

    pub fn bytes(&self) -> Result<&Vec<u8>, Errno> {
        if let Body::File(bytes) = &self.body { Ok(bytes) } else { Err(Errno::EINVAL) }
    }

    pub fn bytes_mut(&mut self) -> Result<&mut Vec<u8>, Errno> {
        self.changed = SystemTime::now();
        if let Body::File(bytes) = &mut self.body { Ok(bytes) } else { Err(Errno::EINVAL) }
    }
}

impl Disk {
    pub fn new() -> Self {
        let root = BTreeMap::from([(ROOT, Node::new(FileType::Directory, 0o755, (0, 0)))]);
        Self { shown: root.clone(), lasting: root, called: BTreeMap::new(), next: ROOT + 1, is_off: false }
    }

    pub fn node(&self, ino: u64) -> Result<&Node, Errno> {
        self.shown.get(&ino).ok_or(Errno::ENOENT)
    }

    pub fn node_mut(&mut self, ino: u64) -> Result<&mut Node, Errno> {
        self.shown.get_mut(&ino).ok_or(Errno::ENOENT)
    }

    pub fn find(&self, parent: u64, name: &OsStr) -> Result<u64, Errno> {
        self.node(parent)?.entries()?.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub fn add(&mut self, parent: u64, name: &OsStr, node: Node) -> Result<u64, Errno> {
        let ino = self.next;
        self.enter(parent, name, ino)?;
        self.next += 1;
        self.shown.insert(ino, node);
        Ok(ino)
    }

    pub fn link(&mut self, ino: u64, parent: u64, name: &OsStr) -> Result<(), Errno> {
        self.enter(parent, name, ino)?;
        self.node_mut(ino)?.names += 1;
        Ok(())
    }

    fn enter(&mut self, parent: u64, name: &OsStr, ino: u64) -> Result<(), Errno> {
        let entries = self.node_mut(parent)?.entries_mut()?;
        if entries.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        entries.insert(name.to_owned(), ino);
        self.called.insert(ino, (parent, name.to_owned()));
        Ok(())
    }

    /// The node itself stays, for those who have it open.
    pub fn remove(&mut self, parent: u64, name: &OsStr) -> Result<(), Errno> {
        let ino = self.find(parent, name)?;
        if self.node(ino)?.entries().is_ok_and(|entries| !entries.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.node_mut(parent)?.entries_mut()?.remove(name);
        self.node_mut(ino)?.names -= 1;
        Ok(())
    }

    pub fn rename(&mut self, (parent, name): (u64, &OsStr), (to, new): (u64, &OsStr)) -> Result<(), Errno> {
        let ino = self.find(parent, name)?;
        match self.find(to, new) {
            // Two names of one file: there is nothing to do.
            Ok(there) if there == ino => return Ok(()),
            Ok(_) => self.remove(to, new)?,
            Err(_) => {}
        }
        self.node_mut(parent)?.entries_mut()?.remove(name);
        self.enter(to, new, ino)
    }

    pub fn sync(&mut self, ino: u64) -> Result<(), Errno> {
        let node = self.node(ino)?.clone();
        for child in node.entries().into_iter().flat_map(BTreeMap::values) {
            self.make_last_empty(*child);
        }
        self.lasting.insert(ino, node);
        let mut at = ino;
        while let Some((parent, name)) = self.called.get(&at).cloned() {
            self.make_last_empty(parent);
            if self.find(parent, &name) == Ok(at) {
                self.name_lasts(parent, name, Some(at));
            }
            at = parent;
        }
        Ok(())
    }

    fn make_last_empty(&mut self, ino: u64) {
        if let Some(node) = self.shown.get(&ino).map(Node::husk) {
            self.lasting.entry(ino).or_insert(node);
        }
    }

    fn name_lasts(&mut self, parent: u64, name: OsString, ino: Option<u64>) {
        let Some(Body::Directory(entries)) = self.lasting.get_mut(&parent).map(|node| &mut node.body) else { return };
        match ino {
            Some(ino) => _ = entries.insert(name, ino),
            None => _ = entries.remove(&name),
        }
    }

    /// The power goes: from now on nothing can be read or written.
    pub fn cut(&mut self, unsynced: Unsynced) {
        self.is_off = true;
        if let Unsynced::Torn { seed } = unsynced {
            for ino in self.shown.keys().copied().collect::<Vec<_>>() {
                self.keep_some_of(ino, seed);
            }
        }
    }

    fn keep_some_of(&mut self, ino: u64, seed: u64) {
        let Some(was) = self.lasting.get(&ino).cloned() else { return };
        match (self.shown[&ino].body.clone(), was.body) {
            (Body::Directory(shown), Body::Directory(was)) => {
                let names = shown.keys().chain(was.keys()).filter(|name| shown.get(*name) != was.get(*name) && coin((seed, ino, name)));
                for name in names {
                    shown.get(name).into_iter().for_each(|child| self.make_last_empty(*child));
                    self.name_lasts(ino, name.clone(), shown.get(name).copied());
                }
            }
            (Body::File(shown), Body::File(was)) if shown != was => {
                self.lasting.get_mut(&ino).expect("it was there").body = Body::File(mixed(&was, &shown, (seed, ino)));
            }
            _ => {}
        }
    }

    /// The power is back.
    pub fn turn_on(&mut self) {
        (self.shown, self.is_off) = (self.lasting.clone(), false);
        self.called.clear();
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for (ino, node) in &self.shown {
            for (name, child) in node.entries().into_iter().flatten() {
                *counts.entry(*child).or_default() += 1;
                self.called.insert(*child, (*ino, name.clone()));
            }
        }
        self.shown.iter_mut().for_each(|(ino, node)| node.names = counts.get(ino).copied().unwrap_or(1));
    }
}

/// Pages of the one and of the other.
fn mixed(was: &[u8], shown: &[u8], salt: (u64, u64)) -> Vec<u8> {
    let length = if coin((salt, "length")) { shown.len() } else { was.len() };
    let mut bytes = was.to_vec();
    bytes.resize(length, 0);
    for (number, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
        let new = shown.get(number * PAGE_BYTES..).unwrap_or_default();
        let count = new.len().min(page.len());
        if coin((salt, number)) {
            page[..count].copy_from_slice(&new[..count]);
        }
    }
    bytes
}

fn coin(what: impl Hash) -> bool {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish().is_multiple_of(2)
}

#[test]
fn what_was_not_synced_is_gone_with_the_power() {
    let file = || Node::new(FileType::RegularFile, 0o600, (0, 0));
    let mut disk = Disk::new();
    let dir = disk.add(ROOT, OsStr::new("dir"), Node::new(FileType::Directory, 0o700, (0, 0))).unwrap();
    let [kept, lost] = ["kept", "lost"].map(|name| disk.add(dir, OsStr::new(name), file()).unwrap());
    disk.node_mut(kept).unwrap().bytes_mut().unwrap().extend(b"before");
    disk.sync(kept).unwrap();
    disk.node_mut(kept).unwrap().bytes_mut().unwrap().extend(b" and after");
    disk.node_mut(lost).unwrap().bytes_mut().unwrap().extend(b"never");
    disk.rename((dir, OsStr::new("kept")), (dir, OsStr::new("moved"))).unwrap();
    disk.cut(Unsynced::Lost);
    disk.turn_on();
    let dir = disk.find(ROOT, OsStr::new("dir")).unwrap();
    assert_eq!(disk.node(dir).unwrap().entries().unwrap().keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(disk.node(kept).unwrap().bytes().unwrap(), b"before");
}
