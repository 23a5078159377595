//! Words that a shell is given behind a line: whether the line says itself where they go, and whether they reach its last command
//! when `"$@"` is written behind it.

use super::{
    Line,
    tokens::{outside_of_functions, tokens},
};

/// Whether the line says `"$@"` or the like itself. In a function those are other arguments.
pub fn says_arguments(line: &str) -> bool {
    outside_of_functions(&tokens(line)).iter().any(|token| token.says_arguments)
}

/// What stands in the way of words that are written behind a single line.
pub fn obstacle(line: &str) -> Option<&'static str> {
    let (line, mut found) = (line.trim(), None);
    let end = walk(line, |at, rest| found = found.or_else(|| at.obstacle(rest)));
    let closes = |word| ["}", "fi", "done", "esac"].into_iter().find(|it| *it == word);
    found.or_else(|| line.split_whitespace().last().filter(|_| end.open.is_empty()).and_then(closes))
}

fn walk(text: &str, mut seen: impl FnMut(&Line, &[char])) -> Line {
    let all: Vec<char> = text.chars().collect();
    let (mut line, mut at) = (Line::default(), 0);
    while at < all.len() {
        seen(&line, &all[at..]);
        at += line.go(&all[at..]);
    }
    line
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
            (_, [')']) => Some(")"),
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
            ("if (a) then (b) fi", "fi"),
            ("{ (x) }", "}"),
            ("x \\", "\\"),
            ("x \\ ", "\\"),
        ] {
            assert_eq!(found(line), what, "{line}");
        }
        for line in [
            "cd /code && x",
            "(a) && x",
            "x 2>&1 >| log <&-",
            "x ';' \"a | b\" a#b \\; \\)",
            "x \"$(a; b | c)\" `a; b` $((1 | 2))",
            "x ${HOME} {{ params.lr }} $(date)",
        ] {
            assert_eq!(found(line), "nothing", "{line}");
        }
    }
}
