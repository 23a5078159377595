//! A line for the shell as its words and the signs between them, and where the functions in it end.

use super::{Line, Open};

/// A word as it is written, with its quotes, or a sign that stands between words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    /// Whether a shell puts all of its arguments in here: `$@`, `$*`.
    pub says_arguments: bool,
}

/// What the next characters of a line are for whoever looks for words.
enum Part {
    Word,
    Sign,
    Space,
    Comment,
    Document,
}

/// The line's words and signs. Comments are left out, and what a document says is said by the end of a line.
pub(super) fn tokens(line: &str) -> Vec<Token> {
    let all: Vec<char> = line.chars().collect();
    let (mut line, mut at, mut word, mut tokens) = (Line::default(), 0, Token::default(), Vec::new());
    while at < all.len() {
        let rest = &all[at..];
        let (part, says_arguments) = (line.part(rest), line.says_arguments(rest));
        let length = line.go(rest);
        if let Part::Word = part {
            word.text.extend(&rest[..length]);
            word.says_arguments |= says_arguments;
        } else if !word.text.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match part {
            Part::Sign => tokens.push(Token { text: rest[0].into(), says_arguments: false }),
            Part::Document if says_arguments => tokens.push(Token { text: "\n".into(), says_arguments }),
            Part::Word | Part::Space | Part::Comment | Part::Document => {}
        }
        at += length;
    }
    tokens.extend(Some(word).filter(|it| !it.text.is_empty()));
    tokens
}

impl Line {
    fn part(&self, rest: &[char]) -> Part {
        match (self.open.first(), rest) {
            (Some(Open::Comment), ['\n', ..]) => Part::Sign,
            (Some(Open::Comment), _) => Part::Comment,
            (Some(Open::Document(_)), _) => Part::Document,
            (Some(Open::Single | Open::Double | Open::Backticks | Open::Command(_) | Open::Sum(_)), _) => Part::Word,
            (None, ['#', ..]) if self.begins_word() => Part::Comment,
            // `2>&1` and `>|` are about files.
            (None, ['&' | '|', ..]) if matches!(self.before, Some('<' | '>')) => Part::Word,
            (None, [';' | '&' | '|' | '(' | ')' | '\n', ..]) => Part::Sign,
            (None, [c, ..]) if c.is_whitespace() => Part::Space,
            (None, _) => Part::Word,
        }
    }

    fn says_arguments(&self, rest: &[char]) -> bool {
        self.replaces() && matches!(rest, ['$', '@' | '*', ..] | ['$', '{', '@' | '*', ..])
    }

    /// Whether a shell puts something in for a `$` here.
    fn replaces(&self) -> bool {
        match self.open.last() {
            Some(Open::Single | Open::Comment) => false,
            Some(Open::Document(document)) => !document.is_literal,
            None | Some(Open::Double | Open::Backticks | Open::Command(_) | Open::Sum(_)) => true,
        }
    }
}

/// Whether a command begins behind a token, where one began with it or did not.
fn begins_behind(text: &str, begins: bool) -> bool {
    const WORDS: [&str; 14] = ["{", "}", "!", "time", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac"];
    matches!(text, ";" | "&" | "|" | "(" | ")" | "\n") || begins && WORDS.contains(&text)
}

/// Without its functions: what those say is about arguments of their own.
pub(super) fn outside_of_functions(tokens: &[Token]) -> Vec<&Token> {
    let (mut outside, mut at, mut begins) = (Vec::new(), 0, true);
    while at < tokens.len() {
        if let Some(head) = head(&tokens[at..]).filter(|_| begins) {
            at += head + body(&tokens[at + head..]);
        } else {
            outside.push(&tokens[at]);
            begins = begins_behind(&tokens[at].text, begins);
            at += 1;
        }
    }
    outside
}

/// How many tokens stand before the body, if a function begins here.
fn head(tokens: &[Token]) -> Option<usize> {
    let texts: Vec<&str> = tokens.iter().take(4).map(|it| it.text.as_str()).collect();
    let length = match texts[..] {
        ["function", _, "(", ")"] => 4,
        ["function", _, ..] => 2,
        [_, "(", ")", ..] => 3,
        _ => return None,
    };
    Some(length + tokens[length..].iter().take_while(|it| it.text == "\n").count())
}

/// How many tokens a body in brackets has. Any other is not looked into.
fn body(tokens: &[Token]) -> usize {
    let (mut open, mut begins) = (Vec::new(), true);
    for (at, Token { text, .. }) in tokens.iter().enumerate() {
        match text.as_str() {
            "{" if begins => open.push("}"),
            "case" if begins => open.push("esac"),
            "(" => open.push(")"),
            // A `)` behind a pattern closes nothing, and neither does a `}` that is a word to a command.
            closing if open.last() == Some(&closing) && (begins || closing == ")") => drop(open.pop()),
            _ => {}
        }
        if open.is_empty() {
            return at + 1;
        }
        begins = begins_behind(text, begins);
    }
    tokens.len()
}
