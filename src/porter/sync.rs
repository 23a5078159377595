//! Carrying out: what a task writes to `/output` goes to its places while it runs, and all of it when it has ended.
//!
//! We try as long as it goes well. When it does not, we say why and leave; whoever sent us waits, and sends another.

use std::{
    fs::{self, File},
    io::{self, BufRead},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::sync::Synced;
use nix::sys::memfd::{MFdFlags, memfd_create};
use tokio::sync::watch;

use super::{
    errand::{Errand, Word},
    say,
};
use crate::{crash, rundir::RunDir, volumes::VolumeError};

mod half;
mod ledger;
mod logs;
mod manifest;
pub mod names;
mod pass;
mod places;
mod restless;
mod sending;
mod settled;
pub mod tree;

use ledger::{Ledger, is_full};
use logs::LogCopy;
use pass::{Pass, Tally, Which};
use places::Place;
use restless::Restless;
use tree::Tree;

/// The line on our input that says that nobody writes any more.
pub const FINISH: &str = "finish";
const BETWEEN_PASSES: Duration = Duration::from_millis(1_500);
const BETWEEN_WORDS: Duration = Duration::from_secs(1);

/// Why it does not go on.
pub struct Stuck {
    why: String,
    wait_ms: Option<u64>,
}

impl Stuck {
    fn of(why: impl Into<String>) -> Self {
        Self { why: why.into(), wait_ms: None }
    }

    fn of_disk(error: std::io::Error) -> Self {
        Self::of(format!("what was copied cannot be written down: {error}"))
    }

    fn at_store(error: &VolumeError) -> Self {
        let wait_ms = error.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        Self { why: error.to_string(), wait_ms }
    }
}

pub fn sync(errand: &Errand) -> ExitCode {
    let made = tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(24).enable_all().build();
    let Ok(runtime) = made else { return ExitCode::from(3) };
    let (finish, asked) = watch::channel(false);
    std::thread::spawn(move || listen(&finish));
    say(&runtime.block_on(carry(errand, asked)));
    ExitCode::SUCCESS
}

/// When our input ends, whoever sent us is gone, and so are we: its successor sends another.
fn listen(finish: &watch::Sender<bool>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == FINISH {
            finish.send_replace(true);
        }
    }
    std::process::exit(0);
}

async fn carry(errand: &Errand, finish: watch::Receiver<bool>) -> Word {
    let dir = RunDir::at(&errand.dir);
    let lock = match alone(&dir).await {
        Ok(Some(lock)) => lock,
        Ok(None) => return Word::Replaced,
        Err(error) => return stuck(Stuck::of(format!("the output cannot be locked: {error}")), false),
    };
    tokio::spawn(leave_when_unwanted(dir.clone()));
    let carried = async {
        let carrier = Carrier::new(errand, &dir)?;
        carrier.clear_away().await?;
        Ok(carrier)
    };
    let word = match carried.await {
        Err(it) => stuck(it, false),
        Ok(mut carrier) => match carrier.carry(finish).await {
            Ok(synced) => Word::Synced(synced),
            Err(it) => stuck(it, carrier.moved),
        },
    };
    drop(lock);
    word
}

fn stuck(it: Stuck, moved: bool) -> Word {
    Word::Stuck { why: it.why, wait_ms: it.wait_ms, moved }
}

/// One at a time copies a task's output. Nothing if a later attempt has come meanwhile, whose it is then.
async fn alone(dir: &RunDir) -> std::io::Result<Option<File>> {
    const BETWEEN_TRIES: Duration = Duration::from_millis(100);
    let file = File::options().write(true).create(true).truncate(false).open(dir.output_lock())?;
    loop {
        if dir.is_replaced() {
            return Ok(None);
        }
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(BETWEEN_TRIES).await,
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// A later attempt needs the lock and not our goodbyes, and an erased run nothing at all.
async fn leave_when_unwanted(dir: RunDir) {
    const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
    while dir.path().exists() && !dir.is_replaced() {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    say(&Word::Replaced);
    std::process::exit(0);
}

struct Carrier<'a> {
    errand: &'a Errand,
    dir: &'a RunDir,
    tree: Arc<Tree>,
    places: Vec<Place>,
    logs: Option<LogCopy>,
    ledger: Ledger,
    restless: Restless,
    /// When we came, if somebody was here before us and left without saying that nothing is half.
    inherited_at: Option<Instant>,
    /// Whether anything went out.
    moved: bool,
    said_at: Option<Instant>,
}

impl<'a> Carrier<'a> {
    fn new(errand: &'a Errand, dir: &'a RunDir) -> Result<Self, Stuck> {
        let tree = Tree::open(&dir.output()).map_err(|error| Stuck::of(format!("/output cannot be opened: {error}")))?;
        let ledger = Ledger::open(&dir.sent(), &places::named(errand)).map_err(Stuck::of_disk)?;
        let places = places::open(errand).map_err(Stuck::of)?;
        let logs = LogCopy::open(errand, dir).map_err(Stuck::of)?;
        let inherited_at = (!ledger.in_parts().is_empty()).then(Instant::now);
        Ok(Self {
            errand,
            dir,
            tree: Arc::new(tree),
            places,
            logs,
            ledger,
            restless: Restless::default(),
            inherited_at,
            moved: false,
            said_at: None,
        })
    }

    async fn carry(&mut self, mut finish: watch::Receiver<bool>) -> Result<Synced, Stuck> {
        loop {
            let which = if *finish.borrow_and_update() { Which::All } else { Which::Finished };
            // The log may go elsewhere, and then nothing keeps it.
            let (passed, logged) = (self.pass(which).await, self.send_log(which).await);
            let tally = passed?;
            logged?;
            let pause = BETWEEN_PASSES.max(tally.took * 4);
            match which {
                Which::All if tally.later == 0 => return self.conclude(tally).await,
                Which::All => tokio::time::sleep(BETWEEN_PASSES).await,
                Which::Finished => {
                    let _asked_or_time = tokio::time::timeout(pause, finish.changed()).await;
                }
            }
        }
    }

    async fn pass(&mut self, which: Which) -> Result<Tally, Stuck> {
        let shown = self.shown();
        let (mut said_at, mut moved) = (self.said_at, false);
        let mut progress = |tally: &Tally| {
            moved = true;
            if which == Which::All && said_at.is_none_or(|at: Instant| at.elapsed() > BETWEEN_WORDS) {
                said_at = Some(Instant::now());
                say(&Word::Doing(format!("{} of {} files so far are in {shown}", tally.sent, tally.files)));
            }
        };
        let (tree, places, ledger, restless) = (&self.tree, &self.places[..], &mut self.ledger, &mut self.restless);
        let went = Pass { tree, places, ledger, restless, which, progress: &mut progress, tally: Tally::default() }.run().await;
        (self.said_at, self.moved) = (said_at, self.moved || moved);
        went.map_err(|(it, tally)| Stuck { why: format!("{} of {} files are in {shown}; {}", tally.sent, tally.files, it.why), ..it })
    }

    async fn send_log(&mut self, which: Which) -> Result<(), Stuck> {
        match &mut self.logs {
            Some(logs) => logs.copy(which == Which::All).await.map_err(|error| Stuck::at_store(&error)),
            None => Ok(()),
        }
    }

    /// Everything is there. The lists come last, and only then is it said.
    async fn conclude(&mut self, tally: Tally) -> Result<Synced, Stuck> {
        self.leave_nothing_half().await?;
        // Where nothing was written nothing is said about it outside either.
        if tally.files > 0 || !self.ledger.is_empty() {
            crash::point("sync.object-uploaded-before-manifest");
            for number in 0..self.places.len() {
                self.put_manifest(number, &tally).await?;
            }
            crash::point("sync.manifest-before-commit");
        }
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as u64);
        Ok(Synced { files: tally.sent, bytes: tally.bytes, at_ms, skipped: tally.skipped.first() })
    }

    async fn put_manifest(&self, number: usize, tally: &Tally) -> Result<(), Stuck> {
        let (place, run) = (&self.places[number], &self.errand.order.run);
        let file = self.dir.path().join("manifest.part");
        let text = self.manifest(&file, place, tally).map_err(Stuck::of_disk)?;
        let size = text.metadata().map_err(Stuck::of_disk)?.len();
        let path = place.below(&manifest::path(run));
        let put = async {
            place.store.put_file(&path, &text, size).await?;
            if place.leaves_parts(size) { place.store.abort_stale_of(&path).await } else { Ok(()) }
        };
        let put = put.await.map_err(|error| Stuck::at_store(&error));
        let _scratch = fs::remove_file(&file);
        put
    }

    /// On the disk, which takes however long it is; or, where there is no room, in memory.
    fn manifest(&self, part: &Path, place: &Place, tally: &Tally) -> io::Result<File> {
        let written = |file: File| {
            manifest::write(&file, &self.errand.order.run, (&self.tree, &self.ledger), (place, &self.places), tally).map(|()| file)
        };
        match File::options().read(true).write(true).create(true).truncate(true).open(part).and_then(written) {
            Err(error) if is_full(&error) => written(memfd_create("manifest", MFdFlags::MFD_CLOEXEC)?.into()),
            other => other,
        }
    }

    fn shown(&self) -> String {
        let places: Vec<&str> = self.places.iter().map(|place| place.shown.as_str()).collect();
        places.join(", ")
    }
}
