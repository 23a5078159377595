//! Sweeping logs of jobs that are over: by age, and by how much all of them have together.

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use model::{
    ids::{JobId, RunKey},
    job::JobState,
    logs::{Dropped, Gap},
};

use crate::{
    config::Keeping,
    control::{Control, now_ms},
    rundir::{RunDir, gap},
    store::{
        Sql, Store, StoreError,
        jobs::{self, Filter},
        runs,
    },
};

const BETWEEN_SWEEPS: Duration = Duration::from_secs(3600);
const JOBS_AT_ONCE: u32 = 500;
const OVER: [JobState; 3] = [JobState::Succeeded, JobState::Failed, JobState::Stopped];

/// When it was last done; at the start of the server, for the first time.
#[derive(Default)]
pub struct Logs {
    swept: Option<Instant>,
}

/// What a job that is over has on disk.
#[derive(Clone)]
struct Ended {
    at_ms: u64,
    bytes: u64,
    runs: Vec<RunKey>,
}

impl Logs {
    /// It may take a while, and no job waits for it.
    pub fn turn(&mut self, control: &Control) {
        let keeping = control.keeping;
        let is_kept = keeping.keep_ms.is_none() && keeping.keep_bytes.is_none();
        if is_kept || self.swept.is_some_and(|swept| swept.elapsed() < BETWEEN_SWEEPS) {
            return;
        }
        self.swept = Some(Instant::now());
        let (store, data) = (control.store.clone(), control.data.clone());
        tokio::spawn(async move {
            match sweep(store, data, keeping).await {
                Ok(0) => {}
                Ok(logs) => tracing::info!("{logs} logs of jobs that are over were dropped"),
                Err(error) => tracing::warn!("the logs could not be swept, will try again in an hour: {error:#}"),
            }
        });
    }
}

async fn sweep(store: Store, data: PathBuf, keeping: Keeping) -> anyhow::Result<usize> {
    let (mut before, mut ended) = (None, Vec::new());
    loop {
        let page = store.read(move |sql| page(sql, before)).await?;
        before = page.last().map(|(id, _)| *id);
        let is_last = page.len() < JOBS_AT_ONCE as usize;
        ended.extend(page.into_iter().map(|it| it.1));
        if is_last {
            break;
        }
    }
    Ok(tokio::task::spawn_blocking(move || drop_what_is_too_much(&data, ended, keeping, now_ms())).await??)
}

fn page(sql: &Sql<'_>, before: Option<JobId>) -> Result<Vec<(JobId, Ended)>, StoreError> {
    let filter = Filter { states: OVER.to_vec(), ..Filter::default() };
    let with_runs = |(id, at_ms): (JobId, u64)| {
        let runs = runs::of_job(sql, id)?.into_iter().map(|run| run.run).collect();
        Ok((id, Ended { at_ms, bytes: 0, runs }))
    };
    let page = jobs::list(sql, &filter, before, JOBS_AT_ONCE)?;
    let ids = page.into_iter().filter_map(|job| Some((job.id.parse().ok()?, job.ended_at_ms.unwrap_or(0))));
    ids.map(with_runs).collect()
}

fn drop_what_is_too_much(data: &Path, mut ended: Vec<Ended>, keeping: Keeping, now_ms: u64) -> io::Result<usize> {
    for job in &mut ended {
        job.bytes = job.runs.iter().map(|run| on_disk(&RunDir::new(data, run))).sum();
    }
    ended.sort_by_key(|job| std::cmp::Reverse(job.at_ms));
    let (mut kept_bytes, mut dropped) = (0u64, 0);
    for job in &ended {
        let with_it = kept_bytes.saturating_add(job.bytes);
        match too_much(job.at_ms, with_it, keeping, now_ms) {
            Some(why) => {
                for run in &job.runs {
                    dropped += usize::from(drop_log(&RunDir::new(data, run), why, now_ms)?);
                }
            }
            // What is dropped takes no room from those that ended before it.
            None => kept_bytes = with_it,
        }
    }
    Ok(dropped)
}

/// Why the logs of a job go that ended then, where so much is kept of it and of those that ended later.
fn too_much(ended_at_ms: u64, kept_bytes: u64, keeping: Keeping, now_ms: u64) -> Option<Dropped> {
    let age_ms = now_ms.saturating_sub(ended_at_ms);
    let too_old = keeping.keep_ms.filter(|most| age_ms > *most).map(|most_ms| Dropped::TooOld { most_ms });
    let too_much = || keeping.keep_bytes.filter(|most| kept_bytes > *most).map(|most_bytes| Dropped::TooMuch { most_bytes });
    too_old.or_else(too_much)
}

fn on_disk(dir: &RunDir) -> u64 {
    [dir.log(), dir.index()].iter().filter_map(|path| std::fs::metadata(path).ok()).map(|it| it.blocks() * 512).sum()
}

/// The log keeps its length, so that places in it stay what they were; the index is of no more use.
fn drop_log(dir: &RunDir, why: Dropped, at_ms: u64) -> io::Result<bool> {
    let log = match OpenOptions::new().write(true).open(dir.log()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let length = log.metadata()?.len();
    if length == 0 || gap::read(dir)?.is_some_and(|gap| gap.from == 0 && gap.to >= length) {
        return Ok(false);
    }
    gap::write_down(dir, &Gap { from: 0, to: length, at_ms, why })?;
    log.set_len(0)?;
    log.set_len(length)?;
    OpenOptions::new().write(true).open(dir.index())?.set_len(0)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(data: &Path, number: u64, at_ms: u64, bytes: usize) -> Ended {
        let run = RunKey { job: JobId::new(number, &[7; 10]), task: "main-0".parse().unwrap(), attempt: 1 };
        let dir = RunDir::new(data, &run);
        std::fs::create_dir_all(dir.path()).unwrap();
        if !dir.log().exists() {
            std::fs::write(dir.log(), vec![b'x'; bytes]).unwrap();
            std::fs::write(dir.index(), "").unwrap();
        }
        Ended { at_ms, bytes: 0, runs: vec![run] }
    }

    #[test]
    fn what_was_dropped_takes_no_room_from_what_ended_before_it() {
        let data = tempfile::tempdir().unwrap();
        let keeping = Keeping { keep_bytes: Some(100 << 10), ..Keeping::default() };
        let has =
            |number: u64| ended(data.path(), number, 0, 0).runs.iter().map(|run| on_disk(&RunDir::new(data.path(), run))).sum::<u64>();
        let of = |number, kib: usize| ended(data.path(), number, number, kib << 10);
        // The second does not fit beside the third, and the first does.
        let jobs = || vec![of(1, 40), of(2, 90), of(3, 40)];
        assert_eq!(drop_what_is_too_much(data.path(), jobs(), keeping, 1000).unwrap(), 1);
        assert_eq!([has(1), has(2), has(3)], [40 << 10, 0, 40 << 10]);
        assert_eq!(drop_what_is_too_much(data.path(), jobs(), keeping, 1000).unwrap(), 0, "and it stays so");
        let later = [jobs(), vec![of(4, 52)]].concat();
        assert_eq!(drop_what_is_too_much(data.path(), later, keeping, 1000).unwrap(), 1);
        assert_eq!([has(1), has(2), has(3), has(4)], [0, 0, 40 << 10, 52 << 10]);
    }

    #[test]
    fn logs_go_by_age_and_by_how_much_there_is() {
        let keeping = Keeping { run_bytes_max: None, keep_ms: Some(100), keep_bytes: Some(1000) };
        assert_eq!(too_much(950, 10, keeping, 1000), None);
        assert_eq!(too_much(800, 10, keeping, 1000), Some(Dropped::TooOld { most_ms: 100 }));
        assert_eq!(too_much(950, 1001, keeping, 1000), Some(Dropped::TooMuch { most_bytes: 1000 }));
        assert_eq!(too_much(0, u64::MAX, Keeping::default(), 1000), None);
    }
}
