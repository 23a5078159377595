//! What those who place know of each other. All of them place in the thread that writes, one after the other, and so it is
//! always true there.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::store::StoreError;

#[derive(Clone, Default)]
pub struct Room(Arc<Known>);

#[derive(Default)]
struct Known {
    placings: AtomicU64,
    is_full: AtomicBool,
}

impl Room {
    /// How often something was placed. Whoever decided from what it saw before the last time decides anew.
    pub fn placings(&self) -> u64 {
        self.0.placings.load(Relaxed)
    }

    /// Whether nothing was free when somebody last looked, and nothing has ended since. Then a job that comes can only wait:
    /// whoever ends will look for it.
    pub fn is_full(&self) -> bool {
        self.0.is_full.load(Relaxed)
    }

    /// Something may be free.
    pub fn open(&self) {
        self.0.is_full.store(false, Relaxed);
    }

    /// After something was tried to be placed. Only for the thread that writes: for anyone else something may have ended
    /// since they looked.
    pub fn note(&self, placed: bool, is_free: impl FnOnce() -> Result<bool, StoreError>) -> Result<(), StoreError> {
        if placed {
            self.0.placings.fetch_add(1, Relaxed);
        }
        self.0.is_full.store(!is_free()?, Relaxed);
        Ok(())
    }
}
