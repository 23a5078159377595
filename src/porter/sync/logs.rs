//! Copies of what the task has printed, as `worker-0.1.log`: in this attempt, and in earlier ones of which nobody has saved it.

use std::{
    fs::File,
    io,
    time::{Duration, Instant},
};

use super::{
    super::errand::Errand,
    places::{PARTS_ABOVE_BYTES, store_at},
};
use crate::{
    rundir::RunDir,
    volumes::{Store, Trouble, VolumeError},
};

const BETWEEN_COPIES: Duration = Duration::from_secs(10);

pub struct LogCopy {
    pub store: Store,
    /// Whoever was to save these left when we came. Nobody writes to them any more.
    earlier: Vec<Log>,
    own: Log,
    next: Instant,
}

struct Log {
    dir: RunDir,
    /// In the store.
    path: String,
    copied_bytes: Option<u64>,
}

impl LogCopy {
    pub fn open(errand: &Errand, dir: &RunDir) -> Result<Option<Self>, String> {
        let Some(to) = &errand.order.freight.logs else { return Ok(None) };
        let run = &errand.order.run;
        let (store, base, _) = store_at(to, errand)?;
        let log = |(attempt, dir): (u32, RunDir)| {
            let name = format!("{}.{attempt}.log", run.task);
            let path = if base.is_empty() { name } else { format!("{base}/{name}") };
            Log { dir, path, copied_bytes: None }
        };
        let earlier = dir.earlier().map_err(|error| format!("earlier logs cannot be looked for: {error}"))?;
        let earlier = earlier.into_iter().filter(|(_, dir)| !dir.log_saved().exists()).map(log).collect();
        Ok(Some(Self { store, earlier, own: log((run.attempt, dir.clone())), next: Instant::now() }))
    }

    pub async fn clear_away(&self) -> Result<(), VolumeError> {
        for log in self.earlier.iter().chain([&self.own]) {
            log.clear_away(&self.store).await?;
        }
        Ok(())
    }

    /// A log only grows, so its beginning may be copied while it does. The longer that takes, the less often it is done.
    pub async fn copy(&mut self, last: bool) -> Result<(), VolumeError> {
        if !last && Instant::now() < self.next {
            return Ok(());
        }
        let began = Instant::now();
        while let Some(log) = self.earlier.last_mut() {
            log.copy_last(&self.store).await?;
            self.earlier.pop();
        }
        if last {
            self.own.copy_last(&self.store).await?;
        } else {
            self.own.copy(&self.store).await?;
        }
        self.next = Instant::now() + BETWEEN_COPIES.max(began.elapsed() * 20);
        Ok(())
    }
}

impl Log {
    async fn clear_away(&self, store: &Store) -> Result<(), VolumeError> {
        let is_large = std::fs::metadata(self.dir.log()).is_ok_and(|log| log.len() > PARTS_ABOVE_BYTES);
        if is_large { store.abort_stale_of(&self.path).await } else { Ok(()) }
    }

    async fn copy(&mut self, store: &Store) -> Result<(), VolumeError> {
        let log = self.dir.log();
        let at = |error: io::Error| Trouble::from(error).at(log.display().to_string());
        let file = match File::open(&log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(at)?,
        };
        let size = file.metadata().map_err(at)?.len();
        if self.copied_bytes != Some(size) {
            store.put_file(&self.path, &file, size).await?;
            self.copied_bytes = Some(size);
        }
        Ok(())
    }

    async fn copy_last(&mut self, store: &Store) -> Result<(), VolumeError> {
        self.copy(store).await?;
        self.clear_away(store).await?;
        // Where that cannot be written down, it is copied once more, and comes out the same.
        let _noted_or_not = File::create(self.dir.log_saved());
        Ok(())
    }
}
