//! Names as archives have them → paths as we write them.

use super::{Limits, NotUnpacked, odd};

/// A path with nothing in it but names. Empty for the directory itself, which many archives begin with.
pub fn path(name: &[u8], limits: &Limits) -> Result<Vec<u8>, NotUnpacked> {
    const NAME_BYTES_MAX: usize = 255;
    let bad = |why: &str| Err(odd(why).at(name));
    if name.is_empty() {
        return bad("has no name");
    }
    if name.contains(&0) {
        return bad("has a NUL character in its name");
    }
    if name.starts_with(b"/") {
        return bad("has a name that begins with `/`");
    }
    let path = name.strip_prefix(b"./").unwrap_or(name);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    if matches!(name, b"." | b"./") {
        return Ok(Vec::new());
    }
    let parts = || path.split(|byte| *byte == b'/');
    if parts().any(|part| matches!(part, b"" | b"." | b"..")) {
        return bad("has a part in its name that is empty, `.` or `..`");
    }
    if path.len() > limits.path_bytes_max || parts().any(|part| part.len() > NAME_BYTES_MAX) {
        return bad("has a name that is longer than a path can be");
    }
    if parts().count() > limits.depth_max {
        return bad("is deeper than directories may be");
    }
    Ok(path.to_vec())
}

/// The directory a path is in, and its name there.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&[], path), |at| (&path[..at], &path[at + 1..]))
}
