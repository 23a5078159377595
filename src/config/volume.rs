//! `[[volume]]` of the server's TOML file. Keys are named there by file or variable, and never written there:
//! such files are copied, mailed and put under version control.

use std::{os::unix::fs::PermissionsExt, path::Path};

use model::{
    ids::VolumeName,
    volume::{Credentials, Volume},
};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct VolumeConfig {
    pub name: VolumeName,
    pub volume: Volume,
    keys: Option<Keys>,
}

/// Where the two keys are.
#[derive(Clone, Debug, PartialEq)]
struct Keys {
    access: Source,
    secret: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    File(String),
    Variable(String),
}

impl TryFrom<toml::Table> for VolumeConfig {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        let name = take(&mut table, "name")?.ok_or("a volume needs a name")?;
        let name = VolumeName::parse(&name).map_err(|why| format!("a volume's name {why}"))?;
        if let Some(key) = ["access_key", "secret_key", "session_token"].iter().find(|key| table.contains_key(**key)) {
            return Err(format!(
                "volume {name}: `{key}` does not belong in a file that others read; name a file with `{key}_file`, or a variable with `{key}_env`"
            ));
        }
        let keys = match (source(&mut table, "access_key")?, source(&mut table, "secret_key")?) {
            (Some(access), Some(secret)) => Some(Keys { access, secret }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(format!("volume {name}: an access key needs its secret key, and the other way round"));
            }
        };
        let volume: Volume = table.try_into().map_err(|error| format!("volume {name}: {error}"))?;
        if keys.is_some() && !matches!(volume, Volume::S3 { .. }) {
            return Err(format!("volume {name}: only a bucket has keys"));
        }
        Ok(Self { name, volume, keys })
    }
}

fn take(table: &mut toml::Table, key: &str) -> Result<Option<String>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("a volume's `{key}` is a text")),
    }
}

fn source(table: &mut toml::Table, key: &str) -> Result<Option<Source>, String> {
    let (file, variable) = (take(table, &format!("{key}_file"))?, take(table, &format!("{key}_env"))?);
    if file.is_some() && variable.is_some() {
        return Err(format!("a volume has `{key}_file` or `{key}_env`, not both"));
    }
    Ok(file.map(Source::File).or(variable.map(Source::Variable)))
}

impl VolumeConfig {
    /// Reads the keys where they are.
    pub fn credentials(&self) -> Result<Option<Credentials>, String> {
        let Some(keys) = &self.keys else { return Ok(None) };
        let read = |source: &Source| source.read().map_err(|why| format!("volume {}: {why}", self.name));
        Ok(Some(Credentials { access_key: read(&keys.access)?, secret_key: read(&keys.secret)?, session_token: None }))
    }
}

impl Source {
    fn read(&self) -> Result<String, String> {
        let text = match self {
            Source::Variable(name) => std::env::var(name).map_err(|_| format!("there is no variable {name}"))?,
            Source::File(path) => secret_file(Path::new(path)).map_err(|why| format!("{path} {why}"))?,
        };
        let text = text.trim();
        if text.is_empty() { Err("a key is empty".into()) } else { Ok(text.to_owned()) }
    }
}

fn secret_file(path: &Path) -> Result<String, String> {
    let mode = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!("can be read by others (mode {:o}), so it is no secret; `chmod 600` it", mode & 0o777));
    }
    std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<VolumeConfig, String> {
        VolumeConfig::try_from(toml::from_str::<toml::Table>(text).unwrap())
    }

    #[test]
    fn volumes_are_read_with_the_places_of_their_keys() {
        let local = read("name = 'data'\nkind = 'local'\npath = '/mnt/data'").unwrap();
        assert_eq!(local.volume, Volume::Local { path: "/mnt/data".into() });
        assert!(local.credentials().unwrap().is_none());
        let bucket = "name = 'b'\nkind = 's3'\nbucket = 'x'\naccess_key_env = 'PATH'\nsecret_key_env = 'NO_SUCH_VARIABLE'";
        assert_eq!(read(bucket).unwrap().credentials().unwrap_err(), "volume b: there is no variable NO_SUCH_VARIABLE");
    }

    #[test]
    fn a_key_in_the_file_itself_is_refused_and_not_repeated() {
        let said = read("name = 'b'\nkind = 's3'\nbucket = 'x'\naccess_key_env = 'A'\nsecret_key = 'hunter2'").unwrap_err();
        assert!(said.contains("`secret_key` does not belong") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn half_a_pair_and_unknown_words_are_refused() {
        for (text, wanted) in [
            ("kind = 'local'\npath = '/x'", "needs a name"),
            ("name = 'a b'\nkind = 'local'\npath = '/x'", "has a space"),
            ("name = 'b'\nkind = 's3'\nbucket = 'x'\naccess_key_env = 'A'", "needs its secret key"),
            ("name = 'b'\nkind = 'local'\npath = '/x'\naccess_key_env = 'A'\nsecret_key_env = 'B'", "only a bucket has keys"),
            ("name = 'b'\nkind = 'local'\npath = '/x'\ncolour = 'red'", "colour"),
            ("name = 'b'\nkind = 'tape'", "tape"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
