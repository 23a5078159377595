//! OpenPAI's job files of version 2: YAML with `protocolVersion: 2`, a map of `taskRoles`, and `<% $… %>` in commands.

use super::{Dialect, Notes, Source, loose_json};
use crate::{
    located::{Node, Place, Value},
    spec::{Convention, JobSpec, Problem, in_order},
};

mod deployments;
mod env;
mod extras;
mod field;
mod hived;
mod job;
mod js;
mod parameters;
mod plugins;
mod prerequisites;
mod render;
mod role;
mod script;
mod secrets;
mod tensorboard;

use field::{Field, Reader};
use job::Job;

pub(super) const DIALECT: Dialect = Dialect { name: "openpai_v2", title: "OpenPAI v2", parse: loose_json::parse, recognises, read };

fn recognises(root: &Node) -> bool {
    let root = Field { path: String::new(), place: root.place, node: root };
    let version_2 = root.get("protocolVersion").is_some_and(|it| matches!(it.word(), Some(js::Word::Number(2.0) | js::Word::Text("2"))));
    let is_job = root.get("type").is_some_and(|it| it.word() == Some(js::Word::Text("job")));
    let roles_by_name = root.get("taskRoles").is_some_and(|it| matches!(it.node.value, Value::Map(_)));
    version_2 || (is_job && roles_by_name)
}

fn read(source: &Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>> {
    let mut reader = Reader::default();
    let root = Field { path: String::new(), place: Place { line: 1, column: 1 }, node: source.root };
    let spec = spec(&mut reader, &root, source);
    match spec {
        Some(spec) if reader.problems.is_empty() => Ok((spec, reader.notes)),
        Some(_) | None => Err(in_order(reader.problems)),
    }
}

fn spec(reader: &mut Reader, root: &Field<'_>, source: &Source<'_>) -> Option<JobSpec> {
    let job = Job::read(reader, root)?;
    let extras = extras::read(reader, &job);
    let (mut roles, read) = role::all(reader, &job, &extras);
    let mut spec = JobSpec {
        name: job.fitting_name(reader, source.given.name.as_deref()),
        description: job.description.map(str::to_owned),
        priority: extras.priority,
        retries: job.retries,
        gang: (!extras.gang).then_some(false),
        ..JobSpec::default()
    };
    let tensorboard = tensorboard::role(reader, &job, &extras, &roles);
    spec.env = env::of(&job, &read, source.given.user.as_deref(), tensorboard.is_some());
    roles.extend(tensorboard);
    spec.roles = roles;
    spec.conventions = Some(if extras.launches { vec![Convention::PaiV2, Convention::Mpi] } else { vec![Convention::PaiV2] });
    spec.secrets = job.secrets.into_spec();
    Some(spec)
}
