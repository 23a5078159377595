//! Sweeping: what deleted jobs left behind is erased from where it ran.

use super::Control;
use crate::store::runs;

/// Deleting a job commits the list of what it leaves behind together with its rows, so a crash at any
/// point leaves neither files that nobody names nor names without files.
pub async fn turn(control: &Control) -> anyhow::Result<()> {
    for run in control.store.read(runs::leftovers).await? {
        if let Err(error) = control.engine.erase(&run).await {
            tracing::warn!(%run, "could not erase what it left behind, will try again: {error}");
            continue;
        }
        crate::crash::point("gc.files-deleted-before-rows");
        control.store.write(move |sql| runs::erased(sql, &run)).await?;
    }
    Ok(())
}
