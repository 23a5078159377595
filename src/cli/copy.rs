//! `trainmaster files cp`: what goes where. How bytes travel is in `copy_in.rs` and `copy_out.rs`.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use model::{
    location::volume_path,
    wire::{FileKind, FileView},
};

use super::{
    context::Context,
    copy_in, copy_out,
    failure::{Exit, Failure},
    listing::Listing,
    output::{self, Transfer},
    people,
    remote::{Remote, Whose},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct CopyArgs {
    /// A file or directory here, or a place such as data:mnist or digits:/output
    pub from: String,
    /// The same; a name that ends with `.tar` takes all of a job's output as one file
    pub to: String,
}

/// Enough to keep a line busy with small files.
const AT_ONCE_MAX: usize = 8;

pub async fn copy(context: &Context, args: &CopyArgs) -> Result<Exit, Failure> {
    let place = |text: &str| text.parse::<Remote>().map_err(Failure::usage);
    let exit = match (Remote::is_meant(&args.from), Remote::is_meant(&args.to)) {
        (true, true) => return Err(Failure::usage("one of the two must be here").hint("copy it here first, and then there")),
        (false, false) => return Err(Failure::usage("one of the two must be a place such as data:mnist or digits:/output")),
        (true, false) => out(context, &place(&args.from)?, Path::new(&args.to)).await?,
        (false, true) => into(context, Path::new(&args.from), &place(&args.to)?, args.to.ends_with('/')).await?,
    };
    Ok(exit)
}

/// From the server to here.
async fn out(context: &Context, from: &Remote, to: &Path) -> Result<Exit, Failure> {
    let progress = Transfer::new();
    if to.extension() == Some(OsStr::new("tar")) && from.whose() != Whose::Volume && !is_file(context, from).await? {
        copy_out::archive(context, from, to, &progress).await?;
        return Ok(Exit::Done);
    }
    let mut listing = Listing::open(context, from, true).await?;
    let mut files = Vec::new();
    while let Some(FileView { path, kind }) = listing.next().await? {
        if let FileKind::File { size, etag, .. } = kind {
            progress.expect(size);
            files.push(copy_out::Wanted { to: destination(from, &path, to)?, path, size, etag });
        }
    }
    let progress = &progress;
    let fetch = |file: copy_out::Wanted| async move { unless_gone(copy_out::fetch(context, from, file, progress).await, from) };
    let copied: Vec<Copied> = stream::iter(files).map(fetch).buffer_unordered(AT_ONCE_MAX).try_collect().await?;
    let count = copied.iter().filter(|it| **it == Copied::Yes).count();
    progress.done(&format!("{} copied", people::files(count as u64)));
    Ok(if count == copied.len() { listing.exit() } else { Exit::You })
}

/// Whether one file of many was copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    Yes,
    /// Nothing was wrong but this one file, and that was told.
    No,
}

/// A job that runs writes and removes files while they are copied. That is told, and does not keep the others from coming.
fn unless_gone(fetched: Result<(), Failure>, from: &Remote) -> Result<Copied, Failure> {
    let is_of_many = |failure: &Failure| matches!(failure.body.code.as_str(), copy_out::CHANGED | copy_out::GONE);
    match fetched {
        Ok(()) => Ok(Copied::Yes),
        Err(failure) if from.whose() != Whose::Volume && is_of_many(&failure) => {
            output::failure(&failure, false);
            Ok(Copied::No)
        }
        Err(failure) => Err(failure),
    }
}

/// Whether it is one file, which may be an archive itself.
async fn is_file(context: &Context, from: &Remote) -> Result<bool, Failure> {
    let mut listing = Listing::open(context, from, false).await?;
    let first = listing.next().await?;
    Ok(first.is_some_and(|it| it.path == from.path && matches!(it.kind, FileKind::File { .. })))
}

/// Where a file belongs here: what was asked for itself gets the name it is given, what lies below it keeps
/// its own. The server is not trusted to stay below.
fn destination(from: &Remote, path: &str, to: &Path) -> Result<PathBuf, Failure> {
    let odd = || Failure::new(Exit::Us, "odd_name", format!("the server names a file `{}`, which is none here", plain(path)));
    if volume_path(path).ok().as_deref() != Some(path) || path.contains('\0') {
        return Err(odd());
    }
    if path == from.path {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_directory = to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/");
        return Ok(if is_directory { to.join(name) } else { to.to_owned() });
    }
    let below = if from.path.is_empty() { Some(path) } else { path.strip_prefix(&from.path).and_then(|rest| rest.strip_prefix('/')) };
    below.map(|below| to.join(below)).ok_or_else(odd)
}

/// From here to the server.
async fn into(context: &Context, from: &Path, to: &Remote, to_directory: bool) -> Result<Exit, Failure> {
    if to.whose() != Whose::Volume {
        return Err(Failure::usage("the files of a job can only be read").hint("copy to a volume"));
    }
    let told = |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", from.display()));
    let progress = Transfer::new();
    let (files, exit) = if fs::metadata(from).map_err(told)?.is_dir() {
        below(from, &to.path)?
    } else {
        (vec![(from.to_owned(), one_destination(from, to, to_directory)?)], Exit::Done)
    };
    let count = files.len();
    let progress = &progress;
    let send = |(file, path): (PathBuf, String)| async move { copy_in::send(context, &file, to, &path, progress).await };
    stream::iter(files).map(send).buffer_unordered(AT_ONCE_MAX).try_collect::<Vec<()>>().await?;
    progress.done(&format!("{} copied", people::files(count as u64)));
    Ok(exit)
}

fn one_destination(from: &Path, to: &Remote, to_directory: bool) -> Result<String, Failure> {
    if !to_directory && !to.path.is_empty() {
        return Ok(to.path.clone());
    }
    let name = from.file_name().and_then(OsStr::to_str);
    let name = name.ok_or_else(|| Failure::usage(format!("{} has no name that is UTF-8", from.display())))?;
    Ok(joined(&to.path, name))
}

fn joined(base: &str, name: &str) -> String {
    if base.is_empty() { name.to_owned() } else { format!("{base}/{name}") }
}

type Sendings = Vec<(PathBuf, String)>;

/// Every file below a directory and where it goes. Links, pipes and devices are told and left out.
fn below(root: &Path, to: &str) -> Result<(Sendings, Exit), Failure> {
    let told = |path: &Path, error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
    let (mut files, mut exit) = (Vec::new(), Exit::Done);
    let mut directories = vec![(root.to_owned(), to.to_owned())];
    while let Some((directory, to)) = directories.pop() {
        for found in fs::read_dir(&directory).map_err(|error| told(&directory, error))? {
            let found = found.map_err(|error| told(&directory, error))?;
            let (path, name) = (found.path(), found.file_name());
            let kind = found.file_type().map_err(|error| told(&path, error))?;
            match name.to_str() {
                Some(name) if kind.is_dir() => directories.push((path, joined(&to, name))),
                Some(name) if kind.is_file() => files.push((path, joined(&to, name))),
                Some(_) => {
                    output::note(&format!("{} is left out: it is neither a file nor a directory", plain(&path.display().to_string())))
                }
                None => {
                    output::note(&format!("{} is left out: its name is not UTF-8", plain(&path.display().to_string())));
                    exit = Exit::You;
                }
            }
        }
    }
    Ok((files, exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_here_stays_below_where_it_was_asked_for() {
        let goes = |from: &str, path: &str, to: &str| {
            destination(&from.parse().unwrap(), path, Path::new(to)).map(|it| it.display().to_string()).ok()
        };
        assert_eq!(goes("data:a", "a/b/c", "here"), Some("here/b/c".into()));
        assert_eq!(goes("data:", "a", "here"), Some("here/a".into()));
        assert_eq!(goes("data:a/b.txt", "a/b.txt", "c.txt"), Some("c.txt".into()));
        assert_eq!(goes("data:a/b.txt", "a/b.txt", "here/"), Some("here/b.txt".into()));
        for hostile in ["../x", "/etc/passwd", "a/../../x", "ab/c", "a/\0", "a//b", ""] {
            assert_eq!(goes("data:a", hostile, "here"), None, "{hostile:?}");
        }
    }
}
