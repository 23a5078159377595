//! Where bytes are: `data:mnist/train` in a volume, `/mnt/data` on the machine, or a URL.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{BadName, VolumeName},
    said, speaks,
    words::Words,
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Location {
    /// A path in a volume; empty for all of it. It neither begins nor ends with `/`.
    Volume { volume: VolumeName, path: String },
    /// A path of the machine that the task runs on.
    Host(String),
    /// Of `http` or `https`.
    Url(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum BadLocation {
    Empty,
    Nul,
    TooLong { length: usize },
    Neither,
    Scheme(String),
    Credentials,
    Volume(BadName),
    Part(String),
}

impl BadLocation {
    /// What is said of the place.
    pub fn words(&self) -> Words {
        match self {
            BadLocation::Empty => said!("names no place", "没有写位置"),
            BadLocation::Nul => said!("has a NUL character", "含有 NUL 字符"),
            BadLocation::TooLong { length } => {
                said!("has {length} bytes; the most is {PATH_BYTES_MAX}", "有 {length} 字节，最多 {PATH_BYTES_MAX} 字节")
            }
            BadLocation::Neither => {
                said!("is neither a whole path nor a volume and a path nor a URL", "既不是完整路径，也不是数据卷加路径，也不是 URL")
            }
            BadLocation::Scheme(scheme) => {
                said!("has the scheme `{scheme}`; only http and https are fetched", "的协议是 `{scheme}`；只支持 http 和 https")
            }
            BadLocation::Credentials => {
                said!("has a user or password in it, which everyone would see", "里带有用户名或密码，所有人都会看到")
            }
            BadLocation::Volume(bad) => {
                let bad = bad.words();
                Words::new(format!("names a volume whose name {}", bad.en), format!("里的数据卷名{}", bad.zh))
            }
            BadLocation::Part(part) => said!("has the part `{part}`, which leads elsewhere", "里有 `{part}`，会跳到别处"),
        }
    }
}

speaks!(BadLocation);

pub const PATH_BYTES_MAX: usize = 4095;

impl Location {
    /// The volume it is in, if it is in one.
    pub fn volume(&self) -> Option<&VolumeName> {
        match self {
            Location::Volume { volume, .. } => Some(volume),
            Location::Host(_) | Location::Url(_) => None,
        }
    }

    /// As it may be shown to others: what follows the `?` of a URL may be what opens it.
    pub fn without_query(&self) -> String {
        match self {
            Location::Url(url) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            Location::Volume { .. } | Location::Host(_) => self.to_string(),
        }
    }

    /// The place of this name in it.
    pub fn below(&self, name: &str) -> Self {
        let join = |path: &str| if path.is_empty() { name.to_owned() } else { format!("{}/{name}", path.trim_end_matches('/')) };
        match self {
            Location::Volume { volume, path } => Location::Volume { volume: volume.clone(), path: join(path) },
            Location::Host(path) => Location::Host(join(path)),
            Location::Url(url) => Location::Url(join(url)),
        }
    }
}

impl FromStr for Location {
    type Err = BadLocation;

    fn from_str(text: &str) -> Result<Self, BadLocation> {
        if text.is_empty() {
            return Err(BadLocation::Empty);
        }
        if text.contains('\0') {
            return Err(BadLocation::Nul);
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(BadLocation::TooLong { length: text.len() });
        }
        if text.starts_with('/') {
            return Ok(Location::Host(text.to_owned()));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return url(text, scheme, rest);
        }
        let (volume, path) = text.split_once(':').ok_or(BadLocation::Neither)?;
        let volume = VolumeName::parse(volume).map_err(BadLocation::Volume)?;
        Ok(Location::Volume { volume, path: volume_path(path)? })
    }
}

fn url(text: &str, scheme: &str, rest: &str) -> Result<Location, BadLocation> {
    if !matches!(scheme, "http" | "https") {
        return Err(BadLocation::Scheme(scheme.to_owned()));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(BadLocation::Credentials);
    }
    if authority.is_empty() || text.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return Err(BadLocation::Neither);
    }
    Ok(Location::Url(text.to_owned()))
}

/// A path as volumes have it: no `/` around it, and no part that leads elsewhere.
pub fn volume_path(text: &str) -> Result<String, BadLocation> {
    let path = text.trim_matches('/');
    match path.split('/').find(|part| matches!(*part, "." | "..") || (part.is_empty() && !path.is_empty())) {
        Some(part) => Err(BadLocation::Part(if part.is_empty() { "//".into() } else { part.to_owned() })),
        None => Ok(path.to_owned()),
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Volume { volume, path } => write!(f, "{volume}:{path}"),
            Location::Host(path) => f.write_str(path),
            Location::Url(url) => f.write_str(url),
        }
    }
}

impl From<Location> for String {
    fn from(location: Location) -> String {
        location.to_string()
    }
}

impl TryFrom<String> for Location {
    type Error = BadLocation;
    fn try_from(text: String) -> Result<Self, BadLocation> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match text.parse::<Location>() {
            Ok(location) => {
                assert_eq!(location.to_string().parse(), Ok(location.clone()));
                format!("{location:?}")
            }
            Err(bad) => format!("{text:?} {bad}"),
        }
    }

    #[test]
    fn a_location_is_a_volume_s_path_a_machine_s_or_a_url() {
        let texts = [
            "data:mnist/train",
            "data:",
            "data:/mnist/",
            "/mnt/data",
            "https://example.org/a.tar.gz",
            "",
            "data",
            "../data",
            "data:a/../b",
            "data:a//b",
            "my data:x",
            "file:///etc/passwd",
            "https://me:pw@example.org/x",
            "https:///x",
            "http://a b/",
            "x\0:y",
        ];
        insta::assert_snapshot!(texts.map(read).join("\n"), @r#"
        Volume { volume: data, path: "mnist/train" }
        Volume { volume: data, path: "" }
        Volume { volume: data, path: "mnist" }
        Host("/mnt/data")
        Url("https://example.org/a.tar.gz")
        "" names no place
        "data" is neither a whole path nor a volume and a path nor a URL
        "../data" is neither a whole path nor a volume and a path nor a URL
        "data:a/../b" has the part `..`, which leads elsewhere
        "data:a//b" has the part `//`, which leads elsewhere
        "my data:x" names a volume whose name has a space; use letters, digits, `-`, `.`, `_` and `~`
        "file:///etc/passwd" has the scheme `file`; only http and https are fetched
        "https://me:pw@example.org/x" has a user or password in it, which everyone would see
        "https:///x" is neither a whole path nor a volume and a path nor a URL
        "http://a b/" is neither a whole path nor a volume and a path nor a URL
        "x\0:y" has a NUL character
        "#);
    }
}
