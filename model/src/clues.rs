//! What only the one who stood beside a child can tell about its end.

use serde::{Deserialize, Serialize};

/// Found by the supervisor when a child has failed, and written into the exit record. Small, whatever the child wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Clues {
    /// The last lines of both streams, in the order they came.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// The last Python traceback in what it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<Traceback>,
    /// Places without room at that moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full: Vec<FullPlace>,
    /// How often the limit on processes said no, and what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessLimit>,
    /// What the kernel's log says of killing it for the machine's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_log: Option<String>,
    #[serde(default)]
    pub core_dumped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Traceback {
    /// From its first line to the exception; of a long one the end.
    pub text: String,
    /// Such as `ValueError: bad shape`.
    pub exception: String,
    /// The innermost place in the user's own code, such as `train.py:12 in main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FullPlace {
    /// As the child knows it, such as `/output`.
    pub place: String,
    pub free_bytes: u64,
    pub all_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProcessLimit {
    pub refused: u64,
    pub most: u64,
}

/// Bytes of a log that are looked at, from its end.
pub const LOOK_BYTES: usize = 64 << 10;
const TAIL_LINES: usize = 30;
const TAIL_BYTES: usize = 3 << 10;
const TRACEBACK_BYTES: usize = 2 << 10;
const LINE_BYTES: usize = 500;

/// Reads the end of a log. The bytes may begin in the middle of a line, and of a character.
pub fn read_tail(bytes: &[u8]) -> (String, Option<Traceback>) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<String> = text.split('\n').map(shown).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
    (last_lines(&lines), last_traceback(&lines))
}

/// What a terminal would show of a line: the last frame of a progress bar, without colours.
fn shown(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let last = line.rsplit('\r').find(|frame| !frame.trim().is_empty()).unwrap_or(line);
    let mut text = String::new();
    let mut rest = last.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\t' => text.push(' '),
            other if other.is_control() => {}
            other => text.push(other),
        }
    }
    clip(&text, LINE_BYTES)
}

fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if rest.next_if_eq(&'[').is_some() {
        for character in rest.by_ref() {
            if ('\u{40}'..='\u{7e}').contains(&character) {
                break;
            }
        }
    }
}

fn clip(text: &str, most: usize) -> String {
    match (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)) {
        Some(end) if end < text.len() => format!("{}…", &text[..end]),
        Some(_) | None => text.to_owned(),
    }
}

/// As many as fit, from the end.
fn last_lines(lines: &[&str]) -> String {
    last_that_fit(&lines[lines.len().saturating_sub(TAIL_LINES)..], TAIL_BYTES)
}

fn last_that_fit(lines: &[&str], most: usize) -> String {
    let mut bytes = 0;
    let fits = |line: &&&str| {
        bytes += line.len() + 1;
        bytes <= most
    };
    let mut kept: Vec<&str> = lines.iter().rev().take_while(fits).copied().collect();
    kept.reverse();
    kept.join("\n")
}

const BEGINNING: &str = "Traceback (most recent call last):";

/// Tasks, launchers and test runners put their own mark before each line; it is the same before all of them.
fn last_traceback(lines: &[&str]) -> Option<Traceback> {
    let (from, mark) = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, line.strip_suffix(BEGINNING)?)))?;
    let inside: Vec<&str> = lines[from..].iter().map(|line| line.strip_prefix(mark).unwrap_or(line)).collect();
    // Frames are indented; the exception is the first line after them that is not.
    let at = 1 + inside[1..].iter().position(|line| !line.starts_with([' ', '\t']))?;
    let exception = inside[at].to_owned();
    let frame = inside[..at].iter().rev().find_map(|line| own_frame(line));
    // What follows the exception may belong to it: the message of many libraries has several lines.
    Some(Traceback { text: last_that_fit(&inside[..=at], TRACEBACK_BYTES), exception, frame })
}

/// `  File "/code/train.py", line 12, in main` of the user's own code.
fn own_frame(line: &str) -> Option<String> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let foreign = ["/site-packages/", "/dist-packages/", "/lib/python", "<frozen"].iter().any(|part| path.contains(part));
    let (number, function) = rest.split_once(", in ").map_or((rest, None), |(number, function)| (number, Some(function)));
    let path = path.strip_prefix("/code/").unwrap_or(path);
    let inside = function.filter(|it| *it != "<module>").map_or(String::new(), |it| format!(" in {it}"));
    (!foreign).then(|| format!("{path}:{number}{inside}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAISED: &str = "step 1\n\
        Traceback (most recent call last):\n  File \"/code/a.py\", line 1, in <module>\n    first()\nKeyError: 'x'\n\n\
        During handling of the above exception, another exception occurred:\n\n\
        Traceback (most recent call last):\n  File \"/code/train.py\", line 12, in main\n    model.fit()\n  \
        File \"/usr/lib/python3/dist-packages/keras/engine.py\", line 7, in fit\n    raise ValueError\nValueError: bad shape\nbye\n";

    #[test]
    fn the_last_traceback_is_found_with_its_exception_and_the_place_in_the_users_code() {
        let (tail, traceback) = read_tail(RAISED.as_bytes());
        let traceback = traceback.unwrap();
        assert_eq!(traceback.exception, "ValueError: bad shape");
        assert_eq!(traceback.frame.as_deref(), Some("train.py:12 in main"));
        assert!(traceback.text.starts_with(BEGINNING) && traceback.text.ends_with("ValueError: bad shape"), "{}", traceback.text);
        assert!(tail.ends_with("ValueError: bad shape\nbye"), "{tail}");
    }

    #[test]
    fn a_mark_before_every_line_does_not_hide_a_traceback() {
        let marked: String = RAISED.lines().map(|line| format!("[rank1]: {line}\n")).collect();
        let traceback = read_tail(marked.as_bytes()).1.unwrap();
        assert_eq!((traceback.exception.as_str(), traceback.frame.as_deref()), ("ValueError: bad shape", Some("train.py:12 in main")));
    }

    #[test]
    fn whatever_a_task_writes_the_clues_are_small_and_plain() {
        let mut hostile = b"\xff\xfe\x00 10%\r 20%\r 30%\r\n\x1b[31mred\x1b[0m\n".to_vec();
        hostile.extend("\"\\\u{7}é".repeat(20_000).bytes());
        hostile.extend(b"\nTraceback (most recent call last):\n");
        let (tail, traceback) = read_tail(&hostile);
        assert!(tail.len() <= TAIL_BYTES + 100 && !tail.chars().any(|it| it.is_control() && it != '\n'), "{} bytes", tail.len());
        assert!(tail.starts_with("\u{fffd}\u{fffd} 10%") || tail.contains(" 30%\nred\n"), "{tail:.60}");
        assert_eq!(traceback, None, "one that has no exception is none");
        assert_eq!(read_tail(b""), (String::new(), None));
    }
}
