//! Rules that a plan's text does not show, each with the section of our notes on OpenPAI that it comes from.

use std::process::Command;

use model::{
    completion::{Verdict, verdict},
    dialect::{Given, Translation, translate},
    located::{self, Node, Value},
    plan::{HouseRules, Retries, from_text},
    spec::Convention,
    task::TaskState,
    template,
};

use crate::{by_ann, files};

fn job(name: &str) -> Translation {
    let file = files("good").into_iter().find(|file| file.file_stem().is_some_and(|stem| stem == name)).expect("a file of the corpus");
    let text = std::fs::read_to_string(file).expect("a file that can be read");
    translate(&text, &by_ann(), &HouseRules::default()).expect("a good job")
}

/// How the job is decided when its tasks end so, in that order: `worker:failed ps:succeeded`.
fn decided(job: &Translation, endings: &str) -> String {
    let ended: Vec<_> = endings.split(' ').map(|ending| ending.split_once(':').expect("a role and how it ended")).collect();
    let state = |text: &str| TaskState::SPELLED.into_iter().find(|(_, spelled)| *spelled == text).expect("a state").0;
    let ended: Vec<_> = ended.into_iter().map(|(role, how)| (role.parse().expect("a role's name"), state(how))).collect();
    match verdict(&job.plan.roles, &ended) {
        Verdict::Undecided => "undecided".into(),
        Verdict::Decided { outcome, by, .. } => format!("{outcome:?} by {by:?}"),
    }
}

// 1.4 rule 1: as many failed tasks of a role as it says decide the job at once, and the last of them is the reason.
#[test]
fn a_role_fails_the_job_when_enough_of_its_tasks_have() {
    let job = job("1_4_rule_1_min_failed_of_a_role");
    assert_eq!(decided(&job, "worker:failed worker:succeeded"), "undecided");
    assert_eq!(decided(&job, "worker:failed worker:succeeded worker:failed"), "Failed by Some(2)");
}

// 1.4 rule 2 and rule 5: one success of the role decides at once, whoever is still running.
#[test]
fn a_role_decides_the_job_while_others_are_running() {
    let job = job("1_4_rule_2_min_succeeded_of_a_role");
    assert_eq!(decided(&job, "worker:succeeded"), "Succeeded by Some(0)");
    assert_eq!(decided(&job, "ps:succeeded ps:succeeded"), "undecided");
}

// 1.4 rule 4: with null on both sides the job succeeds when all have ended, even if tasks failed.
#[test]
fn where_nobody_decides_the_job_succeeds_when_all_have_ended() {
    let job = job("1_4_rule_4_null_means_never");
    assert_eq!(decided(&job, "worker:failed worker:failed"), "undecided");
    assert_eq!(decided(&job, "worker:failed worker:failed worker:failed"), "Succeeded by None");
}

// 1.4 rule 4 and H3: all tasks of all roles, so one called `ps` is waited for, and so is a worker that sleeps.
#[test]
fn every_role_is_waited_for() {
    let job_with_ps = job("1_4_all_tasks_of_all_roles_are_waited_for");
    assert_eq!(decided(&job_with_ps, "worker:succeeded worker:succeeded"), "undecided");
    assert_eq!(decided(&job_with_ps, "worker:succeeded worker:succeeded ps:succeeded"), "Succeeded by None");
    assert_eq!(decided(&job("h3_min_succeeded_is_never_if_not_given"), "master:succeeded"), "undecided");
}

// 1.5: N tasks that ended well end the job, and one that failed ends it at once.
#[test]
fn kill_all_ends_the_job_with_the_nth_success() {
    let one_role = job("1_5_kill_all_of_one_role");
    assert_eq!(decided(&one_role, "w:succeeded"), "undecided");
    assert_eq!(decided(&one_role, "w:succeeded w:succeeded"), "Succeeded by Some(1)");
    assert_eq!(decided(&one_role, "w:succeeded w:failed"), "Failed by Some(1)");
    assert_eq!(decided(&job("1_5_kill_all_1_ends_with_the_first"), "ps:succeeded"), "Succeeded by Some(0)");
    assert_eq!(decided(&job("1_5_kill_all_0_waits_for_all"), "w:succeeded w:succeeded"), "undecided");
}

// 1.4: the table of job retries, and tasks that are never retried alone.
#[test]
fn a_gang_is_retried_as_a_whole() {
    for (name, retries) in [
        ("1_1_smallest", Retries::UpTo(0)),
        ("1_4_retry_up_to_a_count", Retries::UpTo(7)),
        ("1_4_retry_minus_1_is_always", Retries::Always),
        ("1_4_retry_minus_2_is_a_service", Retries::Forever),
    ] {
        let plan = job(name).plan;
        assert_eq!((plan.retries, plan.gang, plan.roles[0].task_retries), (retries, true, 0), "{name}");
    }
}

// 1.3 and H4: bash, several lines, and on after a line that failed.
#[test]
fn commands_run_as_openpai_ran_them() {
    let said = |name: &str| {
        let command = job(name).plan.roles[0].command.clone();
        let words: Vec<String> = command.iter().map(|word| template::with_secrets(word, |_| None)).collect();
        let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said("h4_a_failing_line_does_not_end_the_command"), "on\n");
    assert_eq!(said("1_3_a_command_of_several_lines"), "1\n2\n3\nit's\n");
    assert_eq!(said("1_3_quotes_backslashes_and_unicode"), "its a\\tb é😀 /tmp\n");
    assert!(said("1_3_nothing_in_a_command_is_our_tag").starts_with("{{ params.lr }} {{.Names}} {{ secrets.key }} "));
}

// 3.1: the variables of the JSON jobs, and a launcher between tasks, because every container had sshd.
#[test]
fn tasks_get_the_variables_of_their_time() {
    assert_eq!(job("1_1_smallest").plan.conventions, [Convention::PaiV1, Convention::Mpi].into());
}

#[test]
fn a_name_beside_the_file_wins_and_without_a_user_their_variable_stays() {
    let text = r#"{"jobName": "old", "image": "x", "dataDir": "hdfs://x/$PAI_JOB_NAME/$PAI_USER_NAME",
        "taskRoles": [{"name": "w", "command": "true"}]}"#;
    let given = Given { name: Some("new".into()), ..Given::default() };
    let job = translate(text, &given, &HouseRules::default()).unwrap();
    assert_eq!(job.plan.name.as_str(), "new");
    assert_eq!(job.plan.roles[0].env["PAI_DATA_DIR"], "hdfs://x/new/$PAI_USER_NAME");
}

#[test]
fn a_file_is_known_by_what_is_in_it() {
    let dialect = |text: &str| match translate(text, &by_ann(), &HouseRules::default()) {
        Ok(job) => format!("{:?}", job.report.dialect),
        Err(problems) => problems[0].to_string(),
    };
    assert_eq!(dialect(r#"{"name": "own", "image": "x", "roles": {"w": {"command": "curl http://x // y"}}}"#), r#""""#);
    assert_eq!(dialect("name: own # //\nroles: {w: {command: 'true'}}"), r#""""#);
    assert_eq!(
        dialect("jobName: x\nroles: {w: {command: 'true'}}"),
        "line 1, column 1: jobName: unknown key `jobName` (did you mean `name`?)"
    );
    assert!(dialect(r#"{"image": "x", "taskRoles": []}"#).contains("jobName: is missing"));
    assert!(dialect("protocol_version: v2").contains("type: is missing"));
    assert!(dialect("").contains("the file is empty"));
}

/// Every path of the file that has a value of its own, as notes spell it.
fn leaves(node: &Node, path: &str, found: &mut Vec<String>) {
    let step = |key: &str| if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() };
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                let path = if path.is_empty() { step(&entry.key) } else { format!("{path}.{}", step(&entry.key)) };
                leaves(&entry.value, &path, found);
            }
        }
        Value::List(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{path}[{index}]"), found));
        }
        Value::Map(_) | Value::List(_) | Value::Scalar(_) | Value::Refused => found.push(path.to_owned()),
    }
}

#[test]
fn nothing_in_a_file_is_dropped_without_a_word() {
    let mut fields = 0;
    for file in files("good").into_iter().chain(files("alpha_good")) {
        let text = std::fs::read_to_string(&file).unwrap();
        // Where there are comments, the plain parser sees other fields than the file has.
        if file.to_string_lossy().contains("comment") || file.to_string_lossy().contains("h12") {
            continue;
        }
        let report = translate(&text, &by_ann(), &HouseRules::default()).unwrap().report;
        let mut found = Vec::new();
        leaves(&located::parse(&text).root.unwrap(), "", &mut found);
        fields += found.len();
        for path in found {
            let noted = |note: &str| path == note || path.starts_with(&format!("{note}.")) || path.starts_with(&format!("{note}["));
            assert!(report.notes.iter().any(|note| noted(&note.path)), "{}: nothing is said about {path}", file.display());
        }
    }
    assert!(fields > 300, "{fields}");
}

#[test]
fn the_spec_written_out_is_the_same_job() {
    for file in files("good").into_iter().chain(files("alpha_good")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let job = translate(&text, &by_ann(), &HouseRules::default()).unwrap();
        let own = serde_json::to_string_pretty(&job.spec).unwrap();
        assert_eq!(from_text(&own, &HouseRules::default()), Ok((job.spec, job.plan)), "{}:\n{own}", file.display());
    }
}
