//! Volumes: list, add, show, remove, test, and other keys. What opens one goes in and never comes out.

use std::{
    collections::BTreeMap,
    path::{Path as FilePath, PathBuf},
};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::{
    ids::VolumeName,
    plan::Plan,
    said,
    volume::{Credentials, Volume},
    wire::{ErrorBody, NewVolume, VolumeCheck, VolumeView},
    words::Words,
};

use super::{App, AppState, extract::Body, guard::Caller, jobs::label};
use crate::{
    control::now_ms,
    error::Error,
    store::{
        Sql, Written, datasets,
        jobs::Job,
        tokens::{Holder, Role},
        volumes::{self as rows, StoredVolume},
    },
    volumes::{self, Store, VolumeError},
};

/// Lists the volumes that the caller may use.
#[utoipa::path(get, path = "/api/v1/volumes", responses((status = 200, body = Vec<VolumeView>)))]
pub async fn list(State(app): AppState, Caller(holder): Caller) -> Result<Json<Vec<VolumeView>>, Error> {
    let all = app.store.read(rows::list).await?;
    Ok(Json(all.into_iter().filter(|volume| volume.is_for(&holder)).map(view).collect()))
}

/// Adds a volume. A directory of the server's machine can only be added by an administrator.
#[utoipa::path(post, path = "/api/v1/volumes", request_body = NewVolume,
    responses((status = 201, body = VolumeView), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn add(State(app): AppState, Caller(holder): Caller, Body(body): Body) -> Result<(StatusCode, Json<VolumeView>), Error> {
    let bad = |error: serde_json::Error| not_read(said!("a volume ({:?} error)", "数据卷（{:?} 错误）", error.classify()));
    let new: NewVolume = serde_json::from_slice(&body).map_err(bad)?;
    check(&app, &holder, &new)?;
    let sealed = new.credentials.as_ref().map(|credentials| seal(&app, &new.name, credentials)).transpose()?;
    let shared = holder.role == Role::Admin;
    let stored = StoredVolume { name: new.name, volume: new.volume, owner: holder.user, shared, sealed, created_at_ms: now_ms() };
    let to_add = stored.clone();
    match app.store.write(move |sql| rows::add(sql, &to_add)).await? {
        Written::Yes => Ok((StatusCode::CREATED, Json(view(stored)))),
        Written::Stale => Err(Error::VolumeTaken(stored.name.to_string())),
    }
}

/// The message of a parser may quote what it read, and that may be a secret.
fn not_read(wanted: Words) -> Error {
    Error::BadValue { name: "body", value: "******".into(), wanted }
}

fn check(app: &App, holder: &Holder, new: &NewVolume) -> Result<(), Error> {
    match &new.volume {
        Volume::Local { path } if holder.role != Role::Admin => {
            let wanted = said!(
                "a bucket or a URL: `{path}` is on the server's machine, whose directories only administrators add",
                "对象存储桶或 URL：`{path}` 在服务器的机器上，只有管理员可以添加那里的目录"
            );
            return Err(Error::BadValue { name: "kind", value: "local".into(), wanted });
        }
        Volume::Local { path } => keeps_clear_of(&app.data, FilePath::new(path))?,
        // They are used where they are; here they are only written down.
        Volume::Claim { .. } | Volume::Nfs { .. } => return Ok(()),
        Volume::S3 { .. } | Volume::Http { .. } => {}
    }
    volumes::open(&new.volume, new.credentials.as_ref()).map(|_| ()).map_err(Error::from)
}

/// A volume with the server's own data in it would hand everyone its tokens.
pub fn keeps_clear_of(data: &FilePath, path: &FilePath) -> Result<(), Error> {
    let whole = |path: &FilePath| -> PathBuf { std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) };
    let (data, path) = (whole(data), whole(path));
    if data.starts_with(&path) || path.starts_with(&data) {
        let wanted = said!("a directory apart from the server's own data", "与服务器自己的数据分开的目录");
        return Err(Error::BadValue { name: "path", value: path.display().to_string(), wanted });
    }
    Ok(())
}

fn seal(app: &App, name: &VolumeName, credentials: &Credentials) -> Result<String, Error> {
    let bytes = serde_json::to_vec(credentials).map_err(|_| Error::Internal("credentials that are not JSON".into()))?;
    app.seal.seal(&StoredVolume::seal_context(name), &bytes).map_err(|error| Error::Internal(error.to_string()))
}

/// Shows a volume.
#[utoipa::path(get, path = "/api/v1/volumes/{volume}", params(("volume" = String, Path)),
    responses((status = 200, body = VolumeView), (status = 404, body = ErrorBody)))]
pub async fn show(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<Json<VolumeView>, Error> {
    Ok(Json(view(found(&app, &holder, &name).await?)))
}

/// Forgets a volume, and leaves what is in it alone. One that a job still needs is kept.
#[utoipa::path(delete, path = "/api/v1/volumes/{volume}", params(("volume" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn remove(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<StatusCode, Error> {
    let name = owned(&app, &holder, &name).await?.name;
    app.store
        .write(move |sql: &Sql<'_>| {
            if let Some(job) = rows::used_by(sql, &name)?.first() {
                return Ok(Err(Error::VolumeInUse { volume: name.to_string(), job: label(job) }));
            }
            let datasets = datasets::in_volume(sql, &name)?;
            if !datasets.is_empty() {
                return Ok(Err(Error::VolumeHasDatasets { volume: name.to_string(), datasets }));
            }
            // One that somebody else has just removed is gone as wished.
            let (Written::Yes | Written::Stale) = rows::remove(sql, &name)?;
            Ok(Ok(StatusCode::NO_CONTENT))
        })
        .await?
}

/// Gives a bucket other keys. What it is and where stays; jobs that wait for it try again with them at once.
#[utoipa::path(put, path = "/api/v1/volumes/{volume}/credentials", params(("volume" = String, Path)),
    request_body = BTreeMap<String, String>,
    responses((status = 200, body = VolumeView), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn set_credentials(
    State(app): AppState,
    Caller(holder): Caller,
    Path(name): Path<String>,
    Body(body): Body,
) -> Result<Json<VolumeView>, Error> {
    let bad =
        |error: serde_json::Error| not_read(said!("the keys of a bucket ({:?} error)", "存储桶的密钥（{:?} 错误）", error.classify()));
    let credentials: Credentials = serde_json::from_slice(&body).map_err(bad)?;
    let volume = owned(&app, &holder, &name).await?;
    if !matches!(volume.volume, Volume::S3 { .. }) {
        let wanted = said!("a bucket: nothing else has keys", "存储桶：其他数据卷没有密钥");
        return Err(Error::BadValue { name: "volume", value: name, wanted });
    }
    volumes::open(&volume.volume, Some(&credentials))?;
    let sealed = seal(&app, &volume.name, &credentials)?;
    let seen = volume.clone();
    let set = move |sql: &Sql<'_>| match rows::set_keys(sql, &seen, &sealed)? {
        Written::Yes => rows::used_by(sql, &seen.name).map(Some),
        Written::Stale => Ok(None),
    };
    let waiting = app.store.write(set).await?.ok_or_else(|| Error::NoSuchVolume(name.clone()))?;
    for job in waiting {
        app.nudge.sync(job.id);
    }
    Ok(Json(view(found(&app, &holder, &name).await?)))
}

/// Tries what jobs will do with a volume: list, write, read, remove.
#[utoipa::path(post, path = "/api/v1/volumes/{volume}/test", params(("volume" = String, Path)),
    responses((status = 200, body = Vec<VolumeCheck>), (status = 404, body = ErrorBody)))]
pub async fn test(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<Json<Vec<VolumeCheck>>, Error> {
    let check = |what: &str, trouble: Option<VolumeError>| {
        let words = trouble.map(|error| error.words());
        VolumeCheck { what: what.to_owned(), refused: words.as_ref().map(|it| it.en.clone()), refused_zh: words.map(|it| it.zh) }
    };
    let store = match opened(&app, &holder, &name).await {
        Ok(store) => store,
        Err(Error::Volume(error)) => return Ok(Json(vec![check("open", Some(error))])),
        Err(other) => return Err(other),
    };
    let checks = store.test().await;
    Ok(Json(checks.into_iter().map(|it| check(it.what, it.result.err())).collect()))
}

pub async fn found(app: &App, holder: &Holder, name: &str) -> Result<StoredVolume, Error> {
    let nobody = || Error::NoSuchVolume(name.to_owned());
    let wanted = VolumeName::parse(name).map_err(|_| nobody())?;
    let volume = app.store.read(move |sql| rows::get(sql, &wanted)).await?;
    volume.filter(|volume| volume.is_for(holder)).ok_or_else(nobody)
}

/// A volume that is the caller's to change; an administrator may change every one.
async fn owned(app: &App, holder: &Holder, name: &str) -> Result<StoredVolume, Error> {
    let volume = found(app, holder, name).await?;
    if holder.role == Role::Admin || volume.owner == holder.user { Ok(volume) } else { Err(Error::Forbidden) }
}

/// Opens a volume that the caller may use.
pub async fn opened(app: &App, holder: &Holder, name: &str) -> Result<Store, Error> {
    open(app, &found(app, holder, name).await?)
}

pub fn open(app: &App, volume: &StoredVolume) -> Result<Store, Error> {
    let credentials = volume.sealed.as_ref().map(|sealed| unseal(app, &volume.name, sealed)).transpose()?;
    Ok(volumes::open(&volume.volume, credentials.as_ref())?.named(volume.name.as_str()))
}

fn unseal(app: &App, name: &VolumeName, sealed: &str) -> Result<Credentials, Error> {
    let bytes = app.seal.open(&StoredVolume::seal_context(name), sealed).map_err(|error| Error::Internal(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|_| Error::Internal(format!("the credentials of volume {name} are not what was sealed")))
}

/// Refuses a job that names volumes its owner does not have.
pub async fn check_named(app: &App, holder: &Holder, plan: &Plan) -> Result<(), Error> {
    if plan.volumes().is_empty() {
        return Ok(());
    }
    let all = app.store.read(rows::list).await?;
    let known = all.into_iter().filter(|volume| volume.is_for(holder)).map(|it| (it.name, it.volume)).collect();
    let problems = plan.volume_problems(&known);
    if problems.is_empty() { Ok(()) } else { Err(Error::BadSpec(problems)) }
}

/// What opens the volumes that a job names, as far as they need anything.
pub fn credentials(sql: &Sql<'_>, app: &App, job: &Job) -> Result<BTreeMap<VolumeName, Credentials>, Error> {
    let mut credentials = BTreeMap::new();
    for volume in rows::of_plan(sql, &job.owner, &job.plan)? {
        if let Some(sealed) = volume.sealed {
            credentials.insert(volume.name.clone(), unseal(app, &volume.name, &sealed)?);
        }
    }
    Ok(credentials)
}

fn view(volume: StoredVolume) -> VolumeView {
    VolumeView {
        name: volume.name,
        volume: volume.volume,
        owner: volume.owner,
        has_credentials: volume.sealed.is_some(),
        created_at_ms: volume.created_at_ms,
    }
}
