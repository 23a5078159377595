//! Every expected text was printed by mustache 2.3.2 and js-yaml 3.13.1, called as OpenPAI's server called them.

use proptest::prelude::*;

use super::*;
use crate::located::parse_lenient;

const PARAMETERS: &str = "
x: value
a: {b: deep}
nothing: null
tilde: ~
list: [1, 2, 3]
empty: ''
zero: 0
truth: true
one: 1.0
small: 1e-5
tiny: 1e-7
grouped: 1_000
hex: 0x1F
octal: 017
clock: 12:30
yes_: yes
no_: no
on_: on
off_: off
date: 2019-01-01
tag: <% $parameters.x %>
";

fn said(template: &str) -> String {
    let parameters = parse_lenient(PARAMETERS).root.unwrap();
    let data = parse_lenient("{name: d, uri: [u0, u1]}").root.unwrap();
    match render(template, &View(vec![("$parameters", &parameters), ("$data", &data)])) {
        Ok(rendered) => rendered.text,
        Err(error) => format!("! {}", error.words()),
    }
}

/// The table of 2.5, row by row.
#[test]
fn templates_come_out_as_the_server_rendered_them() {
    for (template, text) in [
        ("<% $parameters.x %>", "value"),
        ("<%$parameters.x%>", "value"),
        ("<% $data.uri[1] %>", "u1"),
        ("<% $data.uri.1 %>", "u1"),
        ("<% $parameters.a.b %>", "deep"),
        ("<%   $parameters.missing   %>", "<% $parameters.missing %>"),
        ("<% $parameters.nothing %>", "<% $parameters.nothing %>"),
        ("<%$parameters.tilde%>", "<% $parameters.tilde %>"),
        ("<% $data.uri[9] %>", "<% $data.uri.9 %>"),
        ("<% parameters.x %>", "<% parameters.x %>"),
        ("<% $secrets.key %>", "<% $secrets.key %>"),
        ("<% $parameters.list %>", "1,2,3"),
        ("<% $parameters.a %>", "[object Object]"),
        ("[<% $parameters.empty %>]", "[]"),
        ("<% $parameters.zero %>", "0"),
        ("<% $parameters.truth %>", "true"),
        ("<% $parameters.one %>", "1"),
        ("<% $parameters.small %>", "0.00001"),
        ("<% $parameters.tiny %>", "1e-7"),
        ("<% $parameters.grouped %>", "1000"),
        ("<% $parameters.hex %>", "31"),
        ("<% $parameters.octal %>", "15"),
        ("<% $parameters.clock %>", "750"),
        ("<% $parameters.yes_ %> <% $parameters.no_ %> <% $parameters.on_ %> <% $parameters.off_ %>", "yes no on off"),
        ("<% $parameters.date %>", "Tue Jan 01 2019 00:00:00 GMT+0000 (Coordinated Universal Time)"),
        ("a<%! comment %>b", "ab"),
        ("a<%& $parameters.x %>b", "ab"),
        ("a<%# $parameters.x %>inside<%/ $parameters.x %>b", "ab"),
        ("<% unclosed", "! has a `<%` that is never closed"),
        ("<%# x %> unclosed", "! has a section `x` that is never closed"),
        ("<%= {{ }} =%>{{ $parameters.x }} <% $parameters.x %>", "value <% $parameters.x %>"),
    ] {
        assert_eq!(said(template), text, "{template}");
    }
}

#[test]
fn what_else_mustache_does_is_done_too() {
    for (template, text) in [
        ("", ""),
        ("  plain  ", "plain"),
        ("<% %>", "<%  %>"),
        ("<% . %>", "[object Object]"),
        ("<% .x %>", "<% .x %>"),
        ("<% $parameters..x %>", "<% $parameters..x %>"),
        ("<% $parameters %>", "[object Object]"),
        ("<% $parameters.x.length %> <% $parameters.x[0] %> <% $parameters.list.length %>", "5 v 3"),
        ("<% $parameters.list[01] %>", "<% $parameters.list.01 %>"),
        ("<% $parameters.tag %>", "<% $parameters.x %>"),
        ("a\n  <%! a line of its own %>  \nb", "a\nb"),
        ("a\n<%# s %>\nx\n<%/ s %>\nb", "a\nb"),
        ("a\n<% $parameters.empty %>\nb", "a\n\nb"),
        ("<%{ $parameters.x }%>|<%> partial %>|", "||"),
        ("<%^ a %><%# b %>x<%/ b %><%/ a %>y", "y"),
        ("<%/ a %>", "! closes a section `a` that was not opened"),
        ("<%# a %><%/ b %>", "! has a section `a` that is never closed"),
        ("<%= one =%>", "! changes the delimiters to `one`, which are not two words"),
        ("<%=| |=%>|$parameters.x|", "value"),
        ("%> <% $parameters.x %> %>", "%> value %>"),
    ] {
        assert_eq!(said(template), text, "{template}");
    }
}

#[test]
fn a_value_put_in_a_thousand_times_ends_the_rendering() {
    let long = parse_lenient(&format!("x: {}", "y".repeat(100_000))).root.unwrap();
    let view = View(vec![("$parameters", &long)]);
    assert_eq!(render(&"<% $parameters.x %>".repeat(1000), &view), Err(Unrendered::TooLong));
}

/// Pieces from which most of mustache can be put together.
fn a_template() -> impl Strategy<Value = String> {
    let pieces = vec![
        "<%",
        "%>",
        "<%!",
        "<%#",
        "<%/",
        "<%^",
        "<%=",
        "=%>",
        "<%{",
        "}%>",
        "<%&",
        "<%>",
        "{{",
        "}}",
        "$parameters",
        ".x",
        ".list",
        "[1]",
        "[",
        "]",
        ".",
        " ",
        "\n",
        "\t",
        "a",
        "é",
        "😀",
        "=",
        "<%= {{ }} =%>",
        "<% $parameters.x %>",
        "<%# a %>",
        "<%/ a %>",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_template_makes_the_renderer_stumble(template in a_template()) {
        said(&template);
    }

    #[test]
    fn nor_does_any_text(template in ".*") {
        said(&template);
    }

    #[test]
    fn text_without_tags_stays_as_it_is(text in "[a-z{}\\\\ \n]*") {
        let expected = text.trim_matches(js::is_space).to_owned();
        prop_assert_eq!(said(&text), expected);
    }
}
