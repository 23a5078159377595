//! Our own words about a run. Most runs need none, so the file is made with the first word.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// From here on words have a place, also the last words of a panic.
pub fn open(file: PathBuf) {
    if FILE.set(file).is_ok() {
        std::panic::set_hook(Box::new(|panic| say(&panic.to_string())));
    }
}

/// Says a sentence. Not being able to is not worth failing for: the run matters, the remark does not.
pub fn say(words: &str) {
    let Some(path) = FILE.get() else {
        eprintln!("trainmaster supervise: {words}");
        return;
    };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).mode(0o600).open(path) {
        let ms = now_ms();
        let _ = file.write_all(format!("{}.{:03} {words}\n", ms / 1000, ms % 1000).as_bytes());
    }
}

pub fn now_ms() -> u64 {
    now_us() / 1000
}

pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
