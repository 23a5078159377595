//! Algorithms: list, make the next version, show, forget. Jobs that were made from one have all they need in their plans.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use model::{
    algorithm::{Algorithm, Kept, check, read, remarks},
    ids::AlgorithmName,
    plan::Plan,
    said,
    versioned::Version,
    wire::{AlgorithmDetail, AlgorithmVersionSummary, AlgorithmVersionView, AlgorithmView, ErrorBody, Handed},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App, AppState,
    extract::{Body, Query},
    guard::Caller,
    language::{LangQuery, Language},
    named,
    original::Sent,
    uploads, volumes,
};
use crate::{
    control::now_ms,
    error::Error,
    store::{
        Sql, StoreError, Written,
        algorithms::{self as rows, Made, NewVersion, StoredAlgorithm, StoredVersion},
        lineage::How,
        tokens::Holder,
    },
};

pub mod naming;

/// So many algorithms are told, by their names.
const ALGORITHMS_TOLD_MAX: usize = 1_000;
/// So many versions of an algorithm are told, the newest of them.
const VERSIONS_TOLD_MAX: u32 = 100;
/// Far more than anybody writes.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// More than the address of an image has.
const IMAGE_CHARACTERS_TOLD_MAX: usize = 300;

/// Lists the algorithms that the caller may use: the first thousand, by their names.
#[utoipa::path(get, path = "/api/v1/algorithms", responses((status = 200, body = Vec<AlgorithmView>)))]
pub async fn list(State(app): AppState, Caller(holder): Caller) -> Result<Json<Vec<AlgorithmView>>, Error> {
    let all = move |sql: &Sql<'_>| {
        let theirs = rows::list(sql)?.into_iter().filter(|algorithm| algorithm.is_for(&holder));
        theirs.take(ALGORITHMS_TOLD_MAX).map(|algorithm| view(sql, &holder, algorithm)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Json(app.store.read(all).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AddQuery {
    /// Only checks the algorithm, and answers the version that it would be. The folder of its code need not be uploaded yet.
    #[serde(default)]
    dry_run: bool,
}

/// Makes the next version of an algorithm, and the algorithm if its name is new. The body is the algorithm itself, as YAML or JSON.
/// The newest version again is no new one, so this is safe to repeat until another is made.
#[utoipa::path(post, path = "/api/v1/algorithms", params(AddQuery, LangQuery),
    request_body(content((String = "application/yaml"), (Handed = "application/vnd.trainmaster.handed+json"))),
    responses((status = 201, body = AlgorithmVersionView),
        (status = 200, description = "The newest version is just that, or a dry run", body = AlgorithmVersionView),
        (status = 400, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn add(
    State(app): AppState,
    Caller(holder): Caller,
    asked: (Query<AddQuery>, Language),
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<AlgorithmVersionView>), Error> {
    let (Query(query), Language(lang)) = asked;
    let sent = Sent::read(headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes), &body)?;
    let text = as_text(&sent.spec)?;
    let document = read(text).map_err(Error::BadAlgorithm)?;
    let name = AlgorithmName::parse(&document.name).map_err(|bad| Error::Internal(bad.to_string()))?;
    let plan = planned(&app, &holder, &document).await?;
    // It is not swept away before it is written that the version needs it. A dry run may come before the folder does.
    let _folder = if query.dry_run { None } else { uploads::named(&app, &plan).await.map_err(as_its_own)? };
    let text = as_text(sent.original())?.to_owned();
    let new = NewVersion { name: name.clone(), document, text, by: holder.clone(), at_ms: now_ms() };
    let make = move |sql: &Sql<'_>| {
        Ok(match rows::make(sql, &new)? {
            Made::New(made) => Some((StatusCode::CREATED, version_view(sql, &holder, made)?)),
            Made::Known(known) => Some((StatusCode::OK, version_view(sql, &holder, known)?)),
            Made::Taken => None,
        })
    };
    let made = match query.dry_run {
        false => app.store.write(make).await?,
        // What would come of it, and nothing of it stays.
        true => app.store.write(move |sql| sql.and_undo(make)).await?.map(|(_, view)| (StatusCode::OK, view)),
    };
    let (status, view) = made.ok_or_else(|| Error::AlgorithmTaken(name.to_string()))?;
    let notes = remarks(&plan).iter().map(|words| words.say(lang).to_owned()).collect();
    Ok((status, Json(AlgorithmVersionView { notes, ..view })))
}

fn as_text(body: &[u8]) -> Result<&str, Error> {
    if body.len() > DOCUMENT_BYTES_MAX {
        return Err(Error::TooLarge { most_bytes: DOCUMENT_BYTES_MAX });
    }
    let wanted = said!("text in UTF-8", "UTF-8 文本");
    std::str::from_utf8(body).map_err(|error| Error::BadValue { name: "body", value: error.to_string(), wanted })
}

/// A job of it, whose volume is there and theirs to use.
async fn planned(app: &App, holder: &Holder, document: &Algorithm) -> Result<Plan, Error> {
    let plan = check(document).map_err(Error::BadAlgorithm)?;
    volumes::check_named(app, holder, &plan).await.map_err(as_its_own)?;
    Ok(plan)
}

fn as_its_own(error: Error) -> Error {
    if let Error::BadSpec(problems) = error { Error::BadAlgorithm(problems) } else { error }
}

/// Shows an algorithm with its versions. What each of them says is told of one alone.
#[utoipa::path(get, path = "/api/v1/algorithms/{algorithm}", params(("algorithm" = String, Path)),
    responses((status = 200, body = AlgorithmDetail), (status = 404, body = ErrorBody)))]
pub async fn show(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<Json<AlgorithmDetail>, Error> {
    let algorithm = found(&app, &holder, &name).await?;
    Ok(Json(app.store.read(move |sql| detail(sql, &holder, algorithm)).await?))
}

/// Shows a version of an algorithm: a number, or `latest`.
#[utoipa::path(get, path = "/api/v1/algorithms/{algorithm}/versions/{version}",
    params(("algorithm" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = AlgorithmVersionView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn show_version(
    State(app): AppState,
    Caller(holder): Caller,
    Path((name, version)): Path<(String, String)>,
) -> Result<Json<AlgorithmVersionView>, Error> {
    let (algorithm, number) = (found(&app, &holder, &name).await?, named::version(&version)?);
    let read = move |sql: &Sql<'_>| match stored(sql, &algorithm.name, number)? {
        Some(found) => version_view(sql, &holder, found).map(Some),
        None => Ok(None),
    };
    app.store.read(read).await?.map(Json).ok_or(Error::NoSuchAlgorithmVersion { algorithm: name, version })
}

/// Forgets an algorithm with all its versions. Jobs that were made from it go on.
#[utoipa::path(delete, path = "/api/v1/algorithms/{algorithm}", params(("algorithm" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<StatusCode, Error> {
    let algorithm = found(&app, &holder, &name).await?;
    named::is_theirs(&holder, &algorithm)?;
    // One that somebody else has just forgotten is gone as wished.
    let (Written::Yes | Written::Stale) = app.store.write(move |sql| rows::remove(sql, &algorithm.name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Forgets a version of an algorithm by its number, which is never used again. Jobs that were made from it go on.
#[utoipa::path(delete, path = "/api/v1/algorithms/{algorithm}/versions/{version}",
    params(("algorithm" = String, Path), ("version" = String, Path)),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_version(
    State(app): AppState,
    Caller(holder): Caller,
    Path((name, version)): Path<(String, String)>,
) -> Result<StatusCode, Error> {
    let (algorithm, number) = (found(&app, &holder, &name).await?, named::number(&version)?);
    named::is_theirs(&holder, &algorithm)?;
    match app.store.write(move |sql| rows::remove_version(sql, &algorithm.name, number)).await? {
        Written::Yes => Ok(StatusCode::NO_CONTENT),
        Written::Stale => Err(Error::NoSuchAlgorithmVersion { algorithm: name, version }),
    }
}

async fn found(app: &App, holder: &Holder, name: &str) -> Result<StoredAlgorithm, Error> {
    let nobody = || Error::NoSuchAlgorithm(name.to_owned());
    let wanted = AlgorithmName::parse(name).map_err(|_| nobody())?;
    let algorithm = app.store.read(move |sql| rows::get(sql, &wanted)).await?;
    algorithm.filter(|algorithm| algorithm.is_for(holder)).ok_or_else(nobody)
}

fn stored(sql: &Sql<'_>, name: &AlgorithmName, version: Version) -> Result<Option<StoredVersion>, StoreError> {
    match version {
        Version::Number(number) => rows::version(sql, name, number),
        Version::Latest => Ok(rows::versions(sql, name, 1)?.pop()),
    }
}

fn view(sql: &Sql<'_>, holder: &Holder, algorithm: StoredAlgorithm) -> Result<AlgorithmView, StoreError> {
    let latest = stored(sql, &algorithm.name, Version::Latest)?.map(|it| summary(sql, holder, it)).transpose()?;
    let description = latest.as_ref().map(|it| it.description.clone()).unwrap_or_default();
    let StoredAlgorithm { name, owner, created_at_ms, .. } = algorithm;
    Ok(AlgorithmView { versions: rows::count(sql, &name)?, name: name.to_string(), description, owner, created_at_ms, latest })
}

fn detail(sql: &Sql<'_>, holder: &Holder, algorithm: StoredAlgorithm) -> Result<AlgorithmDetail, StoreError> {
    let all = rows::versions(sql, &algorithm.name, VERSIONS_TOLD_MAX)?;
    let all = all.into_iter().map(|it| summary(sql, holder, it)).collect::<Result<_, _>>()?;
    let AlgorithmView { name, description, owner, created_at_ms, versions, latest } = view(sql, holder, algorithm)?;
    Ok(AlgorithmDetail { name, description, owner, created_at_ms, versions, latest, all })
}

fn summary(sql: &Sql<'_>, holder: &Holder, stored: StoredVersion) -> Result<AlgorithmVersionSummary, StoreError> {
    let AlgorithmVersionView { algorithm, version, description, document, made_by, created_at_ms, jobs, .. } =
        version_view(sql, holder, stored)?;
    let Algorithm { framework, image, .. } = document;
    let image = image.map(|it| it.chars().take(IMAGE_CHARACTERS_TOLD_MAX).collect());
    Ok(AlgorithmVersionSummary { algorithm, version, description, framework, image, made_by, created_at_ms, jobs })
}

fn version_view(sql: &Sql<'_>, holder: &Holder, stored: StoredVersion) -> Result<AlgorithmVersionView, StoreError> {
    let StoredVersion { what: Kept { at, document }, text, made_by, created_at_ms } = stored;
    let jobs = named::jobs(sql, holder, How::Algorithm, &at.to_string())?;
    Ok(AlgorithmVersionView {
        algorithm: at.name.to_string(),
        version: at.version,
        description: document.description.clone().unwrap_or_default(),
        document,
        text,
        made_by,
        created_at_ms,
        jobs,
        notes: Vec::new(),
    })
}
