//! Places of this machine that tasks see as they are, without any copying.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use model::{ids::VolumeName, location::Location, task::Whose, volume::Volume};

use super::Failed;

/// Where a place is, if it is of this machine: a directory, or one file. The error is why it cannot be shown;
/// `None` means that it has to be fetched.
pub fn on_this_machine(location: &Location, volumes: &BTreeMap<VolumeName, Volume>, private: &Path) -> Option<Result<PathBuf, Failed>> {
    match location {
        Location::Host(path) => Some(real(Path::new(path), location).and_then(|place| not_ours(place, location, private))),
        Location::Volume { volume, path } => match volumes.get(volume) {
            Some(Volume::Local { path: root }) => {
                Some(in_volume(Path::new(root), path, location).and_then(|place| not_ours(place, location, private)))
            }
            Some(Volume::S3 { .. } | Volume::Http { .. } | Volume::Claim { .. } | Volume::Nfs { .. }) | None => None,
        },
        Location::Url(_) => None,
    }
}

/// A link inside a volume may not lead out of it.
fn in_volume(root: &Path, path: &str, location: &Location) -> Result<PathBuf, Failed> {
    let (root, place) = (real(root, location)?, real(&root.join(path), location)?);
    if place.starts_with(&root) { Ok(place) } else { Err(user(format!("{location} leads out of its volume"))) }
}

fn real(path: &Path, location: &Location) -> Result<PathBuf, Failed> {
    fs::canonicalize(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => match location {
            Location::Host(path) => user(format!("`{path}` is not there")),
            Location::Volume { .. } | Location::Url(_) => user(format!("{location} is not there: there is no `{}`", path.display())),
        },
        _ => user(format!("{location} cannot be used: {error}")),
    })
}

/// Tasks are not shown what is the server's own, whatever name they have for it.
fn not_ours(place: PathBuf, location: &Location, private: &Path) -> Result<PathBuf, Failed> {
    if place.starts_with(private) || private.starts_with(&place) {
        return Err(user(format!("{location} cannot be used: the server keeps its own files there; name a directory beside them")));
    }
    Ok(place)
}

fn user(why: String) -> Failed {
    Failed { why, whose: Whose::User }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_unless_it_leads_out_or_is_the_server_s_own() {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap();
        for dir in ["volume/mnist", "server/runs", "elsewhere"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("volume/one"), "1").unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("volume/out")).unwrap();
        std::os::unix::fs::symlink("mnist", root.join("volume/in")).unwrap();
        let volume = Volume::Local { path: root.join("volume").to_string_lossy().into_owned() };
        let volumes = BTreeMap::from([(VolumeName::parse("data").unwrap(), volume)]);
        let said = |text: &str| {
            let location: Location = text.replace('~', &root.to_string_lossy()).parse().unwrap();
            let found = on_this_machine(&location, &volumes, &root.join("server"));
            let words = match found {
                None => "to be fetched".into(),
                Some(Ok(place)) => place.display().to_string(),
                Some(Err(failed)) => failed.why,
            };
            words.replace(root.to_str().unwrap(), "~")
        };
        let texts = [
            "data:mnist",
            "data:in",
            "data:one",
            "data:",
            "data:out",
            "data:none",
            "other:x",
            "~/elsewhere",
            "~/server/runs",
            "~",
            "http://x/",
        ];
        insta::assert_snapshot!(texts.map(said).join("\n"), @"
        ~/volume/mnist
        ~/volume/mnist
        ~/volume/one
        ~/volume
        data:out leads out of its volume
        data:none is not there: there is no `~/volume/none`
        to be fetched
        ~/elsewhere
        ~/server/runs cannot be used: the server keeps its own files there; name a directory beside them
        ~ cannot be used: the server keeps its own files there; name a directory beside them
        to be fetched
        ");
    }
}
