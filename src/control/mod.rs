//! The loop that moves jobs: it settles what has ended, places what waits, and keeps what runs in
//! step with what should. It is the only place where a job changes because time passed or something
//! was seen. It keeps nothing in memory that a restart would miss.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use model::{ids::JobId, job::JobState};
use tokio::sync::{Notify, watch};

use crate::{
    engine::Engine,
    meter::TURNS,
    store::{
        Sql, Store, StoreError,
        jobs::{self, Job},
    },
};

pub mod board;
mod deadlines;
mod endings;
pub mod gang_order;
mod holding;
mod on_the_way;
mod placing;
mod queue;
mod refill;
mod room;
mod running;
mod settling;
mod sweeping;
pub mod syncing;
mod telling;
#[cfg(test)]
mod tests;
mod timeline;

pub use board::Board;
pub use endings::Endings;
pub use holding::held;
use on_the_way::OnTheWay;
use placing::Placed;
pub use queue::{QUEUE_MAX, beside, placed, queue};
pub use refill::{Refilled, frees, refill};
use room::Room;
pub use running::{environment, order, should_stop, with_volumes};
pub use settling::take_report;

/// How often everything is looked at, whether or not someone nudged.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

pub struct Control {
    pub store: Store,
    pub engine: Arc<dyn Engine>,
    pub nudge: Nudge,
    pub board: Board,
    /// Where supervisors report to.
    pub server_url: String,
    pub run_key: crate::run_token::RunSecret,
    /// How long it is tried to save the output of a run that is over.
    pub sync_patience_ms: u64,
    /// Where people's folders lie.
    pub uploads: crate::code::upload::Room,
    pub data: std::path::PathBuf,
    pub keeping: crate::config::Keeping,
    pub endings: Endings,
}

/// Asks the loop to take its turn now.
#[derive(Clone, Default)]
pub struct Nudge(Arc<Nudged>);

#[derive(Default)]
struct Nudged {
    bell: Notify,
    /// Rung when the last task of a gang is ready.
    gang_bells: Mutex<HashMap<JobId, watch::Sender<()>>>,
    asked: Mutex<Asked>,
    room: Room,
    on_the_way: OnTheWay,
    /// What was placed outside of a turn and is to be started.
    placed: Mutex<Vec<Placed>>,
    placed_bell: Notify,
}

/// What the next turn should look at besides the queue.
#[derive(Default)]
struct Asked {
    reconcile: bool,
    nodes: bool,
    sweep: bool,
    /// Jobs whose output is to be copied now.
    sync: Vec<JobId>,
}

impl Nudge {
    /// The queue changed, or something became free.
    pub fn queue(&self) {
        self.0.bell.notify_one();
    }

    /// A job came. Where there is no room for it, there is nothing to be done before somebody ends.
    pub fn came(&self) {
        if !self.0.room.is_full() {
            self.queue();
        }
    }

    /// These were placed, and it is durable.
    pub fn start(&self, placed: Vec<Placed>) {
        if placed.is_empty() {
            return;
        }
        crate::crash::point("schedule.after-reserve-commit");
        self.0.placed.lock().unwrap_or_else(PoisonError::into_inner).extend(placed);
        self.0.placed_bell.notify_one();
    }

    fn take_placed(&self) -> Vec<Placed> {
        std::mem::take(&mut *self.0.placed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn room(&self) -> &Room {
        &self.0.room
    }

    fn on_the_way(&self) -> &OnTheWay {
        &self.0.on_the_way
    }

    /// A report was taken, and a job went there, or nowhere.
    pub fn after(&self, moved: Option<JobState>) {
        self.0.room.open();
        match moved {
            // It has tasks to stop.
            Some(JobState::Finishing) => self.runs(),
            Some(
                JobState::Queued
                | JobState::Starting
                | JobState::Running
                | JobState::Stopping
                | JobState::Unknown
                | JobState::Succeeded
                | JobState::Failed
                | JobState::Stopped,
            )
            | None => self.queue(),
        }
    }

    /// Everyone of a gang is ready, and most of them wait for this.
    pub fn gang(&self, job: JobId) {
        if let Some(bell) = self.gang_bells().remove(&job) {
            bell.send_replace(());
        }
    }

    /// What rings for the gang of this job and no other, once.
    pub fn gang_bell(&self, job: JobId) -> watch::Receiver<()> {
        let mut bells = self.gang_bells();
        bells.retain(|_, bell| bell.receiver_count() > 0);
        bells.entry(job).or_default().subscribe()
    }

    fn gang_bells(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, watch::Sender<()>>> {
        self.0.gang_bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What should run changed: compare it with what does.
    pub fn runs(&self) {
        self.asked().reconcile = true;
        self.0.bell.notify_one();
    }

    /// A node went or came back.
    pub fn nodes(&self) {
        self.asked().nodes = true;
        self.runs();
    }

    /// A job was deleted: erase what it left behind.
    pub fn sweep(&self) {
        self.asked().sweep = true;
        self.0.bell.notify_one();
    }

    /// Somebody wants the output of a job saved, and now.
    pub fn sync(&self, job: JobId) {
        self.asked().sync.push(job);
        self.0.bell.notify_one();
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Asked {
        std::mem::take(&mut *self.asked())
    }
}

impl Control {
    /// Takes turns for ever. A turn that fails changes nothing it has not committed; the next one
    /// reads the world anew.
    pub async fn run(self) {
        let mut deadlines = deadlines::Deadlines::default();
        let mut sight = running::Sight::default();
        let mut placing = placing::Placing::default();
        let mut rounds = syncing::Rounds::default();
        let mut leftovers = sweeping::Leftovers::default();
        let mut uploads = sweeping::uploads::Uploads::default();
        let mut logs = sweeping::logs::Logs::default();
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let everything = tokio::select! {
                biased;
                _ = sweep.tick() => true,
                () = self.nudge.0.bell.notified() => false,
            };
            let (asked, began) = (self.nudge.take(), std::time::Instant::now());
            let turn = async {
                if everything || asked.nodes {
                    self.nudge.room().open();
                    self.board.set(self.engine.nodes().await?);
                }
                if everything {
                    deadlines.turn(&self).await?;
                }
                if everything || asked.reconcile {
                    running::turn(&self, &mut sight).await?;
                }
                if everything {
                    settling::turn(&self).await?;
                }
                if everything || !asked.sync.is_empty() {
                    syncing::turn(&self, &mut rounds, &asked.sync).await?;
                }
                if everything {
                    placing.sweep(&self).await?
                } else {
                    placing.glance(&self).await?
                }
                if everything || asked.sweep {
                    leftovers.turn(&self);
                }
                if everything {
                    uploads.turn(&self);
                    logs.turn(&self);
                }
                anyhow::Ok(())
            };
            let taken = turn.await;
            TURNS.note(began.elapsed());
            if let Err(error) = taken {
                tracing::error!("a turn failed and will be taken again: {error:#}");
                tokio::time::sleep(TROUBLE_PAUSE).await;
            }
        }
    }
}

/// Starts for ever what is placed outside of the loop's turns. Whatever is missed here comes out of the comparison of what
/// should run with what does.
pub async fn keep_starting(control: Control) {
    let control = Arc::new(control);
    loop {
        control.nudge.0.placed_bell.notified().await;
        for placed in control.nudge.take_placed() {
            let control = control.clone();
            tokio::spawn(async move { running::start_all(&control, &placed).await });
        }
    }
}

/// A job that cannot be read is left alone, and does not keep the others from their turn.
fn readable(sql: &Sql<'_>, id: JobId) -> Result<Option<Job>, StoreError> {
    match jobs::get(sql, id) {
        Err(StoreError::Unreadable { .. }) => Ok(None),
        read => read,
    }
}

/// The wall clock, for records that people read.
pub fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |it| it.as_millis() as u64)
}
