//! A job that somebody watches, as far as they want to know.

use std::sync::Arc;

use model::{
    ids::{JobId, RunKey, TaskName},
    wire::JobSummary,
};
use tokio::sync::watch;

use super::super::App;
use super::lookout::{Lookout, Said, Seen, Tasks, What};
use crate::error::Error;

/// Whose logs are read.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// All of them, or these.
    pub tasks: Option<Vec<TaskName>>,
    pub roles: Option<Vec<String>>,
    pub attempt: Option<u32>,
}

impl Wanted {
    pub fn no_logs() -> Self {
        Self { tasks: Some(Vec::new()), ..Self::default() }
    }

    pub fn takes(&self, run: &RunKey) -> bool {
        self.tasks.as_ref().is_none_or(|tasks| tasks.contains(&run.task))
            && self.roles.as_ref().is_none_or(|roles| roles.iter().any(|role| *role == run.task.role.to_string()))
            && self.attempt.is_none_or(|attempt| attempt == run.attempt)
    }

    fn what(&self) -> What {
        if self.tasks.as_ref().is_some_and(Vec::is_empty) { What::State } else { What::StateAndLogs }
    }

    /// Most want all of them, and share them with the others who do.
    fn of(&self, tasks: &Tasks) -> Tasks {
        if tasks.iter().flatten().all(|run| self.takes(run)) {
            return tasks.clone();
        }
        let wanted = |attempts: &Vec<RunKey>| attempts.iter().filter(|run| self.takes(run)).cloned().collect::<Vec<_>>();
        Arc::new(tasks.iter().map(wanted).filter(|attempts| !attempts.is_empty()).collect())
    }
}

pub struct Watched {
    pub app: Arc<App>,
    wanted: Wanted,
    /// What of the job is wanted.
    pub tasks: Tasks,
    pub seen: Arc<Seen>,
    told: Option<Arc<JobSummary>>,
    said: watch::Receiver<Said>,
    _held_while_watched: Arc<Lookout>,
}

impl Watched {
    pub fn new(app: Arc<App>, job: JobId, wanted: Wanted) -> Self {
        let lookout = app.lookouts.of(&app.store, &app.data, job, wanted.what());
        let (tasks, seen, said) = (Tasks::default(), Arc::default(), lookout.said());
        Self { app, wanted, tasks, seen, told: None, said, _held_while_watched: lookout }
    }

    /// Waits until something of the job has changed, or a log has grown.
    pub async fn rest(&mut self) -> Result<(), Error> {
        self.said.changed().await.map_err(ended)
    }

    pub async fn look(&mut self) -> Result<(), Error> {
        let said = self.said.wait_for(Option::is_some).await.map_err(ended)?.clone();
        let Some(seen) = said.transpose()? else { return Ok(()) };
        if !Arc::ptr_eq(&seen.tasks, &self.seen.tasks) {
            self.tasks = self.wanted.of(&seen.tasks);
        }
        self.seen = seen;
        Ok(())
    }

    /// Whether the job is no longer there.
    pub fn is_gone(&self) -> bool {
        self.seen.summary.is_none()
    }

    /// The job, if it is no longer as the reader was told.
    pub fn changed(&mut self) -> Option<Arc<JobSummary>> {
        let summary = self.seen.summary.as_ref()?;
        let is_news = self.told.as_ref().is_none_or(|told| (told.state, &told.reason) != (summary.state, &summary.reason));
        is_news.then(|| self.told.insert(summary.clone()).clone())
    }

    pub fn over(&self) -> Option<Arc<JobSummary>> {
        self.seen.summary.clone().filter(|summary| summary.state.is_over())
    }
}

fn ended(_: watch::error::RecvError) -> Error {
    Error::Internal("nobody looks at this job any more".into())
}
