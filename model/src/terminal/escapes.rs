//! Escape sequences among characters, however they are cut.

/// Longer than any colour or movement; what goes on beyond it is none.
const SEQUENCE_CHARS_MAX: usize = 64;
/// The title of a window or the target of a link.
const STRING_CHARS_MAX: usize = 1024;

const ESCAPE: char = '\x1b';

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Plain(char),
    /// What stands between `ESC [` and `m`: numbers with `;` and `:` between them.
    Colour(String),
    /// Another escape, whole.
    Escape(String),
    /// Began like one and did not go on like one.
    Broken(String),
}

/// Keeps half an escape until the rest of it comes.
#[derive(Clone, Debug, Default)]
pub struct Escapes {
    held: String,
}

enum Step {
    GoesOn,
    Ends,
    Breaks,
}

impl Escapes {
    pub fn take(&mut self, c: char, hear: &mut impl FnMut(Token)) {
        if self.held.is_empty() {
            return self.take_outside(c, hear);
        }
        match self.step(c) {
            Step::GoesOn => self.held.push(c),
            Step::Ends => {
                self.held.push(c);
                hear(whole(std::mem::take(&mut self.held)));
            }
            Step::Breaks => {
                // The escape that was to end a string begins something of its own.
                let begins = self.held.len() > 1 && self.held.ends_with(ESCAPE);
                if begins {
                    self.held.pop();
                }
                hear(Token::Broken(std::mem::take(&mut self.held)));
                if begins {
                    self.held.push(ESCAPE);
                    return self.take(c, hear);
                }
                self.take_outside(c, hear);
            }
        }
    }

    pub fn finish(&mut self) -> Option<Token> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then_some(Token::Broken(held))
    }

    fn take_outside(&mut self, c: char, hear: &mut impl FnMut(Token)) {
        if c == ESCAPE { self.held.push(c) } else { hear(Token::Plain(c)) }
    }

    fn step(&self, c: char) -> Step {
        let length = self.held.len();
        match self.held.as_bytes().get(1) {
            None => match c {
                '[' | ']' | 'P' | 'X' | '^' | '_' | ' '..='/' => Step::GoesOn,
                '0'..='~' => Step::Ends,
                _ => Step::Breaks,
            },
            Some(b'[') => match c {
                ' '..='?' if length < SEQUENCE_CHARS_MAX => Step::GoesOn,
                '@'..='~' => Step::Ends,
                _ => Step::Breaks,
            },
            Some(b' '..=b'/') => match c {
                ' '..='/' if length < SEQUENCE_CHARS_MAX => Step::GoesOn,
                '0'..='~' => Step::Ends,
                _ => Step::Breaks,
            },
            Some(_) => self.string_step(c),
        }
    }

    /// A string ends with a bell, or with an escape and a backslash.
    fn string_step(&self, c: char) -> Step {
        match (self.held.ends_with(ESCAPE), c) {
            (true, '\\') | (false, '\x07') => Step::Ends,
            (true, _) | (false, '\n' | '\r') => Step::Breaks,
            (false, _) if self.held.len() < STRING_CHARS_MAX => Step::GoesOn,
            (false, _) => Step::Breaks,
        }
    }
}

fn whole(text: String) -> Token {
    let params = text.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
    match params.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b';' || byte == b':')) {
        Some(params) => Token::Colour(params.to_owned()),
        None => Token::Escape(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let (mut escapes, mut all) = (Escapes::default(), Vec::new());
        text.chars().for_each(|c| escapes.take(c, &mut |token| all.push(token)));
        all.extend(escapes.finish());
        all
    }

    use Token::{Broken, Colour, Escape, Plain};

    #[test]
    fn escapes_are_told_from_text() {
        assert_eq!(tokens("a\x1b[1;31mb"), [Plain('a'), Colour("1;31".into()), Plain('b')]);
        assert_eq!(tokens("\x1b[m\x1b[?25l"), [Colour(String::new()), Escape("\x1b[?25l".into())]);
        assert_eq!(tokens("\x1b(Bx"), [Escape("\x1b(B".into()), Plain('x')]);
        assert_eq!(tokens("\x1b]0;t\x07x"), [Escape("\x1b]0;t\x07".into()), Plain('x')]);
        assert_eq!(tokens("\x1b]8;;u\x1b\\x"), [Escape("\x1b]8;;u\x1b\\".into()), Plain('x')]);
    }

    #[test]
    fn what_is_none_after_all_is_given_back_and_nothing_behind_it_is_lost() {
        assert_eq!(tokens("\x1b\x1b[0m"), [Broken("\x1b".into()), Colour("0".into())]);
        assert_eq!(tokens("\x1b[3\n"), [Broken("\x1b[3".into()), Plain('\n')]);
        assert_eq!(tokens("\x1b]0;t\x1b[0mx"), [Broken("\x1b]0;t".into()), Colour("0".into()), Plain('x')]);
        assert_eq!(tokens("\x1b]0"), [Broken("\x1b]0".into())]);
        let long = format!("\x1b[{}", "1".repeat(SEQUENCE_CHARS_MAX));
        assert_eq!(tokens(&long).len(), 3, "the beginning, and two digits");
    }
}
