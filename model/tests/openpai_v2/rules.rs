//! Rules of OpenPAI that a plan's text does not show, each with the section of the facts it comes from.

use std::{fs, process::Command};

use model::{
    completion::{Verdict, verdict},
    dialect::{Fate, Given, Translation, translate},
    ids::{JobId, RoleName},
    job::Outcome,
    located::{self, Node, Value},
    plan::{HouseRules, Plan, Retries},
    rendezvous::{Gang, Place, Rendezvous},
    spec::Convention,
    task::TaskState,
    template,
};

use crate::{corpus, told, translated};

fn file(name: &str) -> String {
    let path = corpus().into_iter().find(|path| path.file_stem().is_some_and(|it| it == name));
    fs::read_to_string(path.unwrap_or_else(|| panic!("there is no {name}"))).expect("a file of the corpus can be read")
}

fn plan(name: &str) -> Plan {
    translated(&file(name)).unwrap_or_else(|problems| panic!("{name}: {problems:?}")).plan
}

/// A job of one role, `worker`, with these commands, and lines of the top level before it.
fn job(top: &str, commands: &str) -> String {
    format!(
        "protocolVersion: 2\nname: x\ntype: job\n{top}prerequisites: [{{name: i, type: dockerimage, uri: ubuntu}}]\ntaskRoles:\n  worker:\n    \
         dockerImage: i\n    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}\n    commands:\n{commands}"
    )
}

/// The script of the only role, with its secrets in, as a program gets it.
fn script(text: &str) -> Vec<String> {
    let Translation { plan, mut spec, .. } = translated(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    let secrets = spec.take_secrets().0;
    let filled = |word: &String| template::with_secrets(word, |name| secrets.get(name).cloned());
    plan.roles[0].command.iter().map(filled).collect()
}

/// What the script prints, and whether it ended well.
fn ran(text: &str) -> (String, bool) {
    let words = script(text);
    let output = Command::new(&words[0]).args(&words[1..]).output().expect("bash is there");
    (String::from_utf8(output.stdout).expect("text"), output.status.success())
}

/// Which dialect a text is read as.
fn dialect(text: &str) -> String {
    translate(text, &Given::default(), &HouseRules::default()).map(|it| it.report.dialect).unwrap_or_default()
}

#[test]
fn a_file_is_known_by_its_version_or_by_its_roles() {
    assert_eq!(dialect(&file("top_least")), "openpai_v2");
    assert_eq!(dialect(&file("top_least").replace("protocolVersion: 2", "protocolVersion: \"2\"")), "openpai_v2");
    assert!(
        told(&file("top_least").replace("protocolVersion: 2\n", "")).contains("protocolVersion: is missing (write `protocolVersion: 2`)")
    );
    assert_eq!(dialect("name: x\nroles: {worker: {command: ls}}\n"), "");
}

/// 2.1: two versions of the same name are two jobs here, where OpenPAI answered 409 for ever (H8); so the name alone must come through.
#[test]
fn a_name_beside_the_file_wins() {
    let given = Given { name: Some("other".into()), ..Given::default() };
    let it = translate(&file("top_least"), &given, &HouseRules::default()).unwrap();
    assert_eq!(it.plan.name.as_str(), "other");
    assert!(it.report.notes.iter().any(|note| note.path == "name" && note.fate == Fate::Changed));
}

/// 2.4, rule 3: with the defaults a job is over, well, as soon as one role has all its tasks succeeded.
#[test]
fn one_role_that_has_all_succeeded_ends_the_job() {
    let plan = plan("completion_absent");
    let ended = |tasks: &[(&str, TaskState)]| {
        let ended: Vec<(RoleName, TaskState)> = tasks.iter().map(|(role, state)| (RoleName::parse(role).unwrap(), *state)).collect();
        match verdict(&plan.roles, &ended) {
            Verdict::Undecided => None,
            Verdict::Decided { outcome, .. } => Some(outcome),
        }
    };
    use TaskState::{Failed, Succeeded};
    assert_eq!(ended(&[("worker", Succeeded), ("worker", Succeeded), ("ps", Succeeded)]), None);
    assert_eq!(ended(&[("worker", Succeeded), ("worker", Succeeded), ("worker", Succeeded)]), Some(Outcome::Succeeded));
    assert_eq!(ended(&[("ps", Succeeded), ("ps", Succeeded)]), Some(Outcome::Succeeded));
    assert_eq!(ended(&[("worker", Succeeded), ("ps", Failed)]), Some(Outcome::Failed));
}

/// 2.4, rule 5: where nothing decides, the job has succeeded when all tasks of all roles have ended, even badly.
#[test]
fn where_nothing_decides_everyone_is_waited_for() {
    let text = file("completion_out_of_reach").replace("minFailedInstances: -3", "minFailedInstances: -3, minSucceededInstances: -1");
    let roles = translated(&text).unwrap().plan.roles;
    let ended = |roles_ended: &[&str]| {
        let ended: Vec<_> = roles_ended.iter().map(|role| (RoleName::parse(role).unwrap(), TaskState::Failed)).collect();
        verdict(&roles, &ended) != Verdict::Undecided
    };
    assert!(!ended(&["worker"]));
    assert!(ended(&["worker", "other"]));
}

/// 2.4: every role of the file is waited for, one called `ps` too; one that we add is not.
#[test]
fn every_role_of_the_file_is_waited_for() {
    for file in corpus() {
        let text = fs::read_to_string(&file).unwrap();
        let Ok(it) = translated(&text) else { continue };
        for role in &it.plan.roles {
            let is_theirs = text.contains(&format!("\n  {}:", role.name)) || text.contains(&format!("\"{}\":", role.name));
            assert_eq!(role.completion.waited_for, is_theirs, "{}: {}", file.display(), role.name);
        }
    }
}

/// 2.4, H7.
#[test]
fn tasks_are_retried_alone_only_without_a_gang() {
    let (gang, alone) = (plan("task_retry_gang"), plan("task_retry_alone"));
    assert_eq!((gang.gang, gang.roles[0].task_retries), (true, 0));
    assert_eq!((alone.gang, alone.roles[0].task_retries), (false, 3));
    assert_eq!(plan("retry_count").retries, Retries::UpTo(5));
}

/// 2.7, H4: errexit, nounset, pipefail, and one shell for all commands.
#[test]
fn a_script_runs_as_openpai_ran_it() {
    assert_eq!(ran(&job("", "    - cd /\n    - X=1\n    - echo $PWD $X\n")), ("/ 1\n".into(), true));
    assert_eq!(ran(&job("", "    - echo a\n    - \"false\"\n    - echo b\n")), ("a\n".into(), false));
    assert_eq!(ran(&job("", "    - echo $NOBODY_SET_THIS\n    - echo b\n")), (String::new(), false));
    assert_eq!(ran(&job("", "    - false | true\n    - echo b\n")), (String::new(), false));
    // H11: the server takes both `#` and a line that goes on.
    assert_eq!(ran(&job("", "    - 'echo a # b'\n    - |\n      echo c \\\n        d\n")), ("a\nc d\n".into(), true));
}

/// Our own tags in someone's command are theirs, not ours.
#[test]
fn braces_come_out_as_they_were() {
    let commands = "    - echo '{{ params.x }} {{secrets.key}} \\{{ params.y }} {{ other }}'\n";
    let text = "{{ params.x }} {{secrets.key}} \\{{ params.y }} {{ other }}\n";
    assert_eq!(ran(&job("", commands)), (text.into(), true));
    assert_eq!(ran(&job("secrets: {key: abc}\n", commands)), (text.into(), true));
}

/// 2.5, H6.
#[test]
fn secrets_are_put_in_as_the_runtime_wrote_them() {
    let secrets = "secrets: {a: 'x&y\"<z>', n: 1.0, l: [p, q], m: {k: v}}\nparameters: {p: 1}\n";
    let commands = "    - echo '<% $secrets.a %> <%$secrets.n%> <% $secrets.l[1] %> <% $secrets.m.k %>[<% $secrets.none %>][<% $parameters.none %>]'\n    \
                    - echo 'C:\\<% $secrets.m.k %> {<% $secrets.m.k %>}'\n";
    let text = "x&amp;y&quot;&lt;z&gt; 1.0 q v[][]\nC:\\v {v}\n";
    assert_eq!(ran(&job(secrets, commands)), (text.into(), true));
    assert_eq!(ran(&job("", "    - echo '<%$secrets.none%>'\n")), ("<% $secrets.none %>\n".into(), true));
}

/// No secret stands in what a person sees.
#[test]
fn secrets_are_in_no_plan_and_no_note() {
    let it = translated(&file("secrets")).unwrap();
    let shown = format!("{}{:?}{:?}", it.plan, it.report, it.plan.roles);
    for secret in ["abc123", "a&b", "deep", "spaced"] {
        assert!(!shown.contains(secret), "{secret}");
    }
}

const PLUGINS: &str = "extras:\n  com.microsoft.pai.runtimeplugin:\n";

/// 2.6: plugins have shells of their own; what comes behind the commands comes only after a success, the last first.
#[test]
fn commands_of_plugins_stand_around_those_of_the_role() {
    let plugins = format!(
        "{PLUGINS}    - {{plugin: cmd, parameters: {{preCommands: [X=1, echo pre $X $Y], postCommands: [echo post 1]}}}}\n    \
         - {{plugin: cmd, failurePolicy: ignore, parameters: {{preCommands: [\"false\", echo on], postCommands: [echo post 2]}}}}\n"
    );
    let good = job(&plugins, "    - echo main ${X:-none}\n    - exit 0\n");
    assert_eq!(ran(&good), ("pre 1\non\nmain none\npost 2\npost 1\n".into(), true));
    let bad = job(&plugins, "    - echo main\n    - exit 3\n");
    assert_eq!(ran(&bad), ("pre 1\non\nmain\n".into(), false));
    let failing = job(&plugins.replace("X=1", "\"false\""), "    - echo main\n");
    assert_eq!(ran(&failing), (String::new(), false));
}

/// 2.6: a secret in the parameters of a plugin is put in as it is.
#[test]
fn plugins_have_secrets_as_they_are() {
    let top =
        format!("secrets: {{key: 'a&b'}}\n{PLUGINS}    - {{plugin: cmd, parameters: {{preCommands: ['echo \"<% $secrets.key %>\"']}}}}\n");
    assert_eq!(ran(&job(&top, "    - echo '<% $secrets.key %>'\n")), ("a&b\na&amp;b\n".into(), true));
}

/// What the script prints with a `git` that succeeds at the given try.
fn ran_with_git(plugin: &str, succeeds_at: u32) -> (String, bool) {
    let folder = std::env::temp_dir().join(format!("openpai-v2-git-{}-{succeeds_at}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary directory");
    let tool = folder.join("git");
    let text = format!("#!/bin/bash\necho tried >> $COUNT\necho git \"$@\"\n[ $(wc -l < $COUNT) -ge {succeeds_at} ]\n");
    fs::write(&tool, text).expect("it can be written");
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("and made a program");
    let words = script(&job(&format!("{PLUGINS}    - {plugin}\n"), "    - echo main\n"));
    // The waits between tries are the user's patience, not the test's.
    let quick = words[2].replace("sleep", "true");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let output = Command::new(&words[0]).args(["-c", &quick]).env("PATH", path).env("COUNT", folder.join("count")).output();
    fs::remove_dir_all(&folder).expect("and removed again");
    let output = output.expect("bash is there");
    (String::from_utf8(output.stdout).expect("text"), output.status.success())
}

/// 2.6: up to ten tries, and the commands only once the repository is there, or if its failure is to be ignored.
#[test]
fn a_repository_is_cloned_before_the_commands() {
    let plugin = "{plugin: git, parameters: {repo_uri: 'https://example.com/c.git', options: [--depth 1], clone_dir: /tmp/c}}";
    let line = "git clone --depth 1 https://example.com/c.git /tmp/c\n";
    assert_eq!(ran_with_git(plugin, 2), (format!("{line}{line}main\n"), true));
    assert_eq!(ran_with_git(plugin, 11), (line.repeat(10), false));
    let fine = plugin.replace("plugin: git", "plugin: git, failurePolicy: ignore");
    assert_eq!(ran_with_git(&fine, 12), (format!("{}main\n", line.repeat(10)), true));
}

/// H9, H10. All other variables are those of the convention.
#[test]
fn tasks_get_the_variables_that_only_the_file_knows() {
    let (everything, band) = (plan("top_everything"), plan("shm"));
    assert_eq!(everything.roles[0].env["PAI_VIRTUAL_CLUSTER"], "vision");
    assert!(band.roles.iter().all(|role| role.env.is_empty()));
    let said = file("shm").replace("shmMB: 64", "shmMB: 512");
    assert_eq!(translated(&said).unwrap().plan.roles[0].env["PAI_RESOURCE_small"], "1,2,4096,512");
    assert_eq!(everything.conventions, [Convention::PaiV2].into());
    assert_eq!(plan("plugin_ssh").conventions, [Convention::PaiV2, Convention::Mpi].into());
}

/// H1, H2, H10: what a task is told of the job and its peers.
#[test]
fn tasks_are_told_of_their_peers_as_openpai_told_them() {
    let plan = plan("real_ps_worker");
    let place = |role: &str, index, port| Place {
        role: RoleName::parse(role).unwrap(),
        index,
        address: format!("10.0.0.{port}"),
        ports: [("http".to_owned(), vec![port]), ("ssh".to_owned(), vec![port + 100])].into(),
        devices: Default::default(),
    };
    let places = [place("worker", 0, 1), place("worker", 1, 2), place("ps_server", 0, 3)];
    let gang = Gang {
        owner: "ann",
        job: JobId::new(1, &[0; 10]),
        name: &plan.name,
        version: 1,
        attempt: 1,
        job_attempt: 1,
        plan: &plan,
        places: &places,
    };
    let env = Rendezvous::new(gang).of(&"ps_server-0".parse().unwrap()).unwrap().env;
    assert_eq!(env["PAI_JOB_NAME"], "ann~cifar10-distributed_4f1b");
    assert_eq!(env["PAI_RESOURCE_ps_server"], "0,4,8192,0");
    assert_eq!(env["PAI_HOST_IP_psserver_0"], "10.0.0.3");
    assert_eq!(env["PAI_TASK_ROLE_psserver_HOST_LIST"], "10.0.0.3:3");
    assert_eq!(env["PAI_TASK_ROLE_worker_HOST_LIST"], "10.0.0.1:1,10.0.0.2:2");
    assert_eq!(env["PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server"], "-1");
    assert_eq!(env["PAI_TASK_ROLE_LIST"], "worker,ps_server");
}

/// Every value of a good file has a note, its own or one of something it is a part of.
#[test]
fn nothing_in_a_file_is_dropped_without_a_word() {
    let mut fields = 0;
    for file in corpus() {
        let text = fs::read_to_string(&file).unwrap();
        let Ok(it) = translated(&text) else { continue };
        let mut found = Vec::new();
        leaves(&located::parse_lenient(&text).root.unwrap(), "", &mut found);
        fields += found.len();
        for path in found {
            let covers = |note: &str| path == note || path.starts_with(&format!("{note}.")) || path.starts_with(&format!("{note}["));
            // A note on the name of a role says nothing about what is in it.
            let says_more = |note: &str| !(note.starts_with("taskRoles.") && note.matches('.').count() == 1);
            assert!(
                it.report.notes.iter().any(|note| covers(&note.path) && says_more(&note.path)),
                "{}: nothing is said about {path}",
                file.display()
            );
        }
    }
    assert!(fields > 500, "{fields}");
}

fn leaves(node: &Node, path: &str, found: &mut Vec<String>) {
    let quoted = |key: &str| {
        let simple = key.chars().all(|c| c.is_ascii_alphanumeric() || "_-~".contains(c));
        if simple { key.to_owned() } else { format!("\"{key}\"") }
    };
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                let step = quoted(&entry.key);
                leaves(&entry.value, &if path.is_empty() { step } else { format!("{path}.{step}") }, found);
            }
        }
        Value::List(items) => items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{path}[{index}]"), found)),
        Value::Scalar(_) | Value::Refused => found.push(path.to_owned()),
    }
}
