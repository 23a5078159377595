//! A line of a log as a person sees it: who says it, when, in its colours, with what was looked for marked.

use anstyle::{Reset, Style};
use model::{logs::Stream, wire::LineView};

use super::{people::moment_ms, style};

/// How lines are to be shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// `[worker-0]` before every line, because several tasks speak.
    pub named: bool,
    pub times: bool,
    pub colour: bool,
}

pub fn line_text(line: &LineView, look: Look) -> String {
    let paint = |style: Style, text: &str| if look.colour { style::paint(style, text) } else { text.to_owned() };
    let mut text = String::new();
    if look.times {
        text.push_str(&format!("{} ", paint(style::QUIET, &moment_ms(line.at_ms))));
    }
    if look.named {
        text.push_str(&format!("{} ", paint(style::of_task(&line.task), &format!("[{}]", line.task))));
    }
    let is_ours = line.stream == Stream::Platform;
    let said = if look.colour { coloured(line) } else { line.text.clone() };
    text.push_str(&if is_ours { paint(style::OURS, &line.text) } else { said });
    if line.cut_bytes > 0 {
        text.push_str(&paint(style::QUIET, &format!(" … and {} bytes more", line.cut_bytes)));
    }
    text.push('\n');
    text
}

/// The task's own colours, and the matches turned around.
fn coloured(line: &LineView) -> String {
    let (mut text, mut colours, mut sgr) = (String::with_capacity(line.text.len() + 32), line.colours.iter().peekable(), "");
    for (at, c) in line.text.chars().enumerate() {
        let at = at as u32;
        let mut changed = false;
        while let Some(colour) = colours.next_if(|colour| colour.at <= at) {
            sgr = &colour.sgr;
            changed = true;
        }
        let begins = line.matches.iter().any(|[start, _]| *start == at);
        let ends = line.matches.iter().any(|[_, end]| *end == at);
        if changed || begins || ends {
            let is_match = line.matches.iter().any(|[start, end]| (*start..*end).contains(&at));
            text.push_str(&format!("{Reset}{}", opening(sgr, is_match)));
        }
        text.push(c);
    }
    if !line.colours.is_empty() || !line.matches.is_empty() {
        text.push_str(&Reset.to_string());
    }
    text
}

fn opening(sgr: &str, is_match: bool) -> String {
    let own = if sgr.is_empty() { String::new() } else { format!("\x1b[{sgr}m") };
    if is_match { format!("{own}{}", style::FOUND.render()) } else { own }
}

#[cfg(test)]
mod tests {
    use model::terminal::Colour;

    use super::*;

    pub fn line(text: &str) -> LineView {
        LineView {
            task: "worker-0".into(),
            attempt: 1,
            stream: Stream::Stdout,
            at_ms: 1000,
            offset: 0,
            end: 10,
            text: text.into(),
            colours: Vec::new(),
            matches: Vec::new(),
            context: false,
            unfinished: false,
            cut_bytes: 0,
            dropped_bytes: None,
        }
    }

    #[test]
    fn without_colours_a_line_is_text() {
        let long = LineView { cut_bytes: 7, colours: vec![Colour { at: 0, sgr: "31".into() }], matches: vec![[0, 4]], ..line("loss 0.1") };
        assert_eq!(line_text(&long, Look::default()), "loss 0.1 … and 7 bytes more\n");
        assert_eq!(line_text(&line("x"), Look { named: true, ..Look::default() }), "[worker-0] x\n");
    }

    #[test]
    fn colours_and_matches_lie_over_each_other() {
        let both = LineView { colours: vec![Colour { at: 1, sgr: "31".into() }], matches: vec![[2, 3]], ..line("abcd") };
        let text = line_text(&both, Look { colour: true, ..Look::default() });
        let found = style::FOUND.render();
        assert_eq!(text, format!("a\x1b[0m\x1b[31mb\x1b[0m\x1b[31m{found}c\x1b[0m\x1b[31md\x1b[0m\n"));
    }

    #[test]
    fn our_own_lines_are_marked() {
        let ours = LineView { stream: Stream::Platform, ..line("[trainmaster: x]") };
        let text = line_text(&ours, Look { colour: true, ..Look::default() });
        assert!(text.starts_with('\x1b') && text.contains("[trainmaster: x]"), "{text:?}");
    }
}
