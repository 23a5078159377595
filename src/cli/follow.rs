//! Hearing of a job as it goes: logs and states, through every restart of the server.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use model::wire::{JobSummary, LineView, LogChunk};
use serde::de::DeserializeOwned;

use super::{
    chunks::Heard,
    context::{Context, job_path, query, read_answer},
    failure::Failure,
    output,
    retry::{Patience, Tries},
    sse::{Parser, SseEvent},
};
use crate::client::Call;

/// The server says something at least every 15 seconds; a line silent for longer is dead.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// What to hear of.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// An id, so that it stays the same job when a new version is submitted meanwhile.
    pub job: String,
    pub logs: bool,
    /// With commas.
    pub task: Option<String>,
    pub role: Option<String>,
    pub tail: Option<u64>,
    pub since_ms: Option<u64>,
    /// Lines instead of bytes, by these wishes.
    pub lines: Option<Vec<(&'static str, Option<String>)>>,
}

impl Wish {
    pub fn of(job: &str) -> Self {
        Self { job: job.to_owned(), ..Self::default() }
    }

    /// Only how the job fares.
    pub fn states(job: &str) -> Self {
        Self { tail: Some(0), ..Self::of(job) }
    }

    fn path(&self) -> String {
        if let Some(pairs) = &self.lines {
            return job_path(&self.job, "/lines") + &query(pairs);
        }
        let pairs = [
            ("logs", (!self.logs).then(|| "false".into())),
            ("task", self.task.clone()),
            ("role", self.role.clone()),
            ("tail", self.tail.map(|lines| lines.to_string())),
            ("since_ms", self.since_ms.map(|ms| ms.to_string())),
        ];
        job_path(&self.job, "/follow") + &query(&pairs)
    }
}

/// What is heard.
pub enum News {
    Log(LogChunk),
    Line(Box<LineView>),
    State(Box<JobSummary>),
}

/// Tells `hear` everything until the job is over, and answers how it ended.
///
/// When the line is cut, it is opened again with the id of the last event heard, so the server
/// continues with the byte that comes next.
pub async fn follow(context: &Context, wish: &Wish, hear: &mut dyn FnMut(News) -> Result<(), Failure>) -> Result<JobSummary, Failure> {
    let mut ear = Ear { last_id: None, heard: Heard::default(), hear };
    let mut tries = Tries::new(Patience::FOLLOWING);
    loop {
        let lost = match listen(context, wish, &mut ear, &mut tries).await {
            Ok(ended) => return Ok(ended),
            Err(failure) if failure.may_pass => failure,
            Err(failure) => return Err(failure),
        };
        if !tries.wait().await {
            return Err(lost);
        }
        if tries.first_failure() {
            output::aside("the server does not answer; the job goes on, and so will this when it is back");
        }
    }
}

struct Ear<'a> {
    last_id: Option<String>,
    heard: Heard,
    hear: &'a mut dyn FnMut(News) -> Result<(), Failure>,
}

impl Ear<'_> {
    /// Takes an event; answers the job when it is over.
    fn take(&mut self, event: SseEvent) -> Result<Option<JobSummary>, Failure> {
        match event.name.as_str() {
            "log" => {
                if let Some(chunk) = self.heard.fresh(read(&event)?)? {
                    (self.hear)(News::Log(chunk))?;
                }
            }
            "line" => (self.hear)(News::Line(read(&event)?))?,
            "state" => (self.hear)(News::State(read(&event)?))?,
            "end" => return read(&event).map(Some),
            // A newer server may speak of things we do not know.
            _ => {}
        }
        // Remembered only now: what was not shown must come again.
        if !event.id.is_empty() {
            self.last_id = Some(event.id);
        }
        Ok(None)
    }
}

fn read<T: DeserializeOwned>(event: &SseEvent) -> Result<T, Failure> {
    read_answer(event.data.as_bytes())
}

/// One line to the server, until it is cut or the job is over.
async fn listen(context: &Context, wish: &Wish, ear: &mut Ear<'_>, tries: &mut Tries) -> Result<JobSummary, Failure> {
    let path = wish.path();
    let mut call = Call::get(&path).header("accept", "text/event-stream");
    if let Some(id) = &ear.last_id {
        call = call.header("last-event-id", id.clone());
    }
    let found = context.find()?;
    let mut body = super::context::in_time(found.client.open(call)).await?.into_body();
    let mut parser = Parser::default();
    while let Some(bytes) = next_bytes(&mut body).await? {
        tries.contact();
        let events = parser.feed(&bytes).map_err(|error| Failure::new(super::failure::Exit::Us, "unreadable", error.to_string()))?;
        for event in events {
            if let Some(ended) = ear.take(event)? {
                return Ok(ended);
            }
        }
    }
    Err(Failure::away("the server closed the line before the job was over"))
}

async fn next_bytes(body: &mut Incoming) -> Result<Option<bytes::Bytes>, Failure> {
    loop {
        let frame = tokio::time::timeout(SILENCE_MAX, body.frame()).await;
        let frame = frame.map_err(|_| Failure::away(format!("the server has been silent for {} s", SILENCE_MAX.as_secs())))?;
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|error| Failure::away(format!("the line to the server was cut: {error}")))?;
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{job::JobState, logs::Stream};

    use super::*;
    use crate::cli::{
        chunks,
        fake::{Fake, Turn, job},
    };

    fn log(id: &str, offset: u64, text: &str) -> String {
        let chunk = LogChunk {
            task: "main-0".into(),
            attempt: 1,
            stream: Stream::Stdout,
            offset,
            at_ms: 0,
            text: Some(text.into()),
            base64: None,
            dropped_bytes: None,
        };
        format!("id: {id}\nevent: log\ndata: {}\n\n", serde_json::to_string(&chunk).unwrap())
    }

    fn state(name: &str, state: JobState) -> String {
        format!("event: {name}\ndata: {}\n\n", serde_json::to_string(&job("a", state)).unwrap())
    }

    async fn heard(turns: Vec<Turn>) -> (Fake, String, Result<JobSummary, Failure>) {
        let fake = Fake::new(turns).await;
        let mut told = String::new();
        let mut hear = |news| {
            match news {
                News::Log(chunk) => told.push_str(&String::from_utf8(chunks::bytes(&chunk)?).unwrap()),
                News::Line(line) => told.push_str(&line.text),
                News::State(job) => told.push_str(&format!("<{}>", job.state.text())),
            }
            Ok(())
        };
        let wish = Wish { job: "job-1".into(), logs: true, tail: Some(5), ..Wish::default() };
        let ended = follow(&fake.context, &wish, &mut hear).await;
        (fake, told, ended)
    }

    #[tokio::test]
    async fn a_cut_line_is_taken_up_where_it_was_and_no_byte_comes_twice() {
        let half = log("main-0.1:9", 6, "two\n");
        let turns = vec![
            Turn::Stream(state("state", JobState::Running) + &log("main-0.1:4", 0, "one\n") + &half[..20]),
            Turn::Cut,
            // This one begins two bytes too early, as a server might.
            Turn::Stream(log("main-0.1:8", 2, "e\ntwo\n") + &log("main-0.1:14", 8, "three\n") + &state("end", JobState::Succeeded)),
        ];
        let (fake, told, ended) = heard(turns).await;
        assert_eq!(ended.unwrap().state, JobState::Succeeded);
        assert_eq!(told, "<running>one\ntwo\nthree\n");
        assert_eq!(fake.header("last-event-id"), ["", "main-0.1:4", "main-0.1:4"]);
    }

    #[tokio::test]
    async fn a_job_that_is_gone_when_the_line_is_back_ends_the_following() {
        let gone = r#"{"code":"no_such_job","message":"there is no job `job-1`"}"#;
        let (_, told, ended) = heard(vec![Turn::Stream(log("x", 0, "one")), Turn::Answer(404, gone.into())]).await;
        assert_eq!((told.as_str(), ended.unwrap_err().body.code.as_str()), ("one", "no_such_job"));
    }

    #[tokio::test]
    async fn news_of_a_kind_we_do_not_know_is_passed_over() {
        let (_, told, ended) = heard(vec![Turn::Stream("event: metric\ndata: 1\n\n".to_owned() + &state("end", JobState::Failed))]).await;
        assert_eq!((told.as_str(), ended.unwrap().state), ("", JobState::Failed));
    }

    #[test]
    fn a_wish_is_a_path() {
        let wish = Wish { logs: true, task: Some("main-0".into()), tail: Some(0), since_ms: Some(7), ..Wish::of("job-1") };
        assert_eq!(wish.path(), "/api/v1/jobs/job-1/follow?task=main-0&tail=0&since_ms=7");
        assert_eq!(Wish::states("job-1").path(), "/api/v1/jobs/job-1/follow?logs=false&tail=0");
    }
}
