//! Places that job files name: those of this machine are shown as they are, everything else is fetched.

use std::{
    cell::OnceCell,
    fs, io,
    path::{Path, PathBuf},
};

use model::{
    channels::InputPlan,
    dataset::{DatasetVersion, Held},
    location::Location,
    provenance::{Content, InputFound},
    resources::Bytes,
    task::Whose,
};
use tokio::runtime::Runtime;

use super::{
    super::{Failed, count, errand::Errand, place::on_this_machine},
    Carried,
    fetch::{self, Fetcher, Most, Terms},
    manifest::Manifest,
    shelf::{Held as HeldTree, Shelf},
    source::Source,
    unpack::Archive,
    waiting,
};
use crate::{
    config::Staging,
    rundir::RunDir,
    volumes::{
        self, Store,
        held::{NotHeld, held},
    },
};

pub struct Inputs<'a> {
    errand: &'a Errand,
    rules: Staging,
    runtime: OnceCell<Runtime>,
    shelf: OnceCell<Shelf>,
}

impl<'a> Inputs<'a> {
    pub fn of(errand: &'a Errand) -> Self {
        Self { errand, rules: Staging::of_this_process(), runtime: OnceCell::new(), shelf: OnceCell::new() }
    }

    /// Answers where it is: a directory, or one file of this machine. `path` is where the task finds it.
    pub fn bring(&self, input: &InputPlan, path: &str, carried: &mut Carried) -> Result<PathBuf, Failed> {
        match input.from.version() {
            None => self.brought(input, path, carried),
            Some(version) => self.brought(input, path, carried).map_err(|failed| named(version, failed)),
        }
    }

    fn brought(&self, input: &InputPlan, path: &str, carried: &mut Carried) -> Result<PathBuf, Failed> {
        let location = input.from.place().ok_or_else(|| user(format!("nobody has said what {} is", input.from)))?;
        let (place, manifest, content) = match self.shown(location) {
            Some(place) => {
                place.and_then(|place| Ok((self.content(input, &place)?, place))).map(|(content, place)| (place, None, content))?
            }
            None => {
                let terms = input.from.version().map_or(Terms::Any, Terms::As);
                let (place, manifest) = self.fetched(location, terms, carried)?;
                let content = manifest.content();
                (place, Some(manifest), content)
            }
        };
        carried.staged.inputs.push(InputFound { path: path.to_owned(), from: input.from.without_query(), content });
        if !input.unpack {
            return Ok(place);
        }
        let archive = Archive { label: &input.from.without_query(), place: &place, manifest: manifest.as_ref() };
        Ok(keep(archive.unpacked(&self.fetcher()?)?, carried))
    }

    /// What a place of this machine holds: counted for as long as nobody notices, or all of it where it has to be what it was.
    fn content(&self, input: &InputPlan, place: &Path) -> Result<Content, Failed> {
        input.from.version().map_or(Ok(()), |version| self.as_promised(version))?;
        Ok(count::content(place))
    }

    fn as_promised(&self, version: &DatasetVersion) -> Result<(), Failed> {
        let order = &self.errand.order;
        let opened = match &version.at {
            Location::Volume { volume, path } => order.volumes.get(volume).map(|it| (volumes::open(it, None), path.as_str())),
            Location::Host(path) => Some((Store::of_host(path), "")),
            Location::Url(_) => None,
        };
        let (store, path) = opened.ok_or_else(|| user(format!("{} is not of this machine", version.at.without_query())))?;
        let store = store.map_err(fetch::failed)?;
        let now = match self.fetcher()?.runtime.block_on(held(&store, path)) {
            Ok(now) => now,
            Err(NotHeld::Nothing) => Held { files: 0, bytes: 0, fingerprint: String::new() },
            Err(NotHeld::Volume(error)) => return Err(fetch::failed(error)),
            // It was listed in time when it was made a version.
            Err(NotHeld::TooMuch(most)) => {
                let why = format!("{} is not {}", version.at.without_query(), most.en);
                return Err(Failed { why, whose: Whose::Platform });
            }
        };
        fetch::as_promised(version, &now)
    }

    /// A directory of code in a volume, held to the house rule about how much code may be.
    pub fn code(&self, location: &Location, carried: &mut Carried) -> Result<PathBuf, Failed> {
        let most = Most { bytes: self.rules.code_bytes_max, rule: "the most that code in a volume may have (`[code] size_max`)" };
        let place = match self.shown(location) {
            Some(place) => place?,
            None => self.fetched(location, Terms::AtMost(most), carried)?.0,
        };
        if !place.is_dir() {
            return Err(user(format!("{location} is a file, and code is a directory; name the directory it is in")));
        }
        if location.volume().is_some() {
            let (bytes, files) = size_of(&place, most.bytes).map_err(|error| user(format!("{location} cannot be read: {error}")))?;
            if bytes > most.bytes {
                let size = format!("{} or more in {files} file{}", Bytes(bytes), if files == 1 { "" } else { "s" });
                return Err(fetch::too_much(&location.to_string(), &size, most));
            }
        }
        carried.staged.code_content = Some(count::content(&place));
        Ok(place)
    }

    fn shown(&self, location: &Location) -> Option<Result<PathBuf, Failed>> {
        on_this_machine(location, &self.errand.order.volumes, RunDir::at(&self.errand.dir).private())
    }

    fn fetched(&self, location: &Location, terms: Terms<'_>, carried: &mut Carried) -> Result<(PathBuf, Manifest), Failed> {
        let source = self.source(location)?;
        let (held, manifest) = self.fetcher()?.fetch(&source, terms)?;
        Ok((keep(held, carried), manifest))
    }

    fn source(&self, location: &Location) -> Result<Source, Failed> {
        let Errand { order, secrets, .. } = self.errand;
        let opened = match location {
            Location::Volume { volume: name, .. } => {
                let gone = || user(format!("the volume `{name}` is not there any more; `trainmaster volumes list` shows those that are"));
                let volume = order.volumes.get(name).ok_or_else(gone)?;
                Source::of_volume(location, (volume, secrets.volumes.get(name)), order.run.job)
            }
            Location::Url(url) => Source::of_url(url, order.run.job),
            Location::Host(path) => return Err(user(format!("`{path}` is not fetched"))),
        };
        opened.map_err(fetch::failed)
    }

    fn fetcher(&self) -> Result<Fetcher<'_>, Failed> {
        let trouble = |error: io::Error| Failed { why: format!("nothing can be fetched here: {error}"), whose: Whose::Platform };
        if self.shelf.get().is_none() {
            let shelf = Shelf::at(self.errand.shelves.join("inputs")).map_err(trouble)?;
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(trouble)?;
            let _both_are_new = (self.shelf.set(shelf), self.runtime.set(runtime));
        }
        let shelf = self.shelf.get().expect("it was made above");
        let runtime = self.runtime.get().expect("it was made with the shelf");
        Ok(Fetcher { shelf, rules: &self.rules, waiting: waiting(), runtime })
    }
}

fn keep(held: HeldTree, carried: &mut Carried) -> PathBuf {
    carried.staged.locks.push(held.lock);
    carried.held.push(held.held);
    carried.lent.extend(held.lent);
    held.files
}

/// How much is in a directory, counted no further than it matters.
fn size_of(dir: &Path, enough_bytes: u64) -> io::Result<(u64, usize)> {
    let (mut bytes, mut files, mut dirs) = (0, 0, vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir)? {
            let (entry, metadata) = entry.and_then(|entry| entry.metadata().map(|metadata| (entry, metadata)))?;
            if metadata.is_dir() {
                dirs.push(entry.path());
            } else {
                bytes += metadata.len();
                files += 1;
            }
            if bytes > enough_bytes {
                return Ok((bytes, files));
            }
        }
    }
    Ok((bytes, files))
}

/// Whoever named a dataset knows it by that name.
fn named(version: &DatasetVersion, Failed { why, whose }: Failed) -> Failed {
    let name = version.name().to_string();
    Failed { why: if why.starts_with(&name) { why } else { format!("{name}: {why}") }, whose }
}

fn user(why: String) -> Failed {
    Failed { why, whose: Whose::User }
}
