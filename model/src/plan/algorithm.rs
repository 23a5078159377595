//! Jobs that name an algorithm: what it says is laid under what they say, and the whole is planned as any other job.

use super::{
    HouseRules, Plan,
    compile::{compile_alone, compile_laid},
};
use crate::{
    algorithm::{Algorithm, Kept, lay, unknown_for},
    ids::AlgorithmName,
    said,
    spec::{ALGORITHM_HINT, Input, JobSpec, Output, Problem, join, shown},
    versioned::{BadVersioned, Versioned},
};

/// Problems have a path and no place: a spec need not come from a file. [`super::from_text`] adds the places.
pub fn compile(spec: &JobSpec, house: &HouseRules) -> Result<Plan, Vec<Problem>> {
    compile_with(spec, house, None)
}

/// The same with the algorithm that the spec names, without which there is no plan.
pub fn compile_with(spec: &JobSpec, house: &HouseRules, kept: Option<&Kept>) -> Result<Plan, Vec<Problem>> {
    match (&spec.algorithm, kept) {
        (None, _) => compile_alone(spec, house),
        (Some(_), Some(kept)) => laid(spec, &kept.document, house).map(|plan| Plan { algorithm: Some(kept.at.clone()), ..plan }),
        (Some(text), None) => match problems(spec, house) {
            none if none.is_empty() => Err(vec![not_known(text)]),
            some => Err(some),
        },
    }
}

/// What is wrong with a job, whatever its algorithm says.
pub fn problems(spec: &JobSpec, house: &HouseRules) -> Vec<Problem> {
    let Some(text) = &spec.algorithm else { return compile_alone(spec, house).err().unwrap_or_default() };
    let bad_name = text.parse::<Versioned<AlgorithmName>>().err().map(|bad| not_named(text, &bad));
    let others = laid(spec, &unknown_for(spec), house).err().unwrap_or_default();
    bad_name.into_iter().chain(others).collect()
}

fn laid(spec: &JobSpec, algorithm: &Algorithm, house: &HouseRules) -> Result<Plan, Vec<Problem>> {
    let (laid, problems) = lay(spec, algorithm);
    let planned = compile_laid(&laid, house);
    match planned {
        Ok(plan) if problems.is_empty() => Ok(plan),
        Ok(_) => Err(problems),
        Err(found) => Err(problems.into_iter().chain(found.into_iter().map(|it| at_its_place(it, spec))).collect()),
    }
}

fn not_known(text: &str) -> Problem {
    Problem::new("algorithm", said!("{} is known to the server alone", "{} 只有服务器知道", shown(text)))
        .hint(said!("let a server judge the job: `trainmaster submit --dry-run`", "请让服务器检查这个作业：`trainmaster submit --dry-run`"))
}

fn not_named(text: &str, bad: &BadVersioned) -> Problem {
    Problem::new("algorithm", bad.words().of(&shown(text))).hint(ALGORITHM_HINT)
}

/// A channel that is one text in the job is a map once the algorithm has said the rest of it.
fn at_its_place(problem: Problem, spec: &JobSpec) -> Problem {
    let inputs = spec.inputs.iter().filter(|(_, it)| matches!(it, Input::Place(_))).map(|(name, _)| join("inputs", name));
    let outputs = spec.outputs.iter().filter(|(_, it)| matches!(it, Output::Place(_))).map(|(name, _)| join("outputs", name));
    let found =
        inputs.chain(outputs).find(|path| problem.path.strip_prefix(path.as_str()).is_some_and(|rest| matches!(rest, ".from" | ".to")));
    match found {
        Some(path) => Problem { path, ..problem },
        None => problem,
    }
}
