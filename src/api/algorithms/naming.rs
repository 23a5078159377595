//! What the algorithm is that a job file names: looked up once, when the job is submitted.

use model::{
    algorithm::Kept,
    dialect::{self, Given, Translation, translate, translate_with},
    ids::AlgorithmName,
    said,
    spec::{Problem, algorithm_of, nearest, places},
    versioned::{Version, Versioned},
    words::Words,
};

use super::{App, Holder, StoredAlgorithm, rows, stored};
use crate::{
    error::Error,
    store::{Sql, StoreError},
};

/// The job that a file makes with its algorithm, or every problem of the file.
pub async fn translated(app: &App, holder: &Holder, (text, given): (&str, &Given)) -> Result<Translation, Error> {
    let named = if dialect::is_ours(text) { algorithm_of(text).and_then(|it| it.parse().ok()) } else { None };
    let Some(named) = named else { return translate(text, given, &app.house).map_err(Error::BadSpec) };
    let (who, wanted) = (holder.clone(), named);
    let looked_up = app.store.read(move |sql| look_up(sql, &who, &wanted)).await?;
    match looked_up {
        Ok(kept) => translate_with(text, given, (&app.house, Some(&kept))).map_err(Error::BadSpec),
        Err((message, hint)) => {
            let unknown = Problem::new("algorithm", message).hint(hint);
            let unknown = match places(text).nearest("algorithm") {
                Some(place) => unknown.at(place),
                None => unknown,
            };
            let others = translate(text, given, &app.house).err().unwrap_or_default();
            let others = others.into_iter().filter(|it| it.path != "algorithm");
            Err(Error::BadSpec([unknown].into_iter().chain(others).collect()))
        }
    }
}

/// What is said of a name that stands for nothing, and what to do about it.
type Unknown = (Words, Words);

fn look_up(sql: &Sql<'_>, holder: &Holder, named: &Versioned<AlgorithmName>) -> Result<Result<Kept, Unknown>, StoreError> {
    let theirs = rows::get(sql, &named.name)?.filter(|it| it.is_for(holder));
    let Some(algorithm) = theirs else { return no_algorithm(sql, holder, &named.name).map(Err) };
    match stored(sql, &algorithm.name, named.version)? {
        Some(found) => Ok(Ok(found.what)),
        None => no_version(sql, &algorithm, named.version).map(Err),
    }
}

fn no_algorithm(sql: &Sql<'_>, holder: &Holder, name: &AlgorithmName) -> Result<Unknown, StoreError> {
    let there: Vec<StoredAlgorithm> = rows::list(sql)?.into_iter().filter(|it| it.is_for(holder)).collect();
    let near = nearest(name.as_str(), there.iter().map(|it| it.name.as_str()));
    let hint = match near {
        Some(near) => said!("did you mean `{near}`?", "是不是想写 `{near}`？"),
        None => said!("`trainmaster algorithms list` shows the algorithms there are", "用 `trainmaster algorithms list` 查看现有的算法"),
    };
    Ok((said!("there is no algorithm `{name}`", "没有算法 `{name}`"), hint))
}

fn no_version(sql: &Sql<'_>, algorithm: &StoredAlgorithm, version: Version) -> Result<Unknown, StoreError> {
    let name = &algorithm.name;
    let hint = match rows::versions(sql, name, 1)?.pop() {
        Some(newest) => {
            said!("the newest is `{}`; one that was forgotten does not come back", "最新的是 `{}`；移除的版本无法恢复", newest.what.at)
        }
        None => said!(
            "all were forgotten; `trainmaster algorithms add` makes another",
            "全部都已移除；用 `trainmaster algorithms add` 添加新的"
        ),
    };
    Ok((said!("the algorithm `{name}` has no version {version}", "算法 `{name}` 没有版本 {version}"), hint))
}
