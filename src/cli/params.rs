//! `-p lr=0.1`: another value for a parameter that the job has.

use model::spec::{JobSpec, Param, nearest};

use super::failure::Failure;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct ParamArgs {
    /// Another value for one of the job's parameters; may be given again
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    pub params: Vec<Assignment>,
}

impl ParamArgs {
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }
}

/// A parameter's name and its value as typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub name: String,
    pub value: String,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write it as name=value, such as lr=0.1")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

pub fn with_params(mut spec: JobSpec, args: &ParamArgs) -> Result<JobSpec, Failure> {
    for Assignment { name, value } in &args.params {
        let is_left_out = spec.algorithm.is_some() && value == "null";
        let param = if is_left_out { None } else { Some(retyped(&spec, "-p", name, value)?) };
        spec.params.insert(name.clone(), param);
    }
    Ok(spec)
}

/// The value with the type that the job's own value has. What an algorithm takes is for the server to say, which knows it.
pub fn retyped(spec: &JobSpec, flag: &str, name: &str, value: &str) -> Result<Param, Failure> {
    if spec.algorithm.is_some() {
        return Ok(Param::as_typed(value));
    }
    let known = spec.params.get(name).and_then(Option::as_ref).ok_or_else(|| unknown(spec, flag, name))?;
    known.retyped(value).map_err(|why| Failure::usage(format!("{flag} {name}: it {why}")))
}

fn unknown(spec: &JobSpec, flag: &str, name: &str) -> Failure {
    let names = || spec.params.keys().map(String::as_str);
    let failure = Failure::usage(format!("{flag} {name}: the job has no parameter `{name}`"));
    match nearest(name, names()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if spec.params.is_empty() => failure.hint("it has none at all; write them under `params` in the job file"),
        None => failure.hint(format!("it has {}", names().collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(given: &[&str]) -> String {
        let spec = model::spec::read("name: a\nparams: {lr: 1, opt: '1.9', fast: true}\nroles: {w: {command: x}}").unwrap();
        let params = given.iter().map(|text| text.parse().unwrap()).collect();
        match with_params(spec, &ParamArgs { params }) {
            Ok(spec) => serde_json::to_string(&spec.params).unwrap(),
            Err(failure) => format!("{} ({})", failure.body.message, failure.body.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn a_parameter_is_changed_and_keeps_its_kind() {
        assert_eq!(changed(&["lr=0.5", "opt=1.10", "fast=false"]), r#"{"lr":0.5,"opt":"1.10","fast":false}"#);
        assert_eq!(changed(&["lr=many"]), "-p lr: it is a number in the job, and `many` is not ()");
    }

    #[test]
    fn a_parameter_the_job_does_not_have_is_refused_with_the_nearest_one() {
        assert_eq!(changed(&["lrr=1"]), "-p lrr: the job has no parameter `lrr` (did you mean `lr`?)");
        assert_eq!(changed(&["momentum=1"]), "-p momentum: the job has no parameter `momentum` (it has lr, opt, fast)");
        assert!("lr".parse::<Assignment>().is_err());
    }

    #[test]
    fn a_job_may_set_what_its_algorithm_has_and_leave_out_what_it_can_do_without() {
        let spec = model::spec::read("name: a\nalgorithm: mlp@1\nparams: {lr: 1, augment: null}").unwrap();
        let params = ["lr=0.5", "epochs=3", "augment=true", "dropout=null", "tag=1.10"].map(|text| text.parse().unwrap()).into();
        let changed = with_params(spec, &ParamArgs { params }).unwrap();
        assert_eq!(serde_json::to_string(&changed.params).unwrap(), r#"{"lr":0.5,"augment":true,"epochs":3,"dropout":null,"tag":"1.10"}"#);
    }
}
