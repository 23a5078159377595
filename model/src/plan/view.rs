//! The plan as the API and `--dry-run --json` show it: everything that will happen, and no secret.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Freight, Plan, Retries, RolePlan, show::typed};
use crate::{
    ids::TaskName,
    rendezvous,
    spec::{self, Param, RetriesWord},
    template,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    pub priority: i32,
    /// A number, `always` or `forever`.
    #[schema(value_type = Object)]
    pub retries: spec::Retries,
    /// Whether all tasks start together or not at all.
    pub gang: bool,
    pub max_duration_ms: Option<u64>,
    pub stop_grace_ms: u64,
    pub keep_failed_ms: Option<u64>,
    /// Such as `pytorch@2.9`.
    pub framework: Option<String>,
    /// What the job was made from, such as `mnist-mlp@2`.
    #[serde(default)]
    pub algorithm: Option<String>,
    #[schema(value_type = Object)]
    pub params: IndexMap<String, Param>,
    /// Their names.
    pub secrets: Vec<String>,
    pub conventions: Vec<String>,
    /// A directory, a repository with its ref, a volume's place, or an upload.
    pub code: Option<String>,
    /// What is run in every task before its command.
    pub setup: Option<String>,
    pub inputs: Vec<ChannelView>,
    pub outputs: Vec<ChannelView>,
    /// Where logs are copied as well.
    pub logs: Option<String>,
    /// What lies in `/output` before the first attempt.
    pub from: Option<String>,
    /// Of all roles together.
    pub tasks: u32,
    /// In the order of the file.
    pub roles: Vec<RoleView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelView {
    /// Where the task has it.
    pub path: String,
    /// Where it is outside.
    pub place: String,
    /// The flag that tells the program where it has it.
    #[serde(default)]
    pub argument: Option<String>,
    /// The variables that do.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl ChannelView {
    fn new(freight: &Freight, path: String, place: String) -> Self {
        let argument = freight.arguments.iter().find(|it| it.path == path).map(|it| it.flag.clone());
        let variables = freight.paths.iter().filter(|(_, at)| **at == path).map(|(name, _)| name.clone()).collect();
        Self { path, place, argument, variables }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoleView {
    pub name: String,
    pub tasks: u32,
    /// The job has failed when this many tasks have; null is never.
    pub min_failed: Option<u32>,
    /// The job has succeeded when this many tasks have; null is never.
    pub min_succeeded: Option<u32>,
    /// Whether the job waits for these tasks before it has succeeded by everyone having ended.
    pub wait: bool,
    /// For each task, as all that follows.
    pub cpus: f64,
    pub memory_bytes: u64,
    pub shared_memory_bytes: u64,
    /// Of what a task writes to disk; null is no limit.
    pub disk_bytes: Option<u64>,
    /// By type.
    pub accelerators: BTreeMap<String, u32>,
    /// By label.
    pub ports: BTreeMap<String, PortView>,
    pub image: Option<String>,
    /// How often each task may be started again alone.
    pub retries: u32,
    pub env: BTreeMap<String, String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// What the shell is given, or the command as one would type it. Secrets stand in it by name.
    pub script: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PortView {
    pub count: u32,
    /// The first of them; null where any free ones will do.
    pub from: Option<u16>,
}

impl From<&Plan> for PlanView {
    fn from(plan: &Plan) -> Self {
        Self {
            name: plan.name.to_string(),
            description: plan.description.clone(),
            tags: plan.tags.clone(),
            priority: plan.priority,
            retries: retries(plan.retries),
            gang: plan.gang,
            max_duration_ms: plan.max_duration_ms,
            stop_grace_ms: plan.stop_grace_ms,
            keep_failed_ms: plan.keep_failed_ms,
            framework: plan.framework.as_ref().map(ToString::to_string),
            algorithm: plan.algorithm.as_ref().map(ToString::to_string),
            params: plan.params.clone(),
            secrets: plan.secrets.keys().cloned().collect(),
            conventions: plan.conventions.iter().map(|it| it.text().to_owned()).collect(),
            code: plan.code.as_ref().map(ToString::to_string),
            setup: plan.setup.as_deref().map(template::shown),
            inputs: plan.freight.inputs.iter().map(|it| ChannelView::new(&plan.freight, it.path(), it.from.to_string())).collect(),
            outputs: plan.freight.outputs.iter().map(|it| ChannelView::new(&plan.freight, it.path(), it.to.to_string())).collect(),
            logs: plan.freight.logs.as_ref().map(ToString::to_string),
            from: plan.freight.from.as_ref().map(ToString::to_string),
            tasks: plan.task_count(),
            roles: plan.roles.iter().map(|role| RoleView::of(plan, role)).collect(),
        }
    }
}

fn retries(retries: Retries) -> spec::Retries {
    match retries {
        Retries::UpTo(count) => spec::Retries::Count(count),
        Retries::Always => spec::Retries::Word(RetriesWord::Always),
        Retries::Forever => spec::Retries::Word(RetriesWord::Forever),
    }
}

/// Those of its first task: what the role asks for, and what peers need to find each other.
fn ports(plan: &Plan, role: &RolePlan) -> BTreeMap<String, PortView> {
    let first = TaskName { role: role.name.clone(), index: 0 };
    let view = |(label, plan): (String, super::PortPlan)| (label, PortView { count: plan.count, from: plan.from });
    rendezvous::ports(plan, &first).into_iter().map(view).collect()
}

impl RoleView {
    fn of(plan: &Plan, role: &RolePlan) -> Self {
        let command: Vec<String> = role.command.iter().map(|word| template::shown(word)).collect();
        Self {
            name: role.name.to_string(),
            tasks: role.tasks,
            min_failed: role.completion.min_failed,
            min_succeeded: role.completion.min_succeeded,
            wait: role.completion.waited_for,
            cpus: role.resources.cpus_milli as f64 / 1000.0,
            memory_bytes: role.resources.memory_bytes,
            shared_memory_bytes: role.shared_memory_bytes,
            disk_bytes: role.disk_bytes,
            accelerators: role.resources.accelerators.clone(),
            ports: ports(plan, role),
            image: role.image.clone(),
            retries: role.task_retries,
            env: role.env.iter().map(|(name, value)| (name.clone(), template::shown(value))).collect(),
            script: script(&command),
            command,
        }
    }
}

/// `sh -c SCRIPT` and `bash -o pipefail -c SCRIPT` are about their last word; anything else is its own script.
fn script(command: &[String]) -> String {
    match command {
        [shell, flag, script, _] if shell == "/bin/sh" && flag == "-c" => script.clone(),
        [shell, .., flag, script] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => script.clone(),
        words => typed(words),
    }
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "dash" | "zsh" | "ksh"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{HouseRules, from_text};

    fn view(text: &str) -> PlanView {
        PlanView::from(&from_text(text, &HouseRules::default()).unwrap().1)
    }

    #[test]
    fn a_plan_is_shown_with_its_scripts_and_without_its_secrets() {
        let shown = view(
            "name: a\nretries: always\nparams: {lr: 0.1}\nsecrets: {key: s3cret}\nroles:\n  w:\n    command: 'login {{ secrets.key }}; train {{ params.lr }}'\n",
        );
        assert_eq!(shown.roles[0].script, "login {{ secrets.key }}; train 0.1");
        let json = serde_json::to_string(&shown).unwrap();
        assert!(!json.contains("s3cret") && json.contains(r#""secrets":["key"]"#) && json.contains(r#""retries":"always""#), "{json}");
        assert_eq!(serde_json::from_str::<PlanView>(&json).unwrap(), shown);
    }

    #[test]
    fn a_channel_is_shown_with_the_ways_in_which_its_program_learns_of_it() {
        let shown = view(
            "name: a\ninputs: {data: {from: 'data:mnist', argument: --data_url, env: DATA_DIR}}\noutput: results\nroles: {w: {command: x}}",
        );
        assert_eq!(
            shown.inputs,
            [ChannelView {
                path: "/input/data".into(),
                place: "data:mnist".into(),
                argument: Some("--data_url".into()),
                variables: vec!["DATA_DIR".into(), "TRAINMASTER_INPUT_DATA".into()],
            }]
        );
        assert_eq!((&shown.outputs[0].argument, shown.outputs[0].variables.len()), (&None, 0));
    }

    #[test]
    fn never_is_null_and_a_command_of_words_is_told_as_typed() {
        let shown = view("name: a\nroles: {w: {command: [echo, 'a b'], completion: {min_failed: never}}}");
        assert_eq!((shown.roles[0].min_failed, shown.roles[0].min_succeeded), (None, None));
        assert_eq!(shown.roles[0].script, "echo 'a b'");
        assert_eq!(script(&["/bin/bash", "-o", "pipefail", "-c", "x"].map(str::to_owned)), "x");
        assert_eq!(script(&["/bin/bash", "x.sh"].map(str::to_owned)), "/bin/bash x.sh");
    }
}
