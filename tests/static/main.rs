//! The program as one static file, in a root where there is nothing else: `make test-static`, which builds it and says where it is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

#[allow(dead_code, reason = "these tests need only a part of it")]
#[path = "../it/far_away/home.rs"]
mod home;

#[allow(dead_code, reason = "these tests need only a part of it")]
#[path = "../it/house.rs"]
mod house;

#[allow(dead_code, reason = "these tests need only a part of it")]
#[path = "../it/place.rs"]
mod place;

use std::{fs, path::Path, process::Child};

use home::{Home, order};
use model::{
    order::{Report, RunOrder},
    plan::Freight,
    task::Cause,
};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::{chdir, pivot_root},
};
use place::{is_root, with_own_mounts};

/// A directory with the program, a place for its run, and what the kernel shows everywhere: processes, and where nothing goes.
fn empty_root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let program = std::env::var("TRAINMASTER_STATIC").expect("`make test-static` says where the static program is");
    fs::copy(program, root.path().join("trainmaster")).unwrap();
    ["far", "proc", "dev"].iter().for_each(|name| fs::create_dir(root.path().join(name)).unwrap());
    fs::write(root.path().join("dev/null"), "").unwrap();
    root
}

/// Starts something for which `root` is all there is.
fn started_in(root: &Path, start: impl FnOnce() -> Child + Send) -> Child {
    with_own_mounts(|| {
        mount(Some(root), root, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        mount(Some("proc"), &root.join("proc"), Some("proc"), MsFlags::empty(), None::<&str>).unwrap();
        mount(Some("/dev/null"), &root.join("dev/null"), None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        chdir(root).unwrap();
        pivot_root(".", ".").unwrap();
        umount2(".", MntFlags::MNT_DETACH).unwrap();
        assert!(!Path::new("/bin").exists() && !Path::new("/lib").exists());
        start()
    })
}

#[test]
fn a_static_supervisor_does_all_its_work_where_there_is_nothing_but_itself_and_a_route_to_the_server() {
    if !is_root("build a place with nothing but a route") {
        return;
    }
    let (root, dir) = (empty_root(), Path::new("/far"));
    let far = root.path().join("far");
    let command = ["/trainmaster", "schema", "--no-such-flag"].map(String::from).to_vec();
    let home = Home::with(RunOrder { command, freight: Freight::default(), ..order() });
    let mut supervisor = home.supervisor(&["/trainmaster"], dir, &far);
    let supervisor = started_in(root.path(), || supervisor.spawn().unwrap());
    let heard = home.hears(supervisor, &far);
    assert!(
        matches!(&heard.reports[..], [.., Report::Ended { ending }] if ending.cause == Cause::Exited { code: 2 }),
        "{:?}",
        heard.reports
    );
    let said = String::from_utf8(heard.log).unwrap();
    assert!(said.contains("unexpected argument '--no-such-flag'"), "{said}");
}
