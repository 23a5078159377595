//! A job's states, and the one function that moves it between them.

use serde::{Deserialize, Serialize};

use crate::words::Words;

use JobEvent::*;
use JobState::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    Queued,
    /// Placed; not every task has said that it runs.
    Starting,
    Running,
    /// The outcome is decided; the tasks that remain are being stopped.
    Finishing,
    Stopping,
    /// A node with tasks of it cannot be seen. Nothing is concluded from that.
    Unknown,
    Succeeded,
    Failed,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Succeeded,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// The whole gang has its nodes; or, of a job that is no gang, some more of its tasks have.
    Placed,
    /// Every task of the attempt runs, or has run already.
    AllUp,
    /// The role policies have decided the outcome while tasks still run.
    Decided,
    StopAsked,
    /// Every task of the attempt is over, and the policies say how the job went.
    AllGone(Outcome),
    /// Every task of the attempt is over, and the job had failed before the stop was asked: the sandbox of a failed task was
    /// kept, and the stop gave it up.
    HadFailed,
    /// Every task of the attempt is over, well or not, and the retry policy grants another attempt.
    TryAgain,
    LostSight,
    SeenAgain,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job that is {} cannot take {event:?}", .state.text())]
pub struct Refused {
    pub state: JobState,
    pub event: JobEvent,
}

/// The only place a job changes state. There is no `_` arm on purpose: a new state or event does
/// not compile until someone has decided what it means here.
pub fn next(state: JobState, event: JobEvent) -> Result<JobState, Refused> {
    match (state, event) {
        (Queued, Placed) => Ok(Starting),
        (Starting | Running, Placed) => Ok(state),
        (Queued, StopAsked) => Ok(Stopped),

        (Starting, AllUp) => Ok(Running),
        (Starting | Running | Unknown, Decided) => Ok(Finishing),
        (Starting | Running | Unknown | Finishing, StopAsked) => Ok(Stopping),
        (Starting | Running | Unknown | Finishing, AllGone(Outcome::Succeeded)) => Ok(Succeeded),
        (Starting | Running | Unknown | Finishing, AllGone(Outcome::Failed)) => Ok(Failed),
        (Starting | Running | Unknown | Finishing, TryAgain) => Ok(Queued),

        (Starting | Running | Finishing, LostSight) => Ok(Unknown),
        (Unknown, SeenAgain) => Ok(Running),

        // Once a stop was asked, how the tasks ended after it no longer matters.
        (Stopping, HadFailed) => Ok(Failed),
        (Stopping, AllGone(_) | TryAgain) => Ok(Stopped),
        (Stopping, StopAsked | LostSight | SeenAgain) => Ok(Stopping),

        (Queued, AllUp | Decided | AllGone(_) | TryAgain | LostSight | SeenAgain)
        | (Queued | Starting | Running | Finishing | Unknown, HadFailed)
        | (Starting | Finishing, SeenAgain)
        | (Finishing | Unknown | Stopping, Placed)
        | (Running | Finishing | Unknown | Stopping, AllUp)
        | (Running, SeenAgain)
        | (Unknown, LostSight)
        | (Finishing | Stopping, Decided)
        | (
            Succeeded | Failed | Stopped,
            Placed | AllUp | Decided | StopAsked | AllGone(_) | HadFailed | TryAgain | LostSight | SeenAgain,
        ) => Err(Refused { state, event }),
    }
}

impl JobState {
    /// The one spelling of each state: in the database, the API, the CLI and the console.
    pub const SPELLED: [(JobState, &str); 9] = [
        (Queued, "queued"),
        (Starting, "starting"),
        (Running, "running"),
        (Finishing, "finishing"),
        (Stopping, "stopping"),
        (Unknown, "unknown"),
        (Succeeded, "succeeded"),
        (Failed, "failed"),
        (Stopped, "stopped"),
    ];

    pub fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(state, _)| *state == self).expect("SPELLED has every state").1
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::SPELLED.iter().find(|(_, it)| *it == text).map(|(state, _)| *state)
    }

    /// What it is called in front of people.
    pub fn words(self) -> Words {
        let zh = match self {
            Queued => "等待",
            Starting => "初始化",
            Running => "运行",
            Finishing => "收尾",
            Stopping => "终止中",
            Unknown => "失联",
            Succeeded => "完成",
            Failed => "错误",
            Stopped => "终止",
        };
        Words::new(self.text(), zh)
    }

    pub fn is_over(self) -> bool {
        match self {
            Succeeded | Failed | Stopped => true,
            Queued | Starting | Running | Finishing | Stopping | Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_meets_every_event() {
        let events = [
            Placed,
            AllUp,
            Decided,
            StopAsked,
            AllGone(Outcome::Succeeded),
            AllGone(Outcome::Failed),
            HadFailed,
            TryAgain,
            LostSight,
            SeenAgain,
        ];
        let cell = |state, event| next(state, event).map_or("-", JobState::text);
        let row = |state: JobState| {
            let cells: String = events.iter().map(|event| format!(" {:<10}", cell(state, *event))).collect();
            format!("{:<10}{}\n", state.text(), cells.trim_end())
        };
        let table: String = JobState::SPELLED.iter().map(|(state, _)| row(*state)).collect();
        //         placed     all up     decided    stop asked all gone… …failed    had failed try again  lost sight seen again
        insta::assert_snapshot!(table, @"
        queued     starting   -          -          stopped    -          -          -          -          -          -
        starting   starting   running    finishing  stopping   succeeded  failed     -          queued     unknown    -
        running    running    -          finishing  stopping   succeeded  failed     -          queued     unknown    -
        finishing  -          -          -          stopping   succeeded  failed     -          queued     unknown    -
        stopping   -          -          -          stopping   stopped    stopped    failed     stopped    stopping   stopping
        unknown    -          -          finishing  stopping   succeeded  failed     -          queued     -          running
        succeeded  -          -          -          -          -          -          -          -          -          -
        failed     -          -          -          -          -          -          -          -          -          -
        stopped    -          -          -          -          -          -          -          -          -          -
        ");
    }

    #[test]
    fn every_state_has_one_spelling() {
        for (state, text) in JobState::SPELLED {
            assert_eq!(JobState::from_text(text), Some(state));
            assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{text}\""));
        }
    }
}
