//! What may be left half outside: by whoever was here before us and died in the middle of something, and by a line on which
//! requests were lost.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    Carrier, Stuck, names,
    places::{Route, route},
};
use crate::volumes::Store;

/// A part that was taken for lost may come to the store this much later. If its upload has ended by then, some stores keep it.
const LATE_MAX: Duration = Duration::from_secs(3);

impl Carrier<'_> {
    pub async fn clear_away(&self) -> Result<(), Stuck> {
        let mut cleared = BTreeSet::new();
        for key in self.ledger.in_parts() {
            if let Route::To(place, path) = route(&self.places, &names::path_of(&key))
                && cleared.insert((&place.shown, place.cleared_together(&path).to_owned()))
            {
                place.store.abort_stale_of(&path).await.map_err(|error| Stuck::at_store(&error))?;
            }
        }
        match &self.logs {
            Some(logs) => logs.clear_away().await.map_err(|error| Stuck::at_store(&error)),
            None => Ok(()),
        }
    }

    /// Where every request was answered there is nothing to look for, however many files there were.
    pub async fn leave_nothing_half(&mut self) -> Result<(), Stuck> {
        if let Some(at) = self.in_doubt_at() {
            tokio::time::sleep((at + LATE_MAX).saturating_duration_since(Instant::now())).await;
            self.clear_away().await?;
        }
        self.ledger.clear().map_err(Stuck::of_disk)
    }

    fn in_doubt_at(&self) -> Option<Instant> {
        let stores = self.places.iter().map(|place| &place.store).chain(self.logs.as_ref().map(|logs| &logs.store));
        stores.filter_map(Store::in_doubt_at).chain(self.inherited_at).max()
    }
}
