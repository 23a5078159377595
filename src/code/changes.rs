//! What is not the same in two trees of code, of uploads or of checkouts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{OpenOptionsExt, PermissionsExt},
    },
    path::Path,
};

use model::{
    bundle::{Bundle, ContentHash, Entry, shown},
    code::GitPlan,
    compare::{
        Change, FileChange, LineCounts,
        lines::{count, lines, unified},
    },
};

use super::{
    git::{self, Checkout},
    upload::Room,
};

/// A tree with more files than this is not compared.
const FILES_MAX: usize = 50_000;
/// Of a file whose lines are counted.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Of how many files lines are counted and shown.
const TEXTS_MAX: usize = 300;
/// Of files that have no hash and have to be read to be compared.
const READ_BYTES_MAX: u64 = 512 << 20;
/// Of a whole patch.
const PATCH_BYTES_MAX: usize = 8 << 20;

/// A tree of code that is on this machine.
pub enum Tree {
    Uploaded {
        room: Room,
        bundle: Bundle,
    },
    /// It stays for as long as this lives.
    CheckedOut(Checkout),
}

/// Everything that is not the same, by path, and how many files are.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    pub files: BTreeMap<String, FileChange>,
    pub same: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    File { hash: Option<ContentHash>, size: u64, executable: bool },
    Link(Vec<u8>),
}

type Leaves = BTreeMap<Vec<u8>, Leaf>;

impl Tree {
    pub fn uploaded(data: &Path, digest: &str) -> io::Result<Option<Self>> {
        let room = Room::of(data);
        let Ok(digest) = digest.parse() else { return Ok(None) };
        Ok(room.bundle(digest)?.map(|bundle| Tree::Uploaded { room, bundle }))
    }

    pub fn checked_out(data: &Path, plan: &GitPlan, commit: &str) -> io::Result<Option<Self>> {
        Ok(git::kept(plan, commit, &git::Shelf::at(data.join("git")))?.map(Tree::CheckedOut))
    }

    fn leaves(&self) -> io::Result<Leaves> {
        let leaf = |entry: &Entry| match entry {
            Entry::File { blob, executable } => Leaf::File { hash: Some(blob.hash), size: blob.size_bytes, executable: *executable },
            Entry::Link { target } => Leaf::Link(target.clone()),
        };
        match self {
            Tree::Uploaded { bundle, .. } => Ok(bundle.entries().map(|(path, entry)| (path.to_vec(), leaf(entry))).collect()),
            Tree::CheckedOut(checkout) => walk(&checkout.place),
        }
    }

    fn open(&self, path: &[u8], leaf: &Leaf) -> io::Result<File> {
        match (self, leaf) {
            (Tree::Uploaded { room, .. }, Leaf::File { hash: Some(hash), .. }) => room.open(*hash),
            (Tree::CheckedOut(checkout), Leaf::File { .. }) => {
                let path = checkout.place.join(std::ffi::OsStr::from_bytes(path));
                OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
            }
            (Tree::Uploaded { .. } | Tree::CheckedOut(_), Leaf::File { .. } | Leaf::Link(_)) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// None if it is no text, or too much of it.
    fn text(&self, path: &[u8], leaf: &Leaf) -> io::Result<Option<String>> {
        if !matches!(leaf, Leaf::File { size, .. } if *size <= TEXT_BYTES_MAX) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.open(path, leaf)?.take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
    }
}

fn walk(root: &Path) -> io::Result<Leaves> {
    let (mut leaves, mut directories) = (Leaves::new(), vec![Vec::new()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root.join(std::ffi::OsStr::from_bytes(&directory)))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = if directory.is_empty() { name.as_bytes().to_vec() } else { [&directory, &b"/"[..], name.as_bytes()].concat() };
            let found = entry.metadata()?;
            if found.is_dir() {
                directories.push(path);
            } else if found.is_symlink() {
                leaves.insert(path, Leaf::Link(fs::read_link(entry.path())?.as_os_str().as_bytes().to_vec()));
            } else if found.is_file() {
                let executable = found.permissions().mode() & 0o100 != 0;
                leaves.insert(path, Leaf::File { hash: None, size: found.len(), executable });
            }
            if leaves.len() > FILES_MAX {
                return Err(io::Error::other(format!("it has more than {FILES_MAX} files")));
            }
        }
    }
    Ok(leaves)
}

/// Two trees, and what was found in them.
struct Pair<'a> {
    trees: [&'a Tree; 2],
    leaves: [Leaves; 2],
}

impl<'a> Pair<'a> {
    fn of(old: &'a Tree, new: &'a Tree) -> io::Result<Self> {
        Ok(Self { trees: [old, new], leaves: [old.leaves()?, new.leaves()?] })
    }

    /// The paths that are not the same, and how many are.
    fn different(&self) -> io::Result<(Vec<&[u8]>, u32)> {
        let [old, new] = &self.leaves;
        let paths: BTreeSet<&[u8]> = old.keys().chain(new.keys()).map(Vec::as_slice).collect();
        let (mut different, mut same, mut read_bytes) = (Vec::new(), 0, 0);
        for path in paths {
            if self.is_same(path, &mut read_bytes)? { same += 1 } else { different.push(path) }
        }
        Ok((different, same))
    }

    fn is_same(&self, path: &[u8], read_bytes: &mut u64) -> io::Result<bool> {
        let [Some(old), Some(new)] = [self.leaves[0].get(path), self.leaves[1].get(path)] else { return Ok(false) };
        match (old, new) {
            (Leaf::File { hash: Some(old), executable, .. }, Leaf::File { hash: Some(new), executable: also, .. }) => {
                Ok(old == new && executable == also)
            }
            (Leaf::File { size, executable, .. }, Leaf::File { size: other, executable: also, .. }) => {
                *read_bytes += size;
                if *read_bytes > READ_BYTES_MAX {
                    return Err(io::Error::other("there is too much to be read for it"));
                }
                Ok(size == other && executable == also && same_bytes(self.trees[0].open(path, old)?, self.trees[1].open(path, new)?)?)
            }
            (old, new) => Ok(old == new),
        }
    }

    fn change(&self, path: &[u8]) -> Change {
        match self.leaves.each_ref().map(|it| it.contains_key(path)) {
            [false, _] => Change::Added,
            [true, false] => Change::Removed,
            [true, true] => Change::Changed,
        }
    }

    /// Both texts; none if one of them is no text. What is not there is empty.
    fn texts(&self, path: &[u8]) -> io::Result<Option<[String; 2]>> {
        let text = |side: usize| self.leaves[side].get(path).map_or(Ok(Some(String::new())), |leaf| self.trees[side].text(path, leaf));
        Ok(text(0)?.zip(text(1)?).map(|(old, new)| [old, new]))
    }

    fn counts(&self, path: &[u8]) -> io::Result<Option<LineCounts>> {
        let counts = self.texts(path)?.map(|[old, new]| count(&lines(&old, &new)));
        // One that differs and has the same lines is a program now, or is none any more.
        Ok(counts.filter(|it| it.added + it.removed > 0).map(|it| LineCounts { added: it.added, removed: it.removed }))
    }
}

fn same_bytes(old: File, new: File) -> io::Result<bool> {
    const PIECE_BYTES: u64 = 64 << 10;
    let (mut old, mut new) = (old, new);
    loop {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        old.by_ref().take(PIECE_BYTES).read_to_end(&mut one)?;
        new.by_ref().take(PIECE_BYTES).read_to_end(&mut other)?;
        if one != other || one.is_empty() {
            return Ok(one == other);
        }
    }
}

pub fn changes(old: &Tree, new: &Tree) -> io::Result<Changes> {
    let pair = Pair::of(old, new)?;
    let (different, same) = pair.different()?;
    let mut files = BTreeMap::new();
    for (at, path) in different.into_iter().enumerate() {
        let lines = if at < TEXTS_MAX { pair.counts(path)? } else { None };
        files.insert(shown(path), FileChange { change: pair.change(path), lines });
    }
    Ok(Changes { files, same })
}

/// All of it as a patch.
pub fn patch(old: &Tree, new: &Tree) -> io::Result<String> {
    let pair = Pair::of(old, new)?;
    let mut text = String::new();
    for (at, path) in pair.different()?.0.into_iter().enumerate() {
        if text.len() > PATCH_BYTES_MAX {
            text.push_str("… and more files, which would make this too long\n");
            break;
        }
        let (change, name) = (pair.change(path), shown(path));
        let texts = if at < TEXTS_MAX { pair.texts(path)? } else { None };
        match texts.map(|[old, new]| {
            unified(&side(change, Change::Added, "a", &name), &side(change, Change::Removed, "b", &name), &lines(&old, &new))
        }) {
            Some(part) if part.lines().count() > 2 => text.push_str(&part),
            Some(_) | None => text.push_str(&format!("{name} is {}, and not by its lines\n", change.text())),
        }
    }
    Ok(text)
}

fn side(change: Change, without: Change, side: &str, name: &str) -> String {
    if change == without { "/dev/null".into() } else { format!("{side}/{name}") }
}

#[cfg(test)]
mod tests {
    use model::bundle::Blob;

    use super::*;

    /// An upload with these files in it; a name that ends with `*` is a program, a text that begins with `->` a link.
    fn uploaded(home: &Path, files: &[(&str, &[u8])]) -> Tree {
        let room = Room::of(home);
        let entry = |(name, text): &(&str, &[u8])| {
            let (path, executable) = name.strip_suffix('*').map_or((*name, false), |name| (name, true));
            let blob = Blob { hash: ContentHash::of(text), size_bytes: text.len() as u64 };
            let file = Entry::File { blob, executable };
            (path.as_bytes().to_vec(), text.strip_prefix(b"->").map_or(file, |target| Entry::Link { target: target.to_vec() }))
        };
        let bundle = Bundle::new(None, files.iter().map(entry)).unwrap();
        room.begin(&bundle).unwrap();
        for blob in bundle.blobs() {
            let text = files.iter().find(|(_, text)| ContentHash::of(text) == blob.hash).unwrap().1;
            room.take(blob, text).unwrap();
        }
        room.finish(bundle.digest()).unwrap();
        Tree::uploaded(home, &bundle.digest().to_string()).unwrap().unwrap()
    }

    fn checked_out(home: &Path, files: &[(&str, &[u8])]) -> Tree {
        let place = tempfile::tempdir_in(home).unwrap().keep();
        for (name, text) in files {
            let (name, mode) = name.strip_suffix('*').map_or((*name, 0o644), |name| (name, 0o755));
            match text.strip_prefix(b"->") {
                Some(target) => std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), place.join(name)).unwrap(),
                None => {
                    fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
                    fs::write(place.join(name), text).unwrap();
                    fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }
        let held = File::open(&place).unwrap();
        Tree::CheckedOut(Checkout { lock: place.clone(), place, commit: "c".into(), files: 0, bytes: 0, left_out: Vec::new(), held })
    }

    const OLD: &[(&str, &[u8])] = &[
        ("train.py", b"import six\nlr = 1\n"),
        ("same.py", b"x\n"),
        ("old/gone.py", b"a\nb\n"),
        ("run.sh", b"echo\n"),
        ("data.bin", b"\0\x01"),
        ("here", b"->same.py"),
    ];
    const NEW: &[(&str, &[u8])] = &[
        ("train.py", b"import six\nlr = 2\nprint(lr)\n"),
        ("same.py", b"x\n"),
        ("new.py", b"n\n"),
        ("run.sh*", b"echo\n"),
        ("data.bin", b"\0\x02"),
        ("here", b"->train.py"),
    ];

    fn told(changes: &Changes) -> String {
        let line = |(path, it): (&String, &FileChange)| {
            format!("{path} {} {}\n", it.change.text(), it.lines.map_or("?".into(), |it| it.to_string()))
        };
        changes.files.iter().map(line).collect::<String>() + &format!("{} same", changes.same)
    }

    #[test]
    fn every_file_that_differs_is_told_whatever_the_trees_are() {
        let home = tempfile::tempdir().unwrap();
        let upload = |files| uploaded(home.path(), files);
        let checkout = |files| checked_out(home.path(), files);
        let first = changes(&upload(OLD), &upload(NEW)).unwrap();
        insta::assert_snapshot!(told(&first), @"
        data.bin changed ?
        here changed ?
        new.py added +1
        old/gone.py removed −2
        run.sh changed ?
        train.py changed +2 −1
        1 same
        ");
        assert_eq!(changes(&checkout(OLD), &checkout(NEW)).unwrap(), first);
        assert_eq!(changes(&upload(OLD), &checkout(NEW)).unwrap(), first);
        assert_eq!(changes(&upload(OLD), &checkout(OLD)).unwrap(), Changes { files: BTreeMap::new(), same: 6 });
        insta::assert_snapshot!(patch(&upload(OLD), &upload(NEW)).unwrap(), @"
        data.bin is changed, and not by its lines
        here is changed, and not by its lines
        --- /dev/null
        +++ b/new.py
        @@ -0,0 +1,1 @@
        +n
        --- a/old/gone.py
        +++ /dev/null
        @@ -1,2 +0,0 @@
        -a
        -b
        run.sh is changed, and not by its lines
        --- a/train.py
        +++ b/train.py
        @@ -1,2 +1,3 @@
         import six
        -lr = 1
        +lr = 2
        +print(lr)
        ");
    }

    #[test]
    fn a_large_file_is_not_read_for_its_lines() {
        let home = tempfile::tempdir().unwrap();
        let large = vec![b'x'; TEXT_BYTES_MAX as usize + 1];
        let (old, new) = (uploaded(home.path(), &[("a", &large)]), uploaded(home.path(), &[("a", b"x")]));
        assert_eq!(told(&changes(&old, &new).unwrap()), "a changed ?\n0 same");
        assert_eq!(patch(&old, &new).unwrap(), "a is changed, and not by its lines\n");
    }
}
