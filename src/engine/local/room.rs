//! Room on the disk that holds the runs. To begin a run where it can write down neither its output nor
//! its end would only use up its attempts; it waits instead, and begins when there is room.

use std::path::Path;

use model::{said, words::Words};
use nix::sys::statvfs::statvfs;

const BYTES_MIN: u64 = 1 << 20;
const FILES_MIN: u64 = 64;

/// What there is too little of, if it is too little to begin a run.
pub fn lacking(dir: &Path) -> Option<Words> {
    let disk = statvfs(dir).ok()?;
    let bytes = disk.blocks_available() * disk.fragment_size();
    let dir = dir.display();
    if bytes < BYTES_MIN {
        return Some(said!("the disk of {dir} is full: {} KiB left", "{dir} 所在的磁盘满了：只剩 {} KiB", bytes >> 10));
    }
    // Some file systems do not count their files.
    if disk.files() > 0 && disk.files_available() < FILES_MIN {
        let files = disk.files_available();
        return Some(said!("the disk of {dir} is full: room for {files} files left", "{dir} 所在的磁盘满了：只能再放 {files} 个文件"));
    }
    None
}
