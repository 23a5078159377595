//! Sweeping: what deleted jobs left behind is erased from where it ran.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::Control;
use crate::{
    engine::Engine,
    store::{Store, runs},
};

pub mod logs;
pub mod uploads;

/// Somebody who erases beside the turns: a large job takes a while, and nobody should be placed later for it.
#[derive(Default)]
pub struct Leftovers {
    at_it: Option<JoinHandle<()>>,
}

impl Leftovers {
    pub fn turn(&mut self, control: &Control) {
        if self.at_it.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let (store, engine) = (control.store.clone(), control.engine.clone());
        self.at_it = Some(tokio::spawn(async move {
            if let Err(error) = sweep(store, engine).await {
                tracing::error!("what deleted jobs left behind could not be erased, will try again: {error:#}");
            }
        }));
    }
}

/// Deleting a job commits the list of what it leaves behind together with its rows, so a crash at any
/// point leaves neither files that nobody names nor names without files.
async fn sweep(store: Store, engine: Arc<dyn Engine>) -> anyhow::Result<()> {
    for run in store.read(runs::leftovers).await? {
        if let Err(error) = engine.erase(&run).await {
            tracing::warn!(%run, "could not erase what it left behind, will try again: {error}");
            continue;
        }
        crate::crash::point("gc.files-deleted-before-rows");
        store.write(move |sql| runs::erased(sql, &run)).await?;
    }
    Ok(())
}
