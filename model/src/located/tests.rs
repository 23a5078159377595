use proptest::prelude::*;

use super::*;

/// The tree with its places, or the problems.
fn said(text: &str) -> String {
    let parsed = parse(text);
    let mut lines = String::new();
    if let Some(root) = &parsed.root {
        show(root, 0, &mut lines);
    }
    parsed.problems.iter().for_each(|problem| lines += &format!("! {problem}\n"));
    lines
}

fn show(node: &Node, depth: usize, lines: &mut String) {
    let indent = "  ".repeat(depth);
    let Place { line, column } = node.place;
    match &node.value {
        Value::Scalar(scalar) => *lines += &format!("{indent}{line}:{column} {:?} {:?}\n", scalar.kind(), scalar.text),
        Value::Refused => *lines += &format!("{indent}{line}:{column} refused\n"),
        Value::List(items) => {
            *lines += &format!("{indent}{line}:{column} list\n");
            items.iter().for_each(|item| show(item, depth + 1, lines));
        }
        Value::Map(entries) => {
            *lines += &format!("{indent}{line}:{column} map\n");
            for entry in entries {
                *lines += &format!("{indent}  {}:{} {}:\n", entry.key_place.line, entry.key_place.column, entry.key);
                show(&entry.value, depth + 2, lines);
            }
        }
    }
}

#[test]
fn everything_knows_where_it_stood() {
    insta::assert_snapshot!(said("name: digits\nroles:\n  worker:\n    command: [a, \"1\", 2]\n    cpus: 0.5\n    memory:\ntags:\n- é: x\n"), @r#"
    1:1 map
      1:1 name:
        1:7 Text "digits"
      2:1 roles:
        3:3 map
          3:3 worker:
            4:5 map
              4:5 command:
                4:14 list
                  4:15 Text "a"
                  4:18 Text "1"
                  4:23 Int(2) "2"
              5:5 cpus:
                5:11 Float(0.5) "0.5"
              6:5 memory:
                6:11 Null ""
      7:1 tags:
        8:3 list
          8:3 map
            8:3 é:
              8:6 Text "x"
    "#);
}

#[test]
fn a_file_with_a_byte_order_mark_and_two_characters_for_each_line_end_is_read() {
    insta::assert_snapshot!(said("\u{feff}name: digits\r\nroles:\r\n  worker: x\r\n"), @r#"
    1:1 map
      1:1 name:
        1:7 Text "digits"
      2:1 roles:
        3:3 map
          3:3 worker:
            3:11 Text "x"
    "#);
}

#[test]
fn json_is_read_with_tabs_escapes_and_pairs_of_escapes() {
    insta::assert_snapshot!(said("{\n\t\"a\":\"\\/\\u00e9\",\"pair\":\"\\ud83d\\ude00\",\"after\":true,\n\t\"not\":\"\\\\ud83d\\\\ude00\"}"), @r#"
    1:1 map
      2:2 a:
        2:6 Text "/é"
      2:17 pair:
        2:24 Text "😀"
      2:39 after:
        2:47 Bool(true) "true"
      3:2 not:
        3:8 Text "\\ud83d\\ude00"
    "#);
    insta::assert_snapshot!(said("{\"lone\": \"\\ud83d\"}"), @"! line 1, column 10: this is not YAML: while parsing a quoted scalar, found invalid Unicode character escape code (look at the indentation, the quotes and the brackets here and on the line before)");
}

#[test]
fn plain_words_mean_what_yaml_1_2_says_and_quoted_ones_are_text() {
    let kind = |text: &str| match parse(text).root.map(|node| node.value) {
        Some(Value::Scalar(scalar)) => format!("{:?}", scalar.kind()),
        other => panic!("{other:?}"),
    };
    for (text, meant) in [
        ("~", "Null"),
        ("null", "Null"),
        ("NULL", "Null"),
        ("true", "Bool(true)"),
        ("False", "Bool(false)"),
        ("yes", "Text"),
        ("off", "Text"),
        ("12", "Int(12)"),
        ("-0", "Int(0)"),
        ("+7", "Int(7)"),
        ("0o17", "Int(15)"),
        ("0x1F", "Int(31)"),
        ("0x", "Text"),
        ("017", "Int(17)"),
        ("1_000", "Text"),
        ("1.10", "Float(1.1)"),
        (".5", "Float(0.5)"),
        ("1.", "Float(1.0)"),
        ("1e3", "Float(1000.0)"),
        ("-.inf", "Float(-inf)"),
        (".nan", "Float(NaN)"),
        ("-.nan", "Text"),
        ("inf", "Text"),
        ("infinity", "Text"),
        ("nan", "Text"),
        (".", "Text"),
        ("1e", "Text"),
        ("1:30", "Text"),
        ("2024-01-01", "Text"),
        ("340282366920938463463374607431768211456", "Float(3.402823669209385e38)"),
        ("\"12\"", "Text"),
        ("'true'", "Text"),
        ("\"\"", "Text"),
        ("|\n  12\n", "Text"),
    ] {
        assert_eq!(kind(text), meant, "{text}");
    }
}

#[test]
fn what_makes_yaml_surprising_is_refused_with_a_reason() {
    let mut all = String::new();
    for text in [
        "base: &base {cpus: 1}\nother: *base\n",
        "other: *nobody\n",
        "a: !!str 5\nb: !secret x\nc: !list [1]\n",
        "a: 1\nb: 2\na: 3\n",
        "{\"a\": 1, \"a\": 2}",
        "1: x\ntrue: y\nnull: z\n[a]: q\n{b: c}: r\n\"1\": fine\n",
        "? a\n: b\n? |\n  two\n  lines\n: c\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\nb: 2\n",
        "a: \u{1b}[31mred\n",
        "a: 1\nb: x\u{0}y\n",
        "a: \"x\\0y\"\n",
        "a: [1, 2\n",
        "a: b: c\n",
        "a:\n\tb: 1\n",
        "\"unfinished\n",
        "%YAML 3.0\n---\na: 1\n",
    ] {
        all += &format!(
            "{text:?}\n{}",
            said(text).lines().filter(|line| line.starts_with('!')).map(|line| format!("  {line}\n")).collect::<String>()
        );
    }
    insta::assert_snapshot!(all, @r#"
    "base: &base {cpus: 1}\nother: *base\n"
      ! line 1, column 7: an anchor (`&name`) is not taken in job files (remove it and write the value out where it is used)
      ! line 2, column 8: an alias (`*name`) is not taken in job files (write the value out)
    "other: *nobody\n"
      ! line 1, column 8: an alias (`*name`) is not taken in job files (write the value out)
    "a: !!str 5\nb: !secret x\nc: !list [1]\n"
      ! line 1, column 4: a tag (`!name`) is not taken in job files (remove it; put a value in quotes to make it text)
      ! line 2, column 4: a tag (`!name`) is not taken in job files (remove it; put a value in quotes to make it text)
      ! line 3, column 4: a tag (`!name`) is not taken in job files (remove it; put a value in quotes to make it text)
    "a: 1\nb: 2\na: 3\n"
      ! line 3, column 1: the key `a` is here a second time; the first is at line 1, column 1 (keep one of them)
    "{\"a\": 1, \"a\": 2}"
      ! line 1, column 10: the key `a` is here a second time; the first is at line 1, column 2 (keep one of them)
    "1: x\ntrue: y\nnull: z\n[a]: q\n{b: c}: r\n\"1\": fine\n"
      ! line 1, column 1: the key `1` is not text (put it in quotes)
      ! line 2, column 1: the key `true` is not text (put it in quotes)
      ! line 3, column 1: the key `null` is not text (put it in quotes)
      ! line 4, column 1: a key must be text, not a list, a map or an alias (write `name: value`)
      ! line 5, column 1: a key must be text, not a list, a map or an alias (write `name: value`)
    "? a\n: b\n? |\n  two\n  lines\n: c\n"
      ! line 4, column 3: the key `two\u{a}lines\u{a}` has a control character (remove it)
    "a: 1\n---\nb: 2\n"
      ! line 2, column 1: a second document begins here (a job file describes one job; submit each file by itself)
    "a: 1\n...\nb: 2\n"
      ! line 3, column 1: a second document begins here (a job file describes one job; submit each file by itself)
    "a: \u{1b}[31mred\n"
      ! line 1, column 4: has the control character \u{1b} (remove it; is this a text file in UTF-8?)
    "a: 1\nb: x\0y\n"
      ! line 2, column 5: has the control character \u{0} (remove it; is this a text file in UTF-8?)
    "a: \"x\\0y\"\n"
      ! line 1, column 4: has a NUL character, which no program can be given (remove it)
    "a: [1, 2\n"
      ! line 2, column 1: this is not YAML: while parsing a flow sequence, expected ',' or ']' (look at the indentation, the quotes and the brackets here and on the line before)
    "a: b: c\n"
      ! line 1, column 5: this is not YAML: mapping values are not allowed in this context (a text with `: ` in it, or one that ends with `:`, stands in quotes; else look at the indentation here and on the line before)
    "a:\n\tb: 1\n"
      ! line 2, column 2: this is not YAML: tabs disallowed within this context (block indentation) (indent with spaces, not tabs)
    "\"unfinished\n"
      ! line 1, column 1: this is not YAML: while scanning a quoted scalar, found unexpected end of stream (look at the indentation, the quotes and the brackets here and on the line before)
    "%YAML 3.0\n---\na: 1\n"
    "#);
}

#[test]
fn a_tree_has_limits_in_size_depth_and_number() {
    let told = |text: &str| parse(text).problems.iter().map(|problem| problem.message.to_string()).collect::<Vec<_>>().join("; ");
    assert_eq!(told(&"#".repeat(TEXT_BYTES_MAX + 1)), "the file has 1048577 bytes; the most is 1048576");
    assert_eq!(told(&"#".repeat(TEXT_BYTES_MAX)), "");
    assert_eq!(told(&("[".repeat(DEPTH_MAX) + &"]".repeat(DEPTH_MAX))), "");
    assert_eq!(told(&"[".repeat(DEPTH_MAX + 1)), "is nested more than 32 levels deep");
    assert_eq!(told(&"- ".repeat(300_000)), "is nested more than 32 levels deep");
    assert_eq!(told(&"- a\n".repeat(NODES_MAX - 1)), "");
    assert_eq!(told(&"- a\n".repeat(NODES_MAX)), "has more than 20000 values");
}

/// Text that looks a little like a job file.
fn almost_yaml() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "name",
        "roles",
        ": ",
        ":",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "\\",
        "\\u",
        "\\ud83d",
        "|",
        ">",
        "&a ",
        "*a",
        "!x ",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "~",
        "1",
        ".5",
        "é",
        "\u{feff}",
        "\r",
        "\t",
        "\u{85}",
        "\0",
        " ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_brings_the_parser_down(text in prop_oneof![almost_yaml(), any::<String>(), prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())]) {
        let parsed = parse(&text);
        for problem in &parsed.problems {
            prop_assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
            prop_assert!(!problem.to_string().contains(char::is_control), "{problem}");
        }
    }

    #[test]
    fn json_is_read_as_what_it_is((text, meant) in a_json_map()) {
        let parsed = parse(&text);
        prop_assert_eq!(parsed.problems, vec![]);
        prop_assert_eq!(parsed.root.as_ref().map(as_json), Some(meant));
    }
}

/// Strings with every character JSON can write, by both ways to write them.
fn a_json_map() -> impl Strategy<Value = (String, serde_json::Value)> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        "[^\\x00\\p{Cc}]{0,8}".prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let map = prop::collection::btree_map("[a-z\"\\\\é😀]{1,6}", leaf, 0..6);
    (map, any::<bool>(), any::<bool>()).prop_map(|(map, pretty, ascii)| {
        let meant = serde_json::Value::Object(map.into_iter().collect());
        let text = if pretty { format!("{meant:#}") } else { meant.to_string() };
        (if ascii { escaped(&text) } else { text }, meant)
    })
}

fn as_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Map(entries) => serde_json::Value::Object(entries.iter().map(|entry| (entry.key.clone(), as_json(&entry.value))).collect()),
        Value::Scalar(scalar) => match scalar.kind() {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(truth) => truth.into(),
            Kind::Int(number) => i64::try_from(number).expect("only such numbers were written").into(),
            Kind::Text => scalar.text.clone().into(),
            Kind::Float(_) => panic!("no such number was written: {scalar:?}"),
        },
        Value::List(_) | Value::Refused => panic!("nothing like this was written: {node:?}"),
    }
}

fn escaped(text: &str) -> String {
    let unit = |unit: &mut u16| format!("\\u{unit:04x}");
    text.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.encode_utf16(&mut [0; 2]).iter_mut().map(unit).collect() }).collect()
}

/// The tree of a file of another system, or the problems.
fn said_leniently(text: &str) -> String {
    let parsed = parse_lenient(text);
    let mut lines = String::new();
    if let Some(root) = &parsed.root {
        show(root, 0, &mut lines);
    }
    parsed.problems.iter().for_each(|problem| lines += &format!("! {problem}\n"));
    lines
}

#[test]
fn other_systems_files_may_have_aliases_merge_keys_and_plain_tags() {
    insta::assert_snapshot!(said_leniently("a: &a {x: 1, y: 2}\nb:\n  y: 3\n  <<: *a\n  x: 4\nc: {<<: [*a, {x: 5, z: 6}]}\nd: [!!str 1, !!int '2', *a]\n7: &s t\ne: *s\n"), @r#"
    1:1 map
      1:1 a:
        1:4 map
          1:8 x:
            1:11 Int(1) "1"
          1:14 y:
            1:17 Int(2) "2"
      2:1 b:
        3:3 map
          3:3 y:
            3:6 Int(3) "3"
          5:3 x:
            5:6 Int(4) "4"
      6:1 c:
        6:4 map
          1:8 x:
            1:11 Int(1) "1"
          1:14 y:
            1:17 Int(2) "2"
          6:21 z:
            6:24 Int(6) "6"
      7:1 d:
        7:4 list
          7:5 Text "1"
          7:14 Int(2) "2"
          7:25 map
            1:8 x:
              1:11 Int(1) "1"
            1:14 y:
              1:17 Int(2) "2"
      8:1 7:
        8:4 Text "t"
      9:1 e:
        9:4 Text "t"
    "#);
}

#[test]
fn even_then_much_is_refused() {
    let mut all = String::new();
    for text in
        ["a: &a [*a]\n", "a: *nobody\n", "<<: 5\n", "<<: [5]\n", "a: !secret x\n", "a: 1\na: 2\n", "? [a]\n: b\n", "a: 1\n---\nb: 2\n"]
    {
        parse_lenient(text).problems.iter().for_each(|problem| all += &format!("{problem}\n"));
    }
    insta::assert_snapshot!(all, @r"
    line 1, column 8: this alias stands inside of what it is an alias for (write the value out)
    line 1, column 4: there is no anchor of that name before this alias (write the value out)
    line 1, column 5: only maps can be merged with `<<` (write `<<: *name`, with an anchor of a map)
    line 1, column 6: only maps can be merged with `<<` (write `<<: *name`, with an anchor of a map)
    line 1, column 4: a tag (`!name`) is not taken in job files (remove it; put a value in quotes to make it text)
    line 2, column 1: the key `a` is here a second time; the first is at line 1, column 1 (keep one of them)
    line 1, column 3: a key must be text, not a list, a map or an alias (write `name: value`)
    line 2, column 1: a second document begins here (a job file describes one job; submit each file by itself)
    ");
}
