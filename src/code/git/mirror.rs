//! What was fetched of one address, kept so that the next commit costs only what is new in it.

use std::{
    cell::Cell,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use super::{
    command::{Call, Git, Said},
    words,
};
use crate::code::{NotMade, key, once, platform};

/// There while somebody writes. Whoever finds it, and nobody at it, does not trust the rest.
const UNSETTLED: &str = "unsettled";

pub struct Mirror<'a> {
    git: &'a Git<'a>,
    dir: PathBuf,
    lock: File,
}

impl<'a> Mirror<'a> {
    /// Ours alone for as long as it lives.
    pub fn open(git: &'a Git<'a>, shelf: &Path, id: &str) -> Result<Self, NotMade> {
        let dir = shelf.join("mirrors").join(key([git.url]));
        let trouble = |error: io::Error| platform(format!("nothing can be fetched into {}: {error}", dir.display()));
        fs::create_dir_all(shelf.join("mirrors")).map_err(trouble)?;
        let lock = once::lock(&dir, "repository", git.waiting)?;
        lock.set_modified(SystemTime::now()).map_err(trouble)?;
        if dir.join(UNSETTLED).exists() || !dir.join("HEAD").exists() {
            once::remove(&dir).map_err(trouble)?;
            fs::create_dir(&dir).map_err(trouble)?;
        }
        fs::write(dir.join(UNSETTLED), "").map_err(trouble)?;
        let mirror = Self { git, dir, lock };
        let format = if id.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
        if !mirror.dir.join("HEAD").exists() {
            mirror.call(["init", "--bare", "--quiet", "--template=", format])?;
        }
        Ok(mirror)
    }

    /// Nothing is half written any more.
    pub fn settle(self) -> Result<(), NotMade> {
        let removed = remove_leftovers(&self.dir).and_then(|()| fs::remove_file(self.dir.join(UNSETTLED)));
        removed.map_err(|error| platform(format!("{} cannot be written: {error}", self.dir.display())))
    }

    pub fn call<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Result<Said, NotMade> {
        let arguments: Vec<&str> = arguments.into_iter().collect();
        self.call_with(Call::new(&self.dir, arguments))
    }

    /// The same for a list of files, which is not longer than as many files as there may be would make it.
    pub fn list<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Result<Said, NotMade> {
        const ENTRY_BYTES: u64 = 512;
        let arguments: Vec<&str> = arguments.into_iter().collect();
        let call = Call::new(&self.dir, arguments);
        let output_bytes_max = call.output_bytes_max.min(self.git.limits.files_max.saturating_mul(ENTRY_BYTES).max(1 << 20));
        self.call_with(Call { output_bytes_max, ..call })
    }

    /// Watched, so that it takes no more of the disk than it may.
    fn call_with(&self, call: Call<'_>) -> Result<Said, NotMade> {
        let growth = Growth::of(&self.dir);
        let watch = || growth.check(self.git.limits.bytes_max).map_err(|most| words::too_large(self.git.url, most));
        self.git.run(Call { locks: vec![&self.lock], watch: &watch, ..call })
    }

    pub fn has(&self, commit: &str) -> Result<bool, NotMade> {
        Ok(self.commit(commit)?.is_some())
    }

    /// What the beginning of an id stands for, if it stands for one commit.
    pub fn commit(&self, text: &str) -> Result<Option<String>, NotMade> {
        match self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{text}^{{commit}}")]) {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said.out).trim().to_owned())),
            Err(NotMade::Failed { .. }) => Ok(None),
            Err(NotMade::Stopped) => Err(NotMade::Stopped),
        }
    }

    pub fn fetch(&self, id: &str, depth: Option<u32>) -> Result<(), NotMade> {
        let depth = match depth {
            Some(commits) => format!("--depth={}", commits.max(1)),
            None if self.is_shallow() => "--unshallow".to_owned(),
            None => "--no-tags".to_owned(),
        };
        self.get([depth.as_str()], &[&format!("+{id}:refs/kept/{id}")])
    }

    /// Every branch and tag with all their commits, for what can be found in no other way.
    pub fn fetch_everything(&self) -> Result<(), NotMade> {
        let deepen = if self.is_shallow() { "--unshallow" } else { "--no-tags" };
        self.get([deepen], &["+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"])
    }

    fn is_shallow(&self) -> bool {
        self.dir.join("shallow").exists()
    }

    fn get(&self, options: [&str; 1], what: &[&str]) -> Result<(), NotMade> {
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
        let from = ["--end-of-options", self.git.url];
        let said = self.call(fixed.into_iter().chain(options).chain(from).chain(what.iter().copied()))?;
        words::redirected(self.git.url, &said.err)
    }

    /// Writes a tree, with nothing in it run and nothing of it left behind but its files.
    pub fn write(&self, commit: &str, what: &str, into: &Path, lfs: bool) -> Result<(), NotMade> {
        let index = self.dir.join("index");
        let variables = vec![("GIT_INDEX_FILE", index.as_path()), ("GIT_WORK_TREE", into)];
        let call = |arguments: &[&str]| {
            let call = Call { variables: variables.clone(), from: into, lfs, ..Call::new(&self.dir, arguments.iter().copied()) };
            self.call_with(call).map(drop)
        };
        call(&["read-tree", "--no-recurse-submodules", commit])?;
        // Names are names, and neither patterns nor options.
        call(&["--literal-pathspecs", "checkout", "--quiet", "--force", "--no-recurse-submodules", "--", what])
    }
}

/// What git leaves behind when it is killed.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            remove_leftovers(&entry.path())?;
        } else if name.starts_with("tmp_") || name.ends_with(".lock") || name == "index" {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// How much larger a directory has become.
struct Growth<'a> {
    dir: &'a Path,
    before: u64,
    next_look: Cell<Instant>,
}

impl<'a> Growth<'a> {
    const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

    fn of(dir: &'a Path) -> Self {
        Self { dir, before: bytes_below(dir), next_look: Cell::new(Instant::now() + Self::BETWEEN_LOOKS) }
    }

    /// Not more often than it takes no time worth mentioning.
    fn check(&self, most: u64) -> Result<(), u64> {
        let began = Instant::now();
        if began < self.next_look.get() {
            return Ok(());
        }
        let now = bytes_below(self.dir);
        self.next_look.set(Instant::now() + Self::BETWEEN_LOOKS.max(began.elapsed() * 10));
        if now.saturating_sub(self.before) > most { Err(most) } else { Ok(()) }
    }
}

/// Of everything that can be seen there; files come and go while we look.
pub fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(it) if it.is_dir() => bytes_below(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
