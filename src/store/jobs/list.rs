//! Pages of jobs, newest first. Every question here is answered from an index, page after page, so it
//! costs the same with ten jobs as with a hundred thousand.

use std::cmp::Reverse;

use model::{ids::JobId, job::JobState, wire::JobSummary};

use crate::store::{Row, Sql, StoreError, Value, quarantine::Kind};

/// Which jobs to show. Nothing given means all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Any of these; none given means every state.
    pub states: Vec<JobState>,
    pub name: Option<String>,
    pub tag: Option<String>,
    pub owner: Option<String>,
    /// A part of the name or the description, in capitals or not.
    pub text: Option<String>,
}

/// A page of jobs older than `before`.
pub fn list(sql: &Sql<'_>, filter: &Filter, before: Option<JobId>, limit: u32) -> Result<Vec<JobSummary>, StoreError> {
    let mut page = Vec::new();
    for state in each_state(filter) {
        let (question, values) = question(filter, state, before, limit);
        page.extend(sql.query_sound(Kind::Job, &question, &values, read)?);
    }
    page.sort_by(|one, other| Reverse(&one.id).cmp(&Reverse(&other.id)));
    page.truncate(limit as usize);
    Ok(page)
}

/// One question for each state: an index can give one state's newest jobs in order, but not several
/// states' at once.
fn each_state(filter: &Filter) -> Vec<Option<JobState>> {
    if filter.states.is_empty() {
        return vec![None];
    }
    let mut states = filter.states.clone();
    states.sort();
    states.dedup();
    states.into_iter().map(Some).collect()
}

fn question(filter: &Filter, state: Option<JobState>, before: Option<JobId>, limit: u32) -> (String, Vec<Value>) {
    let (from, id) = match filter.tag {
        Some(_) => ("job_tag JOIN job ON job.id = job_tag.job", "job_tag.job"),
        None => ("job", "job.id"),
    };
    let mut values = Vec::new();
    let mut conditions = Vec::new();
    let mut only = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(condition.replace("{}", &format!("${}", values.len())));
    };
    filter.tag.iter().for_each(|tag| only("job_tag.tag = {}", tag.into()));
    state.iter().for_each(|state| only("job.state = {}", state.text().into()));
    filter.name.iter().for_each(|name| only("job.name = {}", name.into()));
    filter.owner.iter().for_each(|owner| only("job.owner = {}", owner.into()));
    before.iter().for_each(|before| only(&format!("{id} < {{}}"), (*before).into()));
    let text = "(LOWER(job.name) LIKE {} ESCAPE '!' OR LOWER(job.description) LIKE {} ESCAPE '!')";
    filter.text.iter().for_each(|part| only(text, pattern(part).into()));
    let conditions = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    values.push(limit.into());
    (format!("SELECT {COLUMNS} FROM {from} {conditions} ORDER BY {id} DESC LIMIT ${}", values.len()), values)
}

const COLUMNS: &str = "job.id, job.name, job.version, job.owner, job.state, job.reason, job.attempt, job.priority, job.tags, \
                       job.description, job.tasks, job.resources, job.created_at_ms, job.started_at_ms, job.ended_at_ms";

/// `LIKE`'s own characters, taken as they are.
fn pattern(part: &str) -> String {
    let escaped = part.to_ascii_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{escaped}%")
}

fn read(row: &Row<'_>) -> Result<JobSummary, StoreError> {
    Ok(JobSummary {
        id: row.parsed::<JobId>("id")?.to_string(),
        name: row.text("name")?,
        version: row.number("version")?,
        owner: row.text("owner")?,
        state: row.spelled("state", JobState::from_text)?,
        reason: row.text("reason")?,
        attempt: row.number("attempt")?,
        priority: row.number("priority")?,
        tags: row.json("tags")?,
        description: row.text("description")?,
        tasks: row.number("tasks")?,
        resources: row.json("resources")?,
        created_at_ms: row.number("created_at_ms")?,
        started_at_ms: row.maybe_number("started_at_ms")?,
        ended_at_ms: row.maybe_number("ended_at_ms")?,
    })
}
