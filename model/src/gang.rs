//! A gang begins together: no child starts before every task of the gang is ready. Here are the words for it.

use serde::{Deserialize, Serialize};

use crate::{ids::TaskName, layout::chief, plan::Plan, resources::show_duration_ms, spec::Convention, words::Words};

/// The port on which a supervisor listens for the other tasks of its gang. No task is told of it: it is given
/// out with a task's own ports, and is none of them.
pub const LAUNCH_LABEL: &str = "trainmaster-launch";

/// Whether tasks may start processes in each other, as MPI's launchers do.
pub fn has_launcher(plan: &Plan) -> bool {
    plan.begins_together() && plan.conventions.contains(&Convention::Mpi)
}

/// How long the chief of a gang goes ahead. Others call it as soon as they have come up, and whoever calls before it listens tries
/// again only after a second: so do gRPC and all that is built on it.
const HEAD_START_MS: u64 = 50;

/// How long a task stands back when its gang is let go.
pub fn stands_back_ms(plan: &Plan, task: &TaskName) -> u64 {
    if chief(plan).as_ref() == Some(task) { 0 } else { HEAD_START_MS }
}

/// What a supervisor learns that asks whether its gang may begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GangView {
    /// Every other task is ready, runs, or is over.
    pub released: bool,
    /// The tasks that are waited for.
    pub missing: Vec<String>,
}

const NAMED_MAX: usize = 5;

/// Why a task that is ready does not begin.
pub fn waits_for(missing: &[String]) -> Words {
    if missing.is_empty() {
        return Words::new("ready; begins", "已就绪，即将开始");
    }
    Words::new(format!("ready; waits for {}", names(missing)), format!("已就绪，等待 {}", names_zh(missing)))
}

/// How far a gang has come, while some of it is ready and some is not.
pub fn so_far(missing: &[String], all: u32) -> Option<Words> {
    let ready = (all as usize).checked_sub(missing.len()).filter(|ready| *ready > 0 && !missing.is_empty())?;
    let en = format!("{ready} of {all} tasks are ready and wait for {}", names(missing));
    Some(Words::new(en, format!("{all} 个任务中 {ready} 个已就绪，等待 {}", names_zh(missing))))
}

fn names_zh(tasks: &[String]) -> String {
    let named = tasks.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("、");
    if tasks.len() > NAMED_MAX { format!("{named} 等 {} 个任务", tasks.len()) } else { named }
}

/// Why a task that was ready never began.
pub fn too_late(missing: &[String], timeout_ms: u64) -> String {
    let were = if missing.len() == 1 { "was" } else { "were" };
    format!("{} {were} not ready within {}", names(missing), show_duration_ms(timeout_ms))
}

/// A gang may have a thousand tasks, and a sentence may not.
fn names(tasks: &[String]) -> String {
    match tasks {
        [] => "nobody".into(),
        [one] => one.clone(),
        [but_last @ .., last] if tasks.len() <= NAMED_MAX => format!("{} and {last}", but_last.join(", ")),
        [..] => format!("{} and {} others", tasks[..NAMED_MAX].join(", "), tasks.len() - NAMED_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{HouseRules, from_text};

    #[test]
    fn only_the_chief_goes_ahead() {
        let text = "{name: digits, roles: {ps: {command: x}, worker: {command: x, tasks: 2}}}";
        let plan = from_text(text, &HouseRules::default()).unwrap().1;
        let back = |task: &str| stands_back_ms(&plan, &task.parse().unwrap());
        assert_eq!((back("worker-0"), back("worker-1"), back("ps-0")), (0, HEAD_START_MS, HEAD_START_MS));
    }

    #[test]
    fn who_is_missing_is_named_and_a_crowd_is_counted() {
        let tasks = |count: usize| (0..count).map(|index| format!("worker-{index}")).collect::<Vec<_>>();
        insta::assert_snapshot!([
            waits_for(&tasks(0)).en,
            waits_for(&tasks(1)).en,
            waits_for(&tasks(3)).en,
            waits_for(&tasks(3)).zh,
            waits_for(&tasks(64)).zh,
            so_far(&tasks(1), 3).unwrap().en,
            so_far(&tasks(1), 3).unwrap().zh,
            too_late(&tasks(1), 2_000),
            too_late(&tasks(2), 600_000),
            too_late(&tasks(64), 600_000),
        ].join("\n"), @"
        ready; begins
        ready; waits for worker-0
        ready; waits for worker-0, worker-1 and worker-2
        已就绪，等待 worker-0、worker-1、worker-2
        已就绪，等待 worker-0、worker-1、worker-2、worker-3、worker-4 等 64 个任务
        2 of 3 tasks are ready and wait for worker-0
        3 个任务中 2 个已就绪，等待 worker-0
        worker-0 was not ready within 2s
        worker-0 and worker-1 were not ready within 10m
        worker-0, worker-1, worker-2, worker-3, worker-4 and 59 others were not ready within 10m
        ");
    }
}
