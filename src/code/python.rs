//! Python environments: made once by `uv`, kept by what is in them, and shared by every job that wants
//! the same.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use model::{framework::Environment, task::Whose};
use sha2::{Digest, Sha256};

mod interpreter;
mod once;
mod settings;
mod uv;

pub use settings::{DIRECTORY_VARIABLE, Settings};
pub use uv::on_path as uv_on_path;

use interpreter::Interpreter;
use uv::Uv;

/// Where environments stand, each in a directory of its own, with its lock and the words of its making
/// beside it.
#[derive(Clone, Debug)]
pub struct Shelf {
    dir: PathBuf,
}

/// Why there is no environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// We were asked to stop meanwhile.
    Stopped,
    Failed {
        why: String,
        whose: Whose,
    },
}

/// Whoever waits for an environment.
pub struct Waiting<'a> {
    /// Waits for so long, or shorter. Answers whether it is time to give up.
    pub pause: &'a dyn Fn(Duration) -> bool,
    /// Called before anything that takes long, with words for a person.
    pub say: &'a dyn Fn(&str),
}

impl Shelf {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Answers where the environment is, after having made it if need be.
    pub fn ready(&self, wanted: &Environment, waiting: &Waiting<'_>) -> Result<PathBuf, NotMade> {
        let settings = Settings::of_this_process();
        let interpreter = Interpreter::find(wanted.interpreter.as_deref());
        let place = self.dir.join(key(wanted, &interpreter, &settings));
        if once::is_whole(&place) {
            return Ok(place);
        }
        std::fs::create_dir_all(&self.dir)
            .map_err(|error| platform(format!("no environment can be made in {}: {error}", self.dir.display())))?;
        let make = |making: &once::Making<'_>| {
            let uv = Uv::find(&self.dir, &settings, waiting)?;
            (waiting.say)(&format!("makes the Python environment of {}", wanted.framework));
            uv.make(making, wanted, &interpreter)
        };
        once::make(&place, waiting, make)?;
        Ok(place)
    }
}

fn platform(why: String) -> NotMade {
    NotMade::Failed { why, whose: Whose::Platform }
}

/// The name of an environment: a hash of everything that decides what is in it.
fn key(wanted: &Environment, interpreter: &Interpreter, settings: &Settings) -> String {
    const HEX_DIGITS: usize = 20;
    // Raised when environments are made in another way.
    const GENERATION: &str = "1";
    let mut parts = vec![GENERATION, std::env::consts::OS, std::env::consts::ARCH, interpreter.text()];
    parts.extend(wanted.requirements.iter().map(String::as_str));
    parts.extend(settings.indexes().flat_map(|(name, value)| [name, value]));
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

/// A file beside an environment.
fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    place.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_content_and_not_who_asks() {
        let named = |framework: &str, index: &str| {
            let wanted = framework.parse::<model::framework::Framework>().unwrap().environment(false);
            let settings = Settings::from_pairs([("UV_DEFAULT_INDEX".to_owned(), index.to_owned())].into_iter());
            key(&wanted, &Interpreter::Asked("3.11".into()), &settings)
        };
        assert_eq!(named("keras", "a"), named("tensorflow", "a"));
        assert_ne!(named("keras", "a"), named("keras", "b"));
        assert_ne!(named("keras", "a"), named("jax", "a"));
        assert_eq!(named("jax", "a").len(), 20);
    }
}
