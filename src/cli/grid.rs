//! `--grid lr=0.1,0.01 --grid batch=16,32`: a job for every combination, as versions of one name.

use model::{
    plan::HouseRules,
    spec::{JobSpec, Param},
    wire::Submitted,
};
use serde::Serialize;

use super::{
    context::Context,
    failure::{Exit, Failure},
    output,
    params::retyped,
    submission::{Parcel, submit as send},
    table::Table,
};

mod latest;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct GridArgs {
    /// Values of one of the job's parameters; with several of these, a version for every combination
    #[arg(long = "grid", id = "grid", value_name = "NAME=VALUE,…")]
    pub axes: Vec<Axis>,
}

impl GridArgs {
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }
}

/// One parameter and the values it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    name: String,
    values: Vec<String>,
}

impl std::str::FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, list) = text.split_once('=').ok_or("write it as name=value,value, such as lr=0.1,0.01")?;
        let values = if list.starts_with('[') { json_values(list)? } else { list.split(',').map(str::to_owned).collect() };
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err("a value is empty; write values with commas between them, such as lr=0.1,0.01".into());
        }
        match values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            Some((_, twice)) => Err(format!("{twice} is there twice")),
            None => Ok(Self { name: name.to_owned(), values }),
        }
    }
}

/// A list in JSON, for values with commas of their own.
fn json_values(list: &str) -> Result<Vec<String>, String> {
    let values: Vec<Param> = serde_json::from_str(list).map_err(|error| format!("`{list}` is not a list in JSON: {error}"))?;
    Ok(values.iter().map(Param::to_string).collect())
}

/// One combination, in the order of the flags.
pub type Point = Vec<(String, Param)>;

/// Every combination; the last flag's values change fastest.
pub fn points(spec: &JobSpec, grid: &GridArgs, most: usize) -> Result<Vec<Point>, Failure> {
    let count = grid.axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len())).unwrap_or(usize::MAX);
    if count > most {
        let message = format!("--grid: these values make {count} combinations; the most is {most}");
        return Err(Failure::usage(message).hint("leave some values out, or submit the grid in parts"));
    }
    let mut points: Vec<Point> = vec![Vec::new()];
    for (at, axis) in grid.axes.iter().enumerate() {
        if grid.axes[..at].iter().any(|before| before.name == axis.name) {
            return Err(Failure::usage(format!("--grid {}: this parameter is given twice", axis.name)));
        }
        let values = axis.values.iter().map(|value| retyped(spec, "--grid", &axis.name, value)).collect::<Result<Vec<_>, _>>()?;
        let longer =
            |point: &Point| values.iter().map(|value| [point.clone(), vec![(axis.name.clone(), value.clone())]].concat()).collect();
        points = points.iter().flat_map(|point| -> Vec<Point> { longer(point) }).collect();
    }
    Ok(points)
}

/// One version that was submitted, and what makes it different from the others.
#[derive(Serialize)]
struct Version {
    #[serde(flatten)]
    submitted: Submitted,
    params: serde_json::Map<String, serde_json::Value>,
}

/// Submits every combination, each with a key of its own, and says which version is which.
pub async fn submit(context: &Context, spec: &JobSpec, grid: &GridArgs, like: &Parcel) -> Result<Exit, Failure> {
    let points = points(spec, grid, HouseRules::default().grid_versions_max)?;
    let spec = &latest::numbered(context, spec).await?;
    let (mut versions, mut failed) = (Vec::new(), None);
    for point in &points {
        let parcel = Parcel { from: like.from.clone(), source: like.source.clone(), ..Parcel::json(&at(spec, point))? };
        match send(context, &parcel).await {
            Ok(submitted) => versions.push(Version { submitted, params: named(point) }),
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        }
    }
    if !versions.is_empty() || failed.is_none() {
        show(context, &versions)?;
    }
    match failed {
        None => Ok(Exit::Done),
        Some(failure) if versions.is_empty() => Err(failure),
        Some(failure) => Err(failure.hint(format!("{} of {} versions were submitted and go on", versions.len(), points.len()))),
    }
}

/// The spec at one point of the grid.
pub fn at(spec: &JobSpec, point: &Point) -> JobSpec {
    let mut spec = spec.clone();
    spec.params.extend(point.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
    spec
}

pub fn named(point: &Point) -> serde_json::Map<String, serde_json::Value> {
    let value = |param: &Param| serde_json::to_value(param).unwrap_or_default();
    point.iter().map(|(name, param)| (name.clone(), value(param))).collect()
}

fn show(context: &Context, versions: &[Version]) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(&serde_json::json!({ "submitted": versions }))?);
    }
    for note in versions.first().iter().flat_map(|version| &version.submitted.notes) {
        output::note(&format!("note: {note}"));
    }
    Ok(output::text(&table(versions).render(output::width(), "PARAMETERS"))?)
}

fn table(versions: &[Version]) -> Table {
    let mut table = Table::new(["VERSION", "PARAMETERS"]);
    for Version { submitted, params } in versions {
        table.row([format!("{}@{}", submitted.name, submitted.version).into(), shown(params).into()]);
    }
    table
}

/// `lr=0.1 batch=16`.
pub fn shown(params: &serde_json::Map<String, serde_json::Value>) -> String {
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    params.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fake::{Fake, Turn};

    fn spec() -> JobSpec {
        model::spec::read("name: a\nparams: {lr: 0.5, batch: 8, opt: sgd}\nroles: {w: {command: x}}").unwrap()
    }

    fn grid(axes: &[&str]) -> GridArgs {
        GridArgs { axes: axes.iter().map(|text| text.parse().unwrap()).collect() }
    }

    fn combined(axes: &[&str], most: usize) -> String {
        match points(&spec(), &grid(axes), most) {
            Ok(points) => points.iter().map(|point| shown(&named(point))).collect::<Vec<_>>().join("\n"),
            Err(failure) => format!("{} ({})", failure.body.message, failure.body.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn a_grid_is_every_combination_in_the_order_of_the_flags() {
        insta::assert_snapshot!(combined(&["lr=0.1,1e-2", "batch=16,32"], 4), @"
        lr=0.1 batch=16
        lr=0.1 batch=32
        lr=0.01 batch=16
        lr=0.01 batch=32
        ");
        assert_eq!(combined(&[r#"opt=["a,b","c"]"#], 4), "opt=a,b\nopt=c");
    }

    #[test]
    fn a_grid_that_cannot_be_meant_is_refused() {
        assert_eq!(
            combined(&["lr=1,2,3", "batch=1,2"], 5),
            "--grid: these values make 6 combinations; the most is 5 (leave some values out, or submit the grid in parts)"
        );
        assert_eq!(combined(&["batchh=1,2"], 5), "--grid batchh: the job has no parameter `batchh` (did you mean `batch`?)");
        assert_eq!(combined(&["lr=1", "lr=2"], 5), "--grid lr: this parameter is given twice ()");
        assert_eq!(combined(&["lr=1,fast"], 5), "--grid lr: it is a number in the job, and `fast` is not ()");
        assert_eq!("lr=1,1".parse::<Axis>().unwrap_err(), "1 is there twice");
        for bad in ["lr", "lr=", "lr=1,,2", "lr=[1", "lr=[]"] {
            assert!(bad.parse::<Axis>().is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn every_version_has_what_was_the_latest_at_the_beginning() {
        let text = "name: a\nalgorithm: mlp@latest\ninput: mnist@latest\ninputs: {b: {from: mnist@latest, unpack: true}, c: gone@latest, d: mnist@2, e: 'data:x@latest'}\nparams: {lr: 1}";
        let spec = model::spec::read(text).unwrap();
        let answers = [(200, r#"{"version":7}"#), (200, r#"{"version":3}"#), (404, r#"{"code":"not_found","message":"no"}"#)];
        let made = [(201, r#"{"id":"job-1","name":"a","version":1}"#), (201, r#"{"id":"job-2","name":"a","version":2}"#)];
        let fake = Fake::new(answers.into_iter().chain(made).map(|(status, body)| Turn::Answer(status, body.into())).collect()).await;
        submit(&fake.context, &spec, &grid(&["lr=1,2"]), &Parcel::json(&spec).unwrap()).await.unwrap();
        let told =
            |request: &String| format!("{} {}", request.lines().next().unwrap(), request.lines().last().unwrap()).trim_end().to_owned();
        insta::assert_snapshot!(fake.requests().iter().map(told).collect::<Vec<_>>().join("\n"), @r#"
        GET /api/v1/algorithms/mlp/versions/latest HTTP/1.1
        GET /api/v1/datasets/mnist/versions/latest HTTP/1.1
        GET /api/v1/datasets/gone/versions/latest HTTP/1.1
        POST /api/v1/jobs HTTP/1.1 {"name":"a","algorithm":"mlp@7","params":{"lr":1},"input":"mnist@3","inputs":{"b":{"from":"mnist@3","unpack":true},"c":"gone@latest","d":"mnist@2","e":"data:x@latest"}}
        POST /api/v1/jobs HTTP/1.1 {"name":"a","algorithm":"mlp@7","params":{"lr":2},"input":"mnist@3","inputs":{"b":{"from":"mnist@3","unpack":true},"c":"gone@latest","d":"mnist@2","e":"data:x@latest"}}
        "#);
    }

    #[tokio::test]
    async fn a_grid_is_not_submitted_while_nobody_says_what_the_latest_is() {
        let spec = model::spec::read("name: a\nalgorithm: mlp@latest\nparams: {lr: 1}").unwrap();
        let broken = Turn::Answer(500, r#"{"code":"broken","message":"no"}"#.into());
        let fake = Fake::new(vec![broken, Turn::Cut]).await;
        let failure = submit(&fake.context, &spec, &grid(&["lr=1,2"]), &Parcel::json(&spec).unwrap()).await.unwrap_err();
        assert_eq!((failure.body.code.as_str(), fake.requests().len()), ("broken", 1));
        assert!(fake.requests()[0].starts_with("GET /api/v1/algorithms/mlp/versions/latest "));
    }

    #[tokio::test]
    async fn what_was_submitted_before_a_failure_is_told() {
        let made = r#"{"id":"job-1","name":"a","version":1}"#;
        let refused = r#"{"code":"full","message":"no more room"}"#;
        let fake = Fake::new(vec![Turn::Answer(201, made.into()), Turn::Answer(422, refused.into())]).await;
        let failure = submit(&fake.context, &spec(), &grid(&["lr=1,2,3"]), &Parcel::json(&spec()).unwrap()).await.unwrap_err();
        assert_eq!(failure.body.hint.unwrap(), "1 of 3 versions were submitted and go on");
        let keys = fake.header("idempotency-key");
        assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    }
}
