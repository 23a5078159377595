//! Secrets: they go in and never come out, but to the run that needs them.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::{
    ids::RunKey,
    order::RunSecrets,
    said,
    sync::SyncState,
    template,
    wire::{ErrorBody, SecretView},
};

use super::{
    App, AppState,
    extract::Body,
    guard::{Caller, OwnRun},
    volumes,
};
use crate::{
    control::now_ms,
    error::Error,
    store::{Sql, StoreError, Written, jobs, runs, secrets},
};

const VALUE_BYTES_MAX: usize = 64 << 10;
const NAME_CHARACTERS_MAX: usize = 128;

/// Keeps a secret of the caller's, in the place of one of that name. The body is the secret itself.
#[utoipa::path(put, path = "/api/v1/secrets/{name}", params(("name" = String, Path)),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub async fn set(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>, Body(body): Body) -> Result<StatusCode, Error> {
    let name = good_name(name)?;
    if body.len() > VALUE_BYTES_MAX {
        return Err(Error::TooLarge { most_bytes: VALUE_BYTES_MAX });
    }
    let bad = || Error::BadValue {
        name: "body",
        value: "******".into(),
        wanted: ("text in UTF-8 without NUL characters", "不含 NUL 字符的 UTF-8 文本").into(),
    };
    let value = String::from_utf8(body.to_vec()).ok().filter(|value| !value.contains('\0')).ok_or_else(bad)?;
    let seal = app.seal.clone();
    app.store.write(move |sql| secrets::set(sql, &seal, (&holder.user, &name), &value, now_ms())).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn good_name(name: String) -> Result<String, Error> {
    if template::is_name(&name) && name.len() <= NAME_CHARACTERS_MAX {
        return Ok(name);
    }
    let wanted = said!(
        "1 to {NAME_CHARACTERS_MAX} letters, digits, `_`, `.` and `-`, beginning with a letter or `_`",
        "1 到 {NAME_CHARACTERS_MAX} 个字母、数字、`_`、`.` 或 `-`，以字母或 `_` 开头"
    );
    Err(Error::BadValue { name: "name", value: name, wanted })
}

/// Lists the names of the caller's secrets, and when each was last set.
#[utoipa::path(get, path = "/api/v1/secrets", responses((status = 200, body = Vec<SecretView>)))]
pub async fn list(State(app): AppState, Caller(holder): Caller) -> Result<Json<Vec<SecretView>>, Error> {
    let kept = app.store.read(move |sql| secrets::list(sql, &holder.user)).await?;
    Ok(Json(kept.into_iter().map(|it| SecretView { name: it.name, updated_at_ms: it.updated_at_ms }).collect()))
}

/// Forgets a secret of the caller's. Tasks that have it already keep it; those that start later do not get it.
#[utoipa::path(delete, path = "/api/v1/secrets/{name}", params(("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)))]
pub async fn remove(State(app): AppState, Caller(holder): Caller, Path(name): Path<String>) -> Result<StatusCode, Error> {
    let wanted = name.clone();
    match app.store.write(move |sql| secrets::remove(sql, &holder.user, &wanted)).await? {
        Written::Yes => Ok(StatusCode::NO_CONTENT),
        Written::Stale => Err(Error::NoSuchSecret(name)),
    }
}

/// Makes a new key and seals everything with it. The old one stays in the key file until the server starts again.
#[utoipa::path(post, path = "/api/v1/secrets/rotate", responses((status = 204)))]
pub async fn rotate(State(app): AppState) -> Result<StatusCode, Error> {
    // From here on everything is sealed with the new key, and the key file opens both: a crash loses nothing.
    app.seal.renew().map_err(|error| Error::Sealed(error.to_string()))?;
    crate::crash::point("admin.key-renewed-before-resealing");
    let seal = app.seal.clone();
    app.store.write(move |sql| secrets::reseal(sql, &seal)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a run may know and nobody else: its job's secrets as far as it needs them, and what opens its volumes.
#[utoipa::path(get, path = "/api/v1/runs/{run}/secrets", params(("run" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody)))]
pub async fn of_run(State(app): AppState, OwnRun(run): OwnRun) -> Result<Json<RunSecrets>, Error> {
    let (read, text) = (app.clone(), run.to_string());
    app.store.read(move |sql| needed(sql, &read, &run)).await?.unwrap_or(Err(Error::NoSuchRun(text))).map(Json)
}

/// `None` if there is no such run; an error inside if it gets nothing.
fn needed(sql: &Sql<'_>, app: &App, run: &RunKey) -> Result<Option<Result<RunSecrets, Error>>, StoreError> {
    let (Some(job), Some(own)) = (jobs::get(sql, run.job)?, runs::get(sql, run)?) else { return Ok(None) };
    if own.state.is_over() {
        // The child is gone, and with it whatever needed the job's secrets; its output may still have to be saved.
        let copies = own.sync.as_ref().is_some_and(SyncState::is_pending);
        let volumes = || volumes::credentials(sql, app, &job).map(|volumes| RunSecrets { volumes, ..RunSecrets::default() });
        return Ok(Some(if copies { volumes() } else { Err(Error::StaleRun) }));
    }
    let Some(role) = job.plan.role(&run.task.role) else { return Ok(None) };
    let values = match secrets::of_run(sql, &app.seal, &job, &job.plan.secrets_of(role))? {
        Ok(values) => values.0,
        Err(gone) => return Ok(Some(Err(Error::NoSuchSecret(gone)))),
    };
    Ok(Some(volumes::credentials(sql, app, &job).map(|volumes| RunSecrets { values, volumes })))
}
