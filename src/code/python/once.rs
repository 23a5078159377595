//! A directory that is whole or not there, made by whoever comes first.
//!
//! An environment cannot be moved once it is made, because its scripts name their place. So it is made
//! where it stays, under a lock, and a mark that is written last says that it is whole. Whoever finds one
//! without the mark, and nobody at it, removes it and begins again.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{NotMade, Waiting, beside, platform};
use crate::crash;

const MARK: &str = "complete";
const MARK_PART: &str = "complete.part";
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Long enough for gigabytes over a slow line.
pub const MAKING_MAX: Duration = Duration::from_secs(2 * 3600);

/// What a maker is given.
pub struct Making<'a> {
    pub place: &'a Path,
    /// Held by everyone who may still write to the place.
    pub lock: &'a File,
    pub waiting: &'a Waiting<'a>,
}

/// Whether it can be used. One whose interpreter has left the machine cannot.
pub fn is_whole(place: &Path) -> bool {
    place.join(MARK).exists() && place.join("bin/python").exists()
}

/// Makes it, or waits for the one who does.
pub fn make(place: &Path, waiting: &Waiting<'_>, maker: impl FnOnce(&Making<'_>) -> Result<(), NotMade>) -> Result<(), NotMade> {
    let trouble = |error: io::Error| platform(format!("the environment {} could not be made: {error}", place.display()));
    let lock = lock(place, waiting)?;
    if is_whole(place) {
        return Ok(());
    }
    remove(place).map_err(trouble)?;
    maker(&Making { place, lock: &lock, waiting })?;
    crash::point("environment.made-before-marked");
    mark(place).map_err(trouble)
}

fn lock(place: &Path, waiting: &Waiting<'_>) -> Result<File, NotMade> {
    let path = beside(place, ".lock");
    let trouble = |error: io::Error| platform(format!("the lock {} cannot be had: {error}", path.display()));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(trouble)?;
    let (began, mut told) = (Instant::now(), false);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(trouble(error)),
            Err(TryLockError::WouldBlock) if began.elapsed() > MAKING_MAX => {
                return Err(platform(format!("another run makes the same environment, and has not done so in {} s", MAKING_MAX.as_secs())));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !told {
            (waiting.say)("waits for its Python environment, which another run makes");
            told = true;
        }
        if (waiting.pause)(BETWEEN_LOOKS) {
            return Err(NotMade::Stopped);
        }
    }
}

fn remove(place: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The mark must not reach the disk before what it speaks of.
fn mark(place: &Path) -> io::Result<()> {
    let dir = File::open(place)?;
    // SAFETY: a plain system call with a descriptor we own.
    if unsafe { libc::syncfs(dir.as_raw_fd()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let part: PathBuf = place.join(MARK_PART);
    let mut file = File::create(&part)?;
    file.write_all(b"This environment is whole.\n")?;
    file.sync_all()?;
    fs::rename(part, place.join(MARK))?;
    dir.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn furnish(place: &Path) {
        fs::create_dir_all(place.join("bin")).unwrap();
        fs::write(place.join("bin/python"), "").unwrap();
    }

    fn patient() -> Waiting<'static> {
        Waiting { pause: &pause_a_little, say: &|_| {} }
    }

    fn pause_a_little(_: Duration) -> bool {
        std::thread::sleep(Duration::from_millis(1));
        false
    }

    #[test]
    fn many_who_want_the_same_get_it_and_it_is_made_once() {
        let home = tempfile::tempdir().unwrap();
        let (place, made) = (home.path().join("abc"), AtomicUsize::new(0));
        let maker = |making: &Making<'_>| {
            made.fetch_add(1, Ordering::SeqCst);
            furnish(making.place);
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| make(&place, &patient(), maker))).collect();
            all.into_iter().for_each(|it| assert_eq!(it.join().unwrap(), Ok(())));
        });
        assert!(is_whole(&place));
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_half_made_one_is_never_whole_and_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("abc");
        let failed = make(&place, &patient(), |making| {
            furnish(making.place);
            fs::write(making.place.join("half"), "").unwrap();
            Err(platform("no luck".into()))
        });
        assert!(failed.is_err() && !is_whole(&place) && place.join("half").exists());
        let second = make(&place, &patient(), |making| {
            furnish(making.place);
            Ok(())
        });
        assert_eq!(second, Ok(()));
        assert!(is_whole(&place) && !place.join("half").exists());
        fs::remove_file(place.join("bin/python")).unwrap();
        assert!(!is_whole(&place), "an environment without its interpreter is of no use");
    }

    #[test]
    fn whoever_waits_and_is_asked_to_stop_stops() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("abc");
        let _held = lock(&place, &patient()).unwrap();
        let stopped = make(&place, &Waiting { pause: &|_| true, say: &|_| {} }, |_| panic!("nothing may be made"));
        assert_eq!(stopped, Err(NotMade::Stopped));
    }
}
