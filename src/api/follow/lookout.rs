//! One looks for all who watch the same job: it asks the store when something was committed, and how long the logs are when it is time.
//! Whoever watches is woken by a change of that job alone, however many others are watched.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use model::{
    ids::{JobId, RunKey},
    wire::JobSummary,
};
use tokio::{sync::watch, task::AbortHandle};

use crate::{
    api::jobs::summary,
    rundir::RunDir,
    store::{Sql, Store, StoreError, jobs, runs},
};

/// A store that does not answer is asked again, so often that a bad moment ends nobody's stream.
const ASKS_MAX: usize = 10;
/// How often logs that grow are looked at, and how often those that are silent.
const LOOK_EVERY: Duration = Duration::from_millis(40);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(320);
/// How long the next change may wait after the first one that was another job's.
const AFTER_OTHERS_FIRST: Duration = Duration::from_millis(1);

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    State,
    StateAndLogs,
}

/// The attempts of each task in their order. Those before the last are over, and their logs whole.
pub type Tasks = Arc<Vec<Vec<RunKey>>>;

/// How a job fares, which runs it has, and how much they have said. The state was read before the lengths: once the job is over, they are the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// None if the job is no longer there.
    pub summary: Option<Arc<JobSummary>>,
    pub tasks: Tasks,
    /// How long the log of each task's last attempt was, if there was one.
    lengths: Vec<Option<Length>>,
}

/// Of a log and of its index. Bytes that came from far away are there before the index knows of them, and are read when it does.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Length {
    log: u64,
    index: u64,
}

impl Seen {
    /// Whether a log had nothing beyond what was sent of it. Only the last attempt of a task is looked at.
    pub fn has_not_grown(&self, run: &RunKey, sent: u64) -> bool {
        let at = self.tasks.binary_search_by(|attempts| attempts.first().map(|it| &it.task).cmp(&Some(&run.task)));
        let is_last = |at: &usize| self.tasks[*at].last() == Some(run);
        let length = at.ok().filter(is_last).and_then(|at| *self.lengths.get(at)?);
        length.is_some_and(|length| length.log <= sent)
    }
}

/// Nothing before the first look; an error is the last that is said.
pub type Said = Option<Result<Arc<Seen>, StoreError>>;

/// Held by everyone who watches a job; the last to go ends it.
pub struct Lookout {
    said: watch::Receiver<Said>,
    task: AbortHandle,
}

impl Lookout {
    pub fn said(&self) -> watch::Receiver<Said> {
        self.said.clone()
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Those that are held by somebody.
#[derive(Default)]
pub struct Lookouts {
    held: Mutex<HashMap<(JobId, What), Weak<Lookout>>>,
}

impl Lookouts {
    pub fn of(&self, store: &Store, data: &Path, job: JobId, what: What) -> Arc<Lookout> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let there = held.get(&(job, what)).and_then(Weak::upgrade).filter(|it| !it.task.is_finished());
        there.unwrap_or_else(|| {
            held.retain(|_, it| it.strong_count() > 0);
            let begun = begin(Looking { store: store.clone(), data: data.to_owned(), job, what, runs: HashMap::new() });
            held.insert((job, what), Arc::downgrade(&begun));
            begun
        })
    }
}

fn begin(mut looking: Looking) -> Arc<Lookout> {
    let (say, said) = watch::channel(None);
    let task = tokio::spawn(async move {
        if let Err(error) = looking.keep_looking(&say).await {
            say.send_replace(Some(Err(error)));
        }
    });
    Arc::new(Lookout { said, task: task.abort_handle() })
}

struct Looking {
    store: Store,
    data: PathBuf,
    job: JobId,
    what: What,
    /// The last attempt of each task, and how long its log was when it was over.
    runs: HashMap<RunKey, (IsOver, Option<Length>)>,
}

type IsOver = bool;

impl Looking {
    async fn keep_looking(&mut self, say: &watch::Sender<Said>) -> Result<(), StoreError> {
        let mut changes = self.store.changes();
        let (mut seen, mut is_changed, mut pause, mut after_others) = (Arc::new(Seen::default()), true, LOOK_EVERY, AFTER_OTHERS_FIRST);
        loop {
            let now = self.look_again(&seen, is_changed).await?;
            if say.borrow().is_none() || now != *seen {
                seen = Arc::new(now);
                say.send_replace(Some(Ok(seen.clone())));
                (pause, after_others) = (LOOK_EVERY, AFTER_OTHERS_FIRST);
            } else if is_changed {
                // It was a change of another job, and in a busy house the next will be too: each in a row may wait longer.
                tokio::time::sleep(after_others).await;
                after_others = (after_others * 2).min(LOOK_EVERY);
            }
            let changed = changes.changed();
            let woken = if self.may_grow(&seen) { tokio::time::timeout(pause, changed).await.ok() } else { Some(changed.await) };
            if let Some(Err(_)) = woken {
                return Err(StoreError::Broken("its writer has ended".into()));
            }
            is_changed = woken.is_some();
            pause = (pause * 2).min(LOOK_EVERY_MAX);
        }
    }

    fn may_grow(&self, seen: &Seen) -> bool {
        let is_over = seen.summary.as_ref().is_none_or(|it| it.state.is_over());
        self.what == What::StateAndLogs && !is_over && !seen.tasks.is_empty()
    }

    /// Through the bad moments of a store, of which one here tells for all who watch.
    async fn look_again(&mut self, before: &Seen, is_changed: bool) -> Result<Seen, StoreError> {
        for _ in 1..ASKS_MAX {
            match self.look(before, is_changed).await {
                Err(error @ (StoreError::Busy | StoreError::Sql(_))) => {
                    tracing::warn!(job = %self.job, "could not be looked at, will try again: {error}")
                }
                done => return done,
            }
            tokio::time::sleep(LOOK_EVERY_MAX).await;
        }
        self.look(before, is_changed).await
    }

    /// The store is asked only when something was committed.
    async fn look(&mut self, before: &Seen, is_changed: bool) -> Result<Seen, StoreError> {
        let (summary, tasks) = if is_changed { self.ask().await? } else { (before.summary.clone(), before.tasks.clone()) };
        let lengths = match self.what {
            What::State => Vec::new(),
            What::StateAndLogs => self.measure(tasks.clone()).await?,
        };
        Ok(Seen { summary, tasks, lengths })
    }

    async fn ask(&mut self) -> Result<(Option<Arc<JobSummary>>, Tasks), StoreError> {
        let id = self.job;
        let read = move |sql: &Sql<'_>| Ok((jobs::get(sql, id)?, runs::of_job(sql, id)?));
        let (job, mut all) = self.store.read(read).await?;
        all.sort_by(|a, b| (&a.run.task, a.run.attempt).cmp(&(&b.run.task, b.run.attempt)));
        let of_tasks = || all.chunk_by(|a, b| a.run.task == b.run.task);
        let is_known = |run: &RunKey| self.runs.get(run).and_then(|it| it.1);
        let last = of_tasks().filter_map(<[_]>::last).map(|it| (it.run.clone(), (it.state.is_over(), is_known(&it.run))));
        self.runs = last.collect();
        let tasks = of_tasks().map(|attempts| attempts.iter().map(|it| it.run.clone()).collect()).collect();
        Ok((job.as_ref().map(summary).map(Arc::new), Arc::new(tasks)))
    }

    /// The log of a run that was over before it was measured stays as it is.
    async fn measure(&mut self, tasks: Tasks) -> Result<Vec<Option<Length>>, StoreError> {
        let last: Vec<RunKey> = tasks.iter().filter_map(|attempts| attempts.last().cloned()).collect();
        let known: Vec<Option<Length>> = last.iter().map(|run| self.runs.get(run)?.1).collect();
        let data = self.data.clone();
        let measure = move || last.into_iter().zip(known).map(|(run, known)| (known.or_else(|| measured(&data, &run)), run)).collect();
        let all: Vec<(Option<Length>, RunKey)> = tokio::task::spawn_blocking(measure).await.map_err(|_| StoreError::Panicked)?;
        for (length, run) in &all {
            if let Some((true, known)) = self.runs.get_mut(run) {
                *known = *length;
            }
        }
        Ok(all.into_iter().map(|(length, _)| length).collect())
    }
}

fn measured(data: &Path, run: &RunKey) -> Option<Length> {
    let dir = RunDir::new(data, run);
    let length = |path: PathBuf| std::fs::metadata(path).map(|it| it.len());
    // A log without its index yet is a log all the same.
    Some(Length { log: length(dir.log()).ok()?, index: length(dir.index()).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::store::{jobs::set_reason, testing::*};

    const SOON: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(20);

    async fn with_two_jobs(place: &Place) -> Store {
        let store = place.open();
        for (number, name) in [(1, "digits"), (2, "letters")] {
            store.write(move |sql| jobs::submit(sql, &new_job(number, name))).await.unwrap();
        }
        store
    }

    async fn remark(store: &Store, job: u64, reason: &'static str) {
        store.write(move |sql| set_reason(sql, job_id(job), &reason.into(), 9)).await.unwrap();
    }

    async fn next(said: &mut watch::Receiver<Said>) -> Arc<Seen> {
        timeout(LONG, said.changed()).await.expect("something is said").unwrap();
        said.borrow_and_update().clone().unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_change_of_another_job_wakes_nobody() {
        let place = Place::new();
        let store = with_two_jobs(&place).await;
        let lookout = Lookouts::default().of(&store, place.directory.path(), job_id(1), What::State);
        let mut said = lookout.said();
        assert_eq!(next(&mut said).await.summary.as_ref().unwrap().name, "digits");
        remark(&store, 2, "waits for a GPU").await;
        assert!(timeout(SOON, said.changed()).await.is_err(), "it was the other job");
        remark(&store, 1, "waits for memory").await;
        assert_eq!(next(&mut said).await.summary.as_ref().unwrap().reason, "waits for memory");
    }

    #[tokio::test]
    async fn all_who_watch_a_job_share_one_look_and_the_last_to_go_ends_it() {
        let place = Place::new();
        let store = with_two_jobs(&place).await;
        let lookouts = Lookouts::default();
        let of = |job| lookouts.of(&store, place.directory.path(), job_id(job), What::StateAndLogs);
        let (first, second, other) = (of(1), of(1), of(2));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        let mut said = first.said();
        next(&mut said).await;
        drop((first, second));
        timeout(LONG, said.changed()).await.expect("it ends").unwrap_err();
        next(&mut of(1).said()).await;
    }

    #[tokio::test]
    async fn a_log_that_grows_is_told_and_an_earlier_attempt_is_never_called_silent() {
        let place = Place::new();
        let store = with_two_jobs(&place).await;
        let (early, late) = (run_key(1, "worker-0", 1), run_key(1, "worker-0", 2));
        for run in [early.clone(), late.clone()] {
            store.write(move |sql| runs::insert(sql, &new_run(&run))).await.unwrap();
        }
        let dir = RunDir::new(place.directory.path(), &late);
        std::fs::create_dir_all(dir.path()).unwrap();
        std::fs::write(dir.log(), "one").unwrap();
        let lookout = Lookouts::default().of(&store, place.directory.path(), job_id(1), What::StateAndLogs);
        let mut said = lookout.said();
        let seen = next(&mut said).await;
        assert_eq!(*seen.tasks, [[early.clone(), late.clone()]]);
        assert!(seen.has_not_grown(&late, 3) && !seen.has_not_grown(&late, 2) && !seen.has_not_grown(&early, 3));
        std::fs::write(dir.log(), "one, two").unwrap();
        assert!(!next(&mut said).await.has_not_grown(&late, 3));
        std::fs::write(dir.index(), "").unwrap();
        std::fs::write(dir.index(), "what came when").unwrap();
        assert!(!next(&mut said).await.has_not_grown(&late, 3), "what can be read only now is told of");
    }
}
