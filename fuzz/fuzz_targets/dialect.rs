//! Any text that a dialect might take for its own. The targets of this file differ in what they begin from.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../translated.rs"]
mod translated;

fuzz_target!(|text: &str| translated::whole(text));
