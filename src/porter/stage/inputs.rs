//! Places that job files name: those of this machine are shown as they are, everything else is fetched.

use std::{
    cell::OnceCell,
    fs, io,
    path::{Path, PathBuf},
};

use model::{channels::InputPlan, location::Location, provenance::InputFound, resources::Bytes, task::Whose};
use tokio::runtime::Runtime;

use super::{
    super::{Failed, count, errand::Errand, place::on_this_machine},
    Carried,
    fetch::{self, Fetcher, Most},
    manifest::Manifest,
    shelf::{Held, Shelf},
    source::Source,
    unpack::Archive,
    waiting,
};
use crate::{config::Staging, rundir::RunDir};

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
        let (place, manifest) = match self.shown(&input.from) {
            Some(place) => (place?, None),
            None => self.fetched(&input.from, None, carried).map(|(place, manifest)| (place, Some(manifest)))?,
        };
        let content = manifest.as_ref().map_or_else(|| count::content(&place), Manifest::content);
        carried.staged.inputs.push(InputFound { path: path.to_owned(), from: input.from.without_query(), content });
        if !input.unpack {
            return Ok(place);
        }
        let archive = Archive { label: &input.from.to_string(), place: &place, manifest: manifest.as_ref() };
        Ok(keep(archive.unpacked(&self.fetcher()?)?, carried))
    }

    /// A directory of code in a volume, held to the house rule about how much code may be.
    pub fn code(&self, location: &Location, carried: &mut Carried) -> Result<PathBuf, Failed> {
        let most = Most { bytes: self.rules.code_bytes_max, rule: "the most that code in a volume may have (`[code] size_max`)" };
        let place = match self.shown(location) {
            Some(place) => place?,
            None => self.fetched(location, Some(most), carried)?.0,
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

    fn fetched(&self, location: &Location, most: Option<Most>, carried: &mut Carried) -> Result<(PathBuf, Manifest), Failed> {
        let source = self.source(location)?;
        let (held, manifest) = self.fetcher()?.fetch(&source, most)?;
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

fn keep(held: Held, carried: &mut Carried) -> PathBuf {
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

fn user(why: String) -> Failed {
    Failed { why, whose: Whose::User }
}
