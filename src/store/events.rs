//! What happened, in the order it was committed.

use model::{
    ids::{JobId, RunKey, TaskName},
    wire::{EventLevel, EventView},
    words::Words,
};

use super::{Row, Sql, StoreError, Value, quarantine::Kind};

/// Something that has happened, before it has its number.
#[derive(Clone, Debug)]
pub struct NewEvent<'a> {
    at_ms: u64,
    job: JobId,
    task: Option<&'a TaskName>,
    attempt: Option<u32>,
    kind: &'a str,
    words: Words,
    level: EventLevel,
    took_ms: Option<u64>,
}

impl<'a> NewEvent<'a> {
    pub fn of_job(at_ms: u64, (job, attempt): (JobId, u32), kind: &'a str, words: Words) -> Self {
        Self { at_ms, job, task: None, attempt: Some(attempt), kind, words, level: EventLevel::Info, took_ms: None }
    }

    pub fn of_run(at_ms: u64, run: &'a RunKey, kind: &'a str, words: Words) -> Self {
        Self { task: Some(&run.task), ..Self::of_job(at_ms, (run.job, run.attempt), kind, words) }
    }

    pub fn level(self, level: EventLevel) -> Self {
        Self { level, ..self }
    }

    pub fn took(self, took_ms: Option<u64>) -> Self {
        Self { took_ms, ..self }
    }
}

/// Appends an event and answers its number. Numbers are given out without a gap, and never again:
/// the last one is kept on its own, so deleting events does not bring it back.
pub fn append(sql: &Sql<'_>, new: &NewEvent<'_>) -> Result<u64, StoreError> {
    let next = sql.first("UPDATE meta SET value = value + 1 WHERE name = 'event_seq' RETURNING value", &[], |row| row.number("value"))?;
    let seq: u64 = next.ok_or_else(|| StoreError::Sql("the last event's number is missing from the table `meta`".into()))?;
    sql.execute(
        "INSERT INTO event (seq, at_ms, job, task, attempt, kind, reason, reason_zh, level, took_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            seq.into(),
            new.at_ms.into(),
            new.job.into(),
            new.task.map(TaskName::to_string).into(),
            new.attempt.into(),
            new.kind.into(),
            new.words.en.as_str().into(),
            new.words.zh.as_str().into(),
            new.level.text().into(),
            new.took_ms.into(),
        ],
    )?;
    Ok(seq)
}

/// The number of the newest event; 0 if there is none yet.
pub fn last_seq(sql: &Sql<'_>) -> Result<u64, StoreError> {
    let seq = sql.first("SELECT value FROM meta WHERE name = 'event_seq'", &[], |row| row.number("value"))?;
    Ok(seq.unwrap_or(0))
}

const COLUMNS: &str = "seq, at_ms, job, task, attempt, kind, reason, reason_zh, level, took_ms";

/// Events after `seq`, oldest first, of one job or of all.
pub fn after(sql: &Sql<'_>, seq: u64, job: Option<JobId>, limit: u32) -> Result<Vec<EventView>, StoreError> {
    let (of_job, mut values) = (job.map_or("", |_| "AND job = $3"), vec![Value::from(seq), limit.into()]);
    values.extend(job.map(Value::from));
    let question = format!("SELECT {COLUMNS} FROM event WHERE seq > $1 {of_job} ORDER BY seq LIMIT $2");
    sql.query_sound(Kind::Event, &question, &values, read)
}

/// Which events of a job are asked for. What is not given is not asked.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    pub after: u64,
    pub task: Option<String>,
    pub level: EventLevel,
    pub text: Option<String>,
    pub since_ms: Option<u64>,
    pub until_ms: Option<u64>,
}

/// Those of a job that pass, oldest first.
pub fn sifted(sql: &Sql<'_>, job: JobId, sieve: &Sieve, limit: u32) -> Result<Vec<EventView>, StoreError> {
    let mut values = vec![Value::from(sieve.after), limit.into(), job.into()];
    let mut question = format!("SELECT {COLUMNS} FROM event WHERE seq > $1 AND job = $3");
    let mut ask = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.push(value);
            question += &format!(" AND {}", condition.replace('?', &format!("${}", values.len())));
        }
    };
    ask("task = ?", sieve.task.clone().map(Value::from));
    ask("at_ms >= ?", sieve.since_ms.map(Value::from));
    ask("at_ms <= ?", sieve.until_ms.map(Value::from));
    // Case counts in no language we speak here; what SQLite cannot fold is compared as it is.
    ask("INSTR(LOWER(kind || ' ' || reason || ' ' || reason_zh), LOWER(?)) > 0", sieve.text.clone().map(Value::from));
    question += match sieve.level {
        EventLevel::Info => "",
        EventLevel::Warning => " AND level IN ('warning', 'error')",
        EventLevel::Error => " AND level = 'error'",
    };
    sql.query_sound(Kind::Event, &(question + " ORDER BY seq LIMIT $2"), &values, read)
}

/// Whether an event of a kind is there of a run.
pub fn has(sql: &Sql<'_>, run: &RunKey, kind: &str) -> Result<bool, StoreError> {
    let question = "SELECT 1 FROM event WHERE job = $1 AND task = $2 AND attempt = $3 AND kind = $4";
    let values = [run.job.into(), run.task.to_string().into(), run.attempt.into(), kind.into()];
    Ok(sql.first(question, &values, |_| Ok(()))?.is_some())
}

/// What the events of a kind said of a job, in order.
pub fn told(sql: &Sql<'_>, job: JobId, kind: &str) -> Result<Vec<Words>, StoreError> {
    let question = "SELECT reason, reason_zh FROM event WHERE job = $1 AND kind = $2 ORDER BY seq";
    sql.query(question, &[job.into(), kind.into()], |row| Ok(Words::new(row.text("reason")?, row.text("reason_zh")?)))
}

/// How many events of a kind a job has, and when the last of them was.
pub fn count(sql: &Sql<'_>, job: JobId, kind: &str) -> Result<(u64, u64), StoreError> {
    let question = "SELECT COUNT(*) AS count, COALESCE(MAX(at_ms), 0) AS last FROM event WHERE job = $1 AND kind = $2";
    let read = |row: &Row<'_>| Ok((row.number("count")?, row.number("last")?));
    Ok(sql.first(question, &[job.into(), kind.into()], read)?.unwrap_or_default())
}

fn read(row: &Row<'_>) -> Result<EventView, StoreError> {
    Ok(EventView {
        seq: row.number("seq")?,
        at_ms: row.number("at_ms")?,
        job: row.text("job")?,
        task: row.maybe_text("task")?,
        attempt: row.maybe_number("attempt")?,
        kind: row.text("kind")?,
        reason: row.text("reason")?,
        reason_zh: row.text("reason_zh")?,
        level: row.spelled("level", EventLevel::from_text)?,
        took_ms: row.maybe_number("took_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use model::job::JobState;

    use super::*;
    use crate::store::{Store, Written, jobs, testing::*};

    async fn seqs(store: &Store, after_seq: u64, job: Option<JobId>, limit: u32) -> Vec<u64> {
        let events = store.read(move |sql| after(sql, after_seq, job, limit)).await.unwrap();
        events.iter().map(|it| it.seq).collect()
    }

    fn note(job: u64) -> NewEvent<'static> {
        NewEvent::of_job(7, (job_id(job), 1), "note", Words::default())
    }

    #[tokio::test]
    async fn events_pass_a_sieve_by_task_level_text_and_time() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        let fill = |sql: &Sql<'_>| {
            for (at_ms, task, kind, words, level) in [
                (10, "worker-0", "task_started", Words::default(), EventLevel::Info),
                (20, "worker-1", "task_ended", Words::new("Out of Memory", "内存不足"), EventLevel::Error),
                (30, "worker-0", "task_ended", Words::new("stopped", "被停止"), EventLevel::Warning),
            ] {
                append(sql, &NewEvent::of_run(at_ms, &run_key(1, task, 1), kind, words).level(level))?;
            }
            Ok(())
        };
        store.write(fill).await.unwrap();
        let times = async |sieve: Sieve| {
            let events = store.read(move |sql| sifted(sql, job_id(1), &sieve, 10)).await.unwrap();
            events.iter().map(|it| it.at_ms).collect::<Vec<_>>()
        };
        let all = Sieve::default;
        assert_eq!(times(all()).await, [1, 10, 20, 30]);
        assert_eq!(times(Sieve { task: Some("worker-0".into()), ..all() }).await, [10, 30]);
        assert_eq!(times(Sieve { level: EventLevel::Warning, ..all() }).await, [20, 30]);
        assert_eq!(times(Sieve { level: EventLevel::Error, ..all() }).await, [20]);
        assert_eq!(times(Sieve { text: Some("of mem".into()), ..all() }).await, [20]);
        assert_eq!(times(Sieve { text: Some("停止".into()), ..all() }).await, [30]);
        assert_eq!(times(Sieve { since_ms: Some(10), until_ms: Some(20), ..all() }).await, [10, 20]);
        assert_eq!(store.read(|sql| count(sql, job_id(1), "task_ended")).await, Ok((2, 30)));
    }

    async fn with_three_jobs(place: &Place) -> Store {
        let store = place.open();
        for number in 1..=3 {
            store.write(move |sql| jobs::submit(sql, &new_job(number, "digits"))).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn an_event_comes_back_as_it_was_appended() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        let run = run_key(1, "worker-0", 2);
        let words = Words::new("exited with code 3", "退出，退出码 3");
        let seq = store
            .write(move |sql| append(sql, &NewEvent::of_run(7, &run, "task_ended", words).level(EventLevel::Error).took(Some(5))))
            .await;
        assert_eq!(seq, Ok(4));
        let expected = EventView {
            seq: 4,
            at_ms: 7,
            job: job_id(1).to_string(),
            task: Some("worker-0".into()),
            attempt: Some(2),
            kind: "task_ended".into(),
            reason: "exited with code 3".into(),
            reason_zh: "退出，退出码 3".into(),
            level: EventLevel::Error,
            took_ms: Some(5),
        };
        assert_eq!(store.read(|sql| after(sql, 3, None, 10)).await, Ok(vec![expected]));
    }

    #[tokio::test]
    async fn events_are_read_on_from_a_number_for_one_job_or_all() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        store.write(|sql| append(sql, &note(2))).await.unwrap();
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2, 3, 4]);
        assert_eq!(seqs(&store, 1, None, 2).await, [2, 3]);
        assert_eq!(seqs(&store, 0, Some(job_id(2)), 10).await, [2, 4]);
        assert_eq!(seqs(&store, 2, Some(job_id(2)), 10).await, [4]);
        assert_eq!(seqs(&store, 4, None, 10).await, [0; 0]);
    }

    #[tokio::test]
    async fn numbers_have_no_gap_and_do_not_come_back_after_a_delete_or_a_restart() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        let stopped = to(JobState::Stopped, 5);
        let _ = store.write(move |sql| jobs::advance(sql, (job_id(3), JobState::Queued, 1), &stopped)).await.unwrap();
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2, 3, 4]);
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(3))).await, Ok(Written::Yes));
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2]);
        drop(store);
        let store = place.open();
        let failed = store.write(|sql| append(sql, &note(99))).await;
        assert!(failed.is_err(), "there is no job 99");
        assert_eq!(store.write(|sql| append(sql, &note(1))).await, Ok(5));
    }

    #[tokio::test]
    async fn reading_on_uses_an_index() {
        let place = Place::new();
        let store = place.open();
        let plan = async |question: &'static str| {
            let explain = format!("EXPLAIN QUERY PLAN SELECT * FROM event WHERE {question} ORDER BY seq LIMIT 5");
            store.read(move |sql| sql.query(&explain, &[], |row| row.text("detail"))).await.unwrap().join("; ")
        };
        assert_eq!(plan("seq > 1").await, "SEARCH event USING INDEX sqlite_autoindex_event_1 (seq>?)");
        assert_eq!(plan("seq > 1 AND job = 'x'").await, "SEARCH event USING INDEX event_by_job (job=? AND seq>?)");
    }
}
