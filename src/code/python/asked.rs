//! What the code asks for: found at its root or where the job says, and read without trust.

use std::{collections::BTreeMap, io, path::Path};

use model::{plan::Requirements, task::Whose};

use super::{
    lines,
    project::{self, Project},
};
use crate::code::{NotMade, beneath};

const FILE_BYTES_MAX: u64 = 4 << 20;
const FILES_MAX: usize = 32;

/// The packages that a file of the code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The file, as the code calls it.
    pub file: String,
    pub kind: Kind,
    /// It and those it needs, by their paths in the code.
    pub files: BTreeMap<String, String>,
    /// The Python it wants, such as `>=3.10`.
    pub python: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines of a requirements file.
    Lines,
    /// `uv.lock`, with its project beside it.
    Lock,
}

impl Asked {
    /// The name under which `uv` reads it as lines: from other names it would conclude that it is something else.
    pub fn entry(&self) -> String {
        if self.file.ends_with(".txt") { self.file.clone() } else { format!("{}.txt", self.file) }
    }
}

/// Looks into the code. Where nothing is asked for, that costs a look for each usual name.
pub fn find(code: Option<&Path>, requirements: &Requirements, may_build: bool) -> Result<Option<Asked>, NotMade> {
    let reader = |code| Reader { code, may_build };
    match (requirements, code) {
        (Requirements::None, _) | (Requirements::Usual, None) => Ok(None),
        (Requirements::Usual, Some(code)) => reader(code).usual(),
        (Requirements::File(path), Some(code)) => reader(code).named(path),
        (Requirements::File(path), None) => Err(user(format!("`requirements` names `{path}`, and the job has no code"))),
    }
}

fn user(why: String) -> NotMade {
    NotMade::Failed { why, whose: Whose::User }
}

pub fn refused(file: &str, refused: &lines::Refused) -> NotMade {
    user(format!("the packages of `{file}` cannot be installed: line {}: {}", refused.line, refused.why))
}

struct Reader<'a> {
    code: &'a Path,
    may_build: bool,
}

impl Reader<'_> {
    /// What says it most exactly comes first.
    fn usual(&self) -> Result<Option<Asked>, NotMade> {
        for name in ["uv.lock", "pylock.toml", "requirements.txt", "pyproject.toml"] {
            if let Some(text) = self.text(name)? {
                return self.read(name, text);
            }
        }
        Ok(None)
    }

    fn named(&self, path: &str) -> Result<Option<Asked>, NotMade> {
        match self.text(path)? {
            Some(text) => self.read(path, text),
            None => Err(user(format!("`requirements` names `{path}`, and the code has no such file"))),
        }
    }

    fn text(&self, path: &str) -> Result<Option<String>, NotMade> {
        let unreadable = |error: io::Error| user(format!("`{path}` of the code cannot be read: {error}"));
        beneath::read(self.code, path, FILE_BYTES_MAX).map_err(unreadable)
    }

    fn read(&self, path: &str, text: String) -> Result<Option<Asked>, NotMade> {
        let bad = |why: String| user(format!("the packages of `{path}` cannot be installed: {why}"));
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "uv.lock" => self.lock(path, text).map(Some),
            "pyproject.toml" => self.project(path, project::pyproject(&text).map_err(bad)?),
            _ if name.starts_with("pylock.") && name.ends_with(".toml") => self.project(path, project::pylock(&text).map_err(bad)?),
            _ => self.lines(path, text),
        }
    }

    fn lock(&self, path: &str, text: String) -> Result<Asked, NotMade> {
        let beside = path.strip_suffix("uv.lock").unwrap_or_default().to_owned() + "pyproject.toml";
        let Some(project) = self.text(&beside)? else {
            return Err(user(format!("`{path}` is of no use without `{beside}`, and the code has none")));
        };
        let python = project::pyproject(&project).ok().and_then(|it| it.python);
        let files = BTreeMap::from([(path.to_owned(), text), (beside, project)]);
        Ok(Asked { file: path.to_owned(), kind: Kind::Lock, files, python })
    }

    fn project(&self, path: &str, project: Project) -> Result<Option<Asked>, NotMade> {
        let asked = self.lines(path, project.lines)?;
        Ok(asked.map(|asked| Asked { python: project.python, ..asked }))
    }

    fn lines(&self, path: &str, text: String) -> Result<Option<Asked>, NotMade> {
        if lines::is_empty(&text) {
            return Ok(None);
        }
        let mut files = BTreeMap::new();
        let mut waiting = vec![(path.to_owned(), text)];
        while let Some((path, text)) = waiting.pop() {
            if files.len() == FILES_MAX {
                return Err(user(format!("`{path}` is one file of requirements too many: at most {FILES_MAX} are read")));
            }
            let included = lines::check(&text, self.may_build).map_err(|why| refused(&path, &why))?;
            files.insert(path.clone(), text);
            for name in included {
                let further = beside(&path, &name).ok_or_else(|| user(format!("`{path}` names `{name}`, which leads out of the code")))?;
                if files.contains_key(&further) || waiting.iter().any(|it| it.0 == further) {
                    continue;
                }
                let text = self.text(&further)?.ok_or_else(|| user(format!("`{path}` names `{name}`, and the code has no such file")))?;
                waiting.push((further, text));
            }
        }
        Ok(Some(Asked { file: path.to_owned(), kind: Kind::Lines, files, python: None }))
    }
}

/// The path of a file that another names, by whole names only. `None` if that is outside.
fn beside(path: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/")).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn looked(files: &[(&str, &str)], requirements: &Requirements) -> String {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        match find(Some(home.path()), requirements, false) {
            Ok(Some(asked)) => format!("{} {:?} {:?}", asked.file, asked.kind, asked.files.into_keys().collect::<Vec<_>>()),
            Ok(None) => "nothing".into(),
            Err(NotMade::Failed { why, whose }) => format!("{whose:?}: {why}"),
            Err(NotMade::Stopped) => "stopped".into(),
        }
    }

    #[test]
    fn the_file_that_says_it_most_exactly_counts() {
        let project = ("pyproject.toml", "[project]\nname='x'\ndependencies=['six']");
        let lines = ("requirements.txt", "six");
        let usual = |files: &[(&str, &str)]| looked(files, &Requirements::Usual);
        insta::assert_snapshot!(
            [
                usual(&[]),
                usual(&[("requirements.txt", "# none\n")]),
                usual(&[("pyproject.toml", "[tool.ruff]")]),
                usual(&[project]),
                usual(&[project, lines]),
                usual(&[project, lines, ("pylock.toml", "[[packages]]\nname='six'\nversion='1'")]),
                usual(&[project, lines, ("uv.lock", "version = 1")]),
                usual(&[lines, ("uv.lock", "version = 1")]),
                looked(&[lines], &Requirements::None),
                looked(
                    &[lines, ("sub/r.txt", "-r ../base.txt\n-c c.txt"), ("base.txt", "six\n-r sub/r.txt"), ("sub/c.txt", "")],
                    &Requirements::File("sub/r.txt".into())
                ),
                looked(&[lines], &Requirements::File("sub/r.txt".into())),
                usual(&[("requirements.txt", "six\n-r ../../etc/passwd")]),
                usual(&[("requirements.txt", "six\n-r gone.txt")]),
                usual(&[("requirements.txt", "six\n\n-e .")]),
            ]
            .join("\n"), @r#"
        nothing
        nothing
        nothing
        pyproject.toml Lines ["pyproject.toml"]
        requirements.txt Lines ["requirements.txt"]
        pylock.toml Lines ["pylock.toml"]
        uv.lock Lock ["pyproject.toml", "uv.lock"]
        User: `uv.lock` is of no use without `pyproject.toml`, and the code has none
        nothing
        sub/r.txt Lines ["base.txt", "sub/c.txt", "sub/r.txt"]
        User: `requirements` names `sub/r.txt`, and the code has no such file
        User: `requirements.txt` names `../../etc/passwd`, which leads out of the code
        User: `requirements.txt` names `gone.txt`, and the code has no such file
        User: the packages of `requirements.txt` cannot be installed: line 3: `-e .` names something on the disk, and packages come from an index or an https:// address; what lies in the code is found there without being installed
        "#);
    }

    #[test]
    fn there_is_an_end_to_the_files_that_are_read() {
        let files: Vec<(String, String)> = (0..40).map(|it| (format!("r{it}.txt"), format!("-r r{}.txt", it + 1))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert!(looked(&files, &Requirements::File("r0.txt".into())).contains("at most 32 are read"));
    }
}
