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

/// The first record of its kind in a file of records. A line without its end is none yet, and a file without one is torn.
pub fn find_line<T: DeserializeOwned>(path: &Path) -> io::Result<Record<T>> {
    let Some(text) = text_of(path)? else { return Ok(Record::None) };
    let mut whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    Ok(whole.find_map(|line| serde_json::from_str(line).ok()).map_or(Record::Torn, Record::Whole))
}

/// A power cut may leave anything in a file, and what is no text is no record.
fn text_of(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Child {
        pid: i32,
    }

    #[test]
    fn a_record_is_found_by_its_kind_and_not_before_its_line_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("records");
        assert!(matches!(find_line::<Child>(&path).unwrap(), Record::None));
        fs::write(&path, "{\"order\":1}\n{\"identity\":2}\n{\"pid\":7}").unwrap();
        assert!(matches!(find_line::<Child>(&path).unwrap(), Record::Torn));
        fs::write(&path, "{\"order\":1}\n{\"identity\":2}\n{\"pid\":7}\n{\"cause\":3}\n").unwrap();
        assert_eq!(find_line::<Child>(&path).unwrap().whole().unwrap().pid, 7);
    }
}
