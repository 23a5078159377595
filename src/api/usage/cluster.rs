//! What the machine and its nodes use over time.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use model::{
    usage::{self as figures, Axis, Basis, Curve, Figure},
    wire::{
        ErrorBody,
        usage::{ClusterUsage, PlaceUsage, SumUsage, add, means},
    },
};

use super::{WindowQuery, axis_view, curves, known_window};
use crate::{
    api::{AppState, extract::Query},
    control::now_ms,
    error::Error,
    usage::{self, Place},
};

/// What the machine and the tasks on each node use.
#[utoipa::path(get, path = "/api/v1/usage", params(WindowQuery),
    responses((status = 200, body = ClusterUsage), (status = 400, body = ErrorBody)))]
pub async fn of_cluster(State(app): AppState, Query(window): Query<WindowQuery>) -> Result<Json<ClusterUsage>, Error> {
    let data = app.data.clone();
    let nodes: Vec<_> = app.board.for_placing().into_iter().map(|node| node.name).collect();
    let draw = move || -> Result<ClusterUsage, Error> {
        let machine = Place::of_machine(&data);
        let axis = window.axis(|| known_window(std::iter::once(machine.clone())))?;
        let nodes: Vec<PlaceUsage> = nodes.iter().map(|node| of_place(node.to_string(), &Place::of_node(&data, node), &axis)).collect();
        Ok(ClusterUsage { axis: axis_view(&axis), machine: of_place("machine".into(), &machine, &axis), total: sum(&nodes), nodes })
    };
    tokio::task::spawn_blocking(draw).await.map_err(|error| Error::Internal(error.to_string()))?.map(Json)
}

fn of_place(name: String, place: &Place, axis: &Axis) -> PlaceUsage {
    let basis = place.basis().unwrap_or_else(|| Basis::nothing(figures::Absence::NotSampled));
    PlaceUsage {
        name,
        now: usage::now(place, now_ms()).as_ref().map(means).unwrap_or_default(),
        curves: curves(&place.stretches(axis.from_ms, axis.to_ms()), axis),
        basis: (&basis).into(),
    }
}

fn sum(nodes: &[PlaceUsage]) -> SumUsage {
    let mut total = SumUsage::default();
    nodes.iter().for_each(|node| add(&mut total.now, &node.now));
    let mut by_figure: BTreeMap<Figure, Vec<&Curve>> = BTreeMap::new();
    nodes.iter().flat_map(|node| &node.curves).for_each(|(figure, curve)| by_figure.entry(*figure).or_default().push(curve));
    total.curves = by_figure.into_iter().map(|(figure, parts)| (figure, figures::sum(parts.into_iter()))).collect();
    total
}
