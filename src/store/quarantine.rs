//! Rows that cannot be read. One of them must never stop the server: it is passed over, noted here,
//! said once in the log, and shown to whoever asks. The row itself stays as it is, for a person to mend.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use model::ids::RunKey;

use super::{Row, Sql, StoreError, Value, jobs, runs};

/// More notes than this are not taken: by then the log says clearly that something is very wrong.
const NOTES_MAX: u32 = 1_000;

/// What sort of row it is, and by which columns it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Job,
    Run,
    Event,
    Token,
    SubmitKey,
    Leftover,
    Volume,
    Dataset,
    DatasetVersion,
    Algorithm,
    AlgorithmVersion,
}

impl Kind {
    const SPELLED: [(Kind, &str); 11] = [
        (Kind::Job, "job"),
        (Kind::Run, "run"),
        (Kind::Event, "event"),
        (Kind::Token, "token"),
        (Kind::SubmitKey, "submit key"),
        (Kind::Leftover, "leftover"),
        (Kind::Volume, "volume"),
        (Kind::Dataset, "dataset"),
        (Kind::DatasetVersion, "dataset version"),
        (Kind::Algorithm, "algorithm"),
        (Kind::AlgorithmVersion, "algorithm version"),
    ];

    fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(kind, _)| *kind == self).expect("SPELLED has every kind").1
    }

    fn key(self, row: &Row<'_>) -> String {
        match self {
            Kind::Job => row.shown("id"),
            Kind::Run => format!("{}:{}-{}:{}", row.shown("job"), row.shown("role"), row.shown("task_index"), row.shown("attempt")),
            Kind::Event => row.shown("seq"),
            Kind::Token => format!("{}…", row.shown("hash").chars().take(8).collect::<String>()),
            Kind::SubmitKey => row.shown("text"),
            Kind::Leftover => row.shown("run"),
            Kind::Volume | Kind::Dataset | Kind::Algorithm => row.shown("name"),
            Kind::DatasetVersion => format!("{}@{}", row.shown("dataset"), row.shown("version")),
            Kind::AlgorithmVersion => format!("{}@{}", row.shown("algorithm"), row.shown("version")),
        }
    }
}

/// What was met and could not be read. Reads happen where nothing can be written, so notes wait here
/// until the writer's next transaction takes them along.
#[derive(Default)]
pub(super) struct Notes(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    /// Everything met since the start, and why it could not be read.
    known: BTreeMap<(Kind, String), String>,
    waiting: Vec<Note>,
}

#[derive(Clone, Debug)]
pub(super) struct Note {
    kind: Kind,
    key: String,
    why: String,
    at_ms: u64,
}

impl Notes {
    fn take_note(&self, kind: Kind, key: String, why: &str) {
        let mut noted = self.noted();
        if noted.known.len() >= NOTES_MAX as usize || noted.known.contains_key(&(kind, key.clone())) {
            return;
        }
        noted.known.insert((kind, key.clone()), why.to_owned());
        tracing::error!(kind = kind.text(), key, why, "a row of the database cannot be read; it is set aside and the rest goes on");
        noted.waiting.push(Note { kind, key, why: why.to_owned(), at_ms: now_ms() });
    }

    pub(super) fn any_waiting(&self) -> bool {
        !self.noted().waiting.is_empty()
    }

    pub(super) fn waiting(&self) -> Vec<Note> {
        self.noted().waiting.clone()
    }

    /// Forgets the first `count` that waited, now that they are in the database.
    pub(super) fn written(&self, count: usize) {
        self.noted().waiting.drain(..count);
    }

    fn known(&self) -> BTreeMap<(Kind, String), String> {
        self.noted().known.clone()
    }

    /// If the job is not deleted after all, its rows are noted again when they are next met.
    fn forget(&self, of_job: impl Fn(Kind, &str) -> bool) {
        let mut noted = self.noted();
        noted.known.retain(|(kind, key), _| !of_job(*kind, key));
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        // A panic elsewhere leaves a set and a list, both still whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sql<'_> {
    /// Reads every row that can be read, and sets aside the others.
    pub(super) fn query_sound<T>(
        &self,
        kind: Kind,
        sql: &str,
        values: &[Value],
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(self.query_or_rest(kind, sql, values, read, |_| ())?.into_iter().flatten().collect())
    }

    /// Reads every row, and what `rest` can tell of those that cannot be read as a whole and are set aside.
    pub(super) fn query_or_rest<T, R>(
        &self,
        kind: Kind,
        sql: &str,
        values: &[Value],
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
        rest: impl Fn(&Row<'_>) -> R,
    ) -> Result<Vec<Result<T, R>>, StoreError> {
        self.query(sql, values, |row| match self.sound(kind, row, &read) {
            Ok(value) => Ok(Ok(value)),
            Err(StoreError::Unreadable { .. }) => Ok(Err(rest(row))),
            Err(other) => Err(other),
        })
    }

    /// The one row of an answer. One that cannot be read is set aside and answered as unreadable.
    pub(super) fn first_sound<T>(
        &self,
        kind: Kind,
        sql: &str,
        values: &[Value],
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.first(sql, values, |row| self.sound(kind, row, &read))
    }

    /// Notes a run that is somewhere out there, and not in the database.
    pub(super) fn note_lost_run(&self, run: &RunKey) {
        self.notes.take_note(
            Kind::Run,
            run.to_string(),
            "it is on the disk but not in the database; its task is left alone until `trainmaster lost` ends it",
        );
    }

    fn sound<T>(&self, kind: Kind, row: &Row<'_>, read: impl Fn(&Row<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        read(row).map_err(|error| match error {
            StoreError::Unreadable { what } => {
                let key = kind.key(row);
                self.notes.take_note(kind, key.clone(), &what);
                StoreError::Unreadable { what: format!("{} {key} ({what})", kind.text()) }
            }
            other => other,
        })
    }
}

/// What was set aside, in words.
pub fn list(sql: &Sql<'_>) -> Result<Vec<String>, StoreError> {
    Ok(all(sql)?.into_iter().map(|((kind, key), why)| format!("{kind} {key}: {why}")).collect())
}

/// The runs that were set aside, as far as their names can be told. The database cannot say whether
/// they are wanted, so a live one among them is to be left alone, not swept up.
pub fn runs_set_aside(sql: &Sql<'_>) -> Result<Vec<RunKey>, StoreError> {
    let runs = all(sql)?.into_keys().filter(|(kind, _)| kind == Kind::Run.text());
    Ok(runs.filter_map(|(_, key)| key.parse().ok()).collect())
}

/// Why each was set aside, by its kind and key: what was written down before, and what was met since.
fn all(sql: &Sql<'_>) -> Result<BTreeMap<(String, String), String>, StoreError> {
    let written = sql.query("SELECT kind, key, why FROM quarantine ORDER BY kind, key LIMIT $1", &[NOTES_MAX.into()], |row| {
        Ok(((row.shown("kind"), row.shown_whole("key")), row.shown_whole("why")))
    })?;
    let met = sql.notes.known().into_iter().map(|((kind, key), why)| ((kind.text().to_owned(), key), why));
    Ok(written.into_iter().chain(met).collect())
}

/// Writes down what waits. Answers how many notes that was.
pub(super) fn write_waiting(sql: &Sql<'_>) -> Result<usize, StoreError> {
    let waiting = sql.notes.waiting();
    for note in &waiting {
        sql.execute(
            "INSERT INTO quarantine (kind, key, why, at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (kind, key) DO UPDATE SET why = excluded.why",
            &[note.kind.text().into(), (&note.key).into(), (&note.why).into(), note.at_ms.into()],
        )?;
    }
    Ok(waiting.len())
}

/// Looks again at everything that was set aside, and forgets what has been mended or is gone.
pub(super) fn look_again(sql: &Sql<'_>) -> Result<(), StoreError> {
    let all = sql.query("SELECT kind, key FROM quarantine", &[], |row| Ok((row.shown_whole("kind"), row.shown_whole("key"))))?;
    for (kind, key) in all {
        if !still_unreadable(sql, &kind, &key)? {
            sql.execute("DELETE FROM quarantine WHERE kind = $1 AND key = $2", &[kind.into(), key.into()])?;
        }
    }
    Ok(())
}

fn still_unreadable(sql: &Sql<'_>, kind: &str, key: &str) -> Result<bool, StoreError> {
    let Some((kind, _)) = Kind::SPELLED.iter().find(|(_, text)| *text == kind) else { return Ok(false) };
    let read = match kind {
        Kind::Job => match key.parse() {
            Ok(id) => jobs::get(sql, id).map(|_| ()),
            Err(_) => return has_job_called(sql, key),
        },
        Kind::Run => match key.parse() {
            Ok(run) => runs::get(sql, &run).map(|_| ()),
            Err(_) => return Ok(false),
        },
        // These are met again soon enough if they still matter, and so are runs whose very name is unreadable.
        Kind::Event
        | Kind::Token
        | Kind::SubmitKey
        | Kind::Leftover
        | Kind::Volume
        | Kind::Dataset
        | Kind::DatasetVersion
        | Kind::Algorithm
        | Kind::AlgorithmVersion => Ok(()),
    };
    match read {
        Ok(()) => Ok(false),
        Err(StoreError::Unreadable { .. }) => Ok(true),
        Err(other) => Err(other),
    }
}

fn has_job_called(sql: &Sql<'_>, key: &str) -> Result<bool, StoreError> {
    Ok(sql.first("SELECT 1 FROM job WHERE id = $1", &[key.into()], |_| Ok(()))?.is_some())
}

/// Forgets a job that is being deleted, and its runs.
pub(super) fn forget_job(sql: &Sql<'_>, job: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM quarantine WHERE kind = 'job' AND key = $1", &[job.into()])?;
    // `;` is the character after `:`, so this is every key that begins with the job's.
    let (from, to) = (format!("{job}:"), format!("{job};"));
    sql.execute("DELETE FROM quarantine WHERE kind = 'run' AND key >= $1 AND key < $2", &[(&from).into(), to.into()])?;
    sql.notes.forget(|kind, key| match kind {
        Kind::Job => key == job,
        Kind::Run => key.starts_with(&from),
        Kind::Event
        | Kind::Token
        | Kind::SubmitKey
        | Kind::Leftover
        | Kind::Volume
        | Kind::Dataset
        | Kind::DatasetVersion
        | Kind::Algorithm
        | Kind::AlgorithmVersion => false,
    });
    Ok(())
}

/// Forgets a run of which somebody has said what becomes of it.
pub(super) fn forget_run(sql: &Sql<'_>, run: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM quarantine WHERE kind = 'run' AND key = $1", &[run.into()])?;
    sql.notes.forget(|kind, key| kind == Kind::Run && key == run);
    Ok(())
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests;
