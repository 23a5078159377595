//! Named crash points. A test that sets `TRAINMASTER_CRASH_AT=submit.before-tx` gets a process that dies
//! there as if by `kill -9`. Release builds have none of it.
//!
//! `submit.before-tx#3` dies when it comes there for the third time. `submit.before-tx=FILE` makes the file
//! as it dies, and lets everyone live who finds it made: one death, however many processes come by.

use std::{
    fs::OpenOptions,
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Dies here, at once and without a word, if a test asked for it.
pub fn point(name: &str) {
    if cfg!(debug_assertions) && asked().is_some_and(|asked| asked.now(name)) {
        // SAFETY: killing ourselves is the whole purpose.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

struct Asked {
    name: String,
    /// How often we still have to come there.
    left: AtomicUsize,
    mark: Option<PathBuf>,
}

fn asked() -> Option<&'static Asked> {
    static ASKED: OnceLock<Option<Asked>> = OnceLock::new();
    ASKED.get_or_init(|| std::env::var("TRAINMASTER_CRASH_AT").ok().map(|text| Asked::read(&text))).as_ref()
}

impl Asked {
    fn read(text: &str) -> Self {
        let (point, mark) = text.split_once('=').map_or((text, None), |(point, mark)| (point, Some(mark.into())));
        let (name, count) = point.split_once('#').map_or((point, 1), |(name, count)| (name, count.parse().unwrap_or(1)));
        Self { name: name.to_owned(), left: AtomicUsize::new(count), mark }
    }

    fn now(&self, name: &str) -> bool {
        let is_last = || self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        let is_first = |mark| OpenOptions::new().write(true).create_new(true).open(mark).is_ok();
        self.name == name && is_last() && self.mark.as_ref().is_none_or(is_first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_asked_for_by_name_count_and_mark() {
        let plain = Asked::read("submit.before-tx");
        assert!(!plain.now("submit.after-commit") && plain.now("submit.before-tx"));
        let third = Asked::read("x#3");
        assert_eq!([third.now("x"), third.now("y"), third.now("x"), third.now("x")], [false, false, false, true]);
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("mark");
        let once = || Asked::read(&format!("x={}", mark.display())).now("x");
        assert_eq!((once(), once(), mark.exists()), (true, false, true));
    }
}
