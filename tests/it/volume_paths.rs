//! Paths that would like to be elsewhere. Canaries lie around everything that may be reached; none is ever
//! read, written or removed.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::TryStreamExt;
use trainmaster::{
    client::{Call, ClientError},
    volumes::{self, Store},
};

use super::{
    house::{House, text},
    stores::block_on,
};

const CANARY: &str = "canary-of-somebody-else";

/// A volume with canaries beside it, links of every sort in it, and a file that may be read.
struct Trap {
    dir: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("volume");
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir_all(dir.path().join("secret")).unwrap();
        for canary in ["canary", "secret/canary", "volume-not/canary"] {
            fs::create_dir_all(dir.path().join(canary).parent().unwrap()).unwrap();
            fs::write(dir.path().join(canary), CANARY).unwrap();
        }
        fs::write(root.join("own"), "own").unwrap();
        for (link, target) in [
            ("up", ".."),
            ("sub/up", "../.."),
            ("whole", dir.path().join("canary").to_str().unwrap()),
            ("folder", dir.path().join("secret").to_str().unwrap()),
            ("near", "own"),
            ("loop", "loop"),
            ("proc", "/proc/self/root"),
            ("root", "/"),
            ("self", "."),
            ("gone", "nowhere"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("volume")
    }

    fn store(&self) -> Store {
        volumes::open(&model::volume::Volume::Local { path: self.root().display().to_string() }, None).unwrap()
    }

    fn is_whole(&self) {
        for canary in ["canary", "secret/canary", "volume-not/canary"] {
            assert_eq!(fs::read_to_string(self.dir.path().join(canary)).unwrap(), CANARY, "{canary}");
        }
        let names = |path: &str| fs::read_dir(self.dir.path().join(path)).unwrap().count();
        assert_eq!((names(""), names("secret"), names("volume-not")), (4, 1, 1), "nothing was put beside the volume");
    }
}

/// Ways out, and ways to write them.
fn hostile_paths(root: &Path) -> Vec<String> {
    let outside = root.parent().unwrap().display().to_string();
    let ups = [
        "..",
        "../",
        "./..",
        "sub/..",
        "sub/../..",
        "sub/deep/../../..",
        "up",
        "sub/up",
        "folder",
        "self/up",
        "self/self/..",
        "root",
        "proc",
        "...",
        ". .",
        "..;",
        "~",
    ];
    let ends = [
        "canary",
        "secret/canary",
        "../canary",
        "volume-not/canary",
        "/canary",
        "./canary",
        "canary/",
        "canary\0",
        "canary\0.txt",
        "new",
        "secret/new",
    ];
    let mut paths: Vec<String> = ups.iter().flat_map(|up| ends.iter().map(move |end| format!("{up}/{end}"))).collect();
    let whole = ["canary", "secret/canary", "new"].map(|end| format!("{outside}/{end}"));
    paths.extend(
        whole.iter().flat_map(|path| {
            [path.clone(), format!("root{path}"), format!("proc{path}"), path.replace('/', "//"), format!("file://{path}")]
        }),
    );
    paths.extend(
        [
            "whole",
            "loop",
            "gone/x",
            "pipe",
            "near/..",
            "own/../../canary",
            "own/x",
            "..\\canary",
            "\\..\\canary",
            "\0",
            "a\0b",
            "/dev/null",
            "/dev/zero",
        ]
        .map(String::from),
    );
    paths
}

#[test]
fn no_path_of_a_local_volume_leads_out_of_it() {
    let trap = Trap::new();
    let store = trap.store();
    block_on(async {
        for path in hostile_paths(&trap.root()) {
            if let Ok((_, body)) = store.read(&path, 0).await {
                let content: Vec<Bytes> = body.try_collect().await.unwrap();
                assert!(!content.concat().starts_with(CANARY.as_bytes()), "{path:?}");
            }
            assert!(store.head(&path).await.is_err(), "{path:?}");
            let listed: Result<Vec<_>, _> = store.list(&path).try_collect().await;
            let seen = listed.unwrap_or_default().into_iter().map(|entry| entry.path).filter(|it| it.contains("canary"));
            assert_eq!(seen.collect::<Vec<_>>(), Vec::<String>::new(), "{path:?}");
            let _refused = store.remove(&path).await;
            trap.is_whole();
        }
    });
}

#[test]
fn no_write_to_a_local_volume_lands_outside_or_through_a_link() {
    let trap = Trap::new();
    let store = trap.store();
    for path in hostile_paths(&trap.root()) {
        let _refused_or_inside = block_on(store.put_bytes(&path, Bytes::from_static(b"overwritten")));
        trap.is_whole();
        let _refused_or_inside = block_on(store.abort_stale(&path));
        trap.is_whole();
    }
    block_on(store.put_bytes("near", Bytes::from_static(b"mine"))).unwrap();
    assert_eq!(fs::read(trap.root().join("own")).unwrap(), b"own", "a link is replaced, and what it led to stays");
}

#[test]
fn links_that_stay_inside_are_read() {
    let trap = Trap::new();
    let store = trap.store();
    assert_eq!(block_on(store.head("near")).unwrap().size, 3);
    let paths: Vec<String> = block_on(store.list("").map_ok(|entry| entry.path).try_collect()).unwrap();
    let mut paths = paths;
    paths.sort();
    assert_eq!(paths, ["near", "own"]);
}

#[test]
fn nothing_leads_out_while_links_are_swapped_in() {
    let trap = Trap::new();
    let store = trap.store();
    let (over, root) = (Arc::new(AtomicBool::new(false)), trap.root());
    fs::create_dir(root.join("swapped")).unwrap();
    fs::write(root.join("swapped/canary"), "inside").unwrap();
    let (stop, secret) = (over.clone(), trap.dir.path().join("secret"));
    let swapper = std::thread::spawn(move || {
        symlink(&secret, root.join("link")).unwrap();
        while !stop.load(Ordering::Relaxed) {
            let exchange = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
            nix::fcntl::renameat2(nix::fcntl::AT_FDCWD, &root.join("swapped"), nix::fcntl::AT_FDCWD, &root.join("link"), exchange).unwrap();
        }
    });
    let (mut inside, mut refused) = (0, 0);
    block_on(async {
        while inside < 200 || refused < 200 {
            match store.read("swapped/canary", 0).await {
                Ok((_, body)) => {
                    assert_eq!(body.try_collect::<Vec<Bytes>>().await.unwrap().concat(), b"inside");
                    inside += 1;
                }
                Err(_) => refused += 1,
            }
            let _inside_or_refused = store.put_bytes("swapped/new", Bytes::new()).await;
        }
    });
    over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    trap.is_whole();
}

/// The same path as clients spell it in a query.
fn spellings(path: &str) -> Vec<String> {
    let every_byte: String = path.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let usual: String =
        path.bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            })
            .collect();
    let twice = every_byte.replace('%', "%25");
    let overlong = usual.replace('/', "%C0%AF").replace("..", "%C0%AE%C0%AE");
    vec![usual, every_byte, twice, overlong]
}

#[test]
fn no_spelling_of_a_path_gets_out_over_the_api() {
    let trap = Trap::new();
    let house = House::new();
    let body = serde_json::json!({ "name": "trap", "volume": { "kind": "local", "path": trap.root() } });
    house.call(Call::post("/api/v1/volumes", body.to_string())).unwrap();
    let id = house.submit_line("puts", "ln -s / $TRAINMASTER_OUTPUT/root; ln -s .. $TRAINMASTER_OUTPUT/up; echo done");
    house.wait_for(&id, "succeeded");
    let heads = ["trap%3A", "trap:/", "puts:/output/", "puts%3A%2Foutput%2Fmain-0%2F", "puts/main-0:/output/"];
    let (mut asked, outside) = (0, trap.dir.path().display().to_string());
    let of_its_size = format!("\"size\":{},", CANARY.len());
    let own = ["up/order.json".into(), format!("root{outside}/canary")];
    for (number, path) in hostile_paths(&trap.root()).into_iter().chain(own).enumerate() {
        for (spelling, spelled) in spellings(&path).into_iter().enumerate() {
            let at = format!("{}{spelled}", heads[(number + spelling) % heads.len()]);
            for answer in tried(&house, &at) {
                asked += 1;
                match answer {
                    Ok(bytes) => assert!(!text(&bytes).contains(CANARY) && !text(&bytes).contains(&of_its_size), "{at}"),
                    Err(status) => assert!((400..500).contains(&status), "{at}: {status}"),
                }
            }
        }
        trap.is_whole();
    }
    assert!(asked > 2_000, "{asked}");
    assert!(house.data().join("admin-token").exists());
}

/// Everything that can be done with a file.
fn tried(house: &House, at: &str) -> [Result<Vec<u8>, u16>; 4] {
    let (content, list) = (format!("/api/v1/files/content?at={at}"), format!("/api/v1/files?recursive=true&at={at}"));
    let put = Call { method: hyper::Method::PUT, body: "overwritten".into(), ..Call::get(&content) };
    [Call::get(&content), put, Call::delete(&content), Call::get(&list)].map(|call| house.call(call).map_err(status))
}

fn status(error: ClientError) -> u16 {
    match error {
        ClientError::Refused(status, _) => status.as_u16(),
        // An address that HTTP itself refuses never got there.
        ClientError::Away(..) => 400,
        ClientError::BadUrl(_) => 0,
    }
}

#[test]
fn a_volume_cannot_have_the_servers_own_data_in_it() {
    let house = House::new();
    for path in [
        "/".into(),
        house.data().display().to_string(),
        format!("{}/runs", house.data().display()),
        house.data().parent().unwrap().display().to_string(),
    ] {
        let body = serde_json::json!({ "name": "all", "volume": { "kind": "local", "path": path } });
        let error = house.call(Call::post("/api/v1/volumes", body.to_string())).unwrap_err();
        assert!(error.to_string().contains("apart from the server's own data"), "{path}: {error}");
    }
}
