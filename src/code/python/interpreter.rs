//! Which Python an environment is made for.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    At(String),
    /// Not on this machine, as far as we can see. `uv` may know one, or fetch it.
    Asked(String),
}

impl Interpreter {
    /// The version that was asked for, or else what this machine calls `python3`.
    pub fn find(version: Option<&str>) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let pyenv = variable("PYENV_ROOT").map(PathBuf::from).or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pyenv")));
        find_in(version, variable("PATH").unwrap_or_default(), pyenv)
    }

    pub fn text(&self) -> &str {
        match self {
            Interpreter::At(path) => path,
            Interpreter::Asked(version) => version,
        }
    }
}

/// Without links, so that the machine's next `python3` is another interpreter.
fn find_in(version: Option<&str>, path: OsString, pyenv: Option<PathBuf>) -> Interpreter {
    let name = format!("python{}", version.unwrap_or("3"));
    let is_shim = |dir: &Path| pyenv.as_ref().is_some_and(|root| dir.starts_with(root));
    // A shim only knows the version its owner has chosen, so for any other we look behind it.
    let on_path = std::env::split_paths(&path).filter(|dir| version.is_none() || !is_shim(dir)).map(|dir| dir.join(&name));
    let behind = pyenv.iter().flat_map(|root| version.map(|it| versions_below(&root.join("versions"), it, &name))).flatten();
    let found = on_path.chain(behind).find_map(|it| fs::canonicalize(it).ok());
    match found.as_deref().and_then(Path::to_str) {
        Some(path) => Interpreter::At(path.to_owned()),
        None => Interpreter::Asked(version.unwrap_or("3").to_owned()),
    }
}

fn versions_below(dir: &Path, version: &str, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut fitting: Vec<String> = names.filter(|it| it == version || it.starts_with(&format!("{version}."))).collect();
    fitting.sort();
    fitting.into_iter().rev().map(|it| dir.join(it).join("bin").join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_looked_for_on_the_path_and_behind_shims_and_else_left_to_uv() {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap();
        for file in ["bin/python3", "bin/python3.10", ".pyenv/shims/python3.12", ".pyenv/versions/3.12.1/bin/python3.12"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let path = std::env::join_paths([root.join(".pyenv/shims"), root.join("bin")]).unwrap();
        let found = |version| find_in(version, path.clone(), Some(root.join(".pyenv"))).text().replace(root.to_str().unwrap(), "");
        assert_eq!(found(None), "/bin/python3");
        assert_eq!(found(Some("3.10")), "/bin/python3.10");
        assert_eq!(found(Some("3.12")), "/.pyenv/versions/3.12.1/bin/python3.12");
        assert_eq!(find_in(Some("3.9"), path.clone(), None), Interpreter::Asked("3.9".into()));
    }
}
