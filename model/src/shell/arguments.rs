//! Words that a shell is given behind a line: whether the line says itself where they go, and whether they reach its last command
//! when `"$@"` is written behind it.

use super::{
    Line,
    tokens::{Token, outside_of_functions, tokens},
};

/// Whether the line says `"$@"` or the like itself. In a function those are other arguments.
pub fn says_arguments(line: &str) -> bool {
    outside_of_functions(&tokens(line)).iter().any(|token| token.says_arguments)
}

/// What stands in the way of words that are written behind a single line.
pub fn obstacle(line: &str) -> Option<&'static str> {
    let (line, mut found) = (line.trim(), None);
    walk(line, |at, rest| found = found.or_else(|| at.obstacle(rest)));
    found.or_else(|| end_of_brackets(last(&tokens(line))))
}

/// The words that a shell runs last of a single line, which get what is written behind it. One that cannot be told apart has none.
pub fn last_command(line: &str) -> Vec<String> {
    let mut is_file = false;
    let mut is_word = |token: &&Token| {
        let redirects = token.text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>']);
        // In `> log` the file is a word of its own.
        let was_file = std::mem::replace(&mut is_file, redirects && token.text.ends_with(['<', '>', '&', '|']));
        !redirects && !was_file
    };
    let tokens = tokens(line);
    let words: Vec<&str> = last(&tokens).iter().filter(|token| is_word(token)).map(|token| token.text.as_str()).collect();
    shlex::split(&words.join(" ")).unwrap_or_default()
}

/// What stands behind the last `&&` that is not inside of brackets.
fn last(tokens: &[Token]) -> &[Token] {
    let (mut open, mut from) = (0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" => open += 1,
            ")" => open = open.saturating_sub(1),
            "&" if open == 0 => from = at + 1,
            _ => {}
        }
    }
    &tokens[from..]
}

/// What ends a command that is no program and its words, and takes none behind it but the names of files.
fn end_of_brackets(command: &[Token]) -> Option<&'static str> {
    const ENDS: [(&str, &str); 6] = [("{", "}"), ("if", "fi"), ("while", "done"), ("until", "done"), ("for", "done"), ("case", "esac")];
    let first = command.first()?;
    let end = ENDS.iter().find(|(begin, _)| *begin == first.text).map(|(_, end)| *end);
    end.or_else(|| command.iter().any(|token| token.text == ")").then_some(")"))
}

fn walk(text: &str, mut seen: impl FnMut(&Line, &[char])) {
    let all: Vec<char> = text.chars().collect();
    let (mut line, mut at) = (Line::default(), 0);
    while at < all.len() {
        seen(&line, &all[at..]);
        at += line.go(&all[at..]);
    }
}

impl Line {
    fn obstacle(&self, rest: &[char]) -> Option<&'static str> {
        if !self.open.is_empty() {
            return None;
        }
        match (self.before, rest) {
            (_, ['#', ..]) if self.begins_word() => Some("#"),
            (_, [';', ..]) => Some(";"),
            (_, ['|', '|', ..]) => Some("||"),
            // `>|` writes to a file.
            (before, ['|', ..]) if before != Some('>') => Some("|"),
            (_, ['&', '&', ..]) | (Some('&' | '<' | '>'), ['&', ..]) => None,
            (_, ['&', ..]) => Some("&"),
            (_, ['\\']) => Some("\\"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_its_arguments_go_only_where_a_shell_would_put_them_in() {
        for line in ["x \"$@\" | tee log", "x $@", "x \"${@}\"", "a\nx \"$@\"\n", "y=\"$(x \"$@\")\"", "# it's\nx \"$@\""] {
            assert!(says_arguments(line), "{line}");
        }
        for line in ["f() { a; }; x \"$@\"", "f() { g \"$@\"; }\nf \"$@\"", "{ x \"$@\"; }", "(x $*)", "f() { a '}'; }\ncat <<E\n$@\nE\nb"]
        {
            assert!(says_arguments(line), "{line}");
        }
        for line in ["x", "x '\"$@\"'", "x # \"$@\"", "x \\$@", "cat <<'E'\n$@\nE\n", "x $HOME @"] {
            assert!(!says_arguments(line), "{line}");
        }
    }

    #[test]
    fn what_a_function_says_of_its_own_arguments_is_not_about_those_of_the_line() {
        for body in [
            "{ echo \"$*\"; }",
            "{\n  echo \"$@\" | sed \"s/}/$*/\" # }\n}",
            "{ echo } \"$*\"; }",
            "{ { a; } && if b; then { c; } fi; d \"$@\"; }",
            "{ if a; then b; fi }",
            "{ a=$(b; c) x ${1} \"${@}\"; }",
            "(cd /x; echo $*)",
            "(case $1 in a) b;; (c) d;; esac; e \"$@\")",
            "\n{ cat <<E\n}; $*\nE\n}",
        ] {
            for head in ["log()", "log ( )", "function log", "function log()", "true && log()", "if true; then log()"] {
                for end in ["", "; fi", "\nlog start\npython3 train.py"].iter().filter(|it| (**it == "; fi") == head.starts_with("if")) {
                    let line = format!("{head} {body}{end}");
                    assert!(!says_arguments(&line), "{line}");
                    let line = format!("{line}; x \"$@\"");
                    assert!(says_arguments(&line), "{line}");
                }
            }
        }
    }

    #[test]
    fn what_stands_in_the_way_of_arguments_is_seen_only_outside_of_quotes() {
        let found = |line: &str| obstacle(line).unwrap_or("nothing");
        for (line, what) in [
            ("x # mine", "#"),
            ("x; echo done", ";"),
            ("x || exit 3", "||"),
            ("x | tee log", "|"),
            ("x &", "&"),
            ("x &> log", "&"),
            ("(x)", ")"),
            ("(cd /code && x) 2>&1", ")"),
            ("y && (cd /code && x) > log", ")"),
            ("if (a) then (b) fi", "fi"),
            ("if (a) then (b) fi > log", "fi"),
            ("{ (x) }", "}"),
            ("{ (x) } > log", "}"),
            ("x \\", "\\"),
            ("x \\ ", "\\"),
        ] {
            assert_eq!(found(line), what, "{line}");
        }
        for line in [
            "cd /code && x",
            "(a) && x",
            "(a && b)&&x",
            "x --unit fi --brace }",
            "x 2>&1 >| log <&-",
            "x ';' \"a | b\" a#b \\; \\)",
            "x \"$(a; b | c)\" `a; b` $((1 | 2))",
            "x ${HOME} {{ params.lr }} $(date)",
        ] {
            assert_eq!(found(line), "nothing", "{line}");
        }
    }
}
