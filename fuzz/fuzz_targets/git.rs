//! Any text as the address of a repository, as a ref and as a directory: what is taken can be nothing else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::code::git::{check_directory, check_ref, check_url, is_commit, is_short_commit, origin};

fuzz_target!(|text: &str| {
    if check_url(text).is_ok() {
        let (scheme, authority) = origin(text).split_once("://").expect("it has a scheme");
        assert!(matches!(scheme, "http" | "https") && !authority.is_empty());
        assert!(!authority.starts_with('-') && !authority.contains('@'), "{text}");
        assert!(text.bytes().all(|it| it.is_ascii_graphic() && !b"\\?#\"<>`{}|^".contains(&it)), "{text}");
        assert!(!text.split('/').any(|part| matches!(part, "." | "..")), "{text}");
    }
    if check_ref(text).is_ok() {
        assert!(!text.starts_with('-') && !text.contains("..") && !text.contains("@{"), "{text}");
        assert!(!text.contains(|it: char| it.is_control() || it.is_whitespace() || ":\\^~*?[".contains(it)), "{text}");
    }
    if check_directory(text).is_ok() {
        assert!(!text.starts_with(['-', '/']) && !text.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")), "{text}");
    }
    assert!(!(is_commit(text) && is_short_commit(text)));
});
