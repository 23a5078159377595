//! Uploads in parts that got no clear answer. Something of them may come to the store when they are completed or given up
//! already; stores keep that, seen by nobody and paid for. Who knows them can give them up once more.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use reqwest::Method;

use super::Ask;

#[derive(Default)]
pub struct Doubts(Mutex<Known>);

#[derive(Default)]
struct Known {
    last: Option<Instant>,
    /// By their keys and the store's names for them.
    uploads: BTreeSet<(String, String)>,
}

impl Doubts {
    /// A request that may have been done. Only one about an upload in parts leaves anything by that.
    pub fn of_request(&self, ask: &Ask<'_>) {
        let named = ask.query.iter().find(|(name, _)| *name == "uploadId");
        let begins = ask.method == Method::POST && ask.query.iter().any(|(name, _)| *name == "uploads");
        if begins || named.is_some() {
            let mut known = self.known();
            known.last = Some(Instant::now());
            known.uploads.extend(named.map(|(_, upload)| (ask.key.to_owned(), upload.clone())));
        }
    }

    /// When there was the last one.
    pub fn last(&self) -> Option<Instant> {
        self.known().last
    }

    /// The uploads of a key of which something may come.
    pub fn uploads_of(&self, key: &str) -> Vec<String> {
        self.known().uploads.iter().filter(|(of, _)| of == key).map(|(_, upload)| upload.clone()).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
