//! The loop that moves jobs: it settles what has ended, places what waits, and keeps what runs in
//! step with what should. It is the only place where a job changes because time passed or something
//! was seen. It keeps nothing in memory that a restart would miss.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use model::{ids::JobId, job::JobState};
use tokio::sync::{Notify, watch};

use crate::{
    engine::Engine,
    store::{
        Sql, Store, StoreError,
        jobs::{self, Job},
    },
};

pub mod board;
mod deadlines;
pub mod gang_order;
mod placing;
mod queue;
mod running;
mod settling;
mod sweeping;
#[cfg(test)]
mod tests;

pub use board::Board;
pub use placing::held;
pub use queue::{beside, placed, queue};
pub use running::{environment, order, should_stop};
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
}

/// Asks the loop to take its turn now.
#[derive(Clone, Default)]
pub struct Nudge(Arc<Nudged>);

#[derive(Default)]
struct Nudged {
    bell: Notify,
    /// Rung when a task is ready.
    gang_bell: watch::Sender<()>,
    asked: Mutex<Asked>,
}

/// What the next turn should look at besides the queue.
#[derive(Default)]
struct Asked {
    reconcile: bool,
    nodes: bool,
    sweep: bool,
}

impl Nudge {
    /// The queue changed, or something became free.
    pub fn queue(&self) {
        self.0.bell.notify_one();
    }

    /// A report was taken, and a job went there, or nowhere.
    pub fn after(&self, moved: Option<JobState>) {
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

    /// A task became ready, and others of its gang may wait for it.
    pub fn gang(&self) {
        self.0.gang_bell.send_replace(());
    }

    pub fn gang_changes(&self) -> watch::Receiver<()> {
        self.0.gang_bell.subscribe()
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

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let everything = tokio::select! {
                biased;
                _ = sweep.tick() => true,
                () = self.nudge.0.bell.notified() => false,
            };
            let asked = self.nudge.take();
            let turn = async {
                if everything || asked.nodes {
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
                let look = if everything { placing::Look::Far } else { placing::Look::Near };
                placing::turn(&self, look).await?;
                if everything || asked.sweep {
                    sweeping::turn(&self).await?;
                }
                anyhow::Ok(())
            };
            if let Err(error) = turn.await {
                tracing::error!("a turn failed and will be taken again: {error:#}");
                tokio::time::sleep(TROUBLE_PAUSE).await;
            }
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
