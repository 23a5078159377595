//! Python environments: made once by `uv`, kept by what is in them, and shared by every job that wants
//! the same.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use model::{framework::Environment, plan::Requirements};

use super::{
    NotMade, Waiting,
    once::{Making, Once},
    platform,
};

mod asked;
mod installed;
mod interpreter;
mod lines;
mod project;
mod settings;
mod uv;
mod words;

pub use asked::Asked;
pub use installed::{fingerprint, installed};
pub use settings::{BUILD_VARIABLE, DIRECTORY_VARIABLE, Settings};
pub use uv::on_path as uv_on_path;

use interpreter::Interpreter;
use uv::Uv;

/// Where environments stand, each in a directory of its own, with its lock and the words of its making
/// beside it.
#[derive(Clone, Debug)]
pub struct Shelf {
    dir: PathBuf,
    /// What nobody who builds a package may see.
    private: PathBuf,
}

impl Shelf {
    pub fn at(dir: impl Into<PathBuf>, private: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), private: private.into() }
    }

    /// Answers where the environment is, after having made it if need be.
    pub fn ready(&self, wanted: &Wanted<'_>, waiting: &Waiting<'_>) -> Result<PathBuf, NotReady> {
        let said = RefCell::new(String::new());
        self.made(wanted, waiting, &said).map_err(|reason| NotReady { reason, said: said.into_inner() })
    }

    fn made(&self, wanted: &Wanted<'_>, waiting: &Waiting<'_>, said: &RefCell<String>) -> Result<PathBuf, NotMade> {
        let settings = Settings::of_this_process();
        let interpreter = wanted.interpreter();
        let place = self.dir.join(key(wanted, &interpreter, &settings));
        let environment = once(&place, waiting);
        if environment.is_whole() {
            return Ok(place);
        }
        std::fs::create_dir_all(&self.dir)
            .map_err(|error| platform(format!("no environment can be made in {}: {error}", self.dir.display())))?;
        let make = |making: &Making<'_>| {
            let uv = Uv::find(self, &settings, waiting, said)?;
            (waiting.say)(&wanted.doing());
            uv.make(making, wanted, &interpreter)?;
            Ok(IS_WHOLE.to_owned())
        };
        environment.make(make)?;
        Ok(place)
    }
}

/// What shall be in an environment: a framework's packages and those the code asks for, chosen together.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    framework: Option<&'a Environment>,
    asked: Option<Asked>,
}

/// Why there is no environment, and everything the tools have said.
#[derive(Debug)]
pub struct NotReady {
    pub reason: NotMade,
    pub said: String,
}

impl<'a> Wanted<'a> {
    /// `None` if neither wants anything.
    pub fn find(framework: Option<&'a Environment>, code: Option<&Path>, requirements: &Requirements) -> Result<Option<Self>, NotMade> {
        let asked = asked::find(code, requirements, Settings::of_this_process().may_build())?;
        Ok((framework.is_some() || asked.is_some()).then_some(Self { framework, asked }))
    }

    fn packages(&self) -> &[String] {
        self.framework.map_or(&[], |it| &it.requirements)
    }

    fn interpreter(&self) -> Interpreter {
        let version = self.framework.and_then(|it| it.interpreter.as_deref());
        match self.asked.as_ref().and_then(|it| it.python.clone()) {
            Some(range) if version.is_none() => Interpreter::Asked(range),
            Some(_) | None => Interpreter::find(version),
        }
    }

    fn doing(&self) -> String {
        match (self.framework, &self.asked) {
            (Some(framework), Some(asked)) => format!("installs the packages of {} and `{}`", framework.framework, asked.file),
            (Some(framework), None) => format!("makes the Python environment of {}", framework.framework),
            (None, asked) => format!("installs the packages of `{}`", asked.as_ref().map_or("nothing", |it| &it.file)),
        }
    }
}

const IS_WHOLE: &str = "This environment is whole.\n";

/// One whose interpreter has left the machine cannot be used.
fn once<'a>(place: &'a Path, waiting: &'a Waiting<'a>) -> Once<'a> {
    let is_usable = |place: &Path| place.join("bin/python").exists();
    Once { place, noun: "Python environment", is_usable, crash_point: "environment.made-before-marked", boot: None, waiting }
}

/// The name of an environment: a hash of everything that decides what is in it.
fn key(wanted: &Wanted<'_>, interpreter: &Interpreter, settings: &Settings) -> String {
    // Raised when environments are made in another way.
    const GENERATION: &str = "1";
    let mut parts = vec![GENERATION, std::env::consts::OS, std::env::consts::ARCH, interpreter.text()];
    parts.extend(wanted.packages().iter().map(String::as_str));
    parts.extend(settings.indexes().flat_map(|(name, value)| [name, value]));
    if let Some(asked) = &wanted.asked {
        parts.extend(["asked", &asked.file]);
        parts.extend(asked.files.iter().flat_map(|(path, text)| [path.as_str(), text]));
    }
    super::key(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_content_and_not_who_asks() {
        let python = Interpreter::Asked("3.11".into());
        let settings = |index: &str| Settings::from_pairs([("UV_DEFAULT_INDEX".to_owned(), index.to_owned())].into_iter());
        let named = |framework: &str, index: &str| {
            let framework = framework.parse::<model::framework::Framework>().unwrap().environment(false);
            key(&Wanted { framework: Some(&framework), asked: None }, &python, &settings(index))
        };
        assert_eq!(named("keras", "a"), named("tensorflow", "a"));
        assert_ne!(named("keras", "a"), named("keras", "b"));
        assert_ne!(named("keras", "a"), named("jax", "a"));
        assert_eq!(named("jax", "a").len(), 20);
        let asking = |text: &str, included: &str| {
            let code = tempfile::tempdir().unwrap();
            std::fs::write(code.path().join("requirements.txt"), text).unwrap();
            std::fs::write(code.path().join("base.txt"), included).unwrap();
            let wanted = Wanted::find(None, Some(code.path()), &Requirements::Usual).unwrap().unwrap();
            key(&wanted, &python, &settings("a"))
        };
        assert_eq!(asking("six", ""), asking("six", "numpy"), "a file that is not asked for does not count");
        assert_ne!(asking("six", ""), asking("six==1.17.0", ""));
        assert_ne!(asking("-r base.txt", "six"), asking("-r base.txt", "numpy"));
    }
}
