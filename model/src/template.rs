//! `{{ params.lr }}` and `{{ secrets.key }}` in commands and variables. Nothing else with braces is touched, so shell,
//! Jinja and Go templates pass through; `\{{ params.lr }}` stands for the letters themselves.

use crate::shell;

/// What a tag asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag<'a> {
    Param(&'a str),
    Secret(&'a str),
}

enum Piece<'a> {
    Plain(&'a str),
    /// The letters of a tag that was written with a `\` before it.
    Escaped(&'a str),
    Tag(Tag<'a>, &'a str),
}

/// Every tag of the text, in order.
pub fn tags(text: &str) -> Vec<Tag<'_>> {
    let tag = |piece| if let Piece::Tag(tag, _) = piece { Some(tag) } else { None };
    pieces(text).into_iter().filter_map(tag).collect()
}

/// The names of the secrets that the text asks for.
pub fn secrets(text: &str) -> Vec<&str> {
    let secret = |tag| if let Tag::Secret(name) = tag { Some(name) } else { None };
    tags(text).into_iter().filter_map(secret).collect()
}

/// As people are shown it: parameters are in, and secrets stand there by name.
pub fn shown(text: &str) -> String {
    with_secrets(text, |_| None)
}

/// Stands where a value ends or begins that would otherwise change what its neighbour means. No command and no variable has this
/// character, because no program can be given it.
const SEAM: char = '\0';

/// Puts parameters in and leaves secrets for [`with_secrets`]; a parameter whose value looks like a tag, or makes one with what stands
/// beside it, stays what it is.
pub fn with_params(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let filled = |piece: Piece<'_>| match piece {
        Piece::Plain(plain) => Filled::Kept(plain.to_owned()),
        Piece::Escaped(tag) => Filled::Kept(format!("\\{tag}")),
        Piece::Tag(Tag::Param(name), written) => {
            value(name).map_or_else(|| Filled::Kept(written.to_owned()), |value| Filled::Value(escaped(&value)))
        }
        Piece::Tag(Tag::Secret(_), written) => Filled::Kept(written.to_owned()),
    };
    joined(&pieces(text).into_iter().map(filled).collect::<Vec<_>>())
}

/// The same for a line that a shell will read and that whoever gives the values has not written: each stays one value there.
pub fn with_params_for_shell(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut line = shell::Line::default();
    let filled = |piece: Piece<'_>| {
        let (passed, kept) = match piece {
            Piece::Plain(plain) => (plain, plain.to_owned()),
            Piece::Escaped(tag) => (tag, format!("\\{tag}")),
            Piece::Tag(Tag::Param(name), written) => match value(name) {
                Some(value) => return Filled::Value(escaped(&line.foreign(&value))),
                None => (written, written.to_owned()),
            },
            Piece::Tag(Tag::Secret(_), written) => {
                line.value("");
                return Filled::Kept(written.to_owned());
            }
        };
        line.pass(passed);
        Filled::Kept(kept)
    };
    joined(&pieces(text).into_iter().map(filled).collect::<Vec<_>>())
}

enum Filled {
    Kept(String),
    Value(String),
}

fn joined(all: &[Filled]) -> String {
    let one = |it: &Filled, seam: &str| match it {
        Filled::Kept(text) => text.clone(),
        Filled::Value(value) => format!("{seam}{value}{seam}"),
    };
    let joined = |seam: &str| all.iter().map(|it| one(it, seam)).collect::<String>();
    let (plain, apart) = (joined(""), joined(&SEAM.to_string()));
    if (tags(&plain), shown(&plain)) == (tags(&apart), shown(&apart)) { plain } else { apart }
}

/// The last step before a program sees the text.
pub fn with_secrets(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let filled = |piece: Piece<'_>| match piece {
        Piece::Plain(text) => text.replace(SEAM, ""),
        Piece::Escaped(text) | Piece::Tag(Tag::Param(_), text) => text.to_owned(),
        Piece::Tag(Tag::Secret(name), written) => value(name).unwrap_or_else(|| written.to_owned()),
    };
    pieces(text).into_iter().map(filled).collect()
}

/// The same for a line that a shell will read: each secret stays one value there, whatever is in it.
pub fn with_secrets_for_shell(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let (mut line, mut filled) = (shell::Line::default(), String::new());
    for piece in pieces(text) {
        let written = match piece {
            Piece::Plain(text) => text.replace(SEAM, ""),
            Piece::Escaped(text) | Piece::Tag(Tag::Param(_), text) => text.to_owned(),
            Piece::Tag(Tag::Secret(name), written) => match value(name) {
                Some(value) => {
                    filled.push_str(&line.value(&value));
                    continue;
                }
                None => written.to_owned(),
            },
        };
        line.pass(&written);
        filled.push_str(&written);
    }
    filled
}

/// The text so that it comes out as it is.
pub fn escaped(text: &str) -> String {
    let kept = |piece: Piece<'_>| match piece {
        Piece::Plain(plain) => plain.to_owned(),
        // Twice: once for the tag, and once for the `\` that would be taken away.
        Piece::Escaped(tag) => format!("\\\\{tag}"),
        Piece::Tag(_, written) => format!("\\{written}"),
    };
    pieces(text).into_iter().map(kept).collect()
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find("{{").map(|at| at + from) {
        let Some((tag, length)) = tag_at(&rest[at..]) else {
            from = at + 1;
            continue;
        };
        let written = &rest[at..at + length];
        let backslash = rest[..at].ends_with('\\');
        let plain = if backslash { &rest[..at - 1] } else { &rest[..at] };
        pieces.push(Piece::Plain(plain));
        pieces.push(if backslash { Piece::Escaped(written) } else { Piece::Tag(tag, written) });
        (rest, from) = (&rest[at + length..], 0);
    }
    pieces.push(Piece::Plain(rest));
    pieces
}

/// The tag that the text begins with, and its length in bytes.
fn tag_at(text: &str) -> Option<(Tag<'_>, usize)> {
    let inside = text.strip_prefix("{{")?;
    let end = inside.find("}}")?;
    let (kind, name) = inside[..end].trim_matches(' ').split_once('.')?;
    let tag = match kind {
        "params" => Tag::Param(name),
        "secrets" => Tag::Secret(name),
        _ => return None,
    };
    is_name(name).then_some((tag, end + 4))
}

/// What a parameter or secret may be called.
pub fn is_name(text: &str) -> bool {
    let head = |it: char| it.is_ascii_alphabetic() || it == '_';
    text.starts_with(head) && text.chars().all(|it| head(it) || it.is_ascii_digit() || it == '.' || it == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str) -> String {
        let value = |name: &str| match name {
            "lr" => Some("0.1".to_owned()),
            "sly" => Some("{{ secrets.key }}".to_owned()),
            "folder" => Some(r"C:\".to_owned()),
            "half" => Some("{ secrets.key }}".to_owned()),
            "name" => Some("key".to_owned()),
            _ => None,
        };
        let planned = with_params(text, value);
        with_secrets(&planned, |name| (name == "key").then(|| "s3cret".to_owned()))
    }

    #[test]
    fn tags_are_filled_and_all_else_is_left_alone() {
        assert_eq!(filled("train --lr={{ params.lr }} {{params.lr}}"), "train --lr=0.1 0.1");
        assert_eq!(filled("login {{ secrets.key }}"), "login s3cret");
        assert_eq!(filled(r"echo \{{ params.lr }} \{{ x }}"), r"echo {{ params.lr }} \{{ x }}");
        assert_eq!(
            filled("docker -f '{{.Names}}' ${{x}} {{ lr }} {{ params.none }} {{{ params.lr }}"),
            "docker -f '{{.Names}}' ${{x}} {{ lr }} {{ params.none }} {0.1"
        );
    }

    #[test]
    fn a_value_that_looks_like_a_tag_is_only_a_value() {
        assert_eq!(filled("x {{ params.sly }}"), "x {{ secrets.key }}");
        assert_eq!(filled("{{{ params.half }}"), "{{ secrets.key }}");
        assert_eq!(filled("{{ secrets.{{ params.name }} }}"), "{{ secrets.key }}");
    }

    #[test]
    fn a_value_that_ends_in_a_backslash_takes_no_secret_away() {
        assert_eq!(filled("{{ params.folder }}{{ secrets.key }}"), r"C:\s3cret");
        assert_eq!(filled("{{ params.folder }}{{ params.sly }}"), r"C:\{{ secrets.key }}");
        assert_eq!(filled("{{ params.folder }} {{ params.folder }}x"), r"C:\ C:\x");
        let planned = with_params("{{ params.lr }}{{ secrets.key }}", |_| Some("0.1".into()));
        assert_eq!(planned, "0.1{{ secrets.key }}", "a plan has a seam only where it needs one");
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_out_as_it_was(text in r"([a-z\\ {}]|\{\{ params\.lr \}\}|\{\{secrets\.key\}\})*") {
            prop_assert_eq!(filled(&escaped(&text)), text);
        }
    }
}
