//! Room on the disk that holds the runs. To begin a run where it can write down neither its output nor
//! its end would only use up its attempts; it waits instead, and begins when there is room.

use std::path::Path;

use nix::sys::statvfs::statvfs;

const BYTES_MIN: u64 = 1 << 20;
const FILES_MIN: u64 = 64;

/// What there is too little of, if it is too little to begin a run.
pub fn lacking(dir: &Path) -> Option<String> {
    let disk = statvfs(dir).ok()?;
    let bytes = disk.blocks_available() * disk.fragment_size();
    let room = |what: String| Some(format!("the disk of {} is full: {what} left", dir.display()));
    if bytes < BYTES_MIN {
        return room(format!("{} KiB", bytes >> 10));
    }
    // Some file systems do not count their files.
    if disk.files() > 0 && disk.files_available() < FILES_MIN {
        return room(format!("room for {} files", disk.files_available()));
    }
    None
}
