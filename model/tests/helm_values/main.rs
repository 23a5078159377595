//! Values files, good and bad. Beside each stands what becomes of it: the plan, the fate of every field
//! and the file in our own terms; or every problem. `UPDATE_SNAPSHOTS=1` writes them anew.

use std::{fmt::Write as _, fs, path::PathBuf};

use model::{
    dialect::{Given, Translation, translate},
    plan::HouseRules,
    spec::to_yaml,
};

fn corpus() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/helm_values");
    let files = fs::read_dir(folder).expect("the corpus is there").map(|entry| entry.expect("an entry").path());
    let is_values = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
    let mut files: Vec<PathBuf> = files.filter(is_values).collect();
    files.sort();
    files
}

fn given() -> Given {
    Given { otherwise: Some("digits".into()), ..Given::default() }
}

fn told(text: &str) -> String {
    let translated = match translate(text, &given(), &HouseRules::default()) {
        Ok(translated) => translated,
        Err(problems) => return problems.iter().map(|problem| format!("{problem}\n")).collect(),
    };
    let Translation { spec, plan, report } = translated;
    let mut told = format!("{plan}\n{}\n", report.dialect);
    for note in &report.notes {
        writeln!(told, "{}:{} {:?} {}: {}", note.line, note.column, note.fate, note.path, note.reason).expect("text grows");
    }
    told + "\n" + &to_yaml(&spec)
}

#[test]
fn every_values_file_becomes_what_stands_beside_it() {
    let mut wrong = Vec::new();
    for path in corpus() {
        let kept_in = path.with_extension("out");
        let now = told(&fs::read_to_string(&path).expect("a text"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&kept_in, &now).expect("it can be written");
        }
        if fs::read_to_string(&kept_in).unwrap_or_default() != now {
            wrong.push(format!("{}:\n{now}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(corpus().len() >= 15);
}

#[test]
fn what_was_converted_is_the_same_job() {
    for path in corpus() {
        let Ok(first) = translate(&fs::read_to_string(&path).expect("a text"), &given(), &HouseRules::default()) else { continue };
        let again = translate(&to_yaml(&first.spec), &Given::default(), &HouseRules::default());
        let again = again.unwrap_or_else(|problems| panic!("{}: {problems:?}", path.display()));
        assert_eq!((again.spec, again.plan, again.report.dialect), (first.spec, first.plan, String::new()), "{}", path.display());
    }
}

#[test]
fn the_shapes_of_one_file_mean_the_same() {
    let plan = |name: &str| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/helm_values").join(name);
        translate(&fs::read_to_string(path).expect("a text"), &given(), &HouseRules::default()).expect("a good file").plan
    };
    assert_eq!(plan("nested_gpu.yaml"), plan("crooked_gpu.yaml"));
    let mut flat = plan("flat_cpu.yaml");
    let nested = plan("nested_gpu.yaml");
    flat.roles[0].resources = nested.roles[0].resources.clone();
    flat.roles[0].image = nested.roles[0].image.clone();
    assert_eq!(flat.roles, nested.roles);
    assert_eq!(flat.params, nested.params);
}

#[test]
fn a_values_file_without_any_name_is_told_how_to_get_one() {
    let problems = translate("worker: {gpuCount: 0}\nps:\n", &Given::default(), &HouseRules::default()).expect_err("no name");
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].to_string(),
        "name: a values file does not name its job (give one beside the file: `--name mnist`, or `?name=mnist` to the API)"
    );
}
