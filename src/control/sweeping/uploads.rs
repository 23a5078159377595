//! Sweeping uploads: folders that no job names any more, and pieces of folders that were never finished.

use std::time::{Duration, Instant};

use crate::{
    code::upload::Room,
    control::Control,
    store::{Store, uploads},
};

/// Someone whose line was cut may come back tomorrow.
const KEPT: Duration = Duration::from_secs(24 * 3600);
const BETWEEN_SWEEPS: Duration = Duration::from_secs(3600);

/// When it was last done; at the start of the server, for the first time.
#[derive(Default)]
pub struct Uploads {
    swept: Option<Instant>,
}

impl Uploads {
    /// It may take a while, and no job waits for it.
    pub fn turn(&mut self, control: &Control) {
        if self.swept.is_some_and(|swept| swept.elapsed() < BETWEEN_SWEEPS) {
            return;
        }
        self.swept = Some(Instant::now());
        let (room, store) = (control.uploads.clone(), control.store.clone());
        tokio::spawn(async move {
            match sweep(room, store, KEPT).await {
                Ok(0) => {}
                Ok(gone) => tracing::info!("{gone} files of uploads that no job wants were removed"),
                Err(error) => tracing::warn!("the uploads could not be swept, will try again in an hour: {error:#}"),
            }
        });
    }
}

/// The room is ours before we look which folders are wanted, so that no job can come to want one in between.
async fn sweep(room: Room, store: Store, kept: Duration) -> anyhow::Result<usize> {
    let ours = room.clone();
    let alone = tokio::task::spawn_blocking(move || ours.alone()).await??;
    let wanted = store.read(uploads::wanted).await?;
    Ok(tokio::task::spawn_blocking(move || room.sweep(&alone, &wanted, kept)).await??)
}
