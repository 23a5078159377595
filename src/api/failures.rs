//! Why a job failed: the task that failed first, what became of the others, and the rule that decided about another try.

use model::{
    job::JobState,
    task::{Ending, TaskState},
    wire::{DiagnosisView, FailureView},
    words::{Lang, Words},
};

use crate::{
    control::Endings,
    store::{
        Sql, StoreError,
        jobs::{self, Job},
        runs::{self, Run},
    },
};

/// As many tasks as are looked at, and told of.
const LOOK_MAX: u32 = 50;
const OTHERS_MAX: usize = 10;

/// What is known of the failures of a job's last attempt that is over.
#[derive(Default)]
pub struct Failures {
    /// The first in time.
    pub first: Option<Run>,
    pub others: Vec<Run>,
    pub consequence: Words,
    pub rule: Words,
}

pub fn of(sql: &Sql<'_>, job: &Job) -> Result<Failures, StoreError> {
    let attempt = match job.state {
        JobState::Queued => job.attempt - 1,
        JobState::Starting
        | JobState::Running
        | JobState::Finishing
        | JobState::Stopping
        | JobState::Unknown
        | JobState::Succeeded
        | JobState::Failed
        | JobState::Stopped => job.attempt,
    };
    let mut unlucky = runs::without_success(sql, job.id, attempt, LOOK_MAX)?;
    let Some(at) = unlucky.iter().position(|run| run.state != TaskState::Stopped) else { return Ok(Failures::default()) };
    let first = unlucky.remove(at);
    let rule = if job.state == JobState::Failed { jobs::rule(sql, job.id)? } else { Words::default() };
    let consequence = consequence(&unlucky);
    unlucky.retain(|run| run.state != TaskState::Stopped);
    unlucky.truncate(OTHERS_MAX);
    Ok(Failures { first: Some(first), others: unlucky, consequence, rule })
}

fn consequence(others: &[Run]) -> Words {
    let stopped = others.iter().filter(|run| run.state == TaskState::Stopped).count();
    let failed = others.len() - stopped;
    let more = if others.len() == LOOK_MAX as usize - 1 { "at least " } else { "" };
    let at_least = if more.is_empty() { "" } else { "至少 " };
    let of_failed = match failed {
        0 => Words::default(),
        1 => Words::new("1 other task failed after it", "之后另有 1 个任务失败"),
        _ => Words::new(format!("{more}{failed} other tasks failed after it"), format!("之后另有{at_least} {failed} 个任务失败")),
    };
    let of_stopped = match stopped {
        0 => Words::default(),
        1 => Words::new("1 other task was stopped because of it", "另有 1 个任务因此被停止"),
        _ => Words::new(
            format!("{more}{stopped} other tasks were stopped because of it"),
            format!("另有{at_least} {stopped} 个任务因此被停止"),
        ),
    };
    of_failed.then(&of_stopped)
}

/// What a person is told of one. Of an ending from before there was a catalogue, it is found out now.
pub fn view(endings: &Endings, run: &Run, lang: Lang) -> FailureView {
    let ending = run.ending.clone().map(|ending| if ending.diagnosis.is_some() { ending } else { endings.of(ending) });
    let clues = ending.as_ref().and_then(|ending| ending.clues.clone()).unwrap_or_default();
    FailureView {
        task: run.run.task.to_string(),
        attempt: run.run.attempt,
        state: run.state,
        ending: ending.as_ref().map_or(String::new(), |ending| bare(ending).say(lang).to_owned()),
        diagnosis: ending.as_ref().and_then(|ending| Some(DiagnosisView::new(ending.diagnosis.as_deref()?, lang))),
        traceback: clues.traceback.map(|it| it.text),
        tail: clues.tail,
    }
}

/// Without the diagnosis, which stands beside it.
fn bare(ending: &Ending) -> Words {
    Ending { diagnosis: None, ..ending.clone() }.words()
}
