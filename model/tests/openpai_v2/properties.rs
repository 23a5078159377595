//! Whatever is done to a file, the reader answers, soon, and with words for a person.

use std::fs;

use proptest::prelude::*;

use crate::{corpus, told, translated};

/// Every file of the corpus, read once.
fn texts() -> Vec<String> {
    let short = |text: &String| text.len() < 4000;
    corpus().iter().map(|file| fs::read_to_string(file).expect("a file of the corpus can be read")).filter(short).collect()
}

const PUT: [&str; 28] = [
    "",
    "x",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\n",
    "  ",
    "0",
    "-1",
    "~",
    "\t",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "<%",
    "%>",
    "<% $secrets.x %>",
    "null",
    "2019-01-01",
    "{{ params.x }}",
    "#",
    "é",
];

/// A file with a few characters replaced, dropped or put in.
fn a_slip_of_the_pen() -> impl Strategy<Value = String> {
    let slip = (any::<prop::sample::Index>(), 0..12_usize, prop::sample::select(PUT.to_vec()));
    (prop::sample::select(texts()), prop::collection::vec(slip, 1..5)).prop_map(|(mut text, slips)| {
        for (at, drop, put) in slips {
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = at.index(boundaries.len());
            let to = (from + drop).min(boundaries.len() - 1);
            text.replace_range(boundaries[from]..boundaries[to], put);
        }
        text
    })
}

/// A file in which one value stands where another stood.
fn two_lines_swapped() -> impl Strategy<Value = String> {
    (prop::sample::select(texts()), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(text, one, other)| {
        let mut lines: Vec<&str> = text.lines().collect();
        let (one, other) = (one.index(lines.len()), other.index(lines.len()));
        lines.swap(one, other);
        lines.join("\n")
    })
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let problems = match translated(text) {
        Err(problems) => problems,
        Ok(it) => {
            // What is good is good in our own words as well.
            let json = serde_json::to_string(&it.spec).expect("a spec is JSON");
            let again = model::plan::from_text(&json, &model::plan::HouseRules::default());
            prop_assert_eq!(again.map(|(_, plan)| plan), Ok(it.plan));
            return Ok(());
        }
    };
    prop_assert!(!problems.is_empty());
    let lines = text.lines().count() as u32 + 1;
    for problem in &problems {
        let counted = problem.message.en.starts_with("and ") && problem.message.en.ends_with("more problems");
        prop_assert!(counted || (1..=lines).contains(&problem.line), "{problem}");
        prop_assert!(!problem.to_string().contains(char::is_control), "{problem}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slip_of_the_pen_makes_the_reader_stumble(text in a_slip_of_the_pen()) {
        check(&text)?;
    }

    #[test]
    fn nor_do_lines_in_the_wrong_order(text in two_lines_swapped()) {
        check(&text)?;
    }
}

/// A file that is small to write and large to read.
fn bomb(parameters: &str, commands: &str) -> String {
    format!(
        "protocolVersion: 2\nname: bomb\ntype: job\nprerequisites: [{{name: i, type: dockerimage, uri: i}}]\nparameters:\n{parameters}\ntaskRoles:\n  \
         w:\n    dockerImage: i\n    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}\n    commands: [\"{commands}\"]\n"
    )
}

#[test]
fn aliases_of_aliases_do_not_fill_the_memory() {
    let levels: String =
        (1..12).map(|level| format!("  a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "))).collect();
    let many = told(&bomb(&format!("  a0: &a0 x\n{levels}"), "ls"));
    assert!(many.contains("has more than 20000 values"), "{many}");
    let deep: String = (1..40).map(|level| format!("  a{level}: &a{level} [*a{}]\n", level - 1)).collect();
    let deep = told(&bomb(&format!("  a0: &a0 x\n{deep}"), "ls"));
    assert!(deep.contains("is nested more than 32 levels deep"), "{deep}");
    let long = format!("  a: &a {}\n  b: [{}]\n", "x".repeat(100_000), vec!["*a"; 100].join(", "));
    let long = told(&bomb(&long, "ls"));
    assert!(long.contains("has aliases for more than 1048576 bytes of text"), "{long}");
}

#[test]
fn references_do_not_fill_the_memory() {
    let parameters = format!("  a: {}\n", "x".repeat(200_000));
    let long = told(&bomb(&parameters, &"<% $parameters.a %>".repeat(10_000)));
    assert!(long.contains("is longer than 1048576 bytes when its references are put in"), "{long}");
    let sections = told(&bomb("  a: 1", &format!("{}{}", "<%# a %>".repeat(20_000), "<%/ a %>".repeat(20_000))));
    assert!(sections.contains("bomb: 1 task in 1 role"), "{sections}");
}

#[test]
fn plugins_of_many_roles_do_not_fill_the_memory() {
    let role = "    dockerImage: i\n    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n    commands: [ls]\n";
    let roles: String = (0..500).map(|number| format!("  w{number}:\n{role}")).collect();
    let text = format!(
        "protocolVersion: 2\nname: bomb\ntype: job\nprerequisites: [{{name: i, type: dockerimage, uri: i}}]\ntaskRoles:\n{roles}extras:\n  \
         com.microsoft.pai.runtimeplugin: [{{plugin: cmd, parameters: {{preCommands: [\"{}\"]}}}}]\n",
        "x".repeat(100_000)
    );
    let told = told(&text);
    assert!(told.contains("the scripts of all roles have more than 8388608 bytes"), "{}", &told[..200]);
}
