//! Any text as a job file: it is read or refused, and what was read can be shown and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::plan::{HouseRules, from_text};

fuzz_target!(|text: &str| {
    if let Ok((spec, plan)) = from_text(text, &HouseRules::default()) {
        let _ = plan.to_string();
        let written = serde_json::to_string(&spec).expect("a spec is JSON");
        let (_, again) = from_text(&written, &HouseRules::default()).expect("what was read once can be read again");
        assert_eq!(plan, again);
    }
});
