//! A task's share of the disk. No file system can be relied on to hold a directory to a size, so what a task has written is
//! counted now and then, and one that has too much is stopped.

use std::{
    collections::HashSet,
    convert::Infallible,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::sync::watch::Sender;

use super::{journal::say, launch::Launched, leash::Down, watch::Seen};
use crate::rundir::RunDir;

const COUNT_EVERY: Duration = Duration::from_secs(1);
/// A tree of very many files takes long to count, and is counted less often.
const PAUSE_PER_COUNT: u32 = 20;

/// Stops the task if it comes to have more than it may. Never ends by itself.
pub async fn guard(dir: &RunDir, limit_bytes: Option<u64>, launched: &Launched, so_far: &Sender<Seen>) -> Infallible {
    if let Some(limit_bytes) = limit_bytes {
        let used_bytes = until_over(dir, limit_bytes).await;
        if so_far.borrow().is_left_alone() {
            so_far.send_modify(|seen| seen.over_disk_bytes = Some(used_bytes));
            say(&format!("it has {used_bytes} bytes on disk and may have {limit_bytes}, so it is stopped"));
            // An init that cannot hear is gone, and its line will say so.
            let _ = launched.leash.say(&Down::Stop);
        }
    }
    std::future::pending().await
}

async fn until_over(dir: &RunDir, limit_bytes: u64) -> u64 {
    let mut pause = COUNT_EVERY;
    loop {
        tokio::time::sleep(pause).await;
        let (rooms, began) = ([dir.output(), dir.tmp(), dir.code_upper()], Instant::now());
        let used_bytes = tokio::task::spawn_blocking(move || used_bytes(&rooms, limit_bytes)).await.unwrap_or(0);
        if used_bytes > limit_bytes {
            return used_bytes;
        }
        pause = COUNT_EVERY.max(began.elapsed() * PAUSE_PER_COUNT);
    }
}

/// What lies below these directories takes of the disk; counted no further than to above the limit. What goes away meanwhile
/// does not count, and what has several names counts once.
fn used_bytes(rooms: &[PathBuf], limit_bytes: u64) -> u64 {
    let (mut waiting, mut counted, mut used) = (rooms.to_vec(), HashSet::new(), 0);
    while let Some(directory) = waiting.pop() {
        for (path, about) in entries(&directory) {
            if about.is_dir() {
                waiting.push(path);
            }
            if about.is_dir() || about.nlink() == 1 || counted.insert((about.dev(), about.ino())) {
                used += about.blocks() * 512;
            }
            if used > limit_bytes {
                return used;
            }
        }
    }
    used
}

fn entries(directory: &Path) -> impl Iterator<Item = (PathBuf, fs::Metadata)> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_the_disk_counts_once_whatever_its_names_and_holes() {
        let home = tempfile::tempdir().unwrap();
        let (room, other) = (home.path().join("output"), home.path().join("tmp"));
        fs::create_dir_all(room.join("deep/er")).unwrap();
        fs::create_dir(&other).unwrap();
        let rooms = [room.clone(), other.clone(), home.path().join("not-there")];
        let directories = used_bytes(&rooms, u64::MAX);
        fs::write(room.join("deep/er/model"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(room.join("deep/er/model"), other.join("again")).unwrap();
        std::os::unix::fs::symlink(room.join("deep/er/model"), other.join("link")).unwrap();
        fs::File::create(room.join("hole")).unwrap().set_len(1 << 40).unwrap();
        let used = used_bytes(&rooms, u64::MAX) - directories;
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&used), "{used}");
        assert!(used_bytes(&rooms, 1 << 19) > 1 << 19);
    }
}
