//! `@latest` as the number that it is now: all versions of a grid are made of the same, whatever is added while they are submitted.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    str::FromStr,
};

use model::{
    ids::{AlgorithmName, BadName, DatasetName},
    spec::JobSpec,
    versioned::{Version, Versioned},
};
use serde::Deserialize;

use crate::{
    cli::{
        context::{Context, read_answer},
        failure::{Exit, Failure},
        versioned::Named,
    },
    client::Call,
};

/// What is asked for of either kind's version.
#[derive(Deserialize)]
struct Latest {
    version: u32,
}

pub async fn numbered(context: &Context, spec: &JobSpec) -> Result<JobSpec, Failure> {
    let mut spec = spec.clone();
    if let Some(algorithm) = &mut spec.algorithm {
        *algorithm = number::<AlgorithmName>(context, "algorithms", algorithm).await?;
    }
    let mut numbers = BTreeMap::new();
    for from in spec.input.iter().chain(spec.inputs.values()).map(|input| input.channel().from) {
        if let Entry::Vacant(unasked) = numbers.entry(from) {
            let number = number::<DatasetName>(context, "datasets", unasked.key()).await?;
            unasked.insert(number);
        }
    }
    let number = |from: String| numbers.get(&from).cloned().unwrap_or(from);
    spec.input = spec.input.take().map(|input| input.with_place(number));
    spec.inputs.values_mut().for_each(|input| *input = input.clone().with_place(number));
    Ok(spec)
}

/// The text as it is where it does not say `@latest`, or where there is no such thing: the submission says that with its place.
async fn number<Name: FromStr<Err = BadName> + fmt::Display>(context: &Context, kind: &str, text: &str) -> Result<String, Failure> {
    let Ok(named @ Named { version: Some(Version::Latest), .. }) = text.parse::<Named<Name>>() else { return Ok(text.to_owned()) };
    let path = named.path(kind);
    match context.insist(|| Call::get(&path)).await.and_then(|answer| read_answer::<Latest>(&answer)) {
        Ok(Latest { version }) => Ok(Versioned { name: named.name, version: Version::Number(version) }.to_string()),
        Err(failure) if failure.exit == Exit::You => Ok(text.to_owned()),
        Err(failure) => Err(failure),
    }
}
