//! A folder as it is uploaded: what git would take of it, each file by the hash of its content.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ignore::{DirEntry, WalkBuilder};
use model::{
    bundle::{Blob, Bundle, CodeLimits, ContentHash, Entry, TooMuch, shown},
    inside::{Links, stays_inside},
};
use sha2::{Digest, Sha256};

use super::failure::Failure;
use crate::server::keeps_data_in;

mod origin;

/// Names what is not uploaded, in the language of `.gitignore`, and is asked before it.
const OWN_IGNORE_FILE: &str = ".trainmasterignore";
const READ_BYTES: usize = 128 << 10;
const READERS_MAX: usize = 4;
/// Nobody means a folder with more than this, and looking at it all would take minutes.
const LOOKS_MAX: usize = 1_000_000;

/// A folder that can be uploaded.
pub struct Packed {
    pub bundle: Bundle,
    /// Where the content can be read.
    pub sources: BTreeMap<ContentHash, Source>,
    /// What was left out and should be known.
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub enum Source {
    File(PathBuf),
    /// Made here, such as a patch.
    Bytes(Vec<u8>),
}

/// What was found in the folder, by its path in it.
#[derive(Default)]
struct Findings {
    files: BTreeMap<Vec<u8>, Found>,
    links: Links,
    notes: Vec<String>,
}

struct Found {
    place: PathBuf,
    size_bytes: u64,
    executable: bool,
}

pub fn pack(folder: &Path, limits: CodeLimits) -> Result<Packed, Failure> {
    let mut found = look(folder)?;
    found.drop_links_that_lead_out();
    let links = found.links.keys().map(|path| (path.as_slice(), 0));
    let sizes = found.files.iter().map(|(path, file)| (path.as_slice(), file.size_bytes)).chain(links);
    if let Some(too_much) = TooMuch::of(sizes, limits) {
        return Err(Failure::usage(format!("{}: {too_much}", folder.display())).hint(TooMuch::HINT));
    }
    let (mut entries, mut sources) = (Vec::new(), BTreeMap::new());
    for (path, place, entry) in read_all(found.files)? {
        if let Entry::File { blob, .. } = &entry {
            sources.insert(blob.hash, Source::File(place));
        }
        entries.push((path, entry));
    }
    entries.extend(found.links.into_iter().map(|(path, target)| (path, Entry::Link { target })));
    let origin = origin::of(folder).map(|(origin, patch)| {
        sources.extend(patch.map(|bytes| (ContentHash::of(&bytes), Source::Bytes(bytes))));
        origin
    });
    let bundle = Bundle::new(origin, entries).map_err(|bad| Failure::usage(format!("{}: {bad}", folder.display())))?;
    Ok(Packed { bundle, sources, notes: found.notes })
}

fn look(folder: &Path) -> Result<Findings, Failure> {
    let whole = folder.canonicalize().map_err(|error| unreadable(folder, &error))?;
    if let Some(data) = whole.ancestors().find(|dir| keeps_data_in(dir)) {
        let message = format!("{} is where a server keeps its data and keys, which no task may see", data.display());
        return Err(Failure::usage(message).hint("submit from the folder that your code is in"));
    }
    let mut findings = Findings::default();
    let of_servers = Arc::<Mutex<Vec<PathBuf>>>::default();
    for (count, entry) in walk(folder, of_servers.clone()).enumerate() {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        if count > LOOKS_MAX {
            let message = format!("{} has more than {LOOKS_MAX} files", folder.display());
            return Err(Failure::usage(message).hint(TooMuch::HINT));
        }
        findings.notes.extend(entry.error().map(|error| format!("part of an ignore file was not understood: {error}")));
        findings.add(folder, &entry).map_err(|error| unreadable(entry.path(), &error))?;
    }
    for data in of_servers.lock().expect("nobody panics with it").iter() {
        let path = data.strip_prefix(folder).unwrap_or(data).as_os_str().as_bytes();
        findings.notes.push(format!("{} is where a server keeps its data and keys, and was left out", shown(path)));
    }
    Ok(findings)
}

/// Everything but what git would leave alone, git's own files, and what servers keep, which is noted.
fn walk(folder: &Path, of_servers: Arc<Mutex<Vec<PathBuf>>>) -> ignore::Walk {
    // Only git says where the folders above end that have a say; without it a home full of rules would.
    let in_git = folder.ancestors().any(|dir| dir.join(".git").exists());
    WalkBuilder::new(folder)
        .hidden(false)
        .ignore(false)
        .parents(in_git)
        .require_git(false)
        .add_custom_ignore_filename(OWN_IGNORE_FILE)
        .filter_entry(move |entry| {
            let of_a_server = entry.file_type().is_some_and(|kind| kind.is_dir()) && keeps_data_in(entry.path());
            if of_a_server {
                of_servers.lock().expect("nobody panics with it").push(entry.path().to_owned());
            }
            !of_a_server && !entry.file_name().eq_ignore_ascii_case(".git")
        })
        .sort_by_file_name(|one, other| one.cmp(other))
        .build()
}

fn unreadable(place: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{} cannot be read: {error}", place.display()))
        .hint(format!("make it readable, or list it in {OWN_IGNORE_FILE} if it is not code"))
}

impl Findings {
    fn add(&mut self, folder: &Path, entry: &DirEntry) -> io::Result<()> {
        let (place, Some(kind)) = (entry.path(), entry.file_type()) else { return Ok(()) };
        let path = place.strip_prefix(folder).unwrap_or(place).as_os_str().as_bytes().to_vec();
        if kind.is_symlink() {
            self.links.insert(path, std::fs::read_link(place)?.as_os_str().as_bytes().to_vec());
        } else if kind.is_file() {
            let data = entry.metadata().map_err(io::Error::other)?;
            let executable = data.permissions().mode() & 0o100 != 0;
            self.files.insert(path, Found { place: place.to_owned(), size_bytes: data.len(), executable });
        } else if !kind.is_dir() {
            self.notes.push(format!("{} is neither a file nor a link and was left out", shown(&path)));
        }
        Ok(())
    }

    fn drop_links_that_lead_out(&mut self) {
        // Without one of them, another may lead elsewhere.
        loop {
            let out: Vec<Vec<u8>> = self.links.keys().filter(|path| !stays_inside(&self.links, path)).cloned().collect();
            for path in &out {
                let target = self.links.remove(path).unwrap_or_default();
                self.notes.push(format!(
                    "{} is a link to {}, outside the folder or in circles, and was left out",
                    shown(path),
                    shown(&target)
                ));
            }
            if out.is_empty() {
                return;
            }
        }
    }
}

/// A file of the bundle: its path, where it is, and what it is.
type Taken = (Vec<u8>, PathBuf, Entry);

/// Reads every file, a few at a time.
fn read_all(files: BTreeMap<Vec<u8>, Found>) -> Result<Vec<Taken>, Failure> {
    let files: Vec<(Vec<u8>, Found)> = files.into_iter().collect();
    let readers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, READERS_MAX);
    let share = files.len().div_ceil(readers).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files.chunks(share).map(|files| scope.spawn(|| read_some(files))).collect();
        let mut all = Vec::with_capacity(files.len());
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

fn read_some(files: &[(Vec<u8>, Found)]) -> Result<Vec<Taken>, Failure> {
    let mut buffer = vec![0; READ_BYTES];
    let read = |(path, Found { place, executable, .. }): &(Vec<u8>, Found)| {
        let blob = read_one(place, &mut buffer).map_err(|error| unreadable(place, &error))?;
        Ok((path.clone(), place.clone(), Entry::File { blob, executable: *executable }))
    };
    files.iter().map(read).collect()
}

fn read_one(place: &Path, buffer: &mut [u8]) -> io::Result<Blob> {
    let (mut file, mut hash, mut size_bytes) = (File::open(place)?, Sha256::new(), 0);
    loop {
        match file.read(buffer)? {
            0 => return Ok(Blob { hash: ContentHash::from_bytes(hash.finalize().into()), size_bytes }),
            count => {
                hash.update(&buffer[..count]);
                size_bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests;
