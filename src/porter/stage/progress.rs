//! How far fetching has come, told now and then.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use model::resources::{Bytes, grouped};

use crate::porter::{errand::Word, say};

const FIRST_WORD_AFTER: Duration = Duration::from_secs(1);
const BETWEEN_WORDS: Duration = Duration::from_secs(5);

pub struct Progress {
    label: String,
    total: (u64, usize),
    bytes: AtomicU64,
    files: AtomicUsize,
}

impl Progress {
    /// Of so many bytes in so many files.
    pub fn new(label: &str, total: (u64, usize)) -> Self {
        Self { label: label.to_owned(), total, bytes: AtomicU64::new(0), files: AtomicUsize::new(0) }
    }

    pub fn add_bytes(&self, count: u64) {
        self.bytes.fetch_add(count, Ordering::Relaxed);
    }

    /// What came has to come again.
    pub fn take_back(&self, count: u64) {
        self.bytes.fetch_sub(count, Ordering::Relaxed);
    }

    pub fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    fn words(&self) -> String {
        let (bytes, files) = (Bytes(self.bytes.load(Ordering::Relaxed)), grouped(self.files.load(Ordering::Relaxed) as u64));
        format!("fetches {}: {bytes} of {}, {files} of {} files", self.label, Bytes(self.total.0), grouped(self.total.1 as u64))
    }

    /// Tells until it is dropped. What is there in a second is not worth a word.
    pub async fn keep_telling(&self) -> std::convert::Infallible {
        tokio::time::sleep(FIRST_WORD_AFTER).await;
        loop {
            say(&Word::Doing(self.words()));
            tokio::time::sleep(BETWEEN_WORDS).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_bytes_and_files() {
        let progress = Progress::new("data:mnist", (4 << 30, 1_024));
        progress.add_bytes(1_288_490_188);
        (0..310).for_each(|_| progress.add_file());
        assert_eq!(progress.words(), "fetches data:mnist: 1.2GiB of 4GiB, 310 of 1,024 files");
    }
}
