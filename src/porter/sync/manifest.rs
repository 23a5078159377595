//! The last thing that goes to a place: the list of what is there. Whoever finds it knows that all of it is.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
};

use model::ids::RunKey;
use serde_json::json;

use super::{
    ledger::Ledger,
    names::key_of,
    pass::Tally,
    places::{OURS, Place},
    tree::{Tree, What, leads_inside},
};

/// Where it is, from the place.
pub fn path(run: &RunKey) -> String {
    format!("{OURS}/manifest-{}.json", run.task)
}

/// Writes it to a file, line by line: there may be a million.
pub fn write(
    to: &File,
    run: &RunKey,
    (tree, ledger): (&Tree, &Ledger),
    (place, places): (&Place, &[Place]),
    tally: &Tally,
) -> io::Result<()> {
    let mut out = BufWriter::new(to);
    write!(out, "{{\"job\":\"{}\",\"task\":\"{}\",\"attempt\":{},\"files\":[", run.job, run.task, run.attempt)?;
    let (mut links, mut first, mut written) = (Vec::new(), true, Ok(()));
    tree.walk(&mut |found| {
        let Some(path) = place.takes(places, &found.path) else { return true };
        match found.what {
            What::File(_) => {
                written = file_line(&mut out, ledger, &key_of(&found.path), place.inside(&path), &mut first);
            }
            What::Link(target) if leads_inside(&found.path, &target) => {
                links.push(json!({ "path": place.inside(&path), "target": key_of(&target) }))
            }
            What::Link(_) | What::Special(_) | What::Closed(_) => {}
        }
        written.is_ok()
    });
    written?;
    let rest = json!({ "links": links, "skipped": tally.skipped.all() }).to_string();
    write!(out, "\n],{}", &rest[1..])?;
    out.flush()
}

fn file_line(out: &mut impl Write, ledger: &Ledger, key: &str, path: &str, first: &mut bool) -> io::Result<()> {
    let Some(sent) = ledger.get(key)? else { return Ok(()) };
    let line = json!({ "path": path, "size": sent.size, "etag": sent.etag });
    let comma = if std::mem::take(first) { "" } else { "," };
    write!(out, "{comma}\n{line}")
}
