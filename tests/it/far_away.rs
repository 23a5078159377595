//! A supervisor that has nothing but a TCP route to its server: no shared disk, no shared network.

use std::{fs, path::Path};

use model::{
    ids::RunKey,
    logs::{Stream, pieces},
    order::{Report, RunOrder},
    provenance::Found,
    task::Cause,
};

use crate::{
    house::binary,
    place::{has_program, is_root},
};

mod home;

use home::{Heard, Home, order};

/// Runs it to its end, in `far` and by `words`, which may begin with `strace`. Answers what the server was told.
fn run(order: RunOrder, far: &Path, words: &[&str]) -> Heard {
    let home = Home::with(order);
    let supervisor = home.supervisor(words, far, far).spawn().unwrap();
    home.hears(supervisor, far)
}

#[test]
fn a_supervisor_with_nothing_but_a_route_to_the_server_does_all_its_work() {
    if !is_root("build a place with nothing but a route") {
        return;
    }
    let far = tempfile::tempdir().unwrap();
    let heard = run(order(), far.path(), &[binary()]);
    assert!(
        matches!(&heard.reports[..], [.., Report::Ended { ending }] if ending.cause == Cause::Exited { code: 4 }),
        "{:?}",
        heard.reports
    );
    assert!(heard.cut > 0, "no answer was ever cut off");
    let said = |stream: Stream| -> Vec<u8> {
        let of_stream = pieces(&heard.index).filter(|piece| piece.stream == stream);
        of_stream.flat_map(|piece| heard.log[piece.offset as usize..piece.end() as usize].to_vec()).collect()
    };
    let lines: String = (1..=300).map(|i| format!("line {i}\n")).collect();
    let stdout = String::from_utf8(said(Stream::Stdout)).unwrap();
    assert!(stdout.starts_with(&lines), "{stdout}");
    assert_eq!(said(Stream::Stderr), b"warn\n");
    assert_eq!(fs::read(far.path().join("output.log")).unwrap(), heard.log);
    let found: Found = serde_json::from_slice(&heard.provenance).unwrap();
    assert_eq!((found.inputs[0].path.as_str(), found.inputs[0].from.as_str()), ("/input", "/usr/sbin"));
    assert!(found.inputs[0].content.files > 0, "{found:?}");
}

#[test]
fn why_a_task_far_away_could_not_start_is_on_disk_before_anyone_is_called() {
    if !is_root("build a place with nothing but a route") || !has_program("strace", "see system calls") {
        return;
    }
    let (far, seen) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let run_key = RunKey { task: "worker-1".parse().unwrap(), ..order().run };
    let order = RunOrder { run: run_key, command: vec!["/no/such/program".into()], ..order() };
    let seen_at = seen.path().to_str().unwrap();
    let heard = run(order, far.path(), &["strace", "-f", "-y", "-e", "trace=rename,fsync,connect", "-o", seen_at, binary()]);
    let told = heard.reports.last();
    assert!(matches!(told, Some(Report::Ended { ending }) if matches!(ending.cause, Cause::CannotStart { .. })), "{told:?}");
    let calls = read(seen.path());
    let after = calls.split_once("/exit.json\")").map(|(_, after)| after).unwrap_or_else(|| panic!("no record was written: {calls}"));
    let before_a_call = after.split("connect(").next().unwrap();
    assert!(before_a_call.contains("/exit.json>)"), "the record is not synced: {calls}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
