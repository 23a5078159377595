//! Refilling: the transaction that writes down an ending gives the room to the head of the queue. A turn of the loop between
//! the two would leave the place empty for two commits and a look around.
//!
//! It is a short cut and no more. What it cannot see to in there, because an engine has to be asked for ports, and all that
//! is further down the queue, is left to the loop.

use model::{
    ids::{JobId, TaskName},
    order::Report,
    schedule::{Assignment, Held, What, place},
};

use super::{
    Board, Nudge, holding, now_ms,
    on_the_way::OnTheWay,
    placing::{Placed, Ripe, Taken, anything_is_free, ports_wanted, reserve, ripe, without_ports},
    queue::queue,
};
use crate::{
    engine::Node,
    store::{Sql, StoreError},
};

/// How far down the queue it looks.
const JOBS_MAX: u32 = 2;

/// What came of it.
#[derive(Default)]
pub struct Refilled {
    pub placed: Vec<Placed>,
    /// There may be more to place.
    pub is_more: bool,
}

/// Whether a report of this kind leaves something free.
pub fn frees(report: &Report) -> bool {
    match report {
        Report::Ended { .. } => true,
        Report::Preparing { .. }
        | Report::Code { .. }
        | Report::Ready { .. }
        | Report::Started { .. }
        | Report::Spoke { .. }
        | Report::Kept { .. }
        | Report::Syncing { .. }
        | Report::Synced { .. } => false,
    }
}

/// Its failure leaves no trace, and no ending waits for it: the loop will say what is wrong.
pub fn refill(sql: &Sql<'_>, board: &Board, nudge: &Nudge) -> Refilled {
    sql.or_undo(|sql| fill(sql, board, nudge)).unwrap_or_else(|error| {
        tracing::debug!("what became free is left to the next turn: {error}");
        Refilled { placed: Vec::new(), is_more: true }
    })
}

fn fill(sql: &Sql<'_>, board: &Board, nudge: &Nudge) -> Result<Refilled, StoreError> {
    let (nodes, holds, room) = (board.nodes(), holding::holds(sql, board)?, nudge.room());
    let is_free = anything_is_free(&nodes, &holds);
    room.note(false, || Ok(is_free))?;
    let waiting = if is_free { queue(sql, JOBS_MAX, now_ms())?.waiting } else { Vec::new() };
    if waiting.is_empty() {
        return Ok(Refilled::default());
    }
    let held: Vec<Held> = holds.iter().map(|it| it.held.clone()).collect();
    let mut taken = Taken::new(&holds, room.placings());
    let mut filled = Refilled { placed: Vec::new(), is_more: true };
    for decision in place(&waiting, &board.for_placing(), &held, now_ms()) {
        let (What::Start(assignments) | What::Part(assignments, _)) = decision.what else { continue };
        filled.placed.extend(take(sql, nudge.on_the_way(), &nodes, (decision.job, assignments), &mut taken)?);
    }
    room.note(!filled.placed.is_empty(), || Ok(anything_is_free(&nodes, &holding::holds(sql, board)?)))?;
    filled.is_more = !room.is_full();
    Ok(filled)
}

/// Reserves everything for a job, if nobody has to be asked for it.
fn take(
    sql: &Sql<'_>,
    way: &OnTheWay,
    nodes: &[Node],
    (id, assignments): (JobId, Vec<Assignment>),
    taken: &mut Taken,
) -> Result<Option<Placed>, StoreError> {
    let Some(Ripe { job, to, numbered }) = ripe(sql, id, assignments)? else { return Ok(None) };
    let mut new_runs = Vec::with_capacity(numbered.len());
    for (attempt, assignment) in numbered {
        let task = TaskName { role: assignment.role.clone(), index: assignment.index };
        if !ports_wanted(&job.plan, &task).is_empty() {
            return Ok(None);
        }
        let Ok(new) = without_ports(nodes, (&job, attempt), assignment, taken) else { return Ok(None) };
        new_runs.push(new);
    }
    if new_runs.is_empty() {
        return Ok(None);
    }
    crate::crash::point("schedule.before-reserve");
    reserve(sql, way, job, to, new_runs)
}
