//! Reusable code with channels and typed parameters. A job that names one is that code with the job's own inputs, outputs and values.

use std::{collections::BTreeMap, fmt};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    channels::Layout,
    ids::AlgorithmName,
    spec::{Code, Command, JobSpec, Param, shown},
    words::Words,
};

mod apply;
mod channels;
mod check;
mod command;
mod needs;
mod params;
mod read;
mod remarks;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use apply::{lay, unknown_for};
pub use check::check;
pub use read::{read, read_with};
pub use remarks::remarks;
pub use schema::schema;

/// What its author says something is for, behind a sentence about it.
fn described(description: Option<&str>) -> Words {
    description.map(shown).map_or_else(Words::default, |text| Words::new(format!(": {text}"), format!("：{text}")))
}

/// One version of an algorithm, as a job has it in its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlgorithmAt {
    pub name: AlgorithmName,
    /// From 1.
    pub version: u32,
}

impl fmt::Display for AlgorithmAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// A version that is kept, with what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub at: AlgorithmAt,
    pub document: Algorithm,
}

impl Kept {
    /// Says it in the job that takes this version, so that the job means the same for ever.
    pub(crate) fn pin(&self, spec: &mut JobSpec) {
        spec.algorithm = Some(self.at.to_string());
        for (name, value) in &mut spec.params {
            *value = value.take().map(|value| params::kept(&self.document, name, value));
        }
    }
}

/// An algorithm, as YAML or JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Trainmaster algorithm")]
pub struct Algorithm {
    /// 1–64 letters, digits and `- . _ ~`. Adding the same name again makes the next version.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// For people; shown in lists and on the algorithm's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::description")]
    pub description: Option<String>,
    /// The framework whose Python environment every task gets, as in a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::framework")]
    pub framework: Option<String>,
    /// The container image of every task, as in a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What every task finds at `/code`, as in a job; it may only be left out with an `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::code")]
    pub code: Option<Code>,
    /// The file of the code that names Python packages, as in a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    /// A line for the shell that is run in every task before its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Environment variables for every task; a job's own are laid over them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::env")]
    pub env: BTreeMap<String, String>,
    /// What every task of every role runs: a line for the shell, or a list of program and arguments.
    #[schemars(schema_with = "schema::command")]
    pub command: Command,
    /// What a job has to give it to read, by name; each is found at `/input/NAME`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::inputs")]
    #[schema(value_type = BTreeMap<String, InputSlot>)]
    pub inputs: IndexMap<String, InputSlot>,
    /// What it writes, by name: what is in `/output/NAME`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::outputs")]
    #[schema(value_type = BTreeMap<String, OutputSlot>)]
    pub outputs: IndexMap<String, OutputSlot>,
    /// Its parameters by name, and what a job may say for each.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::params")]
    #[schema(value_type = BTreeMap<String, ParamRule>)]
    pub params: IndexMap<String, ParamRule>,
    /// Whether a job may add parameters of its own; not if not given.
    #[serde(default)]
    #[schemars(schema_with = "schema::no")]
    pub custom_params: bool,
    /// What it can run on; anything if not given.
    #[serde(default, skip_serializing_if = "Needs::is_empty")]
    #[schemars(with = "Option<Needs>")]
    pub needs: Needs,
}

/// Something that an algorithm reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSlot {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::description")]
    pub description: Option<String>,
    /// The flag that tells the program where it is, such as `--data_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The variable that tells the program where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::variable")]
    pub env: Option<String>,
    /// What a job may write for it; both if not given.
    #[serde(default = "Accepted::all")]
    #[schemars(schema_with = "schema::accepts")]
    pub accepts: Vec<Accepted>,
    /// Whether a job has to give it; true if not given.
    #[serde(default = "yes")]
    #[schemars(schema_with = "schema::yes")]
    pub required: bool,
    /// Whether an archive is wanted as the files that are in it.
    #[serde(default)]
    #[schemars(schema_with = "schema::no")]
    pub unpack: bool,
}

/// Something that an algorithm writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputSlot {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::description")]
    pub description: Option<String>,
    /// The flag that tells the program where to write it, such as `--train_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The variable that tells the program where to write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::variable")]
    pub env: Option<String>,
    /// Whether a job has to give it a place; true if not given.
    #[serde(default = "yes")]
    #[schemars(schema_with = "schema::yes")]
    pub required: bool,
    /// Who writes where, as in a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::layout")]
    #[schema(value_type = Option<String>)]
    pub layout: Option<Layout>,
}

/// What a job may write for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accepted {
    /// `mnist@3`.
    Dataset,
    /// `data:mnist`, a directory, or a URL.
    Place,
}

impl Accepted {
    pub const ALL: [Accepted; 2] = [Accepted::Dataset, Accepted::Place];

    pub fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }

    pub fn text(self) -> &'static str {
        match self {
            Accepted::Dataset => "dataset",
            Accepted::Place => "place",
        }
    }
}

/// What a job may say for a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamRule {
    /// `text`, `integer`, `number` or `boolean`.
    #[serde(rename = "type")]
    #[schemars(schema_with = "schema::param_type")]
    pub kind: ParamType,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::description")]
    pub description: Option<String>,
    /// Its value where a job says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::value")]
    pub default: Option<Param>,
    /// The least it may be; of numbers alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::bound")]
    pub min: Option<f64>,
    /// The most it may be; of numbers alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::bound")]
    pub max: Option<f64>,
    /// The only values it may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::choices")]
    pub choices: Vec<Param>,
    /// Whether it always has a value; true if not given. A job leaves one out that needs none with `null`.
    #[serde(default = "yes")]
    #[schemars(schema_with = "schema::yes")]
    pub required: bool,
    /// Whether a job cannot change it.
    #[serde(default)]
    #[schemars(schema_with = "schema::no")]
    pub fixed: bool,
    /// The flag that hands it over, `--NAME` if not given; `none` where the command alone has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParamType {
    Text,
    Integer,
    Number,
    Boolean,
}

impl ParamType {
    pub const ALL: [ParamType; 4] = [ParamType::Text, ParamType::Integer, ParamType::Number, ParamType::Boolean];

    pub fn text(self) -> &'static str {
        match self {
            ParamType::Text => "text",
            ParamType::Integer => "integer",
            ParamType::Number => "number",
            ParamType::Boolean => "boolean",
        }
    }
}

/// What an algorithm can run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    /// The types of accelerators it can use, with `none` for CPUs alone; any if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::accelerators")]
    pub accelerators: Option<Vec<String>>,
    /// The most accelerators that one task can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::most")]
    pub accelerators_max: Option<u32>,
    /// The most tasks of a job; 1 if it is not distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::most")]
    pub tasks_max: Option<u32>,
}

impl Needs {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// As a list of accelerators says that CPUs alone will do.
const NO_ACCELERATOR: &str = "none";
/// As a parameter says that no flag hands it over.
const NO_ARGUMENT: &str = "none";

fn yes() -> bool {
    true
}

impl Default for InputSlot {
    fn default() -> Self {
        Self { description: None, argument: None, env: None, accepts: Accepted::all(), required: true, unpack: false }
    }
}

impl Default for OutputSlot {
    fn default() -> Self {
        Self { description: None, argument: None, env: None, required: true, layout: None }
    }
}

impl ParamRule {
    pub fn of(kind: ParamType) -> Self {
        Self {
            kind,
            description: None,
            default: None,
            min: None,
            max: None,
            choices: Vec::new(),
            required: true,
            fixed: false,
            argument: None,
        }
    }
}

impl Algorithm {
    /// Every text of it in which parameters and secrets may be named.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let command: Vec<&str> = match &self.command {
            Command::Line(line) => vec![line],
            Command::Words(words) => words.iter().map(String::as_str).collect(),
        };
        let password = self.code.iter().filter_map(|code| if let Code::Git(git) = code { git.password.as_deref() } else { None });
        command.into_iter().chain(self.setup.as_deref()).chain(self.env.values().map(String::as_str)).chain(password)
    }

    /// The uploaded folder that its code is, if it is one.
    pub fn upload(&self) -> Option<&str> {
        if let Some(Code::Upload(code)) = &self.code { Some(&code.upload) } else { None }
    }
}
