//! `trainmaster files`: look into volumes and into what jobs were given and have put out, and copy in and out.

use model::wire::{FileKind, FileView};

use super::{
    context::{Context, query},
    copy,
    failure::{Exit, Failure},
    listing::Listing,
    output, people,
    remote::Remote,
    terminal::plain,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct FilesArgs {
    #[command(subcommand)]
    pub verb: FilesVerb,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum FilesVerb {
    /// List files: of a volume (data:mnist), or of a job (digits@2:/output, digits:/input, digits:/code)
    #[command(visible_alias = "list")]
    Ls {
        /// A place such as data:mnist or digits:/output
        at: Remote,
        /// Everything below it
        #[arg(short = 'R', long)]
        recursive: bool,
    },
    /// Copy files and directories between here and a volume, or from a job's output, inputs or code
    #[command(visible_alias = "copy")]
    Cp(copy::CopyArgs),
    /// Write a file to standard output
    Cat {
        /// A file such as data:notes.txt or digits:/output/worker-0/model.txt
        at: Remote,
    },
    /// Remove a file, or a directory with everything in it
    #[command(visible_alias = "remove")]
    Rm {
        /// A file or directory of a volume, such as data:old
        at: Remote,
        /// A directory, with everything in it
        #[arg(short, long)]
        recursive: bool,
    },
}

pub async fn files(context: &Context, args: &FilesArgs) -> Result<Exit, Failure> {
    match &args.verb {
        FilesVerb::Ls { at, recursive } => ls(context, at, *recursive).await,
        FilesVerb::Cp(args) => copy::copy(context, args).await,
        FilesVerb::Cat { at } => cat(context, at).await,
        FilesVerb::Rm { at, recursive } => rm(context, at, *recursive).await,
    }
}

async fn ls(context: &Context, at: &Remote, recursive: bool) -> Result<Exit, Failure> {
    let mut listing = Listing::open(context, at, recursive).await?;
    while let Some(view) = listing.next().await? {
        if context.json {
            output::json_line(&view)?;
        } else {
            output::line(&line(&view))?;
        }
    }
    Ok(listing.exit())
}

/// Size, time and name; what is no file says what it is.
fn line(view: &FileView) -> String {
    let name = plain(&view.path);
    match &view.kind {
        FileKind::File { size, modified_ms: 0, .. } => format!("{size:>14}  {:19}  {name}", "-"),
        FileKind::File { size, modified_ms, .. } => format!("{size:>14}  {:19}  {name}", people::moment(*modified_ms)),
        FileKind::Directory => format!("{:>14}  {:19}  {name}/", "-", "-"),
        FileKind::Special { what } => format!("{:>14}  {:19}  {name}  ({what})", "-", "-"),
    }
}

async fn cat(context: &Context, at: &Remote) -> Result<Exit, Failure> {
    let path = at.content_path(&at.path);
    let mut answer = context.find()?.client.open(Call::get(&path)).await?;
    while let Some(frame) = http_body_util::BodyExt::frame(answer.body_mut()).await {
        let frame = frame.map_err(|error| Failure::away(format!("the file broke off: {error}")))?;
        if let Ok(bytes) = frame.into_data() {
            output::bytes(output::Sink::Stdout, &bytes)?;
        }
    }
    Ok(Exit::Done)
}

async fn rm(context: &Context, at: &Remote, recursive: bool) -> Result<Exit, Failure> {
    if !recursive {
        return match remove(context, at, &at.path).await {
            Err(_) if is_directory(context, at).await => {
                let message = format!("{} is a directory", at.shown(&at.path));
                Err(Failure::usage(message).hint("add `-r` to remove it with everything in it"))
            }
            Err(failure) => Err(failure),
            Ok(()) => Ok(Exit::Done),
        };
    }
    if at.path.is_empty() {
        return Err(Failure::usage(format!("{} is everything there is", at.shown(""))).hint("name a directory in it"));
    }
    let mut listing = Listing::open(context, at, true).await?;
    let mut removed = 0_u64;
    while let Some(view) = listing.next().await? {
        remove(context, at, &view.path).await?;
        removed += 1;
    }
    if context.json {
        output::json(&serde_json::json!({ "removed": removed }))?;
    } else {
        output::note(&format!("{} removed", people::files(removed)));
    }
    Ok(listing.exit())
}

/// A bucket itself knows no directories: one is there because something is in it.
async fn is_directory(context: &Context, at: &Remote) -> bool {
    let Ok(mut listing) = Listing::open(context, at, false).await else { return false };
    matches!(listing.next().await, Ok(Some(view)) if view.path != at.path)
}

async fn remove(context: &Context, at: &Remote, path: &str) -> Result<(), Failure> {
    let at = format!("/api/v1/files/content{}", query(&[("at", Some(at.shown(path)))]));
    context.call(Call::delete(&at)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_is_and_cannot_play_with_the_terminal() {
        let line = |path: &str, kind| line(&FileView { path: path.into(), kind });
        assert_eq!(line("a\x1b[2J", FileKind::Directory), format!("{:>14}  {:19}  a^[[2J/", "-", "-"));
        assert!(line("l", FileKind::Special { what: "a link".into() }).ends_with("  l  (a link)"));
        let file = FileKind::File { size: 12, modified_ms: 0, etag: String::new() };
        assert_eq!(line("m.bin", file), format!("{:>14}  {:19}  m.bin", 12, "-"));
    }
}
