//! A run's directory: the one description of what lies where, for everyone who looks into it.

use std::path::{Path, PathBuf};

use model::ids::RunKey;

#[derive(Clone, Debug)]
pub struct RunDir(PathBuf);

impl RunDir {
    pub fn new(data: &Path, run: &RunKey) -> Self {
        Self(data.join("runs").join(run.job.to_string()).join(format!("{}.{}", run.task, run.attempt)))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The bytes of both streams in the order they came.
    pub fn log(&self) -> PathBuf {
        self.0.join("output.log")
    }

    /// When each piece of the log came, and from which stream.
    pub fn index(&self) -> PathBuf {
        self.0.join("output.idx")
    }
}
