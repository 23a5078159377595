//! Curves as their writers wrote them, beside what TensorBoard's own reader finds in the same files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Hall;

type Points = Vec<(i64, u64, String)>;

/// What TensorBoard's reader found, by directory and name.
fn expected(hall: &Hall, job: &str) -> BTreeMap<(String, String), Points> {
    let text = std::fs::read_to_string(hall.house.output_dir(job, "main-0").join("expected.json")).unwrap();
    let all: BTreeMap<String, BTreeMap<String, Points>> = serde_json::from_str(&text).unwrap();
    all.into_iter().flat_map(|(group, tags)| tags.into_iter().map(move |(name, points)| ((group.clone(), name), points))).collect()
}

/// As the reader's language writes a number.
fn written(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => format!("{:?}", number as f32),
        None => value.as_str().unwrap().to_owned(),
    }
}

fn as_single(text: &str) -> String {
    match text {
        "nan" => "NaN".into(),
        "inf" => "Infinity".into(),
        "-inf" => "-Infinity".into(),
        number => format!("{:?}", number.parse::<f64>().unwrap() as f32),
    }
}

fn ours(hall: &Hall, job: &str, group: &str, name: &str) -> Points {
    let path = format!("/api/v1/jobs/{job}/metrics/points?source=events&group={group}&name={name}&buckets=4000");
    let answer = hall.house.get_json(&path);
    let points = answer["curves"][0]["points"].as_array().unwrap_or_else(|| panic!("{path}: {answer:.300}"));
    points.iter().map(|it| (it["step"].as_i64().unwrap(), it["at_ms"].as_u64().unwrap(), written(&it["value"]))).collect()
}

/// Runs the writers in a job and compares every point of every curve.
pub fn curves_are_equal(framework: &str, packages: &str, writers: &str) -> (Hall, String) {
    let hall = Hall::open();
    let code = hall.house.place().join("code");
    std::fs::create_dir_all(&code).unwrap();
    std::fs::write(code.join("curves.py"), include_str!("curves.py")).unwrap();
    std::fs::write(code.join("requirements.txt"), packages).unwrap();
    let file = hall.house.place().join("job.json");
    let role = serde_json::json!({ "command": format!("python curves.py {writers}"), "cpus": 2, "memory": "3GiB" });
    let job = serde_json::json!({ "name": "curves", "framework": framework, "code": "./code", "roles": { "main": role } });
    std::fs::write(&file, job.to_string()).unwrap();
    let job = hall.submit_file(&file, &[]);
    hall.succeeded(&job);
    crate::house::until("everything was read", || std::fs::read_dir(hall.house.data().join("reading")).unwrap().next().is_none());
    let expected = expected(&hall, &job);
    let found = hall.house.get_json(&format!("/api/v1/jobs/{job}/metrics?source=events"));
    let mut names: Vec<(String, String)> = found["series"].as_array().unwrap().iter().map(named).collect();
    names.sort();
    assert_eq!(names, expected.keys().cloned().collect::<Vec<_>>());
    for ((group, name), points) in &expected {
        let theirs: Points = points.iter().map(|(step, at_ms, value)| (*step, *at_ms, as_single(value))).collect();
        let ours = ours(&hall, &job, group, name);
        assert_eq!(ours.len(), theirs.len(), "{group} {name}");
        // Python rounds halves to even, we do not.
        let differs = ours.iter().zip(&theirs).find(|(a, b)| (a.0, &a.2) != (b.0, &b.2) || a.1.abs_diff(b.1) > 1);
        assert_eq!(differs, None, "{group} {name}");
    }
    (hall, job)
}

fn named(series: &Value) -> (String, String) {
    let word = |field: &str| series[field].as_str().unwrap().to_owned();
    (word("group"), word("name"))
}
