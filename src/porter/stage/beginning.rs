//! What lies in `/output` before the first attempt: what a former job has left there, or the files of a place.

use std::{
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use model::{
    channels::InputPlan,
    ids::JobId,
    plan::{Beginning, FormerJob},
    resources::Bytes,
    task::Whose,
};
use nix::sys::statvfs::statvfs;

use super::{Carried, inputs::Inputs, laying::Laying, room};
use crate::{
    code::once,
    porter::{
        Failed,
        errand::{Errand, Word},
        say,
        sync::{
            names::{key_of, name_of},
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
    let (source, names) = match from {
        Beginning::Former(former) => (left_by(&dir, former, errand)?, Names::AsTheyAre),
        Beginning::At(location) => {
            let input = InputPlan { name: None, from: location.clone().into(), unpack: false };
            (inputs.bring(&input, "/output", carried)?, Names::Keys)
        }
        Beginning::Job(text) => return Err(user(format!("nobody has said which job `{text}` is"))),
    };
    let part = dir.output_part();
    let trouble = |error: io::Error| not_copied(from, &error);
    fresh(&part).map_err(trouble)?;
    let filled = has_room(&source, &part, from).and_then(|()| fill(&source, names, &part, &dir.output()).map_err(trouble));
    if filled.is_err() {
        // It is about to be reported why; and what is there of it is of no use to anyone.
        let _gone_or_not = once::remove(&part);
    }
    filled
}

fn fill(source: &Path, names: Names, part: &Path, output: &Path) -> io::Result<()> {
    copy_all(source, names, part)?;
    // Whoever finds the output later takes it for whole, so it gets its name when the disk has all of it.
    once::sync_disk_of(&File::open(part)?)?;
    fs::rename(part, output)?;
    output.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn not_copied(from: &Beginning, error: &io::Error) -> Failed {
    let why = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("the disk of /output became full while {from} was copied to it; what had come of it was removed")
        }
        _ => format!("{from} could not be copied to /output: {error}"),
    };
    let whose = match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::PermissionDenied => Whose::User,
        _ => Whose::Platform,
    };
    Failed { why, whose }
}

/// Said before anything is copied: others write to the same disk.
fn has_room(source: &Path, part: &Path, from: &Beginning) -> Result<(), Failed> {
    let (bytes, files) = size_of(source).map_err(|error| not_copied(from, &error))?;
    let disk = statvfs(part).map_err(|error| not_copied(from, &error.into()))?;
    let disk_bytes = disk.blocks() * disk.fragment_size();
    let (free_bytes, reserve_bytes) = (disk.blocks_available() * disk.fragment_size(), room::reserve_bytes(disk_bytes));
    if bytes <= free_bytes.saturating_sub(reserve_bytes) {
        return Ok(());
    }
    let size = format!("{} in {files} file{}", Bytes(bytes), if files == 1 { "" } else { "s" });
    let (free, reserve) = (Bytes(free_bytes), Bytes(reserve_bytes));
    let whose = if bytes > disk_bytes.saturating_sub(reserve_bytes) { Whose::User } else { Whose::Platform };
    Err(Failed { why: format!("{from} has {size}; the disk of /output has {free} free, of which {reserve} stay free"), whose })
}

fn size_of(source: &Path) -> io::Result<(u64, u64)> {
    if source.is_file() {
        return Ok((fs::metadata(source)?.len(), 1));
    }
    let (mut bytes, mut files) = (0_u64, 0);
    Tree::open(source)?.walk(&mut |found| {
        if let What::File(metadata) = found.what {
            bytes = bytes.saturating_add(metadata.len());
            files += 1;
        }
        true
    });
    Ok((bytes, files))
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

/// How the files of a source are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// As a task called them.
    AsTheyAre,
    /// As they are called outside.
    Keys,
}

impl Names {
    fn here(self, path: &[u8]) -> Vec<u8> {
        match self {
            Names::AsTheyAre => path.to_vec(),
            Names::Keys => name_of(path),
        }
    }
}

/// Two names outside may be one here, where somebody else gave one of them: then only one can have it.
fn of_file(path: &[u8], error: &io::Error) -> io::Error {
    let is_taken = matches!(error.raw_os_error(), Some(libc::EEXIST | libc::ENOTDIR | libc::ELOOP));
    let kind = if is_taken { io::ErrorKind::AlreadyExists } else { error.kind() };
    io::Error::new(kind, format!("`{}`: {error}", key_of(path)))
}

fn copy_all(source: &Path, names: Names, part: &Path) -> io::Result<()> {
    let mut laying = Laying::into(part)?;
    if source.is_file() {
        return laying.file(&names.here(source.file_name().unwrap_or_default().as_bytes()), &File::open(source)?);
    }
    let tree = Tree::open(source)?;
    let mut done = Ok(());
    tree.walk(&mut |found| {
        // What we have put beside the files of a place is not theirs.
        if found.path.starts_with(b".trainmaster/") {
            return true;
        }
        let path = names.here(&found.path);
        let copied = match found.what {
            What::File(_) => tree.file(&found.path).and_then(|file| laying.file(&path, &file)),
            What::Link(to) if leads_inside(&found.path, &to) => laying.link(&path, &to),
            What::Link(_) | What::Special(_) => Ok(()),
            What::Closed(error) => Err(error),
        };
        done = copied.map_err(|error| of_file(&path, &error));
        done.is_ok()
    });
    done
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::fs::symlink};

    use super::*;

    /// A source with these files, and where it is to be copied to.
    fn source_with(names: &[&str]) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let (source, part) = (home.path().join("source"), home.path().join("a/b/part"));
        for name in names {
            let path = source.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        fs::create_dir_all(part.parent().unwrap()).unwrap();
        fresh(&part).unwrap();
        (home, source, part)
    }

    fn files_below(dir: &Path) -> Vec<String> {
        let mut found = Vec::new();
        Tree::open(dir).unwrap().walk(&mut |it| {
            found.push(String::from_utf8_lossy(&it.path).into_owned());
            true
        });
        found.sort();
        found
    }

    #[test]
    fn files_and_links_are_copied_and_nothing_is_followed_out() {
        let (home, source, part) = source_with(&["d/model%FF", ".trainmaster/manifest-main-0.json"]);
        fs::write(home.path().join("canary"), "secret").unwrap();
        symlink("d", source.join("latest")).unwrap();
        symlink("../canary", source.join("out")).unwrap();
        copy_all(&source, Names::Keys, &part).unwrap();
        assert_eq!(fs::read(part.join(OsStr::from_bytes(b"d/model\xff"))).unwrap(), b"d/model%FF");
        assert_eq!(fs::read_link(part.join("latest")).unwrap(), Path::new("d"));
        let mut names: Vec<_> = fs::read_dir(&part).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["d", "latest"]);
    }

    #[test]
    fn a_name_that_would_lead_out_if_it_were_decoded_is_a_name_like_any_other() {
        let hostile = ["%2E%2E%2Fup", "%2E%2E/up", "%2Ftmp%2Ftrainmaster-was-here", "d/%2e%2e%2f%2e%2e%2fup", "%00"];
        for names in [Names::Keys, Names::AsTheyAre] {
            let (home, source, part) = source_with(&hostile);
            copy_all(&source, names, &part).unwrap();
            assert_eq!(files_below(&part), files_below(&source));
            assert_eq!(files_below(home.path()).len(), 2 * hostile.len(), "nothing is anywhere else");
            assert!(!Path::new("/tmp/trainmaster-was-here").exists());
        }
    }

    #[test]
    fn what_a_former_job_has_left_keeps_its_names_and_the_files_of_a_place_get_theirs_back() {
        let (_home, source, part) = source_with(&["a%2541", "new%0Aline"]);
        copy_all(&source, Names::AsTheyAre, &part).unwrap();
        assert_eq!(files_below(&part), ["a%2541", "new%0Aline"]);
        fresh(&part).unwrap();
        copy_all(&source, Names::Keys, &part).unwrap();
        assert_eq!(files_below(&part), ["a%41", "new\nline"]);
    }

    #[test]
    fn there_is_room_or_it_is_said_with_numbers_and_nothing_is_copied() {
        let (_home, source, part) = source_with(&["small"]);
        let from = Beginning::Job("digits@2".into());
        assert!(has_room(&source, &part, &from).is_ok());
        File::create(source.join("huge")).unwrap().set_len(1 << 43).unwrap();
        let refused = has_room(&source, &part, &from).unwrap_err();
        assert!(refused.why.starts_with("digits@2 has 8.0TiB in 2 files; the disk of /output has "), "{}", refused.why);
        assert_eq!(files_below(&part), [""; 0]);
    }

    #[test]
    fn a_link_that_takes_the_name_of_a_directory_leads_nobody_out() {
        let (_home, source, part) = source_with(&["d%41/file"]);
        // As a task sees it, it stays inside; and decoded, it has the name that the directory has as it is.
        symlink("/output", source.join("d%2541")).unwrap();
        let error = copy_all(&source, Names::Keys, &part).unwrap_err();
        assert!(error.to_string().contains("d%2541"), "{error}");
        assert_eq!(not_copied(&Beginning::Job("d@1".into()), &error).whose, Whose::User, "trying again helps nobody");
        assert!(!Path::new("/output/file").exists());
    }
}
