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

pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Record<T>> {
    match fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text).map_or(Record::Torn, Record::Whole)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Record::None),
        Err(error) => Err(error),
    }
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
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Record::None),
        Err(error) => return Err(error),
    };
    let line = text.split_inclusive('\n').nth(number);
    let whole = line.filter(|line| line.ends_with('\n')).and_then(|line| serde_json::from_str(line).ok());
    Ok(match (line, whole) {
        (_, Some(record)) => Record::Whole(record),
        (None, None) if number > 0 => Record::None,
        (_, None) => Record::Torn,
    })
}
