//! Algorithm and job → a job that stands by itself, or every problem at once at the job's own paths.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{Algorithm, InputSlot, OutputSlot, ParamRule, ParamType, channels, command, needs, params};
use crate::{
    said,
    spec::{Command, JobSpec, Param, Problem, RoleSpec, Secret, join},
    template::{self, Tag},
    words::Bilingual,
};

/// What the job has become so far, and what is wrong with it.
pub(super) struct Laying<'a> {
    pub algorithm: &'a Algorithm,
    problems: Vec<Problem>,
}

impl Laying<'_> {
    pub fn tell(&mut self, path: &str, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(path, message).hint(hint));
    }

    /// Tells that something is not for the job to say.
    pub fn refuse(&mut self, path: &str) {
        self.tell(
            path,
            said!("is the algorithm's to say, so a job with `algorithm` has none", "由算法决定，写了 `algorithm` 的作业不能再写"),
            said!("remove it, or add a version of the algorithm that says it", "请删掉它，或添加一个写明它的算法版本"),
        );
    }
}

/// The job as one that names no algorithm any more, however much is wrong: stand-ins take the place of what is missing or was refused, so that the rest of the job can be
/// held against the usual rules and nothing is told twice.
pub(crate) fn lay(spec: &JobSpec, algorithm: &Algorithm) -> (JobSpec, Vec<Problem>) {
    let mut laying = Laying { algorithm, problems: Vec::new() };
    refuse_what_is_the_algorithms(&mut laying, spec);
    needs::check(&mut laying, spec);
    let values = params::values(&mut laying, &spec.params);
    let command = command::with_flags(&algorithm.command, params::flags(algorithm, &values));
    let role = |role: &RoleSpec| RoleSpec { command: command.clone(), image: None, ..role.clone() };
    let usual = || IndexMap::from([(USUAL_ROLE.to_owned(), role(&RoleSpec::default()))]);
    let roles: IndexMap<_, _> = spec.roles.iter().map(|(name, it)| (name.clone(), role(it))).collect();
    let mut secrets = spec.secrets.clone();
    secrets.extend(missing_secrets(&mut laying, spec).into_iter().map(|name| (name, Secret::Value(String::new()))));
    let laid = JobSpec {
        algorithm: None,
        framework: algorithm.framework.clone(),
        image: algorithm.image.clone(),
        code: algorithm.code.clone(),
        requirements: algorithm.requirements.clone(),
        setup: algorithm.setup.clone(),
        input: None,
        inputs: channels::inputs(&mut laying, &spec.inputs),
        outputs: channels::outputs(&mut laying, &spec.outputs),
        env: algorithm.env.clone().into_iter().chain(spec.env.clone()).collect(),
        params: values.into_iter().map(|(name, value)| (name, Some(value))).collect(),
        secrets,
        roles: if roles.is_empty() { usual() } else { roles },
        ..spec.clone()
    };
    (laid, laying.problems)
}

/// The role of a job that names none.
const USUAL_ROLE: &str = "worker";

fn refuse_what_is_the_algorithms(laying: &mut Laying<'_>, spec: &JobSpec) {
    let said = [
        ("code", spec.code.is_some()),
        ("framework", spec.framework.is_some()),
        ("image", spec.image.is_some()),
        ("requirements", spec.requirements.is_some()),
        ("setup", spec.setup.is_some()),
    ];
    said.into_iter().filter(|(_, is_said)| *is_said).for_each(|(key, _)| laying.refuse(key));
    if spec.input.is_some() {
        laying.tell(
            "input",
            said!("has no name, and the channels of an algorithm have", "没有名字，而算法的通道都有名字"),
            said!("write it under `inputs` with the channel's name", "请写到 `inputs` 下，并写上通道的名字"),
        );
    }
    for (name, role) in &spec.roles {
        let path = join("roles", name);
        let said = [("command", !role.command.is_nothing()), ("image", role.image.is_some())];
        said.into_iter().filter(|(_, is_said)| *is_said).for_each(|(key, _)| laying.refuse(&join(&path, key)));
    }
}

/// The algorithm says what it wants; a job says what it is.
fn missing_secrets(laying: &mut Laying<'_>, spec: &JobSpec) -> BTreeSet<String> {
    let missing: BTreeSet<String> = wanted_secrets(laying.algorithm).filter(|name| !spec.secrets.contains_key(name)).collect();
    for name in &missing {
        laying.tell(
            &join("secrets", name),
            said!("is missing, and the algorithm needs it", "没有写，而算法需要它"),
            said!(
                "write `secrets: {{{name}: {{named: {name}}}}}` with one that you keep",
                "请写 `secrets: {{{name}: {{named: {name}}}}}`，使用你已保存的密钥"
            ),
        );
    }
    missing
}

fn wanted_secrets(algorithm: &Algorithm) -> impl Iterator<Item = String> {
    algorithm.texts().flat_map(template::secrets).map(str::to_owned)
}

/// An algorithm of which nothing is known but that the job wants it: whatever it alone can decide is right, and all else in the job
/// can be held against the usual rules.
pub(crate) fn unknown_for(spec: &JobSpec) -> Algorithm {
    let env = spec.env.values().chain(spec.roles.values().flat_map(|role| role.env.values()));
    let named = env.flat_map(|text| template::tags(text)).filter_map(|tag| if let Tag::Param(name) = tag { Some(name) } else { None });
    let left_out = spec.params.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.as_str());
    let not_said = named.filter(|name| !spec.params.contains_key(*name)).chain(left_out);
    let text = ParamRule { default: Some(Param::Text(String::new())), required: false, ..ParamRule::of(ParamType::Text) };
    Algorithm {
        command: Command::Line("true".into()),
        params: not_said.map(|name| (name.to_owned(), text.clone())).collect(),
        custom_params: true,
        inputs: spec.inputs.keys().map(|name| (name.clone(), InputSlot::default())).collect(),
        outputs: spec.outputs.keys().map(|name| (name.clone(), OutputSlot::default())).collect(),
        ..Algorithm::default()
    }
}
