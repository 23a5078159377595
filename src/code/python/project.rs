//! Files in TOML that say which packages a project needs, as lines of a requirements file.

use std::fmt::Write;

use toml::{Table, Value};

/// What a `pyproject.toml` asks for. Nothing, if it is there for other tools only.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Project {
    pub lines: String,
    pub python: Option<String>,
}

pub fn pyproject(text: &str) -> Result<Project, String> {
    let file = read(text)?;
    let Some(project) = file.get("project").and_then(Value::as_table) else { return Ok(Project::default()) };
    let is_dynamic = |it: &Value| it.as_array().is_some_and(|fields| fields.iter().any(|field| field.as_str() == Some("dependencies")));
    if project.get("dynamic").is_some_and(is_dynamic) {
        return Err(
            "its dependencies are dynamic, and to learn them its code would have to be run; name a requirements file instead".into()
        );
    }
    let mut lines = String::new();
    for line in project.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        let line = line.as_str().filter(|it| !it.contains(['\n', '\r'])).ok_or("a dependency is not one line of text")?;
        lines += &format!("{line}\n");
    }
    Ok(Project { lines, python: text_of(project, "requires-python")? })
}

/// A `pylock.toml`, of which we take names, versions, markers and hashes. From where packages come, the server decides.
pub fn pylock(text: &str) -> Result<Project, String> {
    let file = read(text)?;
    let mut lines = String::new();
    for package in file.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let package = package.as_table().ok_or("a package of it is not a table")?;
        let name = text_of(package, "name")?.ok_or("a package of it has no name")?;
        if let Some(kind) = ["vcs", "directory", "archive"].into_iter().find(|kind| package.contains_key(*kind)) {
            return Err(format!("`{name}` comes from a {kind}, and packages come from an index"));
        }
        let version = text_of(package, "version")?.ok_or_else(|| format!("`{name}` has no version"))?;
        lines += &format!("{name}=={version}");
        if let Some(marker) = text_of(package, "marker")? {
            lines += &format!(" ; {marker}");
        }
        for (algorithm, hash) in hashes(package) {
            write!(lines, " --hash={algorithm}:{hash}").expect("a string takes everything");
        }
        lines.push('\n');
    }
    Ok(Project { lines, python: text_of(&file, "requires-python")? })
}

fn hashes(package: &Table) -> impl Iterator<Item = (&String, &str)> {
    let wheels = package.get("wheels").and_then(Value::as_array).into_iter().flatten();
    let files = wheels.chain(package.get("sdist"));
    let tables = files.filter_map(|file| file.get("hashes")?.as_table());
    tables.flatten().filter_map(|(algorithm, hash)| Some((algorithm, hash.as_str()?)))
}

fn read(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| format!("it is not TOML: {}", error.to_string().trim()))
}

/// One line of it, since it is to become part of one.
fn text_of(table: &Table, key: &str) -> Result<Option<String>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.contains(['\n', '\r']) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is not one line of text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_asks_for_its_dependencies_and_its_python() {
        let asked = pyproject("[project]\nname='x'\nrequires-python='>=3.10'\ndependencies=['six==1.17.0', \"numpy; python_version<'4'\"]")
            .unwrap();
        assert_eq!(asked, Project { lines: "six==1.17.0\nnumpy; python_version<'4'\n".into(), python: Some(">=3.10".into()) });
        assert_eq!(pyproject("[tool.ruff]\nline-length = 100").unwrap(), Project::default());
        assert!(pyproject("[project]\nname='x'\ndynamic=['dependencies']").unwrap_err().contains("dynamic"));
        assert!(pyproject("[project]\ndependencies=[\"six\\n-e .\"]").unwrap_err().contains("one line"));
        assert!(pyproject("[project").unwrap_err().contains("line 1, column 9"));
    }

    #[test]
    fn a_lock_file_asks_for_exactly_its_versions_with_their_hashes() {
        let text = "lock-version='1.0'\nrequires-python='>=3.10'\n[[packages]]\nname='six'\nversion='1.17.0'\nmarker=\"sys_platform == 'linux'\"\n\
            [packages.sdist]\nname='six.tar.gz'\nhashes={sha256='aa'}\n[[packages.wheels]]\nname='six.whl'\nhashes={sha256='bb'}\n";
        let asked = pylock(text).unwrap();
        assert_eq!(asked.lines, "six==1.17.0 ; sys_platform == 'linux' --hash=sha256:bb --hash=sha256:aa\n");
        assert!(pylock("[[packages]]\nname='a'\n[packages.directory]\npath='.'").unwrap_err().contains("`a` comes from a directory"));
    }
}
