//! What is done before a child can start, and how long it took.

use serde::{Deserialize, Serialize};

use crate::words::Words;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    pub what: StepKind,
    pub began_at_ms: u64,
    pub took_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Code and inputs were brought.
    Fetched,
    /// The Python environment was made or found.
    Environment,
    Setup,
    /// The others of the gang were waited for.
    Gang,
}

impl StepKind {
    /// The kind of the event that tells of it.
    pub fn event(self) -> &'static str {
        match self {
            StepKind::Fetched => "task_fetched",
            StepKind::Environment => "task_environment",
            StepKind::Setup => "task_setup",
            StepKind::Gang => "task_gang",
        }
    }

    pub fn words(self) -> Words {
        match self {
            StepKind::Fetched => Words::new("its code and inputs are there", "代码和输入已就位"),
            StepKind::Environment => Words::new("its Python environment is there", "Python 环境已就绪"),
            StepKind::Setup => Words::new("its setup is done", "准备脚本已完成"),
            StepKind::Gang => Words::new("every task of its gang is ready", "任务组已全部就绪"),
        }
    }
}
