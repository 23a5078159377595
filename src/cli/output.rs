//! The only place that prints. People's text goes through `anstream`, which drops the colours where
//! nobody would see them; a task's own bytes go out as they are.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressStyle};
use model::{wire::ProblemView, words::Lang};
use serde::Serialize;

use super::{
    failure::{Exit, Failure},
    language::LangArgs,
    style,
    terminal::plain,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    Stdout,
    Stderr,
}

impl Sink {
    pub fn is_terminal(self) -> bool {
        match self {
            Sink::Stdout => io::stdout().is_terminal(),
            Sink::Stderr => io::stderr().is_terminal(),
        }
    }

    /// Whether colours belong there; `NO_COLOR` and its relatives are honoured.
    pub fn has_colour(self) -> bool {
        let choice = match self {
            Sink::Stdout => AutoStream::choice(&io::stdout()),
            Sink::Stderr => AutoStream::choice(&io::stderr()),
        };
        choice != ColorChoice::Never
    }
}

/// Text for people, which ends with its own line break.
pub fn text(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

pub fn line(line: &str) -> io::Result<()> {
    text(&format!("{line}\n"))
}

/// One JSON document.
pub fn json<T: Serialize>(document: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// One of many JSON documents, on a line of its own.
pub fn json_line<T: Serialize>(document: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    bytes(Sink::Stdout, &line)
}

/// Bytes exactly as they are.
pub fn bytes(sink: Sink, bytes: &[u8]) -> io::Result<()> {
    match sink {
        Sink::Stdout => write_through(io::stdout().lock(), bytes),
        Sink::Stderr => write_through(io::stderr().lock(), bytes),
    }
}

fn write_through(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// A question whose answer is typed on the same line.
pub fn prompt(words: &str) {
    write_through(anstream::stderr().lock(), words.as_bytes()).ok();
}

/// A remark beside the output. It must not stop anything, so it is dropped where it cannot be written.
pub fn note(text: &str) {
    writeln!(anstream::stderr().lock(), "{text}").ok();
}

/// A remark that only helps someone who is watching.
pub fn aside(text: &str) {
    if Sink::Stderr.is_terminal() {
        note(text);
    }
}

/// In the language of the terminal.
pub fn failure(failure: &Failure, json: bool) {
    failure_in(LangArgs::default().lang(), failure, json);
}

pub fn failure_in(lang: Lang, failure: &Failure, json: bool) {
    // `trainmaster list | head` should end without a word, like every other program.
    if failure.exit == Exit::NobodyReads {
        return;
    }
    if json {
        note(&serde_json::json!({ "error": failure.body }).to_string());
    } else {
        note(failure_text(failure, lang).trim_end());
    }
}

/// `error: …`, the problems with their places, `hint: …`.
fn failure_text(failure: &Failure, lang: Lang) -> String {
    let problems = &failure.body.problems;
    let (error, hint, colon) = match lang {
        Lang::En => ("error", "hint", ": "),
        Lang::Zh => ("错误", "提示", "："),
    };
    let mut text = format!("{}{colon}{}\n", style::paint(style::BAD, error), plain(failure.body.words().say(lang)));
    for problem in problems {
        text.push_str(&plain(&problem_line(problem, failure.file.as_deref(), lang)));
        text.push('\n');
    }
    // A first hint that only repeats a problem's own helps nobody.
    for words in failure.body.hint_words().iter().filter(|_| problems.is_empty()) {
        text.push_str(&format!("{}{colon}{}\n", style::paint(style::LOUD, hint), plain(words.say(lang))));
    }
    text
}

fn problem_line(problem: &ProblemView, file: Option<&str>, lang: Lang) -> String {
    // What was given by a flag has no place in the file.
    let file = file.filter(|_| !problem.path.starts_with("--"));
    let place = match (file, problem.line) {
        (Some(file), 0) => format!("{file}: "),
        (Some(file), line) => format!("{file}:{line}:{}: ", problem.column),
        (None, _) => String::new(),
    };
    let colon = if lang == Lang::Zh { "：" } else { ": " };
    let path = if problem.path.is_empty() { String::new() } else { format!("{}{colon}", problem.path) };
    let hint = problem.hint_words().map_or(String::new(), |hint| match lang {
        Lang::En => format!(" (hint: {hint})"),
        Lang::Zh => format!("（提示：{}）", hint.say(lang)),
    });
    format!("{place}{path}{}{hint}", problem.words().say(lang))
}

/// How wide the terminal is; none where there is none.
pub fn width() -> Option<usize> {
    size().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// How many lines it has.
pub fn height() -> Option<usize> {
    size().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

fn size() -> Option<libc::winsize> {
    if !Sink::Stdout.is_terminal() {
        return None;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills the structure it is given, and only that.
    let answer = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    (answer == 0).then_some(size)
}

/// A turning wheel with a few words, on a terminal; nothing at all elsewhere.
#[derive(Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

const WHEEL_STEP: Duration = Duration::from_millis(120);

impl Progress {
    pub fn say(&mut self, words: &str) {
        if !Sink::Stderr.is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is right");
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(WHEEL_STEP);
            bar
        });
        bar.set_message(plain(words));
    }

    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// How much of what is to be copied has been, on a terminal; nothing at all elsewhere.
pub struct Transfer {
    bar: ProgressBar,
}

impl Transfer {
    pub fn new() -> Self {
        let bar = if Sink::Stderr.is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style =
            ProgressStyle::with_template("{bar:30} {bytes} of {total_bytes}  {bytes_per_sec}  {eta}").expect("the template is right");
        Self { bar: bar.with_style(style) }
    }

    /// So much more is to come.
    pub fn expect(&self, bytes: u64) {
        self.bar.inc_length(bytes);
    }

    pub fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    pub fn done(&self, words: &str) {
        self.bar.finish_and_clear();
        aside(words);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// How much of something has been moved, on a terminal; nothing at all elsewhere.
pub struct Gauge {
    bar: Option<ProgressBar>,
}

impl Gauge {
    pub fn new(words: &str, total_bytes: u64) -> Self {
        let make = || {
            let template = "{msg} {bar:24} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}";
            let style = ProgressStyle::with_template(template).expect("the template is right");
            ProgressBar::new(total_bytes).with_style(style).with_message(plain(words))
        };
        Self { bar: Sink::Stderr.is_terminal().then(make) }
    }

    pub fn add(&self, bytes: u64) {
        self.bar.iter().for_each(|bar| bar.inc(bytes));
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.bar.iter().for_each(|bar| bar.finish_and_clear());
    }
}

#[cfg(test)]
mod tests {
    use model::{located::Place, spec::Problem};

    use super::*;

    fn shown(failure: &Failure) -> String {
        shown_in(Lang::En, failure)
    }

    fn shown_in(lang: Lang, failure: &Failure) -> String {
        anstream::adapter::strip_str(&failure_text(failure, lang)).to_string()
    }

    #[test]
    fn an_error_is_one_line_and_its_hint_another() {
        let failure = Failure::away("nobody is there").hint("call again");
        insta::assert_snapshot!(shown(&failure), @"
        error: nobody is there
        hint: call again
        ");
    }

    #[test]
    fn every_problem_of_a_file_has_its_place() {
        let problem = |path: &str, line, (en, zh): (&str, &str)| Problem::new(path, (en, zh)).at(Place { line, column: 11 });
        let unknown = problem("roles.wroker", 7, ("there is no such key", "没有这个键"));
        let failure = Failure::bad_file(
            "job.yaml",
            vec![
                problem("roles.worker.cpus", 4, ("`-1` is not a number above 0", "`-1` 不是大于 0 的数")),
                unknown.hint(("did you mean `worker`?", "是不是想写 `worker`？")),
                problem("name", 0, ("is missing", "没有写")),
            ],
        );
        insta::assert_snapshot!(shown(&failure), @"
        error: job.yaml has 3 problems
        job.yaml:4:11: roles.worker.cpus: `-1` is not a number above 0
        job.yaml:7:11: roles.wroker: there is no such key (hint: did you mean `worker`?)
        job.yaml: name: is missing
        ");
        insta::assert_snapshot!(shown_in(Lang::Zh, &failure), @"
        错误：job.yaml 有 3 个问题
        job.yaml:4:11: roles.worker.cpus：`-1` 不是大于 0 的数
        job.yaml:7:11: roles.wroker：没有这个键（提示：是不是想写 `worker`？）
        job.yaml: name：没有写
        ");
    }

    #[test]
    fn what_the_server_says_cannot_play_with_the_terminal() {
        let failure = Failure::new(Exit::You, "x", "no job \x1b[2J\x07");
        assert_eq!(shown(&failure), "error: no job ^[[2J^G\n");
    }
}
