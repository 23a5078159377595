//! One look through `/output`: what has changed and is finished goes out, a few files at a time and in bounded memory.

use std::{io, os::unix::fs::MetadataExt, sync::Arc, time::Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Semaphore, mpsc};

use super::{
    Stuck,
    ledger::{Ledger, Sent, stamp},
    names::key_of,
    places::{Place, Route, route},
    restless::Restless,
    sending::{Extent, Not, PERMIT_BYTES, Sending, Went},
    settled,
    tree::{Found, Tree, What, leads_inside},
};
use crate::volumes::Trouble;

const FILES_AT_ONCE: usize = 16;
const IN_MEMORY_BYTES_MAX: u64 = 48 << 20;
/// A file with holes is sent as it reads, which can be endless.
const SPARSE_BYTES_MAX: u64 = 64 << 30;
/// So many a person is told of; so many are written into the list.
const SKIPPED_SHOWN_MAX: usize = 20;
const SKIPPED_LISTED_MAX: usize = 10_000;
/// One object may be closed to us where others are not. A store that lets so many in a row not in does not know us at all.
const DENIED_IN_A_ROW_MAX: usize = FILES_AT_ONCE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// What is finished, while the task goes on.
    Finished,
    /// Everything: nobody writes any more.
    All,
}

/// What a pass has seen.
#[derive(Default)]
pub struct Tally {
    pub files: u64,
    pub bytes: u64,
    pub sent: u64,
    /// Files that are to be looked at again.
    pub later: u64,
    pub skipped: Skipped,
    /// Why the first file that does not go out stays. The others go all the same.
    held_up: Option<Stuck>,
    denied_in_a_row: usize,
    pub took: std::time::Duration,
}

#[derive(Default)]
pub struct Skipped {
    listed: Vec<String>,
    more: usize,
}

impl Skipped {
    fn add(&mut self, path: &[u8], why: &str) {
        if self.listed.len() < SKIPPED_LISTED_MAX {
            self.listed.push(format!("{}: {why}", key_of(path)));
        } else {
            self.more += 1;
        }
    }

    /// For a person.
    pub fn first(&self) -> Vec<String> {
        self.lines(SKIPPED_SHOWN_MAX)
    }

    /// For the list of what is there.
    pub fn all(&self) -> Vec<String> {
        self.lines(SKIPPED_LISTED_MAX)
    }

    fn lines(&self, most: usize) -> Vec<String> {
        let more = self.listed.len().saturating_sub(most) + self.more;
        let last = (more > 0).then(|| format!("{more} more"));
        self.listed.iter().take(most).cloned().chain(last).collect()
    }
}

pub struct Pass<'a> {
    pub tree: &'a Arc<Tree>,
    pub places: &'a [Place],
    pub ledger: &'a mut Ledger,
    pub restless: &'a mut Restless,
    pub which: Which,
    /// Told of each file that went out.
    pub progress: &'a mut dyn FnMut(&Tally),
    pub tally: Tally,
}

impl Pass<'_> {
    pub async fn run(mut self) -> Result<Tally, (Stuck, Tally)> {
        let began = Instant::now();
        match self.go_through().await {
            Ok(()) => {
                self.tally.took = began.elapsed();
                Ok(self.tally)
            }
            Err(stuck) => Err((stuck, self.tally)),
        }
    }

    async fn go_through(&mut self) -> Result<(), Stuck> {
        let mut found = walked(self.tree.clone());
        let room = Arc::new(Semaphore::new(usize::try_from(IN_MEMORY_BYTES_MAX / PERMIT_BYTES).unwrap_or(1)));
        let (mut going, mut all_found) = (FuturesUnordered::new(), false);
        while !all_found || !going.is_empty() {
            tokio::select! {
                Some(went) = going.next(), if !going.is_empty() => self.take(went)?,
                next = found.recv(), if !all_found && going.len() < FILES_AT_ONCE => match next {
                    None => all_found = true,
                    Some(next) => if let Some((place, sending)) = self.choose(&next)? {
                        going.push(sending.send(self.tree.clone(), place, room.clone()));
                    },
                },
            }
        }
        self.ledger.make_durable().map_err(Stuck::of_disk)?;
        self.tally.held_up.take().map_or(Ok(()), Err)
    }

    /// Answers where a file is to be sent now, if it is.
    fn choose<'b>(&mut self, found: &Found) -> Result<Option<(&'b Place, Sending)>, Stuck>
    where
        Self: 'b,
    {
        let metadata = match &found.what {
            What::File(metadata) => metadata,
            What::Link(target) => {
                if !leads_inside(&found.path, target) && !matches!(route(self.places, &found.path), Route::Nowhere) {
                    self.tally.skipped.add(&found.path, "is a link that leads out of /output");
                }
                return Ok(None);
            }
            What::Special(what) => return Ok(self.skip(found, &format!("is {what}"))),
            What::Closed(error) => {
                self.not_read(&found.path, error.kind(), &error.to_string());
                return Ok(None);
            }
        };
        let (place, key) = match route(self.places, &found.path) {
            Route::To(place, key) => (place, key),
            Route::Nowhere => return Ok(None),
            Route::Refused(why) => return Ok(self.skip(found, &why)),
        };
        if metadata.len() > SPARSE_BYTES_MAX && metadata.blocks() * 512 < metadata.len() / 2 {
            return Ok(self.skip(found, &format!("is a file of {} bytes with holes, which would all be sent", metadata.len())));
        }
        self.tally.files += 1;
        self.tally.bytes += metadata.len();
        if self.ledger.has(&key_of(&found.path), &stamp(metadata)) {
            self.tally.sent += 1;
            return Ok(None);
        }
        let extent = match self.which {
            Which::All => Extent::Whole,
            Which::Finished if settled::is_quiet(metadata) => Extent::Finished,
            Which::Finished => match self.restless.look(&found.path, Instant::now()) {
                Some(so_far) => so_far,
                None => {
                    self.tally.later += 1;
                    return Ok(None);
                }
            },
        };
        if place.leaves_parts(metadata.len()) && extent != Extent::SoFar(None) {
            self.ledger.begin(&key_of(&found.path)).map_err(Stuck::of_disk)?;
        }
        Ok(Some((place, Sending { path: found.path.clone(), key, bytes: metadata.len(), extent })))
    }

    fn skip<T>(&mut self, found: &Found, why: &str) -> Option<T> {
        self.tally.skipped.add(&found.path, why);
        None
    }

    /// What its owner has closed stays closed. Whatever else keeps us from reading something may pass, and nothing is whole before;
    /// meanwhile the rest goes out.
    fn not_read(&mut self, path: &[u8], kind: io::ErrorKind, why: &str) {
        match kind {
            io::ErrorKind::PermissionDenied => self.tally.skipped.add(path, &format!("cannot be read: {why}")),
            _ => self.not_yet(format!("{} cannot be read now: {why}", key_of(path))),
        }
    }

    /// A file is missing outside, so nothing is whole; the rest goes out meanwhile.
    fn not_yet(&mut self, why: String) {
        match self.which {
            Which::Finished => self.tally.later += 1,
            Which::All => _ = self.tally.held_up.get_or_insert(Stuck::of(why)),
        }
    }

    fn denied(&mut self, stuck: Stuck) -> Result<(), Stuck> {
        self.tally.denied_in_a_row += 1;
        if self.tally.denied_in_a_row >= DENIED_IN_A_ROW_MAX {
            return Err(stuck);
        }
        self.tally.held_up.get_or_insert(stuck);
        Ok(())
    }

    fn take(&mut self, went: Went) -> Result<(), Stuck> {
        let key = key_of(&went.path);
        if let Some(moved) = went.moved.as_deref().and_then(|moved| key.strip_suffix(went.key.strip_prefix(moved)?)) {
            self.ledger.remove(moved).map_err(Stuck::of_disk)?;
        }
        match (went.extent, &went.result) {
            (Extent::SoFar(_), Ok(_) | Err(Not::Later | Not::Refused(_))) => {
                self.restless.saw(went.path.clone(), went.seen, Instant::now())
            }
            (Extent::Whole | Extent::Finished | Extent::SoFar(_), _) => self.restless.forget(&went.path),
        }
        match went.result {
            Ok(entry) => {
                let sent = Sent { key, size: entry.size, etag: entry.etag, stamp: went.stamp };
                self.ledger.add(sent).map_err(Stuck::of_disk)?;
                self.tally.sent += 1;
                self.tally.denied_in_a_row = 0;
                (self.progress)(&self.tally);
            }
            Err(Not::Later) => self.tally.later += 1,
            Err(Not::Gone) => {
                self.tally.files -= 1;
                if self.which == Which::All {
                    self.tally.skipped.add(&went.path, "vanished before it was copied");
                }
            }
            Err(Not::Unreadable(error)) => self.not_read(&went.path, error.kind(), &error.to_string()),
            Err(Not::Refused(error)) => match &error.trouble {
                Trouble::Changed { .. } => self.tally.later += 1,
                Trouble::Unread { why } => self.not_read(&went.path, io::ErrorKind::Other, why),
                // It may be this file alone that the store does not take. Names that none takes were left out before.
                Trouble::Never { why } => self.not_yet(format!("{key} is not taken by {}: {}", error.at, why.en)),
                Trouble::Denied { .. } => self.denied(Stuck::at_store(&error))?,
                Trouble::Away { .. } | Trouble::Missing { .. } | Trouble::Full { .. } => {
                    return Err(Stuck::at_store(&error));
                }
            },
        }
        Ok(())
    }
}

/// The tree as it is found by a thread that may wait for a disk.
fn walked(tree: Arc<Tree>) -> mpsc::Receiver<Found> {
    const WAITING_MAX: usize = 256;
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    tokio::task::spawn_blocking(move || tree.walk(&mut |found| sender.blocking_send(found).is_ok()));
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_of_some_that_were_skipped_and_how_many_more_and_the_list_has_all() {
        let mut skipped = Skipped::default();
        assert_eq!((skipped.first().len(), skipped.all().len()), (0, 0));
        for number in 0..SKIPPED_LISTED_MAX + 5 {
            skipped.add(format!("pipe-{number}").as_bytes(), "is a pipe");
        }
        let (first, all) = (skipped.first(), skipped.all());
        assert_eq!((first.len(), first[0].as_str(), first[20].as_str()), (21, "pipe-0: is a pipe", "9985 more"));
        assert_eq!((all.len(), all[SKIPPED_LISTED_MAX].as_str()), (SKIPPED_LISTED_MAX + 1, "5 more"));
    }
}
