//! JSON as people really keep it, with comments. Every character that stays keeps its line and column.

use std::borrow::Cow;

use crate::{
    located::{Parsed, Place, parse_lenient},
    spec::Problem,
};

/// YAML or JSON, with comments in the latter.
pub(super) fn parse(text: &str) -> Parsed {
    let loose = loosened(text);
    let Parsed { root, problems } = parse_lenient(&loose.text);
    // Where quotes or a comment were left open, whatever else is found follows from that.
    Parsed { root, problems: if loose.problems.is_empty() { problems } else { loose.problems } }
}

pub(super) fn has_comments(text: &str) -> bool {
    loosened(text).text != text
}

struct LooseJson<'a> {
    /// Without comments, so that YAML finds what was meant. Commas before a closing bracket are fine with YAML already.
    pub text: Cow<'a, str>,
    pub problems: Vec<Problem>,
}

/// What begins like a JSON object is taken for one; anything else stays as it is.
fn loosened(text: &str) -> LooseJson<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if begins_like_json(text) { without_comments(text) } else { LooseJson { text: text.into(), problems: Vec::new() } }
}

enum Kind {
    Comment,
    Quoted,
    Space,
    Other,
}

fn begins_like_json(text: &str) -> bool {
    let solid = pieces(text).filter(|(kind, _)| matches!(kind, Kind::Quoted | Kind::Other));
    let mut first = solid.map(|(_, piece)| piece.chars().next());
    first.next() == Some(Some('{')) && matches!(first.next(), Some(Some('"' | '}')))
}

fn without_comments(text: &str) -> LooseJson<'_> {
    let mut new = String::with_capacity(text.len());
    let mut problems = Vec::new();
    let mut place = Place { line: 1, column: 1 };
    for (kind, piece) in pieces(text) {
        match kind {
            Kind::Comment => new.extend(piece.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { c } else { ' ' })),
            Kind::Quoted | Kind::Space | Kind::Other => new.push_str(piece),
        }
        // After one pair of quotes that was left open nothing is where it seems to be.
        if problems.is_empty() {
            problems.extend(trouble(&kind, piece).map(|problem| problem.at(place)));
        }
        place = after(place, piece);
    }
    LooseJson { text: new.into(), problems }
}

fn trouble(kind: &Kind, piece: &str) -> Option<Problem> {
    match kind {
        Kind::Comment if piece.starts_with("/*") && !(piece.len() > 3 && piece.ends_with("*/")) => Some(
            Problem::new("", ("a comment begins here and does not end", "这里开始的注释没有结束"))
                .hint(("write */ where it ends", "请在注释结束处写 */")),
        ),
        Kind::Quoted if piece.contains('\n') => {
            let hint =
                ("close the quotes on the same line, or write \\n where the line is to end", "请在同一行内写上结束的引号；要换行请写 \\n");
            Some(
                Problem::new("", ("the line ends before the quotes that begin here are closed", "这里开始的引号到行尾还没有结束"))
                    .hint(hint),
            )
        }
        Kind::Comment | Kind::Quoted | Kind::Space | Kind::Other => None,
    }
}

fn after(place: Place, piece: &str) -> Place {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    match piece.rfind('\n') {
        Some(last) => {
            let lines = count(piece.matches('\n').count());
            Place { line: place.line.saturating_add(lines), column: count(piece[last..].chars().count()) }
        }
        None => Place { column: place.column.saturating_add(count(piece.chars().count())), ..place },
    }
}

/// The text cut where comments and quotes begin and end.
fn pieces(text: &str) -> impl Iterator<Item = (Kind, &str)> {
    let (mut rest, mut before) = (text, ' ');
    std::iter::from_fn(move || {
        let (kind, length) = next_piece(rest, before)?;
        let (piece, further) = rest.split_at(length);
        before = piece.chars().next_back()?;
        rest = further;
        Some((kind, piece))
    })
}

fn next_piece(rest: &str, before: char) -> Option<(Kind, usize)> {
    let first = rest.chars().next()?;
    let line = || rest.find('\n').unwrap_or(rest.len());
    Some(match first {
        _ if rest.starts_with("//") => (Kind::Comment, line()),
        // YAML has this kind of comment by itself, but a quote in it would be taken for the beginning of text.
        '#' if before.is_whitespace() => (Kind::Comment, line()),
        _ if rest.starts_with("/*") => (Kind::Comment, rest[2..].find("*/").map_or(rest.len(), |at| at + 4)),
        '"' | '\'' => (Kind::Quoted, quoted(rest, first)),
        _ if first.is_whitespace() => (Kind::Space, first.len_utf8()),
        _ => (Kind::Other, first.len_utf8()),
    })
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loose(text: &str) -> String {
        let loose = loosened(text);
        let problems: String = loose.problems.iter().map(|problem| format!("\n! {problem}")).collect();
        loose.text.into_owned() + &problems
    }

    #[test]
    fn comments_become_spaces_and_all_else_stays_where_it_was() {
        assert_eq!(
            loose("// job\n{ // it's\n  \"a\": \"x // y\", /* one\n\ttwo */ \"b\": 1, # \"c\n}\n//"),
            "      \n{        \n  \"a\": \"x // y\",       \n\t       \"b\": 1,     \n}\n  "
        );
        assert_eq!(loose("\u{feff}{\"u\": \"\\\"//\\\\\"} // é"), "{\"u\": \"\\\"//\\\\\"}     ");
    }

    #[test]
    fn yaml_is_left_alone() {
        for text in ["name: x # y\nurl: http://x", "{name: x, url: http://x}", "", "{", "//", "[\"a\"] //"] {
            assert_eq!(loose(text), text);
        }
    }

    #[test]
    fn what_was_left_open_is_told() {
        assert_eq!(
            loose("{\n  \"é\": \"x\n y\"\n}"),
            "{\n  \"é\": \"x\n y\"\n}\n! line 2, column 8: the line ends before the quotes that begin here are closed \
             (close the quotes on the same line, or write \\n where the line is to end)"
        );
        assert_eq!(
            loose("{\"a\":\n1 /*/"),
            "{\"a\":\n1    \n! line 2, column 3: a comment begins here and does not end (write */ where it ends)"
        );
    }
}
