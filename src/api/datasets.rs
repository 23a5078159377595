//! Datasets: list, make the next version, show, forget. The data itself stays where it is.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::{
    dataset::DatasetVersion,
    ids::DatasetName,
    location::Location,
    plan::{DESCRIPTION_CHARACTERS_MAX, description_problems},
    said,
    versioned::Version,
    wire::{DatasetDetail, DatasetVersionView, DatasetView, ErrorBody, NewDatasetVersion},
    words::Words,
};

use super::{App, AppState, extract::Body, guard::Caller, named};
use crate::{
    control::now_ms,
    error::Error,
    store::{
        Sql, StoreError, Written,
        datasets::{self as rows, Made, NewVersion, StoredDataset, StoredVersion},
        lineage::How,
        named::Named,
        tokens::Holder,
    },
};

pub mod files;
mod holding;
pub mod pinning;

use holding::holding;

/// So many versions of a dataset are told, the newest of them.
const VERSIONS_TOLD_MAX: u32 = 1_000;

/// Lists the datasets that the caller may use.
#[utoipa::path(get, path = "/api/v1/datasets", responses((status = 200, body = Vec<DatasetView>)))]
pub async fn list(State(app): AppState, Caller(holder): Caller) -> Result<Json<Vec<DatasetView>>, Error> {
    let all = move |sql: &Sql<'_>| {
        let theirs = rows::list(sql)?.into_iter().filter(|dataset| dataset.named.is_for(&holder));
        theirs.map(|dataset| view(sql, &holder, dataset)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Json(app.store.read(all).await?))
}

/// Makes the next version of a dataset, and the dataset if its name is new: looks at what the place holds, and keeps that with it.
/// The newest version again is no new one, so this is safe to repeat until another is made.
#[utoipa::path(post, path = "/api/v1/datasets", request_body = NewDatasetVersion,
    responses((status = 201, body = DatasetVersionView), (status = 200, description = "The newest version is just that", body = DatasetVersionView),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn add(State(app): AppState, Caller(holder): Caller, Body(body): Body) -> Result<(StatusCode, Json<DatasetVersionView>), Error> {
    let bad = |error: serde_json::Error| Error::BadValue {
        name: "body",
        value: error.to_string(),
        wanted: (r#"{"name": "mnist", "at": "data:mnist/v1"}"#, r#"{"name": "mnist", "at": "data:mnist/v1"}"#).into(),
    };
    let new: NewDatasetVersion = serde_json::from_slice(&body).map_err(bad)?;
    let dataset = parsed(
        "name",
        &new.name,
        said!("a name of letters, digits, `-`, `.`, `_` and `~`", "由字母、数字、`-`、`.`、`_` 和 `~` 组成的名字"),
    )?;
    let at: Location = parsed("at", &new.at, said!("a place such as `data:mnist/v1`", "`data:mnist/v1` 这样的位置"))?;
    short("description", new.description.as_deref())?;
    short("note", new.note.as_deref())?;
    is_theirs(&app, &holder, &dataset).await?;
    let (held, volume) = holding(&app, &holder, &at).await?;
    let what = DatasetVersion { dataset, version: 0, at, held };
    let note = new.note.unwrap_or_default();
    let version = NewVersion { what, volume, description: new.description, note, by: holder.clone(), at_ms: now_ms() };
    let make = move |sql: &Sql<'_>| {
        Ok(match rows::make(sql, &version)? {
            Made::New(made) => Ok((StatusCode::CREATED, Json(version_view(sql, &holder, made)?))),
            Made::Known(known) => Ok((StatusCode::OK, Json(version_view(sql, &holder, known)?))),
            Made::Taken => Err(Error::DatasetTaken(new.name)),
            Made::NoVolume => Err(Error::NoSuchVolume(version.what.at.volume().map_or_else(String::new, ToString::to_string))),
        })
    };
    app.store.write(make).await?
}

fn parsed<T: std::str::FromStr>(name: &'static str, text: &str, wanted: Words) -> Result<T, Error> {
    text.parse().map_err(|_| Error::BadValue { name, value: text.to_owned(), wanted })
}

fn short(name: &'static str, text: Option<&str>) -> Result<(), Error> {
    match description_problems(text.unwrap_or_default()).first() {
        Some(_) => {
            let most = DESCRIPTION_CHARACTERS_MAX;
            let wanted = said!("a text of at most {most} characters, without control characters", "最多 {most} 个字符、不含控制字符的文字");
            Err(Error::BadValue { name, value: text.unwrap_or_default().chars().take(40).collect(), wanted })
        }
        None => Ok(()),
    }
}

/// Said before a large place is looked through. Whoever takes the name meanwhile is noticed when it is written.
async fn is_theirs(app: &App, holder: &Holder, name: &DatasetName) -> Result<(), Error> {
    let wanted = name.clone();
    match app.store.read(move |sql| rows::get(sql, &wanted)).await? {
        Some(dataset) if !dataset.named.is_of(holder) => Err(Error::DatasetTaken(name.to_string())),
        Some(_) | None => Ok(()),
    }
}

/// Shows a dataset with its versions.
#[utoipa::path(get, path = "/api/v1/datasets/{dataset}", params(("dataset" = String, Path)),
    responses((status = 200, body = DatasetDetail), (status = 404, body = ErrorBody)))]
pub async fn show(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<Json<DatasetDetail>, Error> {
    let dataset = found(&app, &holder, &name).await?;
    Ok(Json(app.store.read(move |sql| detail(sql, &holder, dataset)).await?))
}

/// Shows a version of a dataset: a number, or `latest`.
#[utoipa::path(get, path = "/api/v1/datasets/{dataset}/versions/{version}", params(("dataset" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = DatasetVersionView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn show_version(
    State(app): AppState,
    Caller(holder): Caller,
    Path((name, version)): Path<(String, String)>,
) -> Result<Json<DatasetVersionView>, Error> {
    let (dataset, number) = (found(&app, &holder, &name).await?, named::version(&version)?);
    let read = move |sql: &Sql<'_>| match stored(sql, &dataset.named.name, number)? {
        Some(found) => version_view(sql, &holder, found).map(Some),
        None => Ok(None),
    };
    app.store.read(read).await?.map(Json).ok_or(Error::NoSuchDatasetVersion { dataset: name, version })
}

/// Forgets a dataset with all its versions. The data stays, and jobs that named it go on.
#[utoipa::path(delete, path = "/api/v1/datasets/{dataset}", params(("dataset" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<StatusCode, Error> {
    let dataset = found(&app, &holder, &name).await?;
    named::is_theirs(&holder, &dataset.named)?;
    // One that somebody else has just forgotten is gone as wished.
    let (Written::Yes | Written::Stale) = app.store.write(move |sql| rows::remove(sql, &dataset.named.name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Forgets a version of a dataset by its number, which is never used again. The data stays.
#[utoipa::path(delete, path = "/api/v1/datasets/{dataset}/versions/{version}",
    params(("dataset" = String, Path), ("version" = String, Path)),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_version(
    State(app): AppState,
    Caller(holder): Caller,
    Path((name, version)): Path<(String, String)>,
) -> Result<StatusCode, Error> {
    let (dataset, number) = (found(&app, &holder, &name).await?, named::number(&version)?);
    named::is_theirs(&holder, &dataset.named)?;
    match app.store.write(move |sql| rows::remove_version(sql, &dataset.named.name, number)).await? {
        Written::Yes => Ok(StatusCode::NO_CONTENT),
        Written::Stale => Err(Error::NoSuchDatasetVersion { dataset: name, version }),
    }
}

async fn found(app: &App, holder: &Holder, name: &str) -> Result<StoredDataset, Error> {
    let nobody = || Error::NoSuchDataset(name.to_owned());
    let wanted = DatasetName::parse(name).map_err(|_| nobody())?;
    let dataset = app.store.read(move |sql| rows::get(sql, &wanted)).await?;
    dataset.filter(|dataset| dataset.named.is_for(holder)).ok_or_else(nobody)
}

fn stored(sql: &Sql<'_>, name: &DatasetName, version: Version) -> Result<Option<StoredVersion>, StoreError> {
    match version {
        Version::Number(number) => rows::version(sql, name, number),
        Version::Latest => Ok(rows::versions(sql, name, 1)?.pop()),
    }
}

fn view(sql: &Sql<'_>, holder: &Holder, dataset: StoredDataset) -> Result<DatasetView, StoreError> {
    let latest = stored(sql, &dataset.named.name, Version::Latest)?.map(|it| version_view(sql, holder, it)).transpose()?;
    let StoredDataset { named: Named { name, owner, created_at_ms, .. }, description } = dataset;
    Ok(DatasetView { versions: rows::count(sql, &name)?, name: name.to_string(), description, owner, created_at_ms, latest })
}

fn detail(sql: &Sql<'_>, holder: &Holder, dataset: StoredDataset) -> Result<DatasetDetail, StoreError> {
    let all = rows::versions(sql, &dataset.named.name, VERSIONS_TOLD_MAX)?;
    let all = all.into_iter().map(|it| version_view(sql, holder, it)).collect::<Result<_, _>>()?;
    let DatasetView { name, description, owner, created_at_ms, versions, latest } = view(sql, holder, dataset)?;
    Ok(DatasetDetail { name, description, owner, created_at_ms, versions, latest, all })
}

fn version_view(sql: &Sql<'_>, holder: &Holder, stored: StoredVersion) -> Result<DatasetVersionView, StoreError> {
    let StoredVersion { what, note, made_by, created_at_ms } = stored;
    let jobs = named::jobs(sql, holder, How::Dataset, &what.name().to_string())?;
    Ok(DatasetVersionView {
        dataset: what.dataset.to_string(),
        version: what.version,
        at: what.at.without_query(),
        note,
        files: what.held.files,
        bytes: what.held.bytes,
        fingerprint: what.held.fingerprint,
        made_by,
        created_at_ms,
        jobs,
    })
}
