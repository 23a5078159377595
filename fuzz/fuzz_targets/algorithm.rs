//! Any text as an algorithm: it is read or refused, and what was read can be kept and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::algorithm::read;

fuzz_target!(|text: &str| match read(text) {
    Err(problems) => assert!(!problems.is_empty(), "a refusal has a reason"),
    Ok(algorithm) => {
        let written = serde_json::to_string(&algorithm).expect("an algorithm is JSON");
        assert_eq!(read(&written).expect("what was read once can be read again"), algorithm);
    }
});
