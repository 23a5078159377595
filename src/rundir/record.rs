//! Reading what a supervisor has written down.

use std::{fs, io, path::Path};

use serde::de::DeserializeOwned;

/// A record as found on disk.
pub enum Record<T> {
    None,
    /// There, but not whole: whoever wrote it died, or is still at it.
    Torn,
    Whole(T),
}

/// The last line of a file of records, whether or not it has its end.
pub fn last_line<T: DeserializeOwned>(path: &Path) -> io::Result<Record<T>> {
    let Some(text) = text_of(path)? else { return Ok(Record::None) };
    let last = text.lines().next_back().unwrap_or_default();
    Ok(serde_json::from_str(last).map_or(Record::Torn, Record::Whole))
}

impl<T> Record<T> {
    pub fn whole(self) -> Option<T> {
        match self {
            Record::Whole(record) => Some(record),
            Record::None | Record::Torn => None,
        }
    }
}

/// One line of a file of records, counted from 0. A line without its end is torn.
pub fn read_line<T: DeserializeOwned>(path: &Path, number: usize) -> io::Result<Record<T>> {
    let Some(text) = text_of(path)? else { return Ok(Record::None) };
    let line = text.split_inclusive('\n').nth(number);
    let whole = line.filter(|line| line.ends_with('\n')).and_then(|line| serde_json::from_str(line).ok());
    Ok(match (line, whole) {
        (_, Some(record)) => Record::Whole(record),
        (None, None) if number > 0 => Record::None,
        (_, None) => Record::Torn,
    })
}

/// A power cut may leave anything in a file, and what is no text is no record.
fn text_of(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
