//! A copy of what the task has printed, as `worker-0.1.log`.

use std::{
    fs::File,
    io,
    path::PathBuf,
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
    path: String,
    log: PathBuf,
    copied_bytes: Option<u64>,
    next: Instant,
}

impl LogCopy {
    pub fn open(errand: &Errand, dir: &RunDir) -> Result<Option<Self>, String> {
        let Some(to) = &errand.order.freight.logs else { return Ok(None) };
        let run = &errand.order.run;
        let (store, base, _) = store_at(to, errand)?;
        let name = format!("{}.{}.log", run.task, run.attempt);
        let path = if base.is_empty() { name } else { format!("{base}/{name}") };
        Ok(Some(Self { store, path, log: dir.log(), copied_bytes: None, next: Instant::now() }))
    }

    pub async fn clear_away(&self) -> Result<(), VolumeError> {
        let is_large = std::fs::metadata(&self.log).is_ok_and(|log| log.len() > PARTS_ABOVE_BYTES);
        if is_large { self.store.abort_stale_of(&self.path).await } else { Ok(()) }
    }

    /// A log only grows, so its beginning may be copied while it does. The longer that takes, the less often it is done.
    pub async fn copy(&mut self, last: bool) -> Result<(), VolumeError> {
        if !last && Instant::now() < self.next {
            return Ok(());
        }
        let began = Instant::now();
        let at = |error: io::Error| Trouble::from(error).at(self.log.display().to_string());
        let file = match File::open(&self.log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(at)?,
        };
        let size = file.metadata().map_err(at)?.len();
        if self.copied_bytes != Some(size) {
            self.store.put_file(&self.path, &file, size).await?;
            self.copied_bytes = Some(size);
        }
        if last {
            self.clear_away().await?;
        }
        self.next = Instant::now() + BETWEEN_COPIES.max(began.elapsed() * 20);
        Ok(())
    }
}
