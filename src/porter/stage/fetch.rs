//! Fetching: what a source lists becomes a tree of the cache, made by whoever comes first.

use std::{
    cell::RefCell,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use model::{
    dataset::{DatasetVersion, Held},
    resources::Bytes,
    task::Whose,
};
use tokio::{runtime::Runtime, task::JoinSet};

use super::{
    super::Failed,
    announced::Announced,
    download::{Line, Missing},
    lent,
    manifest::{Manifest, Wanted},
    patience::Patience,
    progress::Progress,
    room::{self, Need},
    shelf::{self, Building, Facts, Held as HeldTree, Shelf},
    source::Source,
};
use crate::{
    code::{
        NotMade, Waiting,
        once::{self, Making, Once},
    },
    config::Staging,
    rundir::private_dir,
    volumes::{Trouble, VolumeError},
};

const FILES_AT_ONCE: usize = 16;
/// So much may come before it is made to last: a killed porter loses none of it either way.
const UNKEPT_BYTES_MAX: u64 = 4 << 30;
/// So long others may take to make last what is wanted. After that it is fetched.
const SETTLING_MAX: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How often a source is listed anew because it changed meanwhile.
const LISTINGS_MAX: usize = 5;

pub struct Fetcher<'a> {
    pub shelf: &'a Shelf,
    pub rules: &'a Staging,
    pub waiting: Waiting<'a>,
    pub runtime: &'a Runtime,
}

/// What has to be so before anything is fetched.
#[derive(Clone, Copy)]
pub enum Terms<'a> {
    Any,
    AtMost(Most),
    /// It is still what it was when it was made a version of a dataset.
    As(&'a DatasetVersion),
}

/// How much may be fetched, and what rule says so.
#[derive(Clone, Copy)]
pub struct Most {
    pub bytes: u64,
    pub rule: &'static str,
}

/// Why a tree was not made.
enum NoTree {
    /// It is worth listing anew.
    Changed(VolumeError),
    Failed(Failed),
}

impl Fetcher<'_> {
    /// Everything that the source has, held against removal.
    pub fn fetch(&self, source: &Source, terms: Terms<'_>) -> Result<(HeldTree, Manifest), Failed> {
        let mut last = None;
        for _ in 0..LISTINGS_MAX {
            let patience = Arc::new(Patience::new(Duration::from_millis(self.rules.patience_ms)));
            let listed = self.runtime.block_on(patience.with(async || Manifest::of(source).await));
            let manifest = listed.map_err(failed)?;
            agreed(&manifest, source, terms)?;
            match self.tree(source, &manifest, &patience) {
                Ok(held) => return Ok((held, manifest)),
                Err(NoTree::Changed(error)) => last = Some(error),
                Err(NoTree::Failed(failed)) => return Err(failed),
            }
        }
        let why = last.map_or_else(String::new, |error| error.to_string());
        Err(Failed { why: format!("{} changes faster than it can be fetched: {why}", source.label()), whose: Whose::User })
    }

    fn tree(&self, source: &Source, manifest: &Manifest, patience: &Arc<Patience>) -> Result<HeldTree, NoTree> {
        let trouble = |error: io::Error| NoTree::Failed(disk_trouble(source, &error));
        let (name, changed) = (manifest.name(), RefCell::new(None));
        let place = self.shelf.tree(&name);
        let crash_point = "input.made-before-marked";
        let is_usable = |place: &std::path::Path| shelf::files_of(place).is_dir();
        let once = Once { place: &place, noun: "input", is_usable, crash_point, boot: self.shelf.lends_in(), waiting: &self.waiting };
        loop {
            if let Some(held) = self.shelf.hold(&once).map_err(trouble)? {
                return Ok(held);
            }
            let made = once.make(|making| {
                self.build(source, manifest, making, patience).map_err(|why| match why {
                    Missing::Store(error) if matches!(error.trouble, Trouble::Changed { .. }) => {
                        let why = error.to_string();
                        *changed.borrow_mut() = Some(error);
                        NotMade::Failed { why, whose: Whose::Platform }
                    }
                    Missing::Store(error) => not_made(failed(error)),
                    Missing::Disk(error) => not_made(disk_trouble(source, &error)),
                    Missing::NoRoom(failed) => not_made(failed),
                })
            });
            if let Some(error) = changed.borrow_mut().take() {
                return Err(NoTree::Changed(error));
            }
            made.map_err(|why| NoTree::Failed(why.into()))?;
        }
    }

    /// Answers what is written into the mark.
    fn build(&self, source: &Source, manifest: &Manifest, making: &Making<'_>, patience: &Arc<Patience>) -> Result<String, Missing> {
        let tree = manifest.name();
        let parts = self.shelf.parts_of(&tree);
        let building = Building { shelf: self.shelf, manifest, place: making.place, parts };
        self.settle(&manifest.files)?;
        let missing = building.lay_out()?;
        if !missing.is_empty() {
            let bytes = missing.iter().map(|it| it.entry.size - building.there_of(it)).sum();
            let what = format!("{} has {}", source.label(), manifest.size());
            let need = Need { what: &what, bytes, files: manifest.files.len() as u64, tree: &tree };
            let mut room = room::make(self.shelf, self.rules.cache_bytes_max, &need).map_err(Missing::NoRoom)?;
            private_dir(&building.parts)?;
            let total = (missing.iter().map(|it| it.entry.size).sum(), missing.len());
            let progress = Arc::new(Progress::new(source.label(), total));
            let line = Arc::new(Line { source: source.clone(), patience: patience.clone(), progress: progress.clone() });
            let fetched = self.runtime.block_on(async {
                tokio::select! {
                    done = fetch_all(&line, &building, &missing, &mut room.announced) => done,
                    never = progress.keep_telling() => match never {},
                }
            });
            let placed = fetched.and_then(|whole| Ok(building.put_in_place(&whole)?));
            if matches!(placed, Err(Missing::Disk(_))) {
                // The disk is not ours alone; and what it did not take must not be believed by the next.
                once::remove(&building.parts)?;
            }
            placed?;
        } else {
            once::remove(&building.parts)?;
        }
        Ok(serde_json::to_string(&Facts { bytes: manifest.bytes, own_bytes: 0 }).expect("facts are JSON"))
    }

    /// What another tree has and the disk has not yet is no content of the cache. Whoever wants it waits for the disk
    /// rather than for the line; not for ever, since it can still be fetched.
    fn settle(&self, wanted: &[Wanted]) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < SETTLING_MAX {
            let (_held, lent) = lent::with_any_of(wanted, self.shelf)?;
            // A tree that cannot be made to last has nothing for others.
            if lent.is_empty() || lent::make_last(&lent).is_err() {
                return Ok(());
            }
            let others_are_at_it = lent.iter().any(|it| !once::lasts(&it.tree));
            if others_are_at_it && (self.waiting.pause)(BETWEEN_LOOKS) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Many at once; what is whole is kept, whatever becomes of the rest. Answers what is still to be put in its place.
///
/// Each is a task of its own, so that the processor that took a piece off the line writes it as well: copied by another, to whom
/// it is cold, it costs twice as much.
async fn fetch_all<'a>(
    line: &Arc<Line>,
    building: &Building<'_>,
    missing: &[&'a Wanted],
    announced: &mut Announced,
) -> Result<Vec<&'a Wanted>, Missing> {
    let (mut running, mut left) = (JoinSet::new(), missing.iter().copied().enumerate());
    let fetch = |(number, wanted): (usize, &Wanted)| {
        let (line, wanted, part) = (line.clone(), wanted.clone(), building.part(wanted));
        async move { line.fetch(&wanted, &part).await.map(|()| number) }
    };
    left.by_ref().take(FILES_AT_ONCE).for_each(|it| _ = running.spawn(fetch(it)));
    let (mut whole, mut unkept_bytes): (Vec<&'a Wanted>, u64) = (Vec::new(), 0);
    while let Some(done) = running.join_next().await {
        let ended = done.expect("fetching a file does not panic").map(|number| {
            whole.push(missing[number]);
            unkept_bytes += missing[number].entry.size;
        });
        if ended.is_err() || unkept_bytes > UNKEPT_BYTES_MAX {
            building.take_up(&std::mem::take(&mut whole))?;
            announced.was_kept(std::mem::take(&mut unkept_bytes))?;
        }
        ended?;
        left.next().into_iter().for_each(|it| _ = running.spawn(fetch(it)));
    }
    Ok(whole)
}

fn agreed(manifest: &Manifest, source: &Source, terms: Terms<'_>) -> Result<(), Failed> {
    match terms {
        Terms::AtMost(most) if manifest.bytes > most.bytes => Err(too_much(source.label(), &manifest.size(), most)),
        Terms::Any | Terms::AtMost(_) => Ok(()),
        Terms::As(version) => as_promised(version, &manifest.held(source)),
    }
}

/// A version of a dataset that is not what it was is nobody's to mend but a person's.
pub fn as_promised(version: &DatasetVersion, now: &Held) -> Result<(), Failed> {
    version.broken_by(now).map_or(Ok(()), |why| Err(Failed { why, whose: Whose::User }))
}

pub fn too_much(label: &str, size: &str, most: Most) -> Failed {
    Failed { why: format!("{label} has {size}; {} is {}", most.rule, Bytes(most.bytes)), whose: Whose::User }
}

fn not_made(Failed { why, whose }: Failed) -> NotMade {
    NotMade::Failed { why, whose }
}

/// What the store says, and whose matter it is.
pub fn failed(error: VolumeError) -> Failed {
    let whose = match error.trouble {
        Trouble::Away { .. } | Trouble::Changed { .. } | Trouble::Unread { .. } | Trouble::Full { .. } => Whose::Platform,
        Trouble::Denied { .. } | Trouble::Missing { .. } | Trouble::Never { .. } => Whose::User,
    };
    Failed { why: error.to_string(), whose }
}

pub fn disk_trouble(source: &Source, error: &io::Error) -> Failed {
    let why = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("the disk of the cache became full while {} was fetched; what had come of it was removed", source.label())
        }
        _ => format!("{} could not be put into the cache: {error}", source.label()),
    };
    Failed { why, whose: Whose::Platform }
}
