//! What can be seen beside a child that has failed, and soon cannot any more.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

use model::{
    clues::{Clues, FullPlace, LOOK_BYTES, Traceback, read_tail},
    logs::Piece,
    order::RunSecrets,
};

use crate::rundir::RunDir;

/// Less than this is no room.
const FULL_BELOW_BYTES: u64 = 1 << 20;

/// Adds what lies on our own disk: the end of the log without any secret, and whether there is room.
pub fn add_what_it_left(clues: &mut Clues, dir: &RunDir, secrets: &RunSecrets) {
    let (tail, traceback) = read_tail(&last_bytes(&dir.log()).unwrap_or_default());
    clues.tail = masked(&tail, secrets);
    clues.traceback = traceback.map(|it| Traceback {
        text: masked(&it.text, secrets),
        exception: masked(&it.exception, secrets),
        frame: it.frame.map(|frame| masked(&frame, secrets)),
    });
    let places = [("/output", dir.output()), ("/tmp", dir.tmp())];
    let full = places.into_iter().find_map(|(place, path)| Some((place, room(&path).filter(|room| is_full(*room))?)));
    clues.full.extend(full.map(|(place, (free_bytes, all_bytes))| FullPlace { place: place.into(), free_bytes, all_bytes }));
}

/// What is free of a file system, and how large it is.
pub fn room(path: &Path) -> Option<(u64, u64)> {
    let about = nix::sys::statvfs::statvfs(path).ok()?;
    let block = about.fragment_size();
    Some((about.blocks_available() * block, about.blocks() * block))
}

pub fn is_full((free, all): (u64, u64)) -> bool {
    all > 0 && free < FULL_BELOW_BYTES.min(all / 64)
}

fn last_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LOOK_BYTES as u64);
    let mut bytes = vec![0; (length - from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

/// A log is its owner's; what goes into the database is read by more.
fn masked(text: &str, secrets: &RunSecrets) -> String {
    const SHORTEST: usize = 4;
    let lines = secrets.values.values().flat_map(|value| value.lines()).map(str::trim).filter(|line| line.len() >= SHORTEST);
    lines.fold(text.to_owned(), |text, line| text.replace(line, "******"))
}

/// When the first byte of the log came, if one has.
pub fn spoke_at_ms(dir: &RunDir) -> Option<u64> {
    let mut entry = [0; Piece::ENCODED_BYTES];
    File::open(dir.index()).ok()?.read_exact(&mut entry).ok()?;
    Some(Piece::decode(&entry)?.at_us / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_go_into_the_record() {
        let values = [("key".to_owned(), "s3cret-one\nsecond-line\nab".to_owned())].into();
        let secrets = RunSecrets { values, ..RunSecrets::default() };
        assert_eq!(masked("got s3cret-one, then second-line and ab", &secrets), "got ******, then ****** and ab");
    }

    #[test]
    fn the_end_of_the_log_is_read_and_no_log_is_no_trouble() {
        let home = tempfile::tempdir().unwrap();
        let dir = RunDir::at(home.path());
        let mut clues = Clues::default();
        add_what_it_left(&mut clues, &dir, &RunSecrets::default());
        assert_eq!(clues, Clues::default());
        std::fs::write(dir.log(), "x\n".repeat(LOOK_BYTES) + "the end").unwrap();
        add_what_it_left(&mut clues, &dir, &RunSecrets::default());
        assert!(clues.tail.ends_with("x\nthe end") && clues.tail.len() < 4096, "{}", clues.tail);
        assert_eq!(spoke_at_ms(&dir), None);
    }

    #[test]
    fn a_place_is_full_by_its_own_measure() {
        assert!(is_full((0, 64 << 20)) && is_full((900 << 10, 1 << 40)));
        assert!(!is_full((2 << 20, 64 << 20)) && !is_full((100 << 10, 1 << 20)) && !is_full((0, 0)));
    }
}
