//! What is installed in an environment, by the names of what describes it.

use std::{fs, io, path::Path};

use model::provenance::Packages;

use crate::code::{beneath, key};

const PACKAGES_MAX: usize = 5_000;
const NAME_BYTES_MAX: usize = 300;
const SETTINGS_BYTES_MAX: u64 = 64 << 10;

/// Every package with its version, and Python's own.
pub fn installed(place: &Path) -> io::Result<Packages> {
    let mut found = Packages { python: python(place)?, ..Packages::default() };
    for python in fs::read_dir(place.join("lib"))?.take(PACKAGES_MAX) {
        let packages = python?.path().join("site-packages");
        if packages.is_dir() {
            let names = fs::read_dir(packages)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            found.packages.extend(names.filter_map(|name| package(&name)).take(PACKAGES_MAX));
        }
    }
    Ok(found)
}

/// Other packages have another one.
pub fn fingerprint(found: &Packages) -> String {
    let packages = found.packages.iter().flat_map(|(name, version)| [name.as_str(), version.as_str()]);
    key(["packages 1", found.python.as_str()].into_iter().chain(packages))
}

/// Of `pyvenv.cfg`, where it stands under one of two names.
fn python(place: &Path) -> io::Result<String> {
    let text = beneath::read(place, "pyvenv.cfg", SETTINGS_BYTES_MAX)?.unwrap_or_default();
    let value = |wanted: &str| {
        text.lines().filter_map(|line| line.split_once('=')).find(|it| it.0.trim() == wanted).map(|it| it.1.trim().to_owned())
    };
    Ok(value("version_info").or_else(|| value("version")).unwrap_or_default())
}

/// `scikit_learn-1.5.0.dist-info` as `scikit-learn` and `1.5.0`.
fn package(name: &str) -> Option<(String, String)> {
    let (name, version) = name.strip_suffix(".dist-info").filter(|it| it.len() <= NAME_BYTES_MAX)?.rsplit_once('-')?;
    Some((name.to_lowercase().replace(['_', '.'], "-"), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_their_names_on_disk() {
        let home = tempfile::tempdir().unwrap();
        let packages = home.path().join("lib/python3.11/site-packages");
        for name in ["six-1.17.0.dist-info", "Scikit_Learn-1.5.0.dist-info", "six.py", "numpy", "numpy-2.0.1.dist-info", "odd.dist-info"] {
            fs::create_dir_all(packages.join(name)).unwrap();
        }
        fs::write(home.path().join("pyvenv.cfg"), "home = /usr/bin\nversion_info = 3.11.2\n").unwrap();
        let found = installed(home.path()).unwrap();
        let shown: Vec<String> = found.packages.iter().map(|(name, version)| format!("{name}=={version}")).collect();
        assert_eq!((found.python.as_str(), shown.join(" ").as_str()), ("3.11.2", "numpy==2.0.1 scikit-learn==1.5.0 six==1.17.0"));
        let before = fingerprint(&found);
        fs::rename(packages.join("six-1.17.0.dist-info"), packages.join("six-1.16.0.dist-info")).unwrap();
        assert_ne!(fingerprint(&installed(home.path()).unwrap()), before);
        assert!(installed(&home.path().join("none")).is_err());
    }
}
