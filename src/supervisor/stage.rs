//! What must be there before the child can start, and may take minutes to get.

use std::{os::fd::OwnedFd, path::PathBuf};

use model::{
    code::CodePlan,
    dataset::InputFrom,
    location::Location,
    order::{Report, RunOrder, RunSecrets},
    plan::Freight,
    step::StepKind,
    task::Cause,
};

use super::{
    commit, environment,
    journal::say,
    porter::{self, Fetched, Left},
    provenance,
    report::Home,
    steps::Steps,
};
use crate::{
    config::default_cache_dir,
    porter::{
        errand::{Errand, Kind, Staged},
        place::on_this_machine,
    },
    rundir::RunDir,
};

/// Everything that was made ready outside of the run's own directory.
#[derive(Default)]
pub struct Ready {
    pub fetched: Fetched,
    /// Where the child's Python environment is.
    pub environment: Option<PathBuf>,
}

/// Whoever makes a child's things ready.
pub struct Stage<'a> {
    pub dir: &'a RunDir,
    pub order: &'a RunOrder,
    pub secrets: &'a RunSecrets,
    pub home: &'a Home,
    /// Signals that ask us to stop wait here.
    pub stop: &'a OwnedFd,
    pub steps: &'a Steps,
}

impl Stage<'_> {
    /// The error is how the run ended without ever having begun.
    pub fn set(&self) -> Result<Ready, Cause> {
        let fetched = match directories(self.order, self.dir) {
            Some(mut staged) => {
                provenance::look(self.order, &mut staged);
                Fetched { staged, ..Fetched::default() }
            }
            None => self.steps.time(StepKind::Fetched, || self.fetch())?,
        };
        if let Some(commit) = &fetched.staged.commit {
            say(&format!("its code is commit {commit}"));
            self.home.knock(&Report::Code { commit: commit.clone() });
        }
        let ready = Ready { environment: environment::ready(self, fetched.staged.code.as_deref())?, fetched };
        provenance::write_down(self.dir, &ready);
        Ok(ready)
    }

    fn fetch(&self) -> Result<Fetched, Cause> {
        if !self.order.agrees_on_code {
            return self.send(self.order.clone());
        }
        // The code alone: inputs are carried in once, when it is known what it is.
        let mut found = self.send(RunOrder { freight: Freight::default(), ..self.order.clone() })?;
        found.left.take().into_iter().for_each(Left::wait);
        let code = match &found.staged.commit {
            Some(commit) => commit::agreed(commit, self.home, self.stop)?,
            None => self.order.code.clone(),
        };
        self.send(RunOrder { code, ..self.order.clone() })
    }

    fn send(&self, order: RunOrder) -> Result<Fetched, Cause> {
        porter::fetch(&self.errand(order), self.stop, &|words| self.tell(words))
    }

    fn errand(&self, order: RunOrder) -> Errand {
        let shelves = self.dir.data().map_or_else(default_cache_dir, |data| data.to_owned());
        Errand {
            kind: Kind::Stage,
            order,
            secrets: self.secrets.clone(),
            dir: self.dir.path().to_owned(),
            shelves: std::path::absolute(&shelves).unwrap_or(shelves),
        }
    }

    pub fn tell(&self, words: &str) {
        say(words);
        let task = &self.order.run.task;
        self.home.knock(&Report::Preparing { what: format!("{task} {words}"), zh: format!("{task} 正在准备：{words}") });
    }
}

/// Where everything is, if all of it is in directories of this machine: then nobody has to be sent. Whoever is
/// sent for the rest also says what is wrong with a place.
fn directories(order: &RunOrder, dir: &RunDir) -> Option<Staged> {
    let here = |location: &Location| {
        let place = on_this_machine(location, &order.volumes, dir.private())?.ok()?;
        place.is_dir().then_some(place)
    };
    if order.freight.from.is_some() {
        return None;
    }
    let mut staged = Staged::default();
    match &order.code {
        None => {}
        // How much it is has to be counted, where it is a volume's.
        Some(CodePlan::At(location)) if location.volume().is_some() => return None,
        Some(CodePlan::At(location)) => staged.code = Some(here(location)?),
        Some(CodePlan::Git(_) | CodePlan::Upload(_)) => return None,
    }
    for input in &order.freight.inputs {
        // Somebody has to look whether a dataset is what it was.
        let InputFrom::Place(from) = &input.from else { return None };
        let place = if input.unpack { None } else { here(from) }?;
        match &input.name {
            Some(name) => drop(staged.channels.insert(name.clone(), place)),
            None => staged.input = Some(place),
        }
    }
    Some(staged)
}
