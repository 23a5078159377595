//! Seeing to it that what the child writes comes out, however long the store is away and however often a porter dies.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    process::ChildStdin,
    time::{Duration, SystemTime},
};

use model::{
    ids::VolumeName,
    order::{Report, RunOrder, RunSecrets},
    resources::show_duration_ms,
    sync::Synced,
    volume::Volume,
};
use tokio::{
    io::{BufReader, Lines},
    net::unix::pipe::Receiver as Pipe,
    sync::watch::Receiver,
    time::{Instant, sleep},
};

use super::{
    journal::say,
    porter::Sent,
    report::{Home, PATIENCE, Told},
};
use crate::{
    config::default_cache_dir,
    crash,
    porter::{
        FINISH,
        errand::{Errand, Kind, Word},
    },
    rundir::RunDir,
};

const PAUSE_FIRST_MS: u64 = 1_000;
const PAUSE_MAX_MS: u64 = 300_000;
/// How long a word about how it goes may wait for the server; the next one says more.
const WORD_PATIENCE: Duration = Duration::from_secs(3);

pub struct Carrier<'a> {
    dir: &'a RunDir,
    order: &'a RunOrder,
    home: &'a Home,
    /// What the volumes were when we last heard.
    volumes: RefCell<BTreeMap<VolumeName, Volume>>,
    last_secrets: RefCell<Option<RunSecrets>>,
}

/// What a porter came back with.
enum Back {
    Synced(Synced),
    Stuck {
        why: String,
        wait_ms: Option<u64>,
        moved: bool,
    },
    /// Nobody wants it any more, or a later attempt does it.
    Unwanted,
}

impl<'a> Carrier<'a> {
    pub fn new(dir: &'a RunDir, order: &'a RunOrder, home: &'a Home) -> Self {
        Self { dir, order, home, volumes: RefCell::new(order.volumes.clone()), last_secrets: RefCell::default() }
    }

    /// Ends when everything is outside and that is written down, or when it is no longer ours to do.
    pub async fn carry(&self, mut finish: Receiver<bool>) -> anyhow::Result<()> {
        let mut tries = 0;
        while self.dir.path().exists() {
            let back = self.send_one(&mut finish).await.unwrap_or_else(|error| Back::Stuck {
                why: format!("no porter could be sent: {error}"),
                wait_ms: None,
                moved: false,
            });
            let (why, wait_ms, moved) = match back {
                Back::Synced(synced) => return self.conclude(synced).await,
                Back::Unwanted => return Ok(()),
                Back::Stuck { why, wait_ms, moved } => (why, wait_ms, moved),
            };
            tries = if moved { 1 } else { tries + 1 };
            let pause_ms = pause_ms(tries).max(wait_ms.unwrap_or(0)).min(PAUSE_MAX_MS);
            let words = format!("{why}; tries again in {}", show_duration_ms(pause_ms / 1000 * 1000));
            say(&words);
            if self.is_unwanted(words, &finish).await {
                return Ok(());
            }
            self.wait(Duration::from_millis(pause_ms), &mut finish).await;
            self.ask_for_volumes().await;
        }
        Ok(())
    }

    async fn send_one(&self, finish: &mut Receiver<bool>) -> io::Result<Back> {
        let mut sent = Sent::off(&self.errand().await?)?;
        let (mut words, mut orders) = sent.talk()?;
        let mut told = tell_to_finish(&mut orders, *finish.borrow_and_update());
        loop {
            tokio::select! {
                word = words.next_line() => if let Some(back) = self.heard(word?, finish).await? {
                    return Ok(back);
                },
                Ok(()) = finish.changed(), if !told => told = tell_to_finish(&mut orders, *finish.borrow_and_update()),
            }
        }
    }

    async fn heard(&self, line: Option<String>, finish: &Receiver<bool>) -> io::Result<Option<Back>> {
        let Some(line) = line else { return Err(io::Error::other("it ended without a word")) };
        Ok(match serde_json::from_str(&line)? {
            Word::Doing(why) => self.is_unwanted(why, finish).await.then_some(Back::Unwanted),
            Word::Synced(synced) => Some(Back::Synced(synced)),
            Word::Stuck { why, wait_ms, moved } => Some(Back::Stuck { why, wait_ms, moved }),
            Word::Replaced => Some(Back::Unwanted),
            Word::Staged(_) | Word::Failed { .. } => return Err(io::Error::other("it spoke of something else")),
        })
    }

    async fn errand(&self) -> io::Result<Errand> {
        let shelves = self.dir.data().map_or_else(default_cache_dir, Path::to_owned);
        let order = RunOrder { volumes: self.volumes.borrow().clone(), ..self.order.clone() };
        let secrets = self.secrets(&order).await?;
        Ok(Errand { kind: Kind::Sync, order, secrets, dir: self.dir.path().to_owned(), shelves })
    }

    /// A volume may have been put right under the same name since we were sent, and its keys open nothing else.
    async fn ask_for_volumes(&self) {
        if !self.order.volumes.is_empty()
            && let Told::Yes(order) = self.home.order(Instant::now() + WORD_PATIENCE).await
        {
            self.volumes.replace(order.volumes);
        }
    }

    /// Asked for anew each time: who was not let in may be now. While the server is away, the last ones have to do.
    async fn secrets(&self, order: &RunOrder) -> io::Result<RunSecrets> {
        if !order.needs_secrets() {
            return Ok(RunSecrets::default());
        }
        match self.home.secrets(Instant::now() + WORD_PATIENCE).await {
            Told::Yes(secrets) => {
                self.last_secrets.replace(Some(secrets.clone()));
                Ok(secrets)
            }
            Told::Unwanted(why) | Told::No(why) => {
                let last = self.last_secrets.borrow().clone();
                last.ok_or_else(|| io::Error::other(format!("what opens its volumes cannot be had: {why}")))
            }
        }
    }

    /// Says how it goes. While the child runs nobody can tell us to leave it alone.
    async fn is_unwanted(&self, why: String, finish: &Receiver<bool>) -> bool {
        let told = self.home.tell(&Report::Syncing { why }, Instant::now() + WORD_PATIENCE).await;
        *finish.borrow() && matches!(told, Told::Unwanted(_))
    }

    /// Waits, unless the child ends or somebody asks that it be tried now.
    async fn wait(&self, pause: Duration, finish: &mut Receiver<bool>) {
        const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
        let (until, asked, finished) = (Instant::now() + pause, self.asked_at(), *finish.borrow_and_update());
        while Instant::now() < until && self.asked_at() == asked && *finish.borrow() == finished && self.dir.path().exists() {
            sleep(BETWEEN_LOOKS).await;
        }
    }

    fn asked_at(&self) -> Option<SystemTime> {
        fs::metadata(self.dir.wanted()).ok()?.modified().ok()
    }

    /// Written down first, then told, as with the exit record. Where the task has left no room to write, it is enough that the
    /// server takes it.
    async fn conclude(&self, synced: Synced) -> anyhow::Result<()> {
        let recorded = record(self.dir, &synced);
        crash::point("sync.recorded-before-told");
        let told = self.home.tell(&Report::Synced { synced }, Instant::now() + PATIENCE).await;
        if told == Told::Yes(()) {
            return Ok(());
        }
        say(&format!("the output is saved, but the server did not take that: {told:?}"));
        Ok(recorded?)
    }
}

fn tell_to_finish(orders: &mut ChildStdin, now: bool) -> bool {
    // A porter that is gone says so by itself.
    now && orders.write_all(format!("{FINISH}\n").as_bytes()).is_ok()
}

fn record(dir: &RunDir, synced: &Synced) -> io::Result<()> {
    let part = dir.synced().with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(&serde_json::to_vec(synced)?)?;
    file.sync_all()?;
    fs::rename(part, dir.synced())?;
    File::open(dir.path())?.sync_all()
}

/// Between half and all of a pause that doubles, so that many who failed together do not come back together.
fn pause_ms(tries: u32) -> u64 {
    let whole = (PAUSE_FIRST_MS << tries.saturating_sub(1).min(20)).min(PAUSE_MAX_MS);
    whole / 2 + u64::from(getrandom::u32().unwrap_or(0)) % (whole / 2 + 1)
}

pub type Words = Lines<BufReader<Pipe>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_five_minutes_and_no_further() {
        for (tries, most_ms) in [(1, 1_000), (2, 2_000), (5, 16_000), (9, 256_000), (10, 300_000), (4_000, 300_000)] {
            let pause = pause_ms(tries);
            assert!((most_ms / 2..=most_ms).contains(&pause), "{tries}: {pause}");
        }
    }

    #[test]
    fn what_is_recorded_is_whole() {
        let home = tempfile::tempdir().unwrap();
        let dir = RunDir::at(home.path());
        let synced = Synced { files: 3, bytes: 9, at_ms: 1, skipped: vec!["a: is a pipe".into()] };
        record(&dir, &synced).unwrap();
        assert_eq!(serde_json::from_slice::<Synced>(&fs::read(dir.synced()).unwrap()).unwrap(), synced);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
