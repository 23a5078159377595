//! Logs of one task or many, as they go to the person's screen or file.

use std::collections::BTreeMap;

use model::logs::Stream;

use super::{
    output::Sink,
    style::{self, paint},
    terminal::Filter,
};

/// A line longer than this is broken rather than kept.
const LINE_BYTES_MAX: usize = 64 << 10;

/// How logs are to be shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// `[worker-0]` before every line, because several tasks speak.
    pub named: bool,
    /// What a task writes to its standard error goes to ours.
    pub apart: bool,
    /// Bytes for a terminal are made safe for it.
    pub safe_stdout: bool,
    pub safe_stderr: bool,
    pub colour: bool,
}

impl Manner {
    /// The manner for what is connected now. `raw` means that the person wants every byte as it is.
    pub fn now(named: bool, raw: bool) -> Self {
        Self {
            named,
            apart: false,
            safe_stdout: !raw && Sink::Stdout.is_terminal(),
            safe_stderr: !raw && Sink::Stderr.is_terminal(),
            colour: Sink::Stdout.has_colour(),
        }
    }

    fn sink(&self, stream: Stream) -> Sink {
        match stream {
            Stream::Stderr | Stream::Platform if self.apart => Sink::Stderr,
            Stream::Stdout | Stream::Stderr | Stream::Platform => Sink::Stdout,
        }
    }

    fn is_safe(&self, sink: Sink) -> bool {
        match sink {
            Sink::Stdout => self.safe_stdout,
            Sink::Stderr => self.safe_stderr,
        }
    }
}

/// Takes pieces of logs and answers what is to be written.
pub struct Printer {
    manner: Manner,
    /// By task, in the order in which they first spoke; a task's place is its colour.
    tasks: Vec<String>,
    voices: BTreeMap<(usize, bool), Voice>,
}

/// One task on one sink.
struct Voice {
    sink: Sink,
    prefix: String,
    attempt: u32,
    line: Vec<u8>,
    filter: Filter,
}

impl Printer {
    pub fn new(manner: Manner) -> Self {
        Self { manner, tasks: Vec::new(), voices: BTreeMap::new() }
    }

    pub fn push(&mut self, (task, attempt): (&str, u32), stream: Stream, bytes: &[u8]) -> Vec<(Sink, Vec<u8>)> {
        let manner = self.manner;
        let sink = manner.sink(stream);
        let safe = manner.is_safe(sink);
        let voice = self.voice(task, attempt, sink);
        let mut out = voice.begin(attempt, manner.named.then_some(safe));
        match (manner.named, safe) {
            (false, true) if stream == Stream::Platform && manner.colour => {
                let text = voice.filter.feed(bytes);
                out.extend(paint(style::OURS, &text).into_bytes());
            }
            (false, false) => out.extend_from_slice(bytes),
            (false, true) => out.extend(voice.filter.feed(bytes).into_bytes()),
            (true, safe) => out.extend(voice.lines(bytes, safe)),
        }
        vec![(sink, out)]
    }

    /// What was kept back for the rest of its line.
    pub fn finish(&mut self) -> Vec<(Sink, Vec<u8>)> {
        let manner = self.manner;
        let last = |voice: &mut Voice| match manner.named {
            true if voice.line.is_empty() => Vec::new(),
            true => voice.take_line(manner.is_safe(voice.sink)),
            false => voice.filter.finish().into_bytes(),
        };
        self.voices.values_mut().map(|voice| (voice.sink, last(voice))).filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    fn voice(&mut self, task: &str, attempt: u32, sink: Sink) -> &mut Voice {
        let place = self.tasks.iter().position(|known| known == task).unwrap_or_else(|| {
            self.tasks.push(task.to_owned());
            self.tasks.len() - 1
        });
        let colour = if self.manner.colour { style::TASKS[place % style::TASKS.len()] } else { style::NONE };
        self.voices.entry((place, sink == Sink::Stderr)).or_insert_with(|| Voice {
            sink,
            prefix: format!("{} ", paint(colour, &format!("[{task}]"))),
            attempt,
            line: Vec::new(),
            filter: Filter::default(),
        })
    }
}

impl Voice {
    /// What a former attempt left without an end is not the beginning of the next one's first line.
    fn begin(&mut self, attempt: u32, named: Option<bool>) -> Vec<u8> {
        let is_new = std::mem::replace(&mut self.attempt, attempt) != attempt;
        match named {
            Some(safe) if is_new && !self.line.is_empty() => self.take_line(safe),
            Some(_) | None => Vec::new(),
        }
    }

    fn lines(&mut self, bytes: &[u8], safe: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            for piece in part.chunks(LINE_BYTES_MAX) {
                self.line.extend_from_slice(piece);
                if self.line.ends_with(b"\n") || self.line.len() >= LINE_BYTES_MAX {
                    out.extend(self.take_line(safe));
                }
            }
        }
        out
    }

    fn take_line(&mut self, safe: bool) -> Vec<u8> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut out = self.prefix.clone().into_bytes();
        if safe {
            let mut filter = Filter::default();
            out.extend(filter.feed(as_left_on_screen(line)).into_bytes());
            out.extend(filter.finish().into_bytes());
        } else {
            out.extend_from_slice(line);
        }
        out.push(b'\n');
        out
    }
}

/// A progress bar goes back to the line's beginning again and again; what it wrote last is what a
/// person would see. Obeyed behind a prefix it would write over the prefix.
fn as_left_on_screen(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.rsplit(|byte| *byte == b'\r').next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(manner: Manner, pieces: &[(&str, Stream, &str)]) -> String {
        let mut printer = Printer::new(manner);
        let mut out: Vec<(Sink, Vec<u8>)> =
            pieces.iter().flat_map(|(task, stream, text)| printer.push((task, 1), *stream, text.as_bytes())).collect();
        out.extend(printer.finish());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for (sink, bytes) in out {
            match sink {
                Sink::Stdout => stdout.extend(bytes),
                Sink::Stderr => stderr.extend(bytes),
            }
        }
        let separator = if stderr.is_empty() { "" } else { "--\n" };
        String::from_utf8(stdout).unwrap() + separator + &String::from_utf8(stderr).unwrap()
    }

    use Stream::{Stderr, Stdout};

    #[test]
    fn one_task_without_a_terminal_is_exact() {
        let pieces = [("main-0", Stdout, "a\x1b[2J\r\n"), ("main-0", Stderr, "warn\0"), ("main-0", Stdout, "b")];
        assert_eq!(shown(Manner::default(), &pieces), "a\x1b[2J\r\nwarn\0b");
    }

    #[test]
    fn streams_can_be_kept_apart() {
        let pieces = [("main-0", Stdout, "out\n"), ("main-0", Stderr, "err\n")];
        assert_eq!(shown(Manner { apart: true, ..Manner::default() }, &pieces), "out\n--\nerr\n");
    }

    #[test]
    fn on_a_terminal_only_colours_pass() {
        let pieces = [("main-0", Stdout, "\x1b[3"), ("main-0", Stdout, "1mred\x1b[2J\n")];
        assert_eq!(shown(Manner { safe_stdout: true, ..Manner::default() }, &pieces), "\x1b[31mred^[[2J\n\x1b[0m");
    }

    #[test]
    fn several_tasks_are_named_and_never_cut_into_each_others_lines() {
        let pieces =
            [("ps-0", Stdout, "ser"), ("worker-0", Stdout, "step 1\nste"), ("ps-0", Stdout, "ving\n"), ("worker-0", Stderr, "p 2")];
        insta::assert_snapshot!(shown(Manner { named: true, ..Manner::default() }, &pieces), @"
        [worker-0] step 1
        [ps-0] serving
        [worker-0] step 2
        ");
    }

    #[test]
    fn behind_a_name_a_progress_bar_shows_what_it_wrote_last() {
        let pieces = [("w-0", Stdout, "10%\r20%\r\n"), ("w-0", Stdout, "x\r\n")];
        let safe = Manner { named: true, safe_stdout: true, ..Manner::default() };
        assert_eq!(shown(safe, &pieces), "[w-0] 20%\n[w-0] x\n");
        let exact = Manner { named: true, ..Manner::default() };
        assert_eq!(shown(exact, &pieces), "[w-0] 10%\r20%\r\n[w-0] x\r\n");
    }

    #[test]
    fn each_task_has_its_colour_and_a_colour_ends_with_its_line() {
        let manner = Manner { named: true, safe_stdout: true, colour: true, ..Manner::default() };
        let out = shown(manner, &[("a-0", Stdout, "\x1b[1mbold\n"), ("b-0", Stdout, "x\n")]);
        assert_eq!(out, "\x1b[36m[a-0]\x1b[0m \x1b[1mbold\x1b[0m\n\x1b[33m[b-0]\x1b[0m x\n");
    }

    #[test]
    fn an_attempt_does_not_go_on_with_the_last_line_of_the_one_before() {
        let mut printer = Printer::new(Manner { named: true, ..Manner::default() });
        let mut out = printer.push(("a-0", 1), Stdout, b"first");
        out.extend(printer.push(("a-0", 2), Stdout, b"second\n"));
        let text: Vec<u8> = out.into_iter().flat_map(|it| it.1).collect();
        assert_eq!(String::from_utf8(text).unwrap(), "[a-0] first\n[a-0] second\n");
    }

    #[test]
    fn a_line_without_end_is_broken_and_not_kept() {
        let mut printer = Printer::new(Manner { named: true, ..Manner::default() });
        let out = printer.push(("a-0", 1), Stdout, &vec![b'x'; LINE_BYTES_MAX + 10]);
        assert_eq!(out[0].1.len(), "[a-0] ".len() + LINE_BYTES_MAX + 1);
        assert_eq!(printer.finish()[0].1, b"[a-0] xxxxxxxxxx\n");
    }
}
