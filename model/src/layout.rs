//! Where the outputs of each task go, so that no two tasks write to the same path.

use crate::{
    channels::{Layout, OutputPlan},
    ids::TaskName,
    location::Location,
    plan::{Freight, Plan},
    rendezvous::leading_role,
};

/// The task that writes to the place itself: the one of rank 0, or the first of all where nobody has a rank.
pub fn chief(plan: &Plan) -> Option<TaskName> {
    let role = leading_role(plan).or(plan.roles.first())?;
    Some(TaskName { role: role.name.clone(), index: 0 })
}

/// What this task carries, its own name in the places of its outputs.
pub fn of_task(plan: &Plan, version: u32, task: &TaskName) -> Freight {
    let place = |output: &OutputPlan| OutputPlan { to: output_of(plan, version, task, output), ..output.clone() };
    let logs = plan.freight.logs.as_ref().map(|logs| of_version(plan, version, logs));
    Freight { outputs: plan.freight.outputs.iter().map(place).collect(), logs, ..plan.freight.clone() }
}

fn output_of(plan: &Plan, version: u32, task: &TaskName, output: &OutputPlan) -> Location {
    let place = numbered(plan, version, &output.to);
    let is_at_the_place = match output.layout {
        Layout::Chief => plan.task_count() == 1 || chief(plan).as_ref() == Some(task),
        Layout::Tasks => false,
    };
    if is_at_the_place { place } else { place.below(&task.to_string()) }
}

/// A volume without a path is for many jobs, so each has its name and version there.
fn numbered(plan: &Plan, version: u32, place: &Location) -> Location {
    match place {
        Location::Volume { path, .. } if path.is_empty() => of_version(plan, version, place),
        Location::Volume { .. } | Location::Host(_) | Location::Url(_) => place.clone(),
    }
}

/// Logs are called by their tasks, and tasks are called alike in many jobs: so they are kept apart even where a path was given.
fn of_version(plan: &Plan, version: u32, place: &Location) -> Location {
    place.below(plan.name.as_str()).below(&version.to_string())
}

/// Names below the place that belong to other tasks, for a task that writes to the place itself.
pub fn not_ours(plan: &Plan, task: &TaskName) -> Vec<String> {
    if plan.task_count() == 1 || chief(plan).as_ref() != Some(task) {
        return Vec::new();
    }
    let all = plan.roles.iter().flat_map(|role| (0..role.tasks).map(|index| TaskName { role: role.name.clone(), index }));
    all.filter(|other| other != task).map(|other| other.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{HouseRules, from_text};

    fn places(text: &str) -> String {
        let plan = from_text(text, &HouseRules::default()).unwrap().1;
        let tasks = plan.roles.iter().flat_map(|role| (0..role.tasks).map(|index| TaskName { role: role.name.clone(), index }));
        let line = |task: TaskName| {
            let to: Vec<String> = of_task(&plan, 3, &task).outputs.iter().map(|it| format!("{} {}", it.path(), it.to)).collect();
            format!("{task}: {}; not {}", to.join(", "), not_ours(&plan, &task).join(" "))
        };
        tasks.map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_chief_writes_to_the_place_and_everyone_else_below_its_own_name() {
        let roles = "roles: {ps: {command: x}, worker: {command: x, tasks: 2}}";
        insta::assert_snapshot!(places(&format!("name: digits\noutput: results\noutputs: {{model: /models}}\n{roles}")), @"
        ps-0: /output results:digits/3/ps-0, /output/model /models/ps-0; not 
        worker-0: /output results:digits/3, /output/model /models; not ps-0 worker-1
        worker-1: /output results:digits/3/worker-1, /output/model /models/worker-1; not 
        ");
    }

    #[test]
    fn with_the_other_layout_everyone_writes_below_its_own_name() {
        let text = "name: a\noutput: {to: 'results:x', layout: tasks}\nroles: {w: {command: x}}";
        assert_eq!(places(text), "w-0: /output results:x/w-0; not ");
        assert_eq!(places("name: a\noutput: results:x\nroles: {w: {command: x}}"), "w-0: /output results:x; not ");
    }

    #[test]
    fn logs_of_different_jobs_and_versions_never_meet() {
        let goes = |name: &str, version: u32, to: &str| {
            let text = format!("name: {name}\nlogs: {to}\nroles: {{w: {{command: x}}}}");
            let plan = from_text(&text, &HouseRules::default()).unwrap().1;
            let task = chief(&plan).unwrap();
            of_task(&plan, version, &task).logs.unwrap().to_string()
        };
        assert_eq!(goes("a", 1, "results:logs"), "results:logs/a/1");
        assert_eq!(goes("a", 2, "results:logs"), "results:logs/a/2");
        assert_eq!(goes("b", 1, "/srv/logs"), "/srv/logs/b/1");
        assert_eq!(goes("b", 1, "results"), "results:b/1");
    }
}
