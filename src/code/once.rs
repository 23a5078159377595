//! A directory that is whole or not there, made by whoever comes first.
//!
//! It is made where it stays, under a lock, because an environment cannot be moved: its scripts name their
//! place. A mark that is written last says that it is whole. Whoever finds one without the mark, and nobody
//! at it, removes it and begins again.
//!
//! What can be had again may be used before it is on the disk. Its mark then has the name of the machine's
//! present boot and is believed for no longer, until somebody has made it last.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
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

/// Something that is made once.
pub struct Once<'a> {
    pub place: &'a Path,
    /// What it is, for a person who waits for it.
    pub noun: &'static str,
    /// Whether one that was whole when it was made is so still.
    pub is_usable: fn(&Path) -> bool,
    /// Where a test can make us die when it is made and not marked yet.
    pub crash_point: &'static str,
    /// The present boot, if it may be used before it is on the disk.
    pub boot: Option<&'a str>,
    pub waiting: &'a Waiting<'a>,
}

/// What a maker is given.
pub struct Making<'a> {
    pub place: &'a Path,
    /// Held by everyone who may still write to the place.
    pub lock: &'a File,
    pub waiting: &'a Waiting<'a>,
}

impl Once<'_> {
    /// Whether it can be used.
    pub fn is_whole(&self) -> bool {
        is_marked(self.place, self.boot) && (self.is_usable)(self.place)
    }

    /// Makes it, or waits for the one who does. What the maker answers is kept in the mark.
    pub fn make(&self, maker: impl FnOnce(&Making<'_>) -> Result<String, NotMade>) -> Result<(), NotMade> {
        let trouble = |error: io::Error| platform(format!("the {} {} could not be made: {error}", self.noun, self.place.display()));
        // Whoever uses it holds the lock with others, so once it is whole the lock may not be had for days.
        let Some(lock) = lock_unless(&|| self.is_whole(), self.place, self.noun, self.waiting)? else { return Ok(()) };
        if self.is_whole() {
            return Ok(());
        }
        remove(self.place).map_err(trouble)?;
        let text = maker(&Making { place: self.place, lock: &lock, waiting: self.waiting })?;
        crash::point(self.crash_point);
        match self.boot {
            None => mark(self.place, &text),
            Some(boot) => {
                write_part(self.place, &text).and_then(|_| fs::rename(self.place.join(MARK_PART), mark_for_now(self.place, boot)))
            }
        }
        .map_err(trouble)
    }
}

/// What its maker answered, if it is whole.
pub fn text_of_mark(place: &Path) -> io::Result<String> {
    fs::read_to_string(place.join(MARK))
}

/// What its maker answered, if it is whole for now or for good.
pub fn text_of_any_mark(place: &Path, boot: &str) -> io::Result<String> {
    text_of_mark(place).or_else(|_| fs::read_to_string(mark_for_now(place, boot)))
}

/// Whether it is whole, and stays so when the machine goes down.
pub fn lasts(place: &Path) -> bool {
    place.join(MARK).exists()
}

/// Whether it is whole, for good or for this boot.
pub fn is_marked(place: &Path, boot: Option<&str>) -> bool {
    lasts(place) || boot.is_some_and(|boot| mark_for_now(place, boot).exists())
}

fn mark_for_now(place: &Path, boot: &str) -> PathBuf {
    place.join(format!("{MARK}.{boot}"))
}

/// The turn to make something last that is whole for now. Nobody else has one meanwhile.
pub struct Turn<'a> {
    place: &'a Path,
    dir: File,
    for_now: PathBuf,
    text: String,
}

impl<'a> Turn<'a> {
    /// None if somebody else is at it, or was, with or without luck. Whoever calls this holds the place against removal.
    pub fn at(place: &'a Path, boot: &str) -> io::Result<Option<Self>> {
        let (dir, for_now) = (File::open(place)?, mark_for_now(place, boot));
        if dir.try_lock().is_err() || lasts(place) {
            return Ok(None);
        }
        match fs::read_to_string(&for_now) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => Ok(Some(Self { place, dir, for_now, text: text? })),
        }
    }

    /// All of its disk.
    pub fn sync(&self) -> io::Result<()> {
        sync_disk_of(&self.dir)
    }

    /// For when all of it was synced.
    pub fn mark(self) -> io::Result<()> {
        mark_synced(self.place, &self.dir, &self.text)?;
        fs::remove_file(self.for_now)
    }

    /// For when the disk did not take all of it: what is lost is not in memory for ever either.
    pub fn unmark(self) -> io::Result<()> {
        fs::remove_file(self.for_now)
    }
}

/// The lock beside a place. Whoever has it may write there.
pub fn lock(place: &Path, noun: &str, waiting: &Waiting<'_>) -> Result<File, NotMade> {
    lock_unless(&|| false, place, noun, waiting).map(|lock| lock.expect("nothing else would do"))
}

/// None if it is not needed any more.
fn lock_unless(is_over: &dyn Fn() -> bool, place: &Path, noun: &str, waiting: &Waiting<'_>) -> Result<Option<File>, NotMade> {
    let path = beside(place, ".lock");
    let trouble = |error: io::Error| platform(format!("the lock {} cannot be had: {error}", path.display()));
    let (began, mut told) = (Instant::now(), false);
    loop {
        let file = lock_file(&path).map_err(trouble)?;
        match file.try_lock() {
            Ok(()) if is_there(&file).map_err(trouble)? => return Ok(Some(file)),
            Ok(()) => continue,
            Err(TryLockError::Error(error)) => return Err(trouble(error)),
            Err(TryLockError::WouldBlock) if began.elapsed() > MAKING_MAX => {
                return Err(platform(format!("another run makes the same {noun}, and has not done so in {} s", MAKING_MAX.as_secs())));
            }
            Err(TryLockError::WouldBlock) if is_over() => return Ok(None),
            Err(TryLockError::WouldBlock) => {}
        }
        if !told {
            (waiting.say)(&format!("waits for its {noun}, which another run makes"));
            told = true;
        }
        if (waiting.pause)(BETWEEN_LOOKS) {
            return Err(NotMade::Stopped);
        }
    }
}

pub fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Whoever removes a place removes its lock too. A lock that was opened before and had after is nobody's.
pub fn is_there(lock: &File) -> io::Result<bool> {
    Ok(lock.metadata()?.nlink() > 0)
}

/// Removes a place that nobody makes or holds, and its lock. Answers whether it is gone.
pub fn remove_unheld(place: &Path) -> io::Result<bool> {
    let path = beside(place, ".lock");
    let lock = lock_file(&path)?;
    if lock.try_lock().is_err() || !is_there(&lock)? {
        return Ok(false);
    }
    remove(place)?;
    fs::remove_file(path)?;
    Ok(true)
}

pub fn remove(place: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The mark must not reach the disk before what it speaks of.
fn mark(place: &Path, text: &str) -> io::Result<()> {
    let dir = File::open(place)?;
    sync_disk_of(&dir)?;
    mark_synced(place, &dir, text)
}

fn mark_synced(place: &Path, dir: &File, text: &str) -> io::Result<()> {
    write_part(place, text)?.sync_all()?;
    fs::rename(place.join(MARK_PART), place.join(MARK))?;
    dir.sync_all()
}

fn write_part(place: &Path, text: &str) -> io::Result<File> {
    let part = place.join(MARK_PART);
    // What is there already was put there by whoever was at work in the place, and may be a link.
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = File::create_new(&part)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Everything that was written to it before.
pub fn sync_disk_of(dir: &File) -> io::Result<()> {
    // SAFETY: a plain system call with a descriptor we own.
    if unsafe { libc::syncfs(dir.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn furnish(place: &Path) {
        fs::create_dir_all(place.join("bin")).unwrap();
        fs::write(place.join("bin/python"), "").unwrap();
    }

    fn environment<'a>(place: &'a Path, waiting: &'a Waiting<'a>) -> Once<'a> {
        Once { place, noun: "environment", is_usable: |place| place.join("bin/python").exists(), crash_point: "", boot: None, waiting }
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
            Ok("whole".into())
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| environment(&place, &patient()).make(maker))).collect();
            all.into_iter().for_each(|it| assert_eq!(it.join().unwrap(), Ok(())));
        });
        assert!(environment(&place, &patient()).is_whole());
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_half_made_one_is_never_whole_and_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("abc");
        let failed = environment(&place, &patient()).make(|making| {
            furnish(making.place);
            fs::write(making.place.join("half"), "").unwrap();
            Err(platform("no luck".into()))
        });
        assert!(failed.is_err() && !environment(&place, &patient()).is_whole() && place.join("half").exists());
        let second = environment(&place, &patient()).make(|making| {
            furnish(making.place);
            Ok("second".into())
        });
        assert_eq!((second, text_of_mark(&place).unwrap()), (Ok(()), "second".into()));
        assert!(environment(&place, &patient()).is_whole() && !place.join("half").exists());
        fs::remove_file(place.join("bin/python")).unwrap();
        assert!(!environment(&place, &patient()).is_whole(), "an environment without its interpreter is of no use");
    }

    #[test]
    fn whoever_waits_does_not_wait_for_those_who_use_it() {
        let home = tempfile::tempdir().unwrap();
        let (place, waiting) = (home.path().join("abc"), patient());
        let made = environment(&place, &waiting);
        let maker = lock(&place, "environment", &waiting).unwrap();
        let user = lock_file(&beside(&place, ".lock")).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| environment(&place, &patient()).make(|_| panic!("it is made already")));
            furnish(&place);
            mark(&place, "").unwrap();
            drop(maker);
            user.lock_shared().unwrap();
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
        assert!(made.is_whole());
    }

    #[test]
    fn what_is_not_on_the_disk_yet_is_whole_in_one_boot_until_it_is_made_to_last() {
        let home = tempfile::tempdir().unwrap();
        let (place, waiting) = (home.path().join("abc"), patient());
        let in_boot = |boot| Once { boot: Some(boot), ..environment(&place, &waiting) };
        let made = in_boot("b1").make(|making| {
            furnish(making.place);
            Ok("text".into())
        });
        assert_eq!((made, text_of_any_mark(&place, "b1").unwrap()), (Ok(()), "text".into()));
        let seen = || [in_boot("b1").is_whole(), in_boot("b2").is_whole(), environment(&place, &waiting).is_whole()];
        assert_eq!(seen(), [true, false, false]);
        let turn = Turn::at(&place, "b1").unwrap().unwrap();
        assert!(Turn::at(&place, "b1").unwrap().is_none(), "another is at it");
        drop(turn);
        assert_eq!(seen(), [true, false, false]);
        let turn = Turn::at(&place, "b1").unwrap().unwrap();
        turn.sync().unwrap();
        turn.mark().unwrap();
        assert_eq!((seen(), text_of_mark(&place).unwrap()), ([true, true, true], "text".into()));
        assert!(Turn::at(&place, "b1").unwrap().is_none(), "it lasts already");
    }

    #[test]
    fn what_the_disk_did_not_take_is_whole_no_longer() {
        let home = tempfile::tempdir().unwrap();
        let (place, waiting) = (home.path().join("abc"), patient());
        let once = Once { boot: Some("b1"), ..environment(&place, &waiting) };
        let furnished = |making: &Making<'_>| {
            furnish(making.place);
            Ok("text".into())
        };
        once.make(furnished).unwrap();
        Turn::at(&place, "b1").unwrap().unwrap().unmark().unwrap();
        assert!(!once.is_whole() && Turn::at(&place, "b1").unwrap().is_none());
        once.make(furnished).unwrap();
        assert!(once.is_whole());
    }

    #[test]
    fn whoever_waits_and_is_asked_to_stop_stops() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("abc");
        let _held = lock(&place, "environment", &patient()).unwrap();
        let stopped = environment(&place, &Waiting { pause: &|_| true, say: &|_| {} }).make(|_| panic!("nothing may be made"));
        assert_eq!(stopped, Err(NotMade::Stopped));
    }
}
