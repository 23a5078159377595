//! A job that is watched: how it fares and which runs it has, asked again when something was committed.

use std::{sync::Arc, time::Duration};

use model::{
    ids::{JobId, RunKey, TaskName},
    wire::JobSummary,
};

use super::super::{App, jobs};
use crate::{
    error::Error,
    store::{Sql, jobs as job_rows, runs},
};

/// How often a log that grows is looked at, and how often one that is silent; a change of the job wakes a
/// reader at once.
const LOOK_EVERY: Duration = Duration::from_millis(40);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(320);

/// Whose logs are read.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// All of them, or these.
    pub tasks: Option<Vec<TaskName>>,
    pub roles: Option<Vec<String>>,
    pub attempt: Option<u32>,
}

impl Wanted {
    pub fn takes(&self, run: &RunKey) -> bool {
        self.tasks.as_ref().is_none_or(|tasks| tasks.contains(&run.task))
            && self.roles.as_ref().is_none_or(|roles| roles.iter().any(|role| *role == run.task.role.to_string()))
            && self.attempt.is_none_or(|attempt| attempt == run.attempt)
    }
}

pub struct Watched {
    pub app: Arc<App>,
    job: JobId,
    wanted: Wanted,
    /// The attempts of each task in their order. Those before the last are over, and their logs whole.
    pub tasks: Vec<Vec<RunKey>>,
    pub summary: Option<JobSummary>,
    told: Option<JobSummary>,
    /// Something was committed since the last look into the store.
    woken: bool,
    /// The last look into the store showed something new of this job.
    news: bool,
    pause: Duration,
    /// The job is no longer there.
    pub gone: bool,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl Watched {
    pub fn new(app: Arc<App>, job: JobId, wanted: Wanted) -> Self {
        let changes = app.store.changes();
        Self {
            app,
            job,
            wanted,
            tasks: Vec::new(),
            summary: None,
            told: None,
            woken: true,
            news: true,
            pause: LOOK_EVERY,
            gone: false,
            changes,
        }
    }

    /// Waits for a change of the job, or until it is time to look at the logs again. In a busy house most
    /// changes are of other jobs; after one of those the next may wait a moment.
    pub async fn rest(&mut self) {
        if !self.news {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let changed = self.changes.changed();
        self.woken = if self.tasks.is_empty() { changed.await.is_ok() } else { tokio::time::timeout(self.pause, changed).await.is_ok() };
        self.pause = (self.pause * 2).min(LOOK_EVERY_MAX);
    }

    /// Something came, so more may come soon.
    pub fn stay_awake(&mut self) {
        self.pause = LOOK_EVERY;
    }

    /// The store is asked only when something was committed; a log that grows shows by its length.
    pub async fn look(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.woken) && !self.changes.has_changed().unwrap_or(true) {
            return Ok(());
        }
        self.changes.borrow_and_update();
        let id = self.job;
        let read = move |sql: &Sql<'_>| Ok((job_rows::get(sql, id)?, runs::of_job(sql, id)?));
        let (job, all) = self.app.store.read(read).await?;
        let mut keys: Vec<RunKey> = all.into_iter().map(|run| run.run).filter(|run| self.wanted.takes(run)).collect();
        keys.sort_by(|a, b| (&a.task, a.attempt).cmp(&(&b.task, b.attempt)));
        let tasks: Vec<Vec<RunKey>> = keys.chunk_by(|a, b| a.task == b.task).map(<[RunKey]>::to_vec).collect();
        let summary = job.as_ref().map(jobs::summary);
        self.gone = summary.is_none();
        self.news = summary != self.summary || tasks != self.tasks;
        (self.tasks, self.summary) = (tasks, summary);
        Ok(())
    }

    /// The job, if it is no longer as the reader was told.
    pub fn changed(&mut self) -> Option<JobSummary> {
        let summary = self.summary.clone()?;
        let is_news = self.told.as_ref().is_none_or(|told| (told.state, &told.reason) != (summary.state, &summary.reason));
        is_news.then(|| self.told.insert(summary).clone())
    }

    pub fn over(&self) -> Option<&JobSummary> {
        self.summary.as_ref().filter(|summary| summary.state.is_over())
    }
}
