//! The nodes, and what is free on them.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::wire::{ErrorBody, NodeView};

use super::{App, AppState};
use crate::{control, error::Error};

/// Lists the nodes with what they have, what is free and who holds the rest.
#[utoipa::path(get, path = "/api/v1/nodes", responses((status = 200, body = Vec<NodeView>)))]
pub async fn list(State(app): AppState) -> Result<Json<Vec<NodeView>>, Error> {
    let board = app.board.clone();
    let held = app.store.read(move |sql| control::held(sql, &board)).await?;
    Ok(Json(app.board.with_use(&held)))
}

/// Takes a virtual node down, as if its machine had lost power.
#[utoipa::path(post, path = "/api/v1/nodes/{node}/down", params(("node" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)))]
pub async fn down(State(app): AppState, Path(node): Path<String>) -> Result<StatusCode, Error> {
    switch(&app, node, false)
}

/// Brings a virtual node back.
#[utoipa::path(post, path = "/api/v1/nodes/{node}/up", params(("node" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)))]
pub async fn up(State(app): AppState, Path(node): Path<String>) -> Result<StatusCode, Error> {
    switch(&app, node, true)
}

fn switch(app: &App, node: String, up: bool) -> Result<StatusCode, Error> {
    if !(app.node_switch)(&node, up) {
        return Err(Error::NoSuchNode(node));
    }
    app.nudge.nodes();
    Ok(StatusCode::NO_CONTENT)
}
