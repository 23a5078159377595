//! Watching a job on the screen until it is over: its logs, how it fares, and how it ended.

use model::{
    job::JobState,
    logs::Stream,
    resources::show_duration_ms,
    wire::{JobSummary, LineView, LogChunk},
};
use serde::Serialize;

use super::{
    chunks,
    context::Context,
    failure::{Exit, Failure},
    follow::{News, Wish, follow},
    line_text::{Look, line_text},
    output::{self, Progress},
    people::{label, verb},
    printer::{Manner, Printer},
    style,
    terminal::plain,
};

/// What part of the logs is wanted; the rest is passed over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Only {
    pub stream: Option<Stream>,
    pub attempt: Option<u32>,
    pub no_platform: bool,
    pub until_ms: Option<u64>,
}

impl Only {
    fn takes(&self, chunk: &LogChunk) -> bool {
        self.stream.is_none_or(|stream| stream == chunk.stream)
            && self.attempt.is_none_or(|attempt| attempt == chunk.attempt)
            && !(self.no_platform && chunk.stream == Stream::Platform)
            && self.until_ms.is_none_or(|until| chunk.at_ms < until)
    }
}

/// One line of `--json` while following.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Told<'a> {
    Submitted(&'a model::wire::Submitted),
    Log(&'a LogChunk),
    Line(&'a LineView),
    State(&'a JobSummary),
    End(&'a JobSummary),
}

pub struct Screen {
    printer: Printer,
    progress: Progress,
    only: Only,
    look: Look,
    json: bool,
    attempt: u32,
}

impl Screen {
    pub fn new(manner: Manner, only: Only, json: bool) -> Self {
        Self { printer: Printer::new(manner), progress: Progress::default(), only, look: Look::default(), json, attempt: 0 }
    }

    /// The same for lines.
    pub fn with(self, look: Look) -> Self {
        Self { look, ..self }
    }

    fn show(&mut self, news: News) -> Result<(), Failure> {
        match news {
            News::Log(chunk) if !self.only.takes(&chunk) => {}
            News::Log(chunk) if self.json => output::json_line(&Told::Log(&chunk))?,
            News::Log(chunk) => {
                self.progress.clear();
                for (sink, bytes) in self.printer.push((&chunk.task, chunk.attempt), chunk.stream, &chunks::bytes(&chunk)?) {
                    output::bytes(sink, &bytes)?;
                }
            }
            News::Line(line) if self.json => output::json_line(&Told::Line(&line))?,
            News::Line(line) => {
                self.progress.clear();
                output::text(&line_text(&line, self.look))?;
            }
            News::State(job) if self.json => output::json_line(&Told::State(&job))?,
            News::State(job) => self.state(&job),
        }
        Ok(())
    }

    fn state(&mut self, job: &JobSummary) {
        if self.attempt != 0 && job.attempt > self.attempt {
            self.progress.clear();
            output::aside(&format!("attempt {} begins: {}", job.attempt, plain(&job.reason)));
        }
        self.attempt = job.attempt;
        match job.state {
            JobState::Queued | JobState::Starting | JobState::Stopping | JobState::Finishing | JobState::Unknown => {
                self.progress.say(&how_it_fares(job));
            }
            JobState::Running | JobState::Succeeded | JobState::Failed | JobState::Stopped => self.progress.clear(),
        }
    }

    fn end(&mut self, job: &JobSummary) -> Result<(), Failure> {
        self.progress.clear();
        for (sink, bytes) in self.printer.finish() {
            output::bytes(sink, &bytes)?;
        }
        if self.json {
            output::json_line(&Told::End(job))?;
        }
        Ok(())
    }
}

/// Shows a job until it is over. Ctrl-C ends the watching, not the job.
pub async fn watch(context: &Context, wish: &Wish, screen: &mut Screen) -> Result<JobSummary, Failure> {
    let mut hear = |news| screen.show(news);
    let ended = tokio::select! {
        ended = follow(context, wish, &mut hear) => ended?,
        _ = tokio::signal::ctrl_c() => {
            screen.progress.clear();
            return Err(Failure::new(Exit::Interrupted, "interrupted", "no longer following"));
        }
    };
    screen.end(&ended)?;
    Ok(ended)
}

/// The exit code a job's end deserves.
pub fn exit_of(job: &JobSummary) -> Exit {
    match job.state {
        JobState::Succeeded => Exit::Done,
        JobState::Failed | JobState::Stopped => Exit::JobFailed,
        JobState::Queued | JobState::Starting | JobState::Running | JobState::Finishing | JobState::Stopping | JobState::Unknown => {
            Exit::Us
        }
    }
}

/// Says beside the output how a job ended: always if badly, otherwise only to someone who watches.
pub fn say_end(job: &JobSummary) {
    let words = end_words(job);
    match exit_of(job) {
        Exit::Done => output::aside(&words),
        Exit::JobFailed | Exit::You | Exit::Us | Exit::Away | Exit::Interrupted | Exit::NobodyReads | Exit::Code(_) => output::note(&words),
    }
    if job.state == JobState::Failed {
        output::note(&format!("hint: `trainmaster explain {}` says why, and what to do", label(job)));
    }
}

/// `digits@3 is queued: needs 4 CPU, 2 are free`.
pub fn how_it_fares(job: &JobSummary) -> String {
    let reason = if job.reason.is_empty() { String::new() } else { format!(": {}", job.reason) };
    format!("{} {} {}{reason}", label(job), verb(job.state), job.state.text())
}

fn end_words(job: &JobSummary) -> String {
    let state = style::paint(style::job(job.state), job.state.text());
    let took = job.started_at_ms.zip(job.ended_at_ms).map(|(start, end)| show_duration_ms(end.saturating_sub(start)));
    let took = took.map_or(String::new(), |took| format!(" after {took}"));
    let reason = if job.reason.is_empty() { String::new() } else { format!(": {}", plain(&job.reason)) };
    format!("{} {state}{took}{reason}", label(job))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fake::job;

    #[test]
    fn an_end_is_told_in_one_line() {
        let words = |state| anstream::adapter::strip_str(&end_words(&job("digits", state))).to_string();
        assert_eq!(words(JobState::Succeeded), "digits@3 succeeded after 1.5s: because");
        assert_eq!(words(JobState::Failed), "digits@3 failed after 1.5s: because");
        let never = JobSummary { started_at_ms: None, reason: String::new(), ..job("digits", JobState::Stopped) };
        assert_eq!(anstream::adapter::strip_str(&end_words(&never)).to_string(), "digits@3 stopped");
    }

    #[test]
    fn only_a_success_is_a_success() {
        assert_eq!(exit_of(&job("a", JobState::Succeeded)), Exit::Done);
        assert_eq!(exit_of(&job("a", JobState::Failed)), Exit::JobFailed);
        assert_eq!(exit_of(&job("a", JobState::Stopped)), Exit::JobFailed);
        assert_eq!(exit_of(&job("a", JobState::Unknown)), Exit::Us);
    }

    #[test]
    fn one_line_of_json_says_what_it_is() {
        let end = serde_json::to_string(&Told::End(&job("a", JobState::Failed))).unwrap();
        assert!(end.starts_with(r#"{"end":{"id":"job-"#), "{end}");
    }
}
