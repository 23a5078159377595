//! Values in a line for the shell: where in it one stands, and how it has to be written there to stay one value and nothing more.

mod arguments;
mod tokens;

pub use arguments::{last_command, obstacle, says_arguments};

/// One word for the shell.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,~".contains(c);
    let bare = !text.is_empty() && !text.starts_with('~') && text.chars().all(plain);
    if bare { text.to_owned() } else { format!("'{}'", inside_single(text)) }
}

fn inside_single(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Goes over a line in pieces and knows between two of them what a shell would make of the next.
#[derive(Debug, Default)]
pub struct Line {
    /// What is open, the innermost last.
    open: Vec<Open>,
    /// Documents that begin with the next line.
    documents: Vec<Document>,
    /// The character before; none at the beginning.
    before: Option<char>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    Comment,
    Backticks,
    /// `$( … )`, with so many brackets open in it.
    Command(usize),
    /// `$(( … ))`
    Sum(usize),
    Document(Document),
}

/// Lines that a command reads: `<<END`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Document {
    end: String,
    /// `<<-END`: tabs before a line do not count.
    without_tabs: bool,
    /// `<<'END'`: nothing in it is replaced.
    is_literal: bool,
    line: String,
}

impl Line {
    /// Goes over a piece that the person has written.
    pub fn pass(&mut self, text: &str) {
        let all: Vec<char> = text.chars().collect();
        let mut at = 0;
        while at < all.len() {
            at += self.go(&all[at..]);
        }
    }

    fn go(&mut self, rest: &[char]) -> usize {
        let taken = self.step(rest);
        self.before = Some(rest[taken - 1]);
        taken
    }

    /// A value as it is to be written here.
    pub fn value(&mut self, text: &str) -> String {
        let written = self.written(text);
        // Backticks take one `\` away before anything else is read, also in quotes.
        self.open.iter().filter(|it| **it == Open::Backticks).fold(written, |written, _| escaped(&written, "\\$`"))
    }

    /// The same for a value of whoever did not write the line: what no quotes can hold is not there, or is a space.
    pub fn foreign(&mut self, text: &str) -> String {
        let is_sum = |c: &char| c.is_ascii_alphanumeric() || "_.+-*/% ".contains(*c);
        match self.open.last() {
            Some(Open::Sum(_)) => self.value(&text.chars().filter(is_sum).collect::<String>()),
            Some(Open::Document(_)) => self.value(&text.replace('\n', " ")),
            None | Some(Open::Single | Open::Double | Open::Comment | Open::Backticks | Open::Command(_)) => self.value(text),
        }
    }

    fn written(&mut self, text: &str) -> String {
        // Whatever it is, no word, no comment and no end of a document begins behind it.
        self.before = Some('x');
        match self.open.last_mut() {
            None | Some(Open::Command(_) | Open::Backticks) => word(text),
            Some(Open::Single) => inside_single(text),
            Some(Open::Double) => escaped(text, "\\\"$`"),
            Some(Open::Sum(_)) => text.to_owned(),
            // Nobody reads it there, and a line's end in it would be the end of the comment.
            Some(Open::Comment) => String::new(),
            Some(Open::Document(document)) => {
                document.line.push('x');
                if document.is_literal { text.to_owned() } else { escaped(text, "\\$`") }
            }
        }
    }

    /// Takes one thing, and answers how many characters it has.
    fn step(&mut self, rest: &[char]) -> usize {
        match (self.open.last_mut(), rest) {
            (Some(Open::Document(document)), ['\n', ..]) => {
                let line = std::mem::take(&mut document.line);
                let line = if document.without_tabs { line.trim_start_matches('\t') } else { &line };
                if line == document.end {
                    self.open.pop();
                }
                1
            }
            (Some(Open::Document(document)), _) => {
                document.line.extend(rest.first());
                1
            }
            (Some(Open::Single), ['\'', ..]) | (Some(Open::Double), ['"', ..]) | (Some(Open::Backticks), ['`', ..]) => self.close(1),
            (Some(Open::Single), _) => 1,
            (Some(Open::Comment), ['\n', ..]) => {
                self.open.pop();
                self.plain(rest)
            }
            (Some(Open::Comment), _) => 1,
            (Some(Open::Sum(0)), [')', ')', ..]) => self.close(2),
            (Some(Open::Sum(brackets) | Open::Command(brackets)), ['(', ..]) => {
                *brackets += 1;
                1
            }
            (Some(Open::Command(0)), [')', ..]) => self.close(1),
            (Some(Open::Sum(brackets) | Open::Command(brackets)), [')', ..]) => {
                *brackets = brackets.saturating_sub(1);
                1
            }
            (Some(Open::Sum(_)), _) => 1,
            (Some(Open::Double), _) => self.replaced(rest),
            (None | Some(Open::Command(_) | Open::Backticks), _) => self.plain(rest),
        }
    }

    /// What is read inside of double quotes too.
    fn replaced(&mut self, rest: &[char]) -> usize {
        match rest {
            ['\\', _, ..] => 2,
            ['$', '(', '(', ..] => self.begin(Open::Sum(0), 3),
            ['$', '(', ..] => self.begin(Open::Command(0), 2),
            ['`', ..] => self.begin(Open::Backticks, 1),
            _ => 1,
        }
    }

    fn begins_word(&self) -> bool {
        self.before.is_none_or(|c| c.is_whitespace() || ";&|()`".contains(c))
    }

    fn plain(&mut self, rest: &[char]) -> usize {
        match rest {
            ['\'', ..] => self.begin(Open::Single, 1),
            ['"', ..] => self.begin(Open::Double, 1),
            ['#', ..] if self.begins_word() => self.begin(Open::Comment, 1),
            ['<', '<', '<', ..] => 3,
            ['<', '<', after @ ..] => 2 + self.document(after),
            ['\n', ..] => {
                // The first of them comes first, and so lies on top.
                self.open.extend(self.documents.drain(..).rev().map(Open::Document));
                1
            }
            _ => self.replaced(rest),
        }
    }

    /// Notes a document by what stands behind its `<<`, and answers how many characters that are.
    fn document(&mut self, after: &[char]) -> usize {
        let without_tabs = after.first() == Some(&'-');
        let dash = usize::from(without_tabs);
        let spaces = after[dash..].iter().take_while(|c| matches!(c, ' ' | '\t')).count();
        let word: String = after[dash + spaces..].iter().take_while(|c| !c.is_whitespace() && !";&|()<>".contains(**c)).collect();
        let end: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        if !end.is_empty() {
            self.documents.push(Document { is_literal: end != word, end, without_tabs, line: String::new() });
        }
        dash + spaces + word.chars().count()
    }

    fn begin(&mut self, open: Open, length: usize) -> usize {
        self.open.push(open);
        length
    }

    fn close(&mut self, length: usize) -> usize {
        self.open.pop();
        length
    }
}

fn escaped(text: &str, special: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(c) {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line with the value in place of every `@`.
    fn with_value(line: &str, value: &str) -> String {
        let (mut scanner, mut written) = (Line::default(), String::new());
        for (index, piece) in line.split('@').enumerate() {
            if index > 0 {
                written.push_str(&scanner.value(value));
            }
            scanner.pass(piece);
            written.push_str(piece);
        }
        written
    }

    /// Each prints what stands in the place of `@`, in another way.
    const LINES: [&str; 16] = [
        "printf %s @",
        "printf %s '@'",
        "printf %s \"@\"",
        "x=@; printf %s \"$x\"",
        "printf %s \"$(printf %s @)\"",
        "printf %s \"$(printf %s '@')\"",
        "printf %s \"$(printf %s \"@\")\"",
        "(true); : it\\'s \\\" # don't\nprintf %s @",
        "# @\nprintf %s @",
        "x=`printf %s @`; printf %s \"$x\"",
        "x=`printf %s '@'`; printf %s \"$x\"",
        "x=$((1 << 2)); printf %s @",
        "printf %s \"$(cat <<END\n@\nEND\n)\"",
        "printf %s \"$(cat <<'END'\nit's @\nEND\n)\" | sed \"s/^it's //\" | { IFS= read -r x; printf %s \"$x\"; }; : '@'",
        "cat <<-A - <<B >/dev/null\n\tit's\n\tA\nit's\nB\nprintf %s @",
        "if :; then case x in (x) printf %s @;; esac; fi",
    ];

    const VALUES: [&str; 9] = ["s3cret", "it's", "a b", "$HOME", "`id`", "$(id)", "back\\slash\\", "\"quoted\" #not", "~;|&<>()*?[]{}!"];

    #[test]
    fn a_value_is_one_value_wherever_it_stands() {
        for line in LINES {
            for value in VALUES {
                let script = with_value(line, value);
                for shell in ["sh", "bash"] {
                    let out = std::process::Command::new(shell).args(["-c", &script]).output().unwrap();
                    let (said, trouble) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
                    assert!(said == value && trouble.is_empty(), "{shell}: {script}\nsaid {said}\n{trouble}");
                }
            }
        }
    }

    #[test]
    fn what_is_harmless_stays_as_it_is() {
        assert_eq!(with_value("login --key=@ \"@\" '@'", "abc-123"), "login --key=abc-123 \"abc-123\" 'abc-123'");
        assert_eq!((word(""), word("~ann"), word("a b")), ("''".into(), "'~ann'".into(), "'a b'".into()));
    }
}
