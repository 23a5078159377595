//! The file that somebody handed over, as it was written, but for its secrets.

use crate::{
    dialect,
    located::{Node, Place, Value},
    spec::MASK,
};

/// The text with a mask for every secret, wherever one stands; nothing if one cannot be found in the text as it is written,
/// for then nobody could say that it is not in there any more.
pub fn masked(text: &str) -> Option<String> {
    let root = dialect::tree(text)?;
    let mut secrets = Vec::new();
    hidden(&root, false, &mut secrets);
    let mut places = secrets.iter().map(|it| range(text, it)).collect::<Option<Vec<_>>>()?;
    places.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
    let mut masked = text.to_owned();
    for (from, to) in places {
        masked.replace_range(from..to, &format!("\"{MASK}\""));
    }
    let masked = without_remarks(masked, &root, &secrets);
    is_clean(&masked).then_some(masked)
}

struct Hidden {
    place: Place,
    text: String,
}

/// Keys below which values are nobody's to see: ours and OpenPAI's secrets, and what opens a registry of images.
const SECRETS: &str = "secrets";
const AUTH: &str = "auth";
/// Of a secret that is kept elsewhere these say which, and how it is given; they are no values.
const SAID: [&str; 2] = ["named", "file"];

fn hidden(node: &Node, is_below: bool, found: &mut Vec<Hidden>) {
    match &node.value {
        Value::Scalar(scalar) if is_below && !scalar.text.is_empty() && !is_reference(&scalar.text) => {
            found.push(Hidden { place: node.place, text: scalar.text.clone() });
        }
        Value::Scalar(_) | Value::Refused => {}
        Value::List(items) => items.iter().for_each(|item| hidden(item, is_below, found)),
        Value::Map(entries) => {
            for entry in entries.iter().filter(|it| !(is_below && SAID.contains(&it.key.as_str()))) {
                hidden(&entry.value, is_below || entry.key == SECRETS || entry.key == AUTH, found);
            }
        }
    }
}

/// What is a mask already, or only the name of a secret.
fn is_reference(text: &str) -> bool {
    text == MASK || (text.starts_with("<% $secrets.") && text.ends_with("%>"))
}

/// Where a value stands with its quotes; nothing if it is not there letter by letter.
fn range(text: &str, hidden: &Hidden) -> Option<(usize, usize)> {
    let from = offset(text, hidden.place)?;
    let rest = &text[from..];
    let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''));
    let quote_bytes = quote.map_or(0, char::len_utf8);
    let after = rest[quote_bytes..].strip_prefix(&hidden.text)?;
    let closes = quote.is_none_or(|it| after.starts_with(it));
    closes.then(|| (from, from + 2 * quote_bytes + hidden.text.len()))
}

fn offset(text: &str, place: Place) -> Option<usize> {
    let line_start = match place.line {
        0 => return None,
        1 => 0,
        line => text.match_indices('\n').nth(line as usize - 2)?.0 + 1,
    };
    let (at, _) = text[line_start..].char_indices().nth(place.column.checked_sub(1)? as usize)?;
    Some(line_start + at)
}

/// A short value in a remark is a word like others.
const WORD_BYTES_MAX: usize = 5;

/// Remarks may have a secret in them too. What stands in the clear elsewhere in the file is in the spec as well.
fn without_remarks(masked: String, root: &Node, secrets: &[Hidden]) -> String {
    let mut told = Vec::new();
    in_the_clear(root, &mut told);
    let only_in_remarks = |it: &&Hidden| it.text.len() > WORD_BYTES_MAX && !told.iter().any(|clear| clear.contains(&it.text));
    secrets.iter().filter(only_in_remarks).fold(masked, |text, it| text.replace(&it.text, MASK))
}

fn in_the_clear<'a>(node: &'a Node, told: &mut Vec<&'a str>) {
    match &node.value {
        Value::Scalar(scalar) => told.push(&scalar.text),
        Value::Refused => {}
        Value::List(items) => items.iter().for_each(|item| in_the_clear(item, told)),
        Value::Map(entries) => {
            let open = entries.iter().filter(|it| it.key != SECRETS && it.key != AUTH);
            open.for_each(|it| in_the_clear(&it.value, told));
        }
    }
}

/// Read once more: no value is left where secrets are.
fn is_clean(masked: &str) -> bool {
    let mut left = Vec::new();
    dialect::tree(masked).is_some_and(|root| {
        hidden(&root, false, &mut left);
        left.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        masked(text).unwrap_or_else(|| "not kept".into())
    }

    #[test]
    fn everything_is_kept_but_secrets() {
        let text = "# the key was s3cret-1 once\nname: a   # s\nsecrets:\n  key: s3cret-1\n  n: 42\n  said: {value: 'x y', file: true}\n  kept: {named: wandb}\nroles: {w: {command: 'login {{ secrets.key }}'}}\n";
        insta::assert_snapshot!(shown(text), @r#"
        # the key was ****** once
        name: a   # s
        secrets:
          key: "******"
          n: "******"
          said: {value: "******", file: true}
          kept: {named: wandb}
        roles: {w: {command: 'login {{ secrets.key }}'}}
        "#);
    }

    #[test]
    fn a_file_of_another_system_is_masked_where_it_has_its_secrets() {
        let text = "protocolVersion: 2\nname: b\ntype: job\nprerequisites:\n  - {type: dockerimage, name: i, uri: x, auth: {username: u, password: hunter22, token: <% $secrets.t %>}}\nsecrets:\n  t: ab\ntaskRoles: {}\n";
        insta::assert_snapshot!(shown(text), @r#"
        protocolVersion: 2
        name: b
        type: job
        prerequisites:
          - {type: dockerimage, name: i, uri: x, auth: {username: "******", password: "******", token: <% $secrets.t %>}}
        secrets:
          t: "******"
        taskRoles: {}
        "#);
    }

    #[test]
    fn json_stays_json() {
        let text = r#"{"name": "ü", "secrets": {"a": "s3cret", "b": 7}, "roles": {"w": {"command": "x"}}}"#;
        assert_eq!(shown(text), r#"{"name": "ü", "secrets": {"a": "******", "b": "******"}, "roles": {"w": {"command": "x"}}}"#);
    }

    #[test]
    fn what_cannot_be_found_letter_by_letter_is_not_kept_at_all() {
        let roles = "roles: {w: {command: x}}";
        for secret in ["\"a\\\"b\"", "\"\\x61bc\"", "'it''s'", "|\n    two\n    lines\n", "a\n    b"] {
            assert_eq!(shown(&format!("name: a\nsecrets:\n  key: {secret}\n{roles}\n")), "not kept", "{secret}");
        }
    }

    #[test]
    fn a_file_without_secrets_is_itself() {
        let text = "name: a # yes\r\nroles: {w: {command: secrets}}\n";
        assert_eq!(shown(text), text);
        assert_eq!(
            shown("name: a\nsecrets: {key: '******', empty: ''}\nroles: {}"),
            "name: a\nsecrets: {key: '******', empty: ''}\nroles: {}"
        );
    }
}
