//! The template language of OpenPAI's server: mustache 2.3 with `<% %>`, of which only plain references
//! put anything in. Its parser is followed step by step, so that what it removes and keeps is the same.

use super::js;
use crate::{
    located::{Node, Value},
    said,
    spec::harmless,
    words::{Said, Words},
};

/// A script longer than this is no script; a value put in a thousand times must not fill the memory.
pub(super) const RENDERED_BYTES_MAX: usize = 1 << 20;

/// What references can name: `$parameters`, `$data` and so on.
pub(super) struct View<'a>(pub Vec<(&'static str, &'a Node)>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unrendered {
    Unclosed(String),
    UnclosedSection(String),
    UnopenedSection(String),
    BadDelimiters(String),
    TooLong,
}

impl Unrendered {
    /// What is said of the text.
    pub fn words(&self) -> Words {
        match self {
            Unrendered::Unclosed(tag) => said!("has a `{tag}` that is never closed", "里的 `{tag}` 没有结束"),
            Unrendered::UnclosedSection(name) => said!("has a section `{name}` that is never closed", "里的区段 `{name}` 没有结束"),
            Unrendered::UnopenedSection(name) => said!("closes a section `{name}` that was not opened", "结束了没有开始的区段 `{name}`"),
            Unrendered::BadDelimiters(text) => {
                said!("changes the delimiters to `{text}`, which are not two words", "把分隔符改成了 `{text}`，但它不是两个词")
            }
            Unrendered::TooLong => said!(
                "is longer than {RENDERED_BYTES_MAX} bytes when its references are put in",
                "代入引用之后超过 {RENDERED_BYTES_MAX} 字节"
            ),
        }
    }

    pub fn hint(&self) -> Said {
        match self {
            Unrendered::Unclosed(_) => ("write references as `<% $parameters.NAME %>`", "引用请写成 `<% $parameters.NAME %>`"),
            Unrendered::UnclosedSection(_) | Unrendered::UnopenedSection(_) => (
                "remove it; what is between `<%# x %>` and `<%/ x %>` is never run",
                "请删掉它；`<%# x %>` 和 `<%/ x %>` 之间的内容不会运行",
            ),
            Unrendered::BadDelimiters(_) => {
                ("write two words, such as `<%= {{ }} =%>`, or remove it", "请写两个词，如 `<%= {{ }} =%>`，或把它删掉")
            }
            Unrendered::TooLong => ("refer to shorter values, or put long texts into files", "请引用短些的值，或把长文本放进文件"),
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    pub text: String,
    /// References that stand for nothing, as they were left in the text.
    pub unresolved: Vec<String>,
}

pub(super) fn render(template: &str, view: &View<'_>) -> Result<Rendered, Unrendered> {
    let mut rendered = Rendered::default();
    for token in parse(template)? {
        match token {
            Token::Text(text) => rendered.text += text,
            Token::Reference(name) => match view.lookup(&with_dots(name)) {
                Some(value) => rendered.text += &value,
                None => {
                    let kept = format!("<% {} %>", with_dots(name));
                    rendered.text += &kept;
                    rendered.unresolved.push(kept);
                }
            },
            Token::Removed => {}
        }
        if rendered.text.len() > RENDERED_BYTES_MAX {
            return Err(Unrendered::TooLong);
        }
    }
    rendered.text = rendered.text.trim_matches(js::is_space).to_owned();
    Ok(rendered)
}

/// `uri[1]` → `uri.1`.
fn with_dots(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let digits = rest[open + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let close = open + 1 + digits;
        out += &rest[..open];
        if digits > 0 && rest[close..].starts_with(']') {
            out.push('.');
            out += &rest[open + 1..close];
            rest = &rest[close + 1..];
        } else {
            out.push('[');
            rest = &rest[open + 1..];
        }
    }
    out + rest
}

impl View<'_> {
    /// What JavaScript would print for the name; nothing for what is unknown or `null`.
    fn lookup(&self, name: &str) -> Option<String> {
        if name == "." {
            return Some("[object Object]".into());
        }
        // A name that begins with a dot is one step to mustache, and no root is called so.
        let mut steps = if name.find('.') > Some(0) { name.split('.') } else { name.split('\0') };
        let root = steps.next()?;
        let mut node = self.0.iter().find(|(known, _)| *known == root).map(|(_, node)| *node)?;
        while let Some(step) = steps.next() {
            match part(node, step)? {
                Part::Node(found) => node = found,
                Part::Printed(text) => return steps.next().is_none().then_some(text),
            }
        }
        (!js::is_null(node) && node.value != Value::Refused).then(|| js::text(node))
    }
}

enum Part<'a> {
    Node(&'a Node),
    /// A character of a text, or a length: nothing that could have parts itself.
    Printed(String),
}

fn part<'a>(node: &'a Node, step: &str) -> Option<Part<'a>> {
    match &node.value {
        Value::Map(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| Part::Node(&entry.value)),
        Value::List(items) if step == "length" => Some(Part::Printed(items.len().to_string())),
        Value::List(items) => items.get(index(step)?).map(Part::Node),
        Value::Scalar(scalar) => match js::word(scalar) {
            js::Word::Text(text) if step == "length" => Some(Part::Printed(text.encode_utf16().count().to_string())),
            js::Word::Text(text) => {
                let unit = text.encode_utf16().nth(index(step)?)?;
                Some(Part::Printed(String::from_utf16_lossy(&[unit])))
            }
            js::Word::Null | js::Word::Truth(_) | js::Word::Number(_) | js::Word::Date(_) => None,
        },
        Value::Refused => None,
    }
}

/// `01` is a name to JavaScript, not an index.
fn index(step: &str) -> Option<usize> {
    step.parse().ok().filter(|index: &usize| index.to_string() == step)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Text(&'a str),
    Reference(&'a str),
    /// A comment, a section with all that is in it, white space around them.
    Removed,
}

/// What is known of the line that is being read.
#[derive(Default)]
struct Line {
    /// Where in the tokens its white space is.
    spaces: Vec<usize>,
    has_tag: bool,
    has_more: bool,
}

impl Line {
    /// A line with nothing but tags that print nothing goes with its white space and its end.
    fn end(&mut self, tokens: &mut [Token<'_>]) {
        if self.has_tag && !self.has_more {
            self.spaces.iter().for_each(|at| tokens[*at] = Token::Removed);
        }
        *self = Line::default();
    }
}

fn parse(template: &str) -> Result<Vec<Token<'_>>, Unrendered> {
    let mut scanner = Scanner { rest: template, open: "<%", close: "%>" };
    let (mut tokens, mut line) = (Vec::new(), Line::default());
    let mut sections: Vec<&str> = Vec::new();
    while !scanner.rest.is_empty() {
        let from = tokens.len();
        text(&mut scanner, &mut tokens, &mut line);
        if !sections.is_empty() {
            tokens[from..].fill(Token::Removed);
        }
        if scanner.rest.is_empty() {
            break;
        }
        line.has_tag = true;
        let (kind, value) = scanner.tag()?;
        tokens.push(Token::Removed);
        match kind {
            Some('#' | '^') => sections.push(value),
            Some('/') => {
                let name = sections.pop().ok_or_else(|| Unrendered::UnopenedSection(harmless(value)))?;
                if name != value {
                    return Err(Unrendered::UnclosedSection(harmless(name)));
                }
            }
            Some('=') => scanner.set_delimiters(value)?,
            Some('&' | '{') => line.has_more = true,
            Some(_) => {}
            None => {
                line.has_more = true;
                if sections.is_empty() {
                    *tokens.last_mut().expect("one was just put there") = Token::Reference(value);
                }
            }
        }
    }
    match sections.pop() {
        Some(name) => Err(Unrendered::UnclosedSection(harmless(name))),
        None => Ok(tokens),
    }
}

/// The text up to the next tag: white space by the character, for it may have to go, and all else in runs.
fn text<'a>(scanner: &mut Scanner<'a>, tokens: &mut Vec<Token<'a>>, line: &mut Line) {
    let mut text = scanner.until_open();
    while let Some(first) = text.chars().next() {
        let space = js::is_space(first);
        let length = if space { first.len_utf8() } else { text.find(js::is_space).unwrap_or(text.len()) };
        let (token, after) = text.split_at(length);
        if space {
            line.spaces.push(tokens.len());
        } else {
            line.has_more = true;
        }
        tokens.push(Token::Text(token));
        if first == '\n' {
            line.end(tokens);
        }
        text = after;
    }
}

struct Scanner<'a> {
    rest: &'a str,
    open: &'a str,
    close: &'a str,
}

impl<'a> Scanner<'a> {
    fn until_open(&mut self) -> &'a str {
        let (text, rest) = self.rest.split_at(self.rest.find(self.open).unwrap_or(self.rest.len()));
        self.rest = rest;
        text
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(js::is_space);
    }

    /// What stands before `end` and the white space before it. `end` is left standing.
    fn until(&mut self, end: &str) -> Result<&'a str, Unrendered> {
        let at = self.rest.find(end).ok_or_else(|| Unrendered::Unclosed(harmless(self.open)))?;
        let value = self.rest[..at].trim_end_matches(js::is_space);
        self.rest = &self.rest[value.len()..];
        Ok(value)
    }

    fn skip(&mut self, text: &str) {
        self.skip_spaces();
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest);
    }

    /// The kind of the tag that stands here, if it is not a plain reference, and what is in it.
    fn tag(&mut self) -> Result<(Option<char>, &'a str), Unrendered> {
        self.skip(self.open);
        self.skip_spaces();
        let kind = self.rest.chars().next().filter(|c| "#^/>{&=!".contains(*c));
        self.rest = &self.rest[kind.map_or(0, char::len_utf8)..];
        self.skip_spaces();
        let close = self.close;
        let value = match kind {
            Some('=') => {
                let value = self.until("=")?;
                self.skip("=");
                self.until(close)?;
                value
            }
            Some('{') => {
                let value = self.until(&format!("}}{close}"))?;
                self.skip("}");
                value
            }
            _ => self.until(close)?,
        };
        self.skip(close);
        Ok((kind, value))
    }

    fn set_delimiters(&mut self, value: &'a str) -> Result<(), Unrendered> {
        let mut words = value.split(js::is_space).filter(|word| !word.is_empty());
        let (Some(open), Some(close)) = (words.next(), words.next()) else {
            return Err(Unrendered::BadDelimiters(harmless(value)));
        };
        (self.open, self.close) = (open, close);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
