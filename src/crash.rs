//! Named crash points. A test that sets `TRAINMASTER_CRASH_AT=submit.after-commit` gets a process that
//! dies there as if by `kill -9`. Release builds have none of it.

/// Dies here, at once and without a word, if a test asked for it.
pub fn point(name: &str) {
    if cfg!(debug_assertions) && asked().is_some_and(|asked| asked == name) {
        // SAFETY: killing ourselves is the whole purpose.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

fn asked() -> Option<&'static str> {
    static ASKED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ASKED.get_or_init(|| std::env::var("TRAINMASTER_CRASH_AT").ok()).as_deref()
}
