//! Carrying in: code first, then inputs.

use std::{fs::File, path::PathBuf};

use model::{
    code::{CodePlan, GitPlan},
    template,
};

use super::{
    Failed,
    errand::{Errand, Staged, Word},
    is_dismissed_within, say,
};
use crate::code::{
    Waiting, git,
    upload::{self, Room},
};

mod announced;
mod beginning;
mod download;
mod fetch;
mod inputs;
mod laying;
mod lent;
mod manifest;
mod patience;
mod progress;
mod room;
mod shelf;
mod source;
mod unpack;

use inputs::Inputs;
use lent::Lent;

/// What was carried in, and what keeps others from removing it.
#[derive(Default)]
pub struct Carried {
    pub staged: Staged,
    pub held: Vec<File>,
    lent: Vec<Lent>,
}

impl Carried {
    /// For after they were handed over. What cannot be made to last has to be fetched again some day, and that is all.
    pub fn make_last(&self) {
        let _or_not = lent::make_last(&self.lent);
    }
}

pub fn stage(errand: &Errand) -> Result<Carried, Failed> {
    let mut carried = Carried::default();
    let inputs = Inputs::of(errand);
    carried.staged.code = code(errand, &inputs, &mut carried)?;
    for input in &errand.order.freight.inputs {
        let place = inputs.bring(input, &input.path(), &mut carried)?;
        match &input.name {
            Some(name) => drop(carried.staged.channels.insert(name.clone(), place)),
            None => carried.staged.input = Some(place),
        }
    }
    beginning::lay(errand, &inputs, &mut carried)?;
    Ok(carried)
}

fn code(errand: &Errand, inputs: &Inputs<'_>, carried: &mut Carried) -> Result<Option<PathBuf>, Failed> {
    match &errand.order.code {
        None => Ok(None),
        Some(CodePlan::At(location)) => inputs.code(location, carried).map(Some),
        Some(CodePlan::Git(wanted)) => from_git(errand, wanted, carried).map(Some),
        Some(CodePlan::Upload(digest)) => uploaded(errand, digest, carried).map(Some),
    }
}

fn from_git(errand: &Errand, wanted: &GitPlan, carried: &mut Carried) -> Result<PathBuf, Failed> {
    let secret = |name: &str| errand.secrets.values.get(name).cloned();
    let password = wanted.password.as_deref().map(|text| template::with_secrets(text, secret));
    let shelf = git::Shelf::at(errand.shelves.join("git"));
    let checkout = git::fetch(wanted, password.as_deref(), &shelf, &waiting())?;
    carried.staged.locks.push(checkout.lock);
    carried.staged.commit = Some(checkout.commit);
    carried.held.push(checkout.held);
    Ok(checkout.place)
}

/// The tree of a folder that a person uploaded.
fn uploaded(errand: &Errand, digest: &str, carried: &mut Carried) -> Result<PathBuf, Failed> {
    let room = Room::of(&errand.shelves);
    let tree = upload::Shelf::at(errand.shelves.join("trees")).place(digest, &room, &waiting())?;
    carried.staged.locks.push(tree.lock);
    carried.held.push(tree.held);
    Ok(tree.path)
}

fn waiting() -> Waiting<'static> {
    Waiting { pause: &is_dismissed_within, say: &|words| say(&Word::Doing(words.to_owned())) }
}
