//! Where code comes from, and what it needs around it to run.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use model::task::Whose;
use sha2::{Digest, Sha256};

mod beneath;
pub mod changes;
pub mod git;
pub mod once;
pub mod python;
mod tool;
pub mod upload;
mod workshop;

/// Why there is no environment, or no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// We were asked to stop meanwhile.
    Stopped,
    Failed {
        why: String,
        whose: Whose,
    },
}

/// Whoever waits for it.
pub struct Waiting<'a> {
    /// Waits for so long, or shorter. Answers whether it is time to give up.
    pub pause: &'a dyn Fn(Duration) -> bool,
    /// Called before anything that takes long, with words for a person.
    pub say: &'a dyn Fn(&str),
}

fn platform(why: String) -> NotMade {
    NotMade::Failed { why, whose: Whose::Platform }
}

/// A name for something that is kept: a hash of everything that decides what is in it.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    const HEX_DIGITS: usize = 20;
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text.truncate(HEX_DIGITS);
    text
}

/// A file beside a directory.
pub fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    place.with_file_name(name)
}
