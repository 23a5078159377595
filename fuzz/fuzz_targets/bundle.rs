//! Any text as the file list of an upload: what is taken is written in one way, and stays inside its folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::bundle::Bundle;

fuzz_target!(|text: &str| {
    let Ok(bundle) = text.parse::<Bundle>() else { return };
    assert_eq!(bundle.to_string(), text);
    for (path, _) in bundle.entries() {
        assert!(!path.starts_with(b"/") && !path.contains(&0));
        assert!(path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..")));
    }
});
