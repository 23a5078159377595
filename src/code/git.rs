//! Code from git, over `http` and `https`: fetched once, kept by its commit, and shared by every job that wants
//! the same.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use model::code::{GitPlan, git as rules};

use super::{
    NotMade, Waiting, key,
    once::{self, Once},
    platform,
};

mod cache;
mod command;
mod credentials;
mod lfs;
mod mirror;
mod modules;
mod names;
mod tree;
mod words;

use cache::Facts;
use command::{Call, Git};
use credentials::Credentials;
use mirror::Mirror;
use modules::Modules;
use names::{Meant, Names};
use tree::Listing;
use words::user;

/// Repositories within repositories within repositories.
const MODULES_DEEP_MAX: u32 = 8;
const MODULES_MAX: usize = 200;

/// Where code from git is kept, and how much of it.
#[derive(Clone, Debug)]
pub struct Shelf {
    pub dir: PathBuf,
    pub limits: Limits,
}

#[derive(Clone, Debug)]
pub struct Limits {
    /// Of everything that git does for one job together with one server.
    pub time_max: Duration,
    /// How long a server may send next to nothing.
    pub stall_max: Duration,
    /// Of one repository, as it is fetched and as it is written.
    pub bytes_max: u64,
    pub files_max: u64,
    /// Of all that is kept.
    pub shelf_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time_max: Duration::from_secs(3600),
            stall_max: Duration::from_secs(120),
            bytes_max: 10 << 30,
            files_max: 1_000_000,
            shelf_bytes_max: 20 << 30,
        }
    }
}

/// Code that stands there whole, and is never written to again.
#[derive(Debug)]
pub struct Checkout {
    pub place: PathBuf,
    pub commit: String,
    pub files: u64,
    pub bytes: u64,
    /// Links that led out of the code, and are not in it: `data -> /mnt/data`.
    pub left_out: Vec<String>,
    /// The file that another process locks, to be shared, so that nobody removes the code.
    pub lock: PathBuf,
    /// That lock, as long as this lives.
    pub held: File,
}

impl Shelf {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), limits: Limits::default() }
    }
}

/// Answers where the code is, after having fetched it if need be. The plan's `password` is not looked at: it
/// is text that stands for the one given here.
pub fn fetch(wanted: &GitPlan, password: Option<&str>, shelf: &Shelf, waiting: &Waiting<'_>) -> Result<Checkout, NotMade> {
    check(wanted)?;
    let credentials = Credentials::new(wanted.user.as_deref(), password, &wanted.url);
    Fetching { wanted, credentials, shelf, waiting }.checkout()
}

/// The code of a commit, if it is on the shelf still. Nobody is asked whether it may be seen: that is for the caller to know.
pub fn kept(wanted: &GitPlan, commit: &str, shelf: &Shelf) -> io::Result<Option<Checkout>> {
    let waiting = Waiting { pause: &|_| true, say: &|_| {} };
    let place = Fetching { wanted, credentials: None, shelf, waiting: &waiting }.place(commit);
    Ok(cache::find(&place)?.map(|(checkout, _)| checkout))
}

/// Everything was checked when the job was read. This is where it would do harm.
fn check(wanted: &GitPlan) -> Result<(), NotMade> {
    let bad = |what: &str, bad: rules::BadGit| user(format!("the {what} of the code {bad}"));
    rules::check_url(&wanted.url).map_err(|it| bad("address", it))?;
    wanted.reference.as_deref().map_or(Ok(()), rules::check_ref).map_err(|it| bad("ref", it))?;
    wanted.directory.as_deref().map_or(Ok(()), rules::check_directory).map_err(|it| bad("directory", it))?;
    if wanted.user.as_deref().is_some_and(|it| it.contains(':')) {
        return Err(user("the user for the code has a `:` in it, and no server could tell it from the password".into()));
    }
    if wanted.lfs { lfs::check() } else { Ok(()) }
}

struct Fetching<'a> {
    wanted: &'a GitPlan,
    credentials: Option<Credentials>,
    shelf: &'a Shelf,
    waiting: &'a Waiting<'a>,
}

impl Fetching<'_> {
    fn checkout(&self) -> Result<Checkout, NotMade> {
        if let Some(found) = self.found_without_asking()? {
            return Ok(found);
        }
        fs::create_dir_all(self.shelf.dir.join("mirrors")).map_err(|error| self.trouble(error))?;
        let git = self.git(&self.wanted.url);
        let names = names(&git)?;
        let (ask, commit) = self.resolve(&git, &names)?;
        let place = self.place(&commit);
        let made = self.made(&place, || self.fill(&place, &ask, &commit))?;
        cache::prune(&self.shelf.dir, self.shelf.limits.shelf_bytes_max).map_err(|error| self.trouble(error))?;
        Ok(made)
    }

    /// A whole commit id says all there is to say, unless only some may have it.
    fn found_without_asking(&self) -> Result<Option<Checkout>, NotMade> {
        let Some(commit) = self.wanted.reference.as_deref().filter(|it| rules::is_commit(it)) else { return Ok(None) };
        let found = cache::find(&self.place(commit)).map_err(|error| self.trouble(error))?;
        Ok(found.filter(|(_, facts)| !facts.is_private).map(|(checkout, _)| checkout))
    }

    /// With credentials where they belong, and nowhere else.
    fn git<'b>(&'b self, url: &'b str) -> Git<'b> {
        let credentials = self.credentials.as_ref().filter(|it| it.are_for(url));
        Git { url, credentials, limits: &self.shelf.limits, waiting: self.waiting }
    }

    /// What to ask the server for, and the commit that is.
    fn resolve(&self, git: &Git<'_>, names: &Names) -> Result<(String, String), NotMade> {
        let reference = self.wanted.reference.as_deref();
        match names.find(reference) {
            Some(Meant::Listed { ask, commit }) => Ok((ask, commit)),
            Some(Meant::Commit(commit)) => Ok((commit.clone(), commit)),
            Some(Meant::Beginning(text)) => {
                let commit = self.search(git, &text)?.ok_or_else(|| missing(git.url, names, reference))?;
                Ok((commit.clone(), commit))
            }
            None => Err(missing(git.url, names, reference)),
        }
    }

    /// Servers do not look for the beginning of an id, so all they have is fetched, once.
    fn search(&self, git: &Git<'_>, text: &str) -> Result<Option<String>, NotMade> {
        let mirror = Mirror::open(git, &self.shelf.dir, "")?;
        let known = mirror.commit(text)?;
        if known.is_none() {
            (self.waiting.say)(&format!("fetches all of {} to find the commit {text}", git.url));
            mirror.fetch_everything()?;
        }
        let found = if known.is_none() { mirror.commit(text)? } else { known };
        mirror.settle()?;
        Ok(found)
    }

    fn place(&self, commit: &str) -> PathBuf {
        // Raised when trees are written in another way.
        const GENERATION: &str = "1";
        let GitPlan { url, submodules, lfs, directory, .. } = self.wanted;
        let flag = |is_set: bool| if is_set { "yes" } else { "no" };
        let parts = [GENERATION, url, commit, flag(*submodules), flag(*lfs), directory.as_deref().unwrap_or_default()];
        self.shelf.dir.join(key(parts))
    }

    fn made(&self, place: &Path, fill: impl Fn() -> Result<String, NotMade>) -> Result<Checkout, NotMade> {
        // Between making and holding it somebody may just have removed it; or whoever made it may not have let go of it yet.
        const TRIES: u32 = 100;
        const BETWEEN_TRIES: Duration = Duration::from_millis(50);
        for attempt in 0..TRIES {
            if attempt > 1 && (self.waiting.pause)(BETWEEN_TRIES) {
                return Err(NotMade::Stopped);
            }
            if let Some((checkout, _)) = cache::find(place).map_err(|error| self.trouble(error))? {
                return Ok(checkout);
            }
            let is_usable = |place: &Path| cache::tree(place).exists();
            let once = Once { place, noun: "code", is_usable, crash_point: "code.made-before-marked", boot: None, waiting: self.waiting };
            let made = once.make(|_| fill());
            if made.is_err() {
                // Nobody wants half of it. That it could not be removed would hide why.
                let _ = once::remove_unheld(place);
            }
            made?;
        }
        Err(platform(format!("the code in {} is removed as fast as it is made", place.display())))
    }

    /// Answers what is to be remembered of it.
    fn fill(&self, place: &Path, ask: &str, commit: &str) -> Result<String, NotMade> {
        let directory = self.wanted.directory.as_deref();
        let tree = cache::tree(place);
        fs::create_dir_all(&tree).map_err(|error| self.trouble(error))?;
        let mut left = MODULES_MAX;
        self.put(&Source { url: &self.wanted.url, ask, commit, directory, deep: 0 }, &tree, &mut left)?;
        let code = directory.map_or(tree.clone(), |it| tree.join(it));
        let tree::Written { files, bytes, left_out } = tree::settle(&code).map_err(|error| self.trouble(error))?;
        if !left_out.is_empty() {
            (self.waiting.say)(&format!(
                "left out {} links that lead out of the code: {}",
                left_out.len(),
                words::last_words(&left_out.join(", "))
            ));
        }
        let limits = &self.shelf.limits;
        Listing { files, bytes, modules: vec![] }.check(&self.wanted.url, limits)?;
        let is_private = self.credentials.is_some();
        let facts = Facts { commit: commit.to_owned(), files, bytes, left_out, is_private, directory: directory.map(str::to_owned) };
        serde_json::to_string(&facts).map_err(|error| self.trouble(error.into()))
    }

    /// Writes one repository, and then those in it.
    fn put(&self, source: &Source<'_>, into: &Path, left: &mut usize) -> Result<(), NotMade> {
        let git = self.git(source.url);
        let mirror = Mirror::open(&git, &self.shelf.dir, source.commit)?;
        let written = self.put_own(source, &mirror, into);
        // One that may be damaged is made anew by whoever comes next.
        if !written.as_ref().is_err_and(words::is_about_damage) {
            mirror.settle()?;
        }
        for (path, address, commit) in written? {
            *left = left.checked_sub(1).ok_or_else(|| user(format!("{} has more than {MODULES_MAX} submodules", self.wanted.url)))?;
            if source.deep == MODULES_DEEP_MAX {
                return Err(user(format!("{} has submodules more than {MODULES_DEEP_MAX} deep", self.wanted.url)));
            }
            if !tree::is_plain_directory(into, &path) {
                return Err(user(format!("the submodule `{}` of {} stands in no directory of its own", path.display(), source.url)));
            }
            // Asked first, so that nobody gets from us what the server would not give them.
            names(&self.git(&address))?;
            self.put(
                &Source { url: &address, ask: &commit, commit: &commit, directory: None, deep: source.deep + 1 },
                &into.join(path),
                left,
            )?;
        }
        Ok(())
    }

    /// Answers the repositories that belong into it.
    fn put_own(&self, source: &Source<'_>, mirror: &Mirror<'_>, into: &Path) -> Result<Vec<(PathBuf, String, String)>, NotMade> {
        let Source { url, commit, directory, .. } = source;
        if !mirror.has(commit)? {
            (self.waiting.say)(&format!("fetches {url} at {commit}"));
            self.get(source, mirror)?;
        }
        let listing = Listing::of(mirror, commit, *directory)?;
        listing.check(url, &self.shelf.limits)?;
        if let Some(directory) = directory.filter(|_| listing.files == 0 && listing.modules.is_empty()) {
            return Err(user(format!("{url} has no directory `{directory}` at {commit}")));
        }
        if listing.files + listing.modules.len() as u64 > 0 {
            mirror.write(commit, directory.unwrap_or("."), into, self.wanted.lfs)?;
        }
        if let Some(directory) = directory.filter(|it| !tree::is_plain_directory(into, Path::new(it))) {
            return Err(user(format!("`{directory}` of {url} at {commit} is no directory")));
        }
        if !self.wanted.submodules || listing.modules.is_empty() {
            return Ok(vec![]);
        }
        let modules = Modules::of(mirror, commit)?;
        listing.modules.into_iter().map(|(path, id)| modules.address(url, &path).map(|address| (path, address, id))).collect()
    }

    fn get(&self, source: &Source<'_>, mirror: &Mirror<'_>) -> Result<(), NotMade> {
        match mirror.fetch(source.ask, self.wanted.depth) {
            Err(NotMade::Failed { why, .. }) if why.contains("unadvertised object") => mirror.fetch_everything()?,
            Err(NotMade::Failed { why, .. }) if why.contains("not our ref") => return Err(no_commit(source)),
            other => other?,
        }
        if mirror.has(source.commit)? { Ok(()) } else { Err(no_commit(source)) }
    }

    fn trouble(&self, error: io::Error) -> NotMade {
        platform(format!("no code can be kept in {}: {error}", self.shelf.dir.display()))
    }
}

/// One repository at one commit.
struct Source<'a> {
    url: &'a str,
    ask: &'a str,
    commit: &'a str,
    directory: Option<&'a str>,
    deep: u32,
}

fn names(git: &Git<'_>) -> Result<Names, NotMade> {
    // One answer is small; a server that needs longer for it than to be told hanging three times hangs.
    let time_max = git.limits.stall_max * 3;
    let said = git.run(Call { time_max, ..Call::new(Path::new("/dev/null"), ["ls-remote", "--quiet", "--end-of-options", git.url]) })?;
    words::redirected(git.url, &said.err)?;
    Ok(Names::read(&String::from_utf8_lossy(&said.out)))
}

fn missing(url: &str, names: &Names, reference: Option<&str>) -> NotMade {
    user(match reference {
        None if names.is_empty() => format!("{url} is empty: nothing was ever pushed to it"),
        None => format!("{url} does not say which is its usual branch; give one as `ref`: {}", names.instead("main")),
        Some(reference) => format!("there is no branch, tag or commit `{reference}` in {url}; {}", names.instead(reference)),
    })
}

fn no_commit(source: &Source<'_>) -> NotMade {
    user(format!("there is no commit {} in {}; it may have been pushed over", source.commit, source.url))
}
