use super::*;
use crate::{
    job::JobState,
    metrics::{Extreme, SeriesSummary, Source, Value},
    plan::{HouseRules, from_text},
    usage::UsageTotals,
    wire::{NotRecorded, VersionRow},
};

fn subject(label: &str, file: &str) -> Subject {
    let (spec, plan) = from_text(file, &HouseRules::default()).unwrap();
    let job = ComparedJob {
        id: format!("id of {label}"),
        label: label.into(),
        owner: "ann".into(),
        state: JobState::Succeeded,
        created_at_ms: 0,
        not_recorded: Vec::new(),
    };
    Subject {
        job,
        facts: given(&serde_json::to_value(spec).unwrap(), &plan),
        unknown: BTreeSet::new(),
        code: BTreeMap::new(),
        same_files: 0,
        measured: Vec::new(),
        series: BTreeMap::new(),
    }
}

const DIGITS: &str = "name: digits\nparams: {lr: 0.1}\nenv: {SEED: '1'}\nrequirements: a.txt\nsetup: ./fetch\n\
                      roles: {main: {command: 'python train.py --lr {{ params.lr }}'}}";

impl Subject {
    fn with_packages(mut self, packages: &[(&str, &str)]) -> Self {
        let fact = |(name, version): &(&str, &str)| ((RowKind::Package, (*name).to_owned()), Fact::from((*version).to_owned()));
        self.facts.extend(packages.iter().map(fact));
        self
    }

    fn with_content(mut self, value: &str) -> Self {
        let fact = Fact { value: value.into(), may_be_unknown: true };
        self.facts.insert((RowKind::Input, "/input content".into()), fact);
        self
    }

    fn with_series(mut self, name: &str, last: f64, least: (f64, i64), greatest: (f64, i64)) -> Self {
        self.series.insert(name.into(), series(("main-0", 1), name, last, Some((least, greatest))));
        self
    }
}

fn series((task, attempt): (&str, u32), name: &str, last: f64, extremes: Option<((f64, i64), (f64, i64))>) -> SeriesSummary {
    let extreme = |(value, step): (f64, i64)| Extreme { value, step };
    SeriesSummary {
        task: task.into(),
        attempt,
        source: Source::Output,
        group: String::new(),
        name: name.into(),
        points: 10,
        first_step: 1,
        last_step: 10,
        first_at_ms: 0,
        last_at_ms: 9,
        last: Value(last),
        least: extremes.map(|it| extreme(it.0)),
        greatest: extremes.map(|it| extreme(it.1)),
        not_finite: 0,
        better: None,
    }
}

fn shown(comparison: &Comparison) -> String {
    let mut lines = vec![format!("{} differ, {} are equal", comparison.differences, comparison.equal)];
    for row in &comparison.rows {
        let values: Vec<&str> = row.values.iter().map(|it| it.as_deref().unwrap_or("-")).collect();
        let deltas = row.deltas.iter().flatten().map(|it| {
            let percent = it.percent.map_or(String::new(), |it| format!(" {it:.1}%"));
            let better = it.better.map_or("", |it| if it { " better" } else { " worse" });
            format!(" | {}{percent}{better}", short_number(it.by))
        });
        let best = row.metric.as_ref().and_then(|it| it.best).map_or(String::new(), |it| format!(" | best is {it}"));
        let mark = if row.differs { "" } else { "= " };
        lines.push(format!("{mark}{} {}: {}{}{best}", row.kind.text(), row.name, values.join(" | "), deltas.collect::<String>()));
    }
    lines.extend(comparison.best.iter().map(|it| format!("best: {} {} at step {} of {}", it.label, it.value, it.step, it.metric)));
    lines.join("\n")
}

#[test]
fn a_job_and_itself_do_not_differ() {
    let one = subject("digits@1", DIGITS).with_packages(&[("six", "1.16.0")]);
    assert_eq!(shown(&compare(&[one.clone(), one.clone()], &[], false)), "0 differ, 9 are equal");
    insta::assert_snapshot!(shown(&compare(&[one.clone(), one], &[], true)), @"
    0 differ, 9 are equal
    = param lr: 0.1 | 0.1
    = package six: 1.16.0 | 1.16.0
    = env SEED: 1 | 1
    = command main: python train.py --lr {{ params.lr }} | python train.py --lr {{ params.lr }}
    = tasks main: 1 | 1
    = resources cpus: 1 | 1
    = resources memory: 1GiB | 1GiB
    = resources shared memory: 64MiB | 64MiB
    = setting setup: ./fetch | ./fetch
    = ending state: succeeded | succeeded
    ");
}

#[test]
fn one_file_one_package_and_one_variable_are_three_lines() {
    let one = subject("digits@1", DIGITS).with_packages(&[("numpy", "2.0"), ("six", "1.16.0")]);
    let two = DIGITS.replace("SEED: '1'", "SEED: '2'").replace("a.txt", "b.txt");
    let mut two = subject("digits@2", &two).with_packages(&[("numpy", "2.0"), ("six", "1.17.0")]);
    let lines = Some(LineCounts { added: 2, removed: 1 });
    two.code = BTreeMap::from([("train.py".into(), FileChange { change: Change::Changed, lines })]);
    two.same_files = 3;
    insta::assert_snapshot!(shown(&compare(&[one, two], &[], false)), @"
    3 differ, 11 are equal
    code train.py: there | +2 −1
    package six: 1.16.0 | 1.17.0
    env SEED: 1 | 2
    ");
}

#[test]
fn a_parameter_in_a_command_is_one_difference() {
    let [one, two] = ["0.1", "0.2"].map(|lr| subject("digits", &DIGITS.replace("0.1", lr)));
    insta::assert_snapshot!(shown(&compare(&[one, two], &[], false)), @"
    1 differ, 8 are equal
    param lr: 0.1 | 0.2
    ");
}

#[test]
fn everything_a_person_can_write_is_compared() {
    let one = subject("a", DIGITS);
    let two = subject(
        "b",
        "name: other\ndescription: x\nparams: {lr: 0.1, wd: 1}\nframework: python\nenv: {SEED: '1'}\nmax_duration: 2h\nsecrets: {key: {named: wandb}}\n\
         input: /data\nroles:\n  main: {command: [python, 'my train.py'], cpus: 2, tasks: 2, env: {A: b}, retries: 3}\n  ps: {command: x}\ngang: false",
    );
    insta::assert_snapshot!(shown(&compare(&[one, two], &[], false)), @"
    19 differ, 3 are equal
    param wd: - | 1
    env A: - | b
    input /input: - | /data
    command main: python train.py --lr {{ params.lr }} | python 'my train.py'
    command ps: - | x
    tasks main: 1 | 2
    tasks ps: - | 1
    resources cpus: 1 | 2
    resources memory: 1GiB | 2GiB
    resources ps cpus: - | 1
    resources ps memory: - | 1GiB
    resources ps shared memory: - | 64MiB
    setting framework: - | python
    setting gang: - | false
    setting max_duration: - | 2h
    setting requirements: a.txt | -
    setting retries: - | 3
    setting secrets.key: - | named wandb
    setting setup: ./fetch | -
    ");
}

#[test]
fn what_nobody_knows_is_no_difference() {
    let known = subject("a", DIGITS).with_packages(&[("six", "1.16.0")]).with_content("3 files");
    let mut unknown = subject("b", DIGITS);
    unknown.unknown.insert(RowKind::Package);
    unknown.job.not_recorded = vec![NotRecorded::new("packages".into(), "it has none of ours".into())];
    assert_eq!(shown(&compare(&[known.clone(), unknown.clone()], &[], true)).lines().next(), Some("0 differ, 9 are equal"));
    let other = known.clone().with_packages(&[("six", "1.17.0")]).with_content("4 files");
    insta::assert_snapshot!(shown(&compare(&[known, unknown, other], &[], false)), @"
    2 differ, 9 are equal
    package six: 1.16.0 | - | 1.17.0
    input /input content: 3 files | - | 4 files
    ");
}

#[test]
fn files_are_told_against_those_of_the_first_job() {
    let [one, mut two, mut three] = ["a", "b", "c"].map(|label| subject(label, DIGITS));
    let file =
        |change, lines: Option<(u64, u64)>| FileChange { change, lines: lines.map(|(added, removed)| LineCounts { added, removed }) };
    two.code.insert("new.py".into(), file(Change::Added, Some((9, 0))));
    two.code.insert("old.py".into(), file(Change::Removed, Some((0, 4))));
    three.code.insert("data.bin".into(), file(Change::Changed, None));
    insta::assert_snapshot!(shown(&compare(&[one, two, three], &[], false)), @"
    3 differ, 9 are equal
    code data.bin: there | there | changed
    code new.py: - | +9 | -
    code old.py: there | - | there
    ");
}

fn three_with_metrics() -> [Subject; 3] {
    [
        subject("a@1", DIGITS).with_series("accuracy", 0.9, (0.1, 1), (0.92, 8)).with_series("loss", 0.5, (0.4, 9), (2.0, 1)),
        subject("a@2", DIGITS).with_series("accuracy", 0.94, (0.1, 1), (0.94, 10)).with_series("loss", f64::NAN, (0.45, 3), (2.0, 1)),
        subject("a@3", DIGITS).with_series("accuracy", 0.8, (0.1, 1), (0.94, 4)).with_series("lr", 0.1, (0.1, 1), (0.1, 1)),
    ]
}

#[test]
fn metrics_have_a_direction_a_best_value_and_a_best_job() {
    insta::assert_snapshot!(shown(&compare(&three_with_metrics(), &[], false)), @"
    0 differ, 9 are equal
    metric accuracy: 0.92 | 0.94 | 0.94 | 0.02 2.2% better | 0.02 2.2% better | best is 1
    metric loss: 0.4 | 0.45 | - | 0.05 12.5% worse | best is 0
    metric lr: - | - | 0.1
    best: a@2 0.94 at step 10 of accuracy
    ");
}

#[test]
fn whoever_asks_for_a_metric_gets_it_first_and_may_say_which_way_is_better() {
    let asked = |name: &str, direction| Asked { name: name.into(), direction };
    let told = compare(&three_with_metrics(), &[asked("loss", None), asked("lr", Some(Direction::Higher)), asked("none", None)], false);
    insta::assert_snapshot!(shown(&told), @"
    0 differ, 9 are equal
    metric loss: 0.4 | 0.45 | - | 0.05 12.5% worse | best is 0
    metric lr: - | - | 0.1 | best is 2
    best: a@1 0.4 at step 9 of loss
    ");
}

#[test]
fn of_several_series_with_one_name_the_newest_of_the_chief_counts() {
    let all = vec![
        series(("worker-1", 2), "loss", 1.0, None),
        series(("worker-0", 1), "loss", 2.0, None),
        series(("worker-0", 2), "loss", 3.0, None),
        series(("ps-0", 9), "loss", 4.0, None),
        SeriesSummary { group: "logs/val".into(), ..series(("worker-1", 1), "loss", 5.0, None) },
        SeriesSummary { source: Source::File, ..series(("worker-0", 2), "acc", 6.5, None) },
        series(("worker-0", 2), "acc", 6.0, None),
    ];
    let names = |chief: Option<&str>| {
        let chief = chief.map(|it| it.parse().unwrap());
        of_chief(all.clone(), chief.as_ref()).iter().map(|(name, it)| format!("{name}={}", it.last)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(Some("worker-0")), "acc=6.5 logs/val/loss=5 loss=3");
    assert_eq!(names(None), "acc=6.5 logs/val/loss=5 loss=4");
}

#[test]
fn time_and_the_use_of_the_machine_are_results() {
    let [mut one, mut two] = ["a", "b"].map(|label| subject(label, DIGITS));
    let usage = UsageTotals { cpu_ms: Some(2_000), peak_memory_bytes: Some(1 << 20), ..Default::default() };
    one.measured = [vec![Measured::duration(4_000)], Measured::usage(&usage)].concat();
    two.measured = [vec![Measured::duration(3_000)], Measured::usage(&UsageTotals { cpu_ms: None, ..usage })].concat();
    two.job.state = JobState::Failed;
    insta::assert_snapshot!(shown(&compare(&[one, two], &[], true)).lines().skip(9).collect::<Vec<_>>().join("\n"), @"
    = setting setup: ./fetch | ./fetch
    duration whole job: 4s | 3s | -1000 -25.0%
    usage cpu time: 2s | -
    = usage peak memory: 1MiB | 1MiB | 0 0.0%
    ending state: succeeded | failed
    ");
}

#[test]
fn versions_show_what_varies_and_which_is_best() {
    let subjects = three_with_metrics();
    let row = |version: u32, lr: f64| VersionRow {
        id: version.to_string(),
        version,
        state: JobState::Succeeded,
        reason: String::new(),
        created_at_ms: 0,
        duration_ms: None,
        params: serde_json::from_value(serde_json::json!({"lr": lr, "wd": 1})).unwrap(),
        rerun_of: None,
        metrics: Vec::new(),
    };
    let all = || subjects.iter().zip([1, 2, 3]).rev().map(|(it, at)| Version { row: row(at, f64::from(at)), series: it.series.clone() });
    let told = |asked: &[Asked]| {
        let (params, metrics, rows) = versions(all().collect(), asked);
        let best =
            |it: &crate::wire::VersionMetric| it.best.as_ref().map_or("-".into(), |it| format!("v{} {}@{}", it.version, it.value, it.step));
        let metrics: Vec<String> = metrics.iter().map(|it| format!("{}: {}", it.name, best(it))).collect();
        assert!(rows.iter().all(|row| row.metrics.len() == metrics.len()));
        format!("{params:?} {metrics:?}")
    };
    insta::assert_snapshot!(told(&[]), @r#"["lr"] ["accuracy: v2 0.94@10", "loss: v1 0.4@9"]"#);
    insta::assert_snapshot!(told(&[Asked { name: "accuracy".into(), direction: Some(Direction::Lower) }]), @r#"["lr"] ["accuracy: v1 0.1@1"]"#);
}
