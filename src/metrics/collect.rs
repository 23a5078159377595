//! Reading on in what tasks write. Each run that is still to be read has a marker, which the engine makes before it starts the
//! run and we remove when the run is over and all of it was read. So nothing has to be remembered over a restart, and nothing
//! stands between a task and what it writes.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use model::ids::{JobId, RunKey, TaskName};

mod errand;
mod events;
mod frames;
mod lines;
mod log;
mod output;
mod task;

pub use errand::Errand;
use task::TaskReader;

use crate::rundir::{RunDir, live_marker, reading_dir, reading_marker};

/// How often everything that runs is looked at.
const TURN_EVERY: Duration = Duration::from_secs(1);
const WORKERS_MAX: usize = 4;

/// A run that is still to be read.
pub struct Marked {
    pub run: RunKey,
    pub dir: RunDir,
    pub errand: Errand,
    /// Nothing more will come: what was written before this was seen is all.
    pub is_over: bool,
}

pub struct Collector {
    data: PathBuf,
    tasks: HashMap<(JobId, TaskName), TaskReader>,
}

impl Collector {
    pub fn new(data: &Path) -> Self {
        Self { data: data.to_owned(), tasks: HashMap::new() }
    }

    /// Takes turns for ever. One who is behind takes the next at once.
    pub fn run(mut self) {
        loop {
            match self.turn() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!("what tasks wrote could not be read, will try again: {error}"),
            }
            std::thread::sleep(TURN_EVERY);
        }
    }

    /// Looks at every run that is still to be read; answers whether more of one waits already.
    pub fn turn(&mut self) -> io::Result<bool> {
        let mut waiting: Vec<(TaskReader, Vec<Marked>)> = Vec::new();
        for (task, marked) in self.marked()? {
            waiting.push((self.tasks.remove(&task).unwrap_or_else(|| TaskReader::new(&marked[0].dir)), marked));
        }
        // Whoever has no marker any more is not looked at again.
        self.tasks.clear();
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX).min(waiting.len());
        let (queue, done) = (Mutex::new(waiting), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some((mut reader, marked)) = lock(&queue).pop() {
                        let read = reader.read(&marked);
                        lock(&done).push((reader, marked, read));
                    }
                });
            }
        });
        let mut more = false;
        for (reader, marked, read) in done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            let task = (marked[0].run.job, marked[0].run.task.clone());
            match read {
                Ok(read) => {
                    more |= read.more;
                    self.tasks.insert(task, reader);
                    read.finished.iter().try_for_each(|run| self.unmark(run))?;
                }
                // What it holds in memory may be ahead of the book; the book is right.
                Err(error) => tracing::warn!(job = %task.0, task = %task.1, "its numbers could not be read, will try again: {error}"),
            }
        }
        Ok(more)
    }

    /// The runs with a marker, by their task, the earliest attempt first.
    fn marked(&self) -> io::Result<BTreeMap<(JobId, TaskName), Vec<Marked>>> {
        let mut tasks: BTreeMap<(JobId, TaskName), Vec<Marked>> = BTreeMap::new();
        for entry in fs::read_dir(reading_dir(&self.data))? {
            // Anything else is a marker that is being written.
            let Some(run) = entry?.file_name().to_str().and_then(|name| name.parse::<RunKey>().ok()) else { continue };
            let dir = RunDir::new(&self.data, &run);
            if !dir.path().exists() {
                self.unmark(&run)?;
                continue;
            }
            let errand = fs::read(reading_marker(&self.data, &run)).ok().and_then(|it| Errand::read(&it)).unwrap_or_default();
            let is_over = dir.exit().exists() || !live_marker(&self.data, &run).exists();
            tasks.entry((run.job, run.task.clone())).or_default().push(Marked { run, dir, errand, is_over });
        }
        tasks.values_mut().for_each(|marked| marked.sort_by_key(|it| it.run.attempt));
        Ok(tasks)
    }

    fn unmark(&self, run: &RunKey) -> io::Result<()> {
        crate::crash::point("metrics.before-unmark");
        match fs::remove_file(reading_marker(&self.data, run)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
