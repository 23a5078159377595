//! What a tar says of the next entry in a header of its own: `30 path=…`, one record behind the other.

use std::collections::BTreeMap;

use super::{NotUnpacked, odd};

/// What was said and matters.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pax {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
}

/// For one entry.
pub fn read(bytes: &[u8]) -> Result<Pax, NotUnpacked> {
    let mut said = records(bytes)?;
    let size = said.remove(b"size".as_slice()).map(|value| number(&value).ok_or_else(|| odd("has a PAX size that is no number")));
    Ok(Pax { path: said.remove(b"path".as_slice()), link: said.remove(b"linkpath".as_slice()), size: size.transpose()? })
}

/// For every entry that follows: nothing that matters may be said so.
pub fn check_global(bytes: &[u8]) -> Result<(), NotUnpacked> {
    let said = records(bytes)?;
    let matters = |key: &&Vec<u8>| matches!(key.as_slice(), b"path" | b"linkpath" | b"size");
    match said.keys().find(matters) {
        Some(key) => Err(odd(format!("says `{}` of all entries at once", String::from_utf8_lossy(key)))),
        None => Ok(()),
    }
}

fn records(mut bytes: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, NotUnpacked> {
    let bad = || odd("has a PAX header that cannot be read");
    let mut said = BTreeMap::new();
    while !bytes.is_empty() {
        let space = bytes.iter().take(20).position(|byte| *byte == b' ').ok_or_else(bad)?;
        let length = number(&bytes[..space]).and_then(|it| usize::try_from(it).ok()).ok_or_else(bad)?;
        if length <= space + 1 || length > bytes.len() {
            return Err(bad());
        }
        let record = bytes[space + 1..length].strip_suffix(b"\n").ok_or_else(bad)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(bad)?;
        let (key, value) = (record[..equals].to_vec(), record[equals + 1..].to_vec());
        if key.is_empty() {
            return Err(bad());
        }
        if key.starts_with(b"GNU.sparse") {
            return Err(odd("has a sparse file, which is not unpacked"));
        }
        if said.insert(key, value).is_some() {
            return Err(odd("has a PAX header that says one thing twice"));
        }
        bytes = &bytes[length..];
    }
    Ok(said)
}

fn number(text: &[u8]) -> Option<u64> {
    let plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    plain.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}
