//! Where something is fetched from.

use model::{
    ids::JobId,
    location::Location,
    volume::{Credentials, Volume},
};

use crate::volumes::{self, Store, VolumeError};

#[derive(Clone)]
pub struct Source {
    pub store: Store,
    /// What tells it from every other store that may have the same paths in it.
    pub identity: String,
    /// In the store.
    pub path: String,
    /// The version of files whose store says none: what was fetched for another cannot be told from what is there now.
    pub no_version: String,
    /// Whether it can only be one file.
    pub is_file: bool,
    location: String,
}

impl Source {
    pub fn of_volume(location: &Location, (volume, credentials): (&Volume, Option<&Credentials>), job: JobId) -> Result<Self, VolumeError> {
        let (name, path) = match location {
            Location::Volume { volume, path } => (volume.to_string(), path.clone()),
            Location::Host(_) | Location::Url(_) => (location.to_string(), String::new()),
        };
        let store = volumes::open(volume, credentials)?.named(&name);
        let identity = serde_json::to_string(volume).expect("a volume is JSON");
        Ok(Self { store, identity, path, no_version: no_version(job), is_file: false, location: location.to_string() })
    }

    pub fn of_url(url: &str, job: JobId) -> Result<Self, VolumeError> {
        let store = Store::of_url(url)?;
        // What follows a `?` may be what opens it.
        let location = url.split(['?', '#']).next().unwrap_or_default().to_owned();
        Ok(Self { store, identity: format!("url {url}"), path: String::new(), no_version: no_version(job), is_file: true, location })
    }

    /// As a person wrote it.
    pub fn label(&self) -> &str {
        &self.location
    }

    /// What the one file is called that this is.
    pub fn file_name(&self) -> String {
        let named = if self.path.is_empty() { decoded(self.location.trim_end_matches('/')) } else { self.path.clone() };
        let name = named.rsplit('/').next().unwrap_or_default();
        // A web server's own page has no name, and one that leads elsewhere is no name for a file.
        if name.is_empty() || name.contains('\0') || matches!(name, "." | "..") { "index".into() } else { name.to_owned() }
    }
}

/// The tasks of one job share what one of them has fetched.
fn no_version(job: JobId) -> String {
    format!("as job {job} found it")
}

/// The last part of a URL as a file's name: `%20` is a space, and `%2F` does not make it a path.
fn decoded(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let Some((_, last)) = path.rsplit_once('/') else { return String::new() };
    let mut bytes = Vec::with_capacity(last.len());
    let mut rest = last.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| *first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(if byte == b'/' { b'_' } else { byte });
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_s_file_is_called_by_its_last_part() {
        let name = |url: &str| Source::of_url(url, JobId::new(1, &[0; 10])).unwrap().file_name();
        let urls = [
            "http://127.0.0.1/a/b.tar.gz?sign=1#x",
            "http://127.0.0.1/a%20b%2F..%2Fc",
            "http://127.0.0.1/",
            "http://127.0.0.1",
            "http://127.0.0.1/a/%2e%2e",
            "http://127.0.0.1/100%",
        ];
        assert_eq!(urls.map(name).join("\n"), "b.tar.gz\na b_.._c\nindex\nindex\nindex\n100%");
    }
}
