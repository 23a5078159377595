//! Files that a job has to do with: what it was given at `/input` and `/code`, and what it has put into `/output`. Nothing
//! leads out of any of them.

use std::{
    fs,
    path::{Path as FilePath, PathBuf},
};

use model::{channels::InputPlan, code::CodePlan, location::Location, said, volume::Volume, words::Words};

use super::{
    App,
    dossier::{Dossier, on_disk},
    files::{Place, Spot},
    job_output,
    jobs::label,
    volumes,
};
use crate::{
    code::{Waiting, git, upload},
    error::Error,
    rundir::input_tree,
    store::tokens::{Holder, Role},
    volumes::{Store, Trouble},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Output,
    Input,
    Code,
}

const ROOTS: [(Root, &str); 3] = [(Root::Output, "/output"), (Root::Input, "/input"), (Root::Code, "/code")];

/// The job, or job and task, which of its directories is meant, and the path in it; none if a volume is meant.
pub fn named(at: &str) -> Option<(&str, Root, &str)> {
    let (job, path) = at.split_once(':')?;
    let behind = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    ROOTS.iter().find_map(|(root, text)| Some((job, *root, behind(text)?.trim_matches('/'))))
}

pub async fn place(app: &App, holder: &Holder, (job, root, path): (&str, Root, &str)) -> Result<Place, Error> {
    // Every task has the same code and the same inputs.
    let without_task = job.split_once('/').map_or(job, |(job, _)| job);
    match root {
        Root::Output => job_output::place(app, holder, job, path).await,
        Root::Code => code(app, holder, &Dossier::of(app, holder, without_task).await?, path).await,
        Root::Input => input(app, holder, &Dossier::of(app, holder, without_task).await?, path).await,
    }
}

async fn code(app: &App, holder: &Holder, dossier: &Dossier, path: &str) -> Result<Place, Error> {
    let gone = |why: Words| Error::NoCode { job: label(&dossier.job), why };
    let root = match (&dossier.job.plan.code, &dossier.job.commit) {
        (None, _) => return Err(gone(said!("it has no code of its own", "它没有自己的代码"))),
        (Some(CodePlan::At(location)), _) => {
            let print = dossier.found.as_ref().and_then(|it| it.code.as_ref()).map(|it| it.fingerprint.as_str());
            return shown(app, holder, location, print).await.map_err(|why| why.or(gone))?.place(path, String::new()).await;
        }
        (Some(CodePlan::Git(_)), None) => return Err(gone(said!("its code was never fetched", "它的代码从未取到"))),
        (Some(code @ (CodePlan::Git(_) | CodePlan::Upload(_))), commit) => {
            let (data, code, commit) = (app.data.clone(), code.clone(), commit.clone().unwrap_or_default());
            on_disk(move || tree(&data, &code, &commit)).await?.map_err(gone)?
        }
    };
    let store = Store::of_task(&root)?.named(&format!("{}:/code", label(&dossier.job)));
    Ok(Place::In(Spot { store, base: String::new(), before: String::new() }, path.to_owned()))
}

/// The directory that tasks see; the error is why it is not there.
fn tree(data: &FilePath, code: &CodePlan, commit: &str) -> Result<PathBuf, Words> {
    let not_any_more = || said!("it is not on this machine any more", "它已经不在这台机器上");
    match code {
        CodePlan::Upload(digest) => {
            let waiting = Waiting { pause: &|_| true, say: &|_| {} };
            let shelf = upload::Shelf::at(data.join("trees"));
            shelf.place(digest, &upload::Room::of(data), &waiting).map(|tree| tree.path).map_err(|_| not_any_more())
        }
        CodePlan::Git(plan) => {
            let kept = git::kept(plan, commit, &git::Shelf::at(data.join("git")));
            kept.map_err(Words::quoted)?.map(|it| it.place).ok_or_else(not_any_more)
        }
        CodePlan::At(place) => Err(said!("it was shown where it is: {place}", "任务直接使用原处的代码：{place}")),
    }
}

/// The whole of `/input`, or the channel that the path begins with.
async fn input(app: &App, holder: &Holder, dossier: &Dossier, path: &str) -> Result<Place, Error> {
    let inputs = &dossier.job.plan.freight.inputs;
    let gone = |input: &str, why: Words| Error::NoInput { job: label(&dossier.job), path: input.to_owned(), why };
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let channel = inputs.iter().find(|it| it.name.as_deref() == Some(first));
    let Some(input) = channel.or_else(|| inputs.iter().find(|it| it.name.is_none())) else {
        return match path {
            "" if inputs.is_empty() => Err(gone("/input", said!("the job has none", "作业没有输入"))),
            "" => Ok(Place::Folders(channels(app, holder, dossier).await)),
            _ => Err(gone(&format!("/input/{first}"), said!("the job has no such input", "作业没有这个输入"))),
        };
    };
    let (before, rest) = if channel.is_some() { (format!("{first}/"), rest) } else { (String::new(), path) };
    let found = of_input(app, holder, dossier, input).await;
    found.map_err(|why| why.or(|why| gone(&input.path(), why)))?.place(rest, before).await
}

async fn channels(app: &App, holder: &Holder, dossier: &Dossier) -> Vec<(String, Option<(Spot, String)>)> {
    let mut all = Vec::new();
    for input in &dossier.job.plan.freight.inputs {
        let Some(name) = &input.name else { continue };
        let place = match of_input(app, holder, dossier, input).await {
            Ok(shown) => shown.place("", format!("{name}/")).await.ok(),
            Err(_) => None,
        };
        let spot = place.and_then(|it| if let Place::In(spot, path) = it { Some((spot, path)) } else { None });
        all.push((name.to_string(), spot));
    }
    all
}

/// What lies at a place outside that goes by another name, as a task that reads it would see it.
pub async fn of_place(app: &App, holder: &Holder, (name, place): (&str, &Location), path: &str) -> Result<Place, Error> {
    let gone = |why: Words| Trouble::never(why).at(name).into();
    shown(app, holder, place, None).await.map_err(|why| why.or(gone))?.place(path, String::new()).await
}

async fn of_input(app: &App, holder: &Holder, dossier: &Dossier, input: &InputPlan) -> Result<Shown, NotShown> {
    let nobody = || NotShown::Gone(said!("nobody has said what {} is", "没有人说过 {} 是什么", input.from));
    shown(app, holder, input.from.place().ok_or_else(nobody)?, print_of(dossier, input)).await
}

fn print_of<'a>(dossier: &'a Dossier, input: &InputPlan) -> Option<&'a str> {
    let found = dossier.found.as_ref()?.inputs.iter().find(|it| it.path == input.path())?;
    Some(&found.content.fingerprint)
}

/// A store, and what in it a task is shown.
struct Shown {
    store: Store,
    /// A directory or a file.
    base: String,
}

impl Shown {
    /// Of one file nothing beside it is shown.
    async fn place(self, rest: &str, before: String) -> Result<Place, Error> {
        let Self { store, base } = self;
        if base.is_empty() || store.head(&base).await.is_err() {
            return Ok(Place::In(Spot { store, base, before }, rest.to_owned()));
        }
        let (above, name) = base.rsplit_once('/').unwrap_or(("", &base));
        if !rest.is_empty() && rest != name {
            return Err(Trouble::Missing { what: "file or directory" }.at(rest).into());
        }
        Ok(Place::In(Spot { store, base: above.to_owned(), before }, name.to_owned()))
    }
}

/// Why a place cannot be shown.
enum NotShown {
    Gone(Words),
    Other(Error),
}

impl NotShown {
    fn or(self, gone: impl FnOnce(Words) -> Error) -> Error {
        match self {
            NotShown::Gone(why) => gone(why),
            NotShown::Other(error) => error,
        }
    }
}

impl<E: Into<Error>> From<E> for NotShown {
    fn from(error: E) -> Self {
        NotShown::Other(error.into())
    }
}

/// What was fetched is shown as it came, for as long as it is kept; what is here, as it is now.
async fn shown(app: &App, holder: &Holder, location: &Location, print: Option<&str>) -> Result<Shown, NotShown> {
    let fetched = print.and_then(|print| input_tree(&app.data, print)).filter(|tree| tree.is_dir());
    match (location, fetched) {
        (_, Some(tree)) => Ok(Shown { store: Store::of_task(&tree)?.named(&location.without_query()), base: String::new() }),
        (Location::Volume { volume, path }, None) => match volumes::found(app, holder, volume.as_str()).await?.volume {
            Volume::Local { path: root } => in_volume(app, (&root, path), location),
            Volume::S3 { .. } | Volume::Http { .. } | Volume::Claim { .. } | Volume::Nfs { .. } => {
                Ok(Shown { store: volumes::opened(app, holder, volume.as_str()).await?, base: path.clone() })
            }
        },
        (Location::Host(path), None) => of_machine(app, holder, path),
        (Location::Url(_), None) => Err(NotShown::Gone(said!(
            "{} is not kept here; a task fetches it when it starts",
            "这里没有保存 {}，任务启动时才会拉取",
            location.without_query()
        ))),
    }
}

/// A directory of the machine is opened by the server's own hand, so only for who may open any.
fn of_machine(app: &App, holder: &Holder, path: &str) -> Result<Shown, NotShown> {
    if holder.role != Role::Admin {
        return Err(NotShown::Gone(said!(
            "`{path}` is on the server's machine, whose directories only administrators open",
            "`{path}` 在服务器的机器上，只有管理员可以打开那里的目录"
        )));
    }
    opened(app, &real(FilePath::new(path))?, path)
}

/// A task sees the directory alone, and links that lead out of it lead nowhere; so it is opened by itself, and not by its volume.
fn in_volume(app: &App, (root, path): (&str, &str), location: &Location) -> Result<Shown, NotShown> {
    let (root, place) = (real(FilePath::new(root))?, real(&FilePath::new(root).join(path))?);
    if !place.starts_with(&root) {
        return Err(NotShown::Gone(said!("{location} leads out of its volume", "{location} 指到了数据卷外面")));
    }
    opened(app, &place, &location.to_string())
}

fn real(path: &FilePath) -> Result<PathBuf, NotShown> {
    fs::canonicalize(path).map_err(|error| NotShown::Gone(said!("`{}`: {error}", "`{}`（`{error}`）", path.display())))
}

fn opened(app: &App, place: &FilePath, name: &str) -> Result<Shown, NotShown> {
    volumes::keeps_clear_of(&app.data, place)?;
    let (folder, file) = if place.is_dir() { (place, "") } else { (parent(place), file_name(place)) };
    Ok(Shown { store: Store::of_host(&folder.to_string_lossy())?.named(name), base: file.to_owned() })
}

fn parent(path: &FilePath) -> &FilePath {
    path.parent().unwrap_or(path)
}

fn file_name(path: &FilePath) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_begins_with_one_of_a_task_s_directories_is_a_job_s() {
        assert_eq!(named("digits@2:/output"), Some(("digits@2", Root::Output, "")));
        assert_eq!(named("digits/worker-0:/output/a/b"), Some(("digits/worker-0", Root::Output, "a/b")));
        assert_eq!(named("digits:/code/"), Some(("digits", Root::Code, "")));
        assert_eq!(named("digits:/input/train/x"), Some(("digits", Root::Input, "train/x")));
        for volume in ["data:output", "data:/outputs", "data:x/code", "data:input", "data"] {
            assert_eq!(named(volume), None, "{volume}");
        }
    }
}
