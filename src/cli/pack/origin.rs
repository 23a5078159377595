//! What git knows of a folder: its commit, its branch, and what is there beside the commit.
//!
//! A folder can bring a git configuration that runs programs. Nothing of it is let run: no hooks, no
//! monitor, no filters, no way out to a network.

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

use model::bundle::{Blob, Changes, ContentHash, Origin, PATCH_BYTES_MAX};

/// What git knows, and the patch if there is one. None where git knows nothing, or is not there.
pub fn of(folder: &Path) -> Option<(Origin, Option<Vec<u8>>)> {
    let git = Git { folder, filters: Vec::new() };
    let commit = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let git = Git { filters: git.filters(), ..git };
    let branch = git.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let (changes, patch) = git.changes()?;
    Some((Origin { commit, branch, changes }, patch))
}

struct Git<'a> {
    folder: &'a Path,
    /// Settings that take the programs away from the filters of this repository.
    filters: Vec<String>,
}

const QUIET: [&str; 10] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "submodule.recurse=false",
    "-c",
    "core.untrackedCache=false",
];

impl Git<'_> {
    fn changes(&self) -> Option<(Changes, Option<Vec<u8>>)> {
        let status = self.output(&["status", "--porcelain", "-z", "--ignore-submodules=all", "--", "."])?;
        if status.is_empty() {
            return Some((Changes::None, None));
        }
        let patch = self.output(&[
            "diff",
            "--binary",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
            "HEAD",
            "--",
            ".",
        ])?;
        if patch.len() as u64 > PATCH_BYTES_MAX {
            return Some((Changes::TooLarge, None));
        }
        let blob = Blob { hash: ContentHash::of(&patch), size_bytes: patch.len() as u64 };
        Some((Changes::Patch(blob), Some(patch)))
    }

    /// Filters have names of their owner's choice, so each is taken its program by its name.
    fn filters(&self) -> Vec<String> {
        let names = self.output(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."]).unwrap_or_default();
        let names = String::from_utf8_lossy(&names).into_owned();
        let programs = names.split('\0').filter(|name| name.ends_with(".clean") || name.ends_with(".smudge") || name.ends_with(".process"));
        programs.flat_map(|name| ["-c".to_owned(), format!("{name}=")]).collect()
    }

    fn line(&self, args: &[&str]) -> Option<String> {
        let bytes = self.output(args)?;
        let line = String::from_utf8(bytes).ok()?.trim_end().to_owned();
        (!line.is_empty()).then_some(line)
    }

    /// What it says, up to a little more than we would keep; none if it fails.
    fn output(&self, args: &[&str]) -> Option<Vec<u8>> {
        let mut child = self.command(args).spawn().ok()?;
        let mut bytes = Vec::new();
        let read = child.stdout.take()?.take(PATCH_BYTES_MAX + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > PATCH_BYTES_MAX {
            // It has more to say than we want to hear.
            child.kill().ok()?;
            child.wait().ok()?;
            return Some(bytes);
        }
        let ended = child.wait().ok()?;
        (read.is_ok() && ended.success()).then_some(bytes)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", ""),
            ("LC_ALL", "C"),
        ]);
        command.arg("--no-pager").args(QUIET).args(&self.filters).arg("-C").arg(self.folder).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }
}
