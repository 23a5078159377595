//! What lies in `/output` before the first attempt: what a former job has left there, or the files of a place.

use std::{
    fs::{self, File, FileTimes},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use model::{
    channels::InputPlan,
    ids::JobId,
    plan::{Beginning, FormerJob},
    task::Whose,
};

use super::{Carried, inputs::Inputs};
use crate::{
    porter::{
        Failed,
        errand::{Errand, Word},
        say,
        sync::{
            names::path_of,
            tree::{Tree, What, leads_inside},
        },
    },
    rundir::{RunDir, private_dir, runs_dir},
};

/// Whole or not at all: it is copied beside its place first. Later attempts find what the earlier ones made of it.
pub fn lay(errand: &Errand, inputs: &Inputs<'_>, carried: &mut Carried) -> Result<(), Failed> {
    let Some(from) = &errand.order.freight.from else { return Ok(()) };
    let dir = RunDir::at(&errand.dir);
    if dir.output().exists() {
        return Ok(());
    }
    say(&Word::Doing(format!("copies {from} to /output")));
    let source = match from {
        Beginning::Former(former) => left_by(&dir, former, errand)?,
        Beginning::At(location) => inputs.bring(&InputPlan { name: None, from: location.clone(), unpack: false }, "/output", carried)?,
        Beginning::Job(text) => return Err(user(format!("nobody has said which job `{text}` is"))),
    };
    let part = dir.output_part();
    let filled = fresh(&part).and_then(|()| copy_all(&source, &part)).and_then(|()| fs::rename(&part, dir.output()));
    filled.map_err(|error| Failed { why: format!("{from} could not be copied to /output: {error}"), whose: Whose::Platform })
}

/// The output of the task of the same name, or else of the former job's chief.
fn left_by(dir: &RunDir, former: &FormerJob, errand: &Errand) -> Result<PathBuf, Failed> {
    let gone = || user(format!("{} has left no /output on this machine", former.label));
    let runs = runs_dir(dir.data().ok_or_else(gone)?).join(JobId::to_string(&former.id));
    let names = [errand.order.run.task.to_string(), former.chief.clone()];
    names.iter().map(|task| runs.join(format!("{task}.output"))).find(|output| output.is_dir()).ok_or_else(gone)
}

fn user(why: String) -> Failed {
    Failed { why, whose: Whose::User }
}

/// Half of it may be left of somebody who died.
fn fresh(part: &Path) -> io::Result<()> {
    match fs::remove_dir_all(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    private_dir(part)
}

fn copy_all(source: &Path, part: &Path) -> io::Result<()> {
    if source.is_file() {
        return copy(&File::open(source)?, &part.join(source.file_name().unwrap_or_default()));
    }
    let tree = Tree::open(source)?;
    let mut done = Ok(());
    tree.walk(&mut |found| {
        // What we have put beside the files of a place is not theirs.
        if found.path.starts_with(b".trainmaster/") {
            return true;
        }
        let name = path_of(&String::from_utf8_lossy(&found.path));
        let path = if std::str::from_utf8(&found.path).is_ok() { name } else { found.path.clone() };
        let target = part.join(std::ffi::OsStr::from_bytes(&path));
        done = match found.what {
            What::File(_) => tree.file(&found.path).and_then(|file| copy(&file, &target)),
            What::Link(to) if leads_inside(&found.path, &to) => {
                parents_of(&target).and_then(|()| symlink(std::ffi::OsStr::from_bytes(&to), &target))
            }
            What::Link(_) | What::Special(_) => Ok(()),
            What::Closed(error) => Err(error),
        };
        done.is_ok()
    });
    done
}

fn parents_of(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)
}

fn copy(mut file: &File, target: &Path) -> io::Result<()> {
    const OWNER_MAY_WRITE: u32 = 0o600;
    parents_of(target)?;
    let mut copy = File::options().write(true).create_new(true).open(target)?;
    io::copy(&mut file, &mut copy)?;
    let metadata = file.metadata()?;
    copy.set_permissions(fs::Permissions::from_mode(metadata.permissions().mode() & 0o777 | OWNER_MAY_WRITE))?;
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_links_are_copied_and_nothing_is_followed_out() {
        let home = tempfile::tempdir().unwrap();
        let (source, part) = (home.path().join("source"), home.path().join("part"));
        fs::create_dir_all(source.join("d")).unwrap();
        fs::create_dir_all(source.join(".trainmaster")).unwrap();
        fs::write(source.join(".trainmaster/manifest-main-0.json"), "{}").unwrap();
        fs::write(home.path().join("canary"), "secret").unwrap();
        fs::write(source.join("d/model%FF"), "weights").unwrap();
        symlink("d", source.join("latest")).unwrap();
        symlink("../canary", source.join("out")).unwrap();
        fresh(&part).unwrap();
        copy_all(&source, &part).unwrap();
        assert_eq!(fs::read(part.join(std::ffi::OsStr::from_bytes(b"d/model\xff"))).unwrap(), b"weights");
        assert_eq!(fs::read_link(part.join("latest")).unwrap(), Path::new("d"));
        let mut names: Vec<_> = fs::read_dir(&part).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["d", "latest"]);
    }
}
