//! What holds for every file of every dialect.

use model::{
    dialect::{Given, translate},
    plan::{HouseRules, from_text},
};

/// A file is refused with words, or becomes a spec of ours that means the same when it is read again.
pub fn whole(text: &str) {
    let given = Given { name: Some("fuzz".into()), user: Some("ann".into()), ..Given::default() };
    match translate(text, &given, &HouseRules::default()) {
        Err(problems) => assert!(!problems.is_empty(), "a refusal has a reason"),
        Ok(translation) => {
            let written = serde_json::to_string(&translation.spec).expect("a spec is JSON");
            let (_, plan) = from_text(&written, &HouseRules::default()).expect("a converted file is a good file");
            assert_eq!(plan, translation.plan, "a converted file means the same");
        }
    }
}
