//! Volumes against real stores and bad lines.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use model::volume::{Credentials, Volume};
use trainmaster::volumes::{self, Listed, Store, Trouble, VolumeError, Want};

use super::{
    faulty::{Fault, Faulty},
    stores::{BUCKET, ORIGINS, Origin, S3Server, SECRET_KEY, block_on, keys, store_at, volume_at},
};

async fn content(store: &Store, path: &str) -> Result<Vec<u8>, VolumeError> {
    let (_, body) = store.read(path, 0).await?;
    Ok(body.try_collect::<Vec<Bytes>>().await?.concat())
}

async fn paths(store: &Store, directory: &str) -> Vec<String> {
    let mut paths: Vec<String> = store.list(directory).map_ok(|entry| entry.path).try_collect().await.unwrap();
    paths.sort();
    paths
}

fn odd_names() -> Vec<String> {
    let long = (0..10).map(|_| "x".repeat(99)).collect::<Vec<_>>().join("/");
    let mut names: Vec<String> = [
        "plain.txt",
        "a b/c  d.txt",
        "100%/50%25.txt",
        "%2e%2e/x",
        "plus+minus-&=?#;:,@!$'()*[].txt",
        "ünï/数据/模型.bin",
        "😀.txt",
        ".hidden/.also",
        "...",
        "..a/b..",
        "quote\"<>&'.txt",
        "back\\slash",
        "tilde~",
        "new\nline\ttab",
        "a+b c%20d",
        "UPPER/lower",
    ]
    .map(String::from)
    .into();
    names.push(long);
    names
}

#[test]
fn odd_names_come_back_exactly_from_every_store() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let Volume::S3 { endpoint, bucket, region, .. } = server.volume() else { panic!("it is a bucket") };
        for prefix in ["", "deep/pre fix%"] {
            let volume = Volume::S3 {
                endpoint: endpoint.clone(),
                bucket: bucket.clone(),
                prefix: prefix.into(),
                region: region.clone(),
                virtual_host: false,
            };
            let store = volumes::open(&volume, Some(&keys())).unwrap();
            block_on(round_trip(&store, origin));
        }
    }
}

async fn round_trip(store: &Store, origin: Origin) {
    let mut names = odd_names();
    for name in &names {
        let put = store.put_bytes(name, Bytes::from(name.clone())).await.unwrap_or_else(|error| panic!("{origin:?} {name:?}: {error}"));
        assert_eq!((put.path.as_str(), put.size), (name.as_str(), name.len() as u64));
        assert_eq!(content(store, name).await.unwrap(), name.as_bytes(), "{origin:?}");
        assert_eq!(store.head(name).await.unwrap().etag, put.etag);
    }
    names.sort();
    assert_eq!(paths(store, "").await, names, "{origin:?}");
    assert_eq!(paths(store, "a b").await, ["a b/c  d.txt"]);
    for name in &names {
        store.remove(name).await.unwrap();
        assert!(store.head(name).await.unwrap_err().is_missing());
    }
    assert_eq!(paths(store, "").await, Vec::<String>::new(), "{origin:?}");
}

/// A file of so many bytes, none of whose parts is like another.
fn large_file(bytes: usize) -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    let mut word = 1_u64;
    let mut piece = Vec::with_capacity(bytes);
    while piece.len() < bytes {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        piece.extend_from_slice(&word.to_le_bytes());
    }
    file.write_all(&piece[..bytes]).unwrap();
    file
}

fn bytes_of(file: &std::fs::File) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

const LARGE: usize = (20 << 20) + 12_345;

#[test]
fn large_files_go_in_parts_and_are_read_from_anywhere() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let (store, file) = (server.store(), large_file(LARGE));
        let wanted = bytes_of(&file);
        block_on(async {
            let put = store.put_file("model.bin", &file, LARGE as u64).await.unwrap();
            assert!(put.etag.ends_with("-3"), "{origin:?}: {}", put.etag);
            assert_eq!(store.head("model.bin").await.unwrap().etag, put.etag);
            assert!(content(&store, "model.bin").await.unwrap() == wanted, "{origin:?}");
            let want = Want { from: 9 << 20, length: Some(1000), etag: Some(put.etag.clone()) };
            let (_, body) = store.read_part("model.bin", &want).await.unwrap();
            assert_eq!(body.try_collect::<Vec<Bytes>>().await.unwrap().concat(), wanted[9 << 20..(9 << 20) + 1000]);
            let (_, at_the_end) = store.read("model.bin", LARGE as u64).await.unwrap();
            assert_eq!(at_the_end.try_collect::<Vec<Bytes>>().await.unwrap().concat(), b"");
            let other = Want { etag: Some("other".into()), ..Want::default() };
            assert!(matches!(store.read_part("model.bin", &other).await.err().unwrap().trouble, Trouble::Changed { .. }));
            assert_eq!(server.half_uploads(), 0);
        });
    }
}

#[test]
fn a_directory_shows_its_files_and_directories_and_no_marks() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let store = server.store();
        block_on(async {
            for path in ["a/b/c.txt", "a/d.txt", "a.txt", "ab/e.txt"] {
                store.put_bytes(path, Bytes::from_static(b"x")).await.unwrap();
            }
            let mut shown: Vec<String> = store.browse("a").map_ok(shown).try_collect().await.unwrap();
            shown.sort();
            assert_eq!(shown, ["a/b/", "a/d.txt"], "{origin:?}");
            assert_eq!(paths(&store, "a").await, ["a/b/c.txt", "a/d.txt"]);
            assert!(store.test().await.iter().all(|check| check.result.is_ok()), "{origin:?}");
            assert_eq!(paths(&store, "").await.len(), 4, "the test takes its file away again");
        });
    }
}

fn shown(listed: Listed) -> String {
    match listed {
        Listed::File(entry) => entry.path,
        Listed::Directory { path } => path + "/",
        Listed::Special { path, what } => format!("{path} is {what}"),
    }
}

#[test]
fn lists_longer_than_a_page_are_whole() {
    const FILES: usize = 1_100;
    let server = S3Server::start(Origin::Versity);
    let store = server.store();
    block_on(async {
        let put = |number: usize| {
            let store = store.clone();
            async move { store.put_bytes(&format!("many/{number:04}"), Bytes::new()).await.unwrap() }
        };
        futures_util::stream::iter(0..FILES).map(put).buffer_unordered(16).collect::<Vec<_>>().await;
        assert_eq!(paths(&store, "many").await, (0..FILES).map(|number| format!("many/{number:04}")).collect::<Vec<_>>());
    });
}

#[test]
fn a_bucket_in_the_hosts_name_works_as_well() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let port = server.endpoint.rsplit(':').next().unwrap();
        let volume = Volume::S3 {
            endpoint: Some(format!("http://localhost:{port}")),
            bucket: BUCKET.into(),
            prefix: String::new(),
            region: Some("us-east-1".into()),
            virtual_host: true,
        };
        let store = volumes::open(&volume, Some(&keys())).unwrap();
        block_on(async {
            store.put_bytes("x/y z", Bytes::from_static(b"1")).await.unwrap();
            assert_eq!(paths(&server.store(), "").await, ["x/y z"], "{origin:?}");
            assert_eq!(content(&store, "x/y z").await.unwrap(), b"1");
        });
    }
}

#[test]
fn wrong_keys_and_wrong_buckets_are_told_apart_and_no_secret_is_repeated() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let open = |volume: &Volume, keys: Option<&Credentials>| volumes::open(volume, keys).unwrap().named("data");
        let wrong_secret = Credentials { secret_key: "canary-wrong-secret".into(), ..keys() };
        let wrong_who = Credentials { access_key: "nobody".into(), ..keys() };
        for wrong in [Some(&wrong_secret), Some(&wrong_who), None] {
            let error = block_on(open(&server.volume(), wrong).put_bytes("x", Bytes::new())).unwrap_err();
            assert!(matches!(error.trouble, Trouble::Denied { .. }), "{origin:?}: {error}");
            assert!(error.to_string().starts_with("data:x does not let us in: "), "{error}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
        let Volume::S3 { endpoint, .. } = server.volume() else { panic!("it is a bucket") };
        let nowhere = Volume::S3 { endpoint, bucket: "nowhere".into(), prefix: String::new(), region: None, virtual_host: false };
        let error = block_on(open(&nowhere, Some(&keys())).put_bytes("x", Bytes::new())).unwrap_err();
        assert_eq!(error.trouble, Trouble::Missing { what: "bucket" }, "{origin:?}");
        assert!(!format!("{error:?}").contains(SECRET_KEY));
    }
}

#[test]
fn a_store_that_is_not_there_is_away() {
    let mut server = S3Server::start(Origin::Versity);
    let store = server.store();
    block_on(store.put_bytes("x", Bytes::from_static(b"kept"))).unwrap();
    server.kill();
    let error = block_on(store.put_bytes("y", Bytes::new())).unwrap_err();
    assert!(error.is_passing() && error.to_string().starts_with("data:y cannot be reached now: "), "{error}");
    server.resume();
    assert_eq!(block_on(content(&store, "x")).unwrap(), b"kept");
}

#[test]
fn a_bad_line_is_tried_again_and_nothing_is_half() {
    let faults = [
        Fault::Refuse,
        Fault::Status(500),
        Fault::Status(503),
        Fault::Slow(Duration::from_millis(50)),
        Fault::CutUpload { after_bytes: 3 << 20 },
        Fault::LoseAnswer,
        Fault::TooMany { retry_after_s: 0 },
        Fault::Flip,
    ];
    let file = large_file(LARGE);
    let wanted = bytes_of(&file);
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let line = Faulty::before(&server.endpoint);
        for (number, fault) in faults.iter().enumerate() {
            let path = format!("model-{number}.bin");
            // Every third is less often than a call tries, so each comes through in the end.
            line.every(3, fault.clone());
            block_on(async {
                let store = store_at(&line.endpoint);
                let put = store.put_file(&path, &file, LARGE as u64).await;
                put.unwrap_or_else(|error| panic!("{origin:?} {fault:?}: {error}"));
                assert!(content(&server.store(), &path).await.unwrap() == wanted, "{origin:?} {fault:?}");
                assert_eq!(server.half_uploads(), 0, "{origin:?} {fault:?}");
            });
            assert!(line.faults() > 0, "{fault:?} never happened");
        }
    }
}

/// Over a line on which a part takes longer than any silence is borne.
#[test]
fn a_large_part_over_a_slow_line_comes_to_its_end_the_first_time() {
    let server = S3Server::start(Origin::Versity);
    let (line, parts) = (Faulty::before(&server.endpoint), Arc::new(AtomicUsize::new(0)));
    let counting = parts.clone();
    line.plan(move |first, _| {
        let is_part = first.starts_with("PUT ") && first.contains("partNumber=");
        counting.fetch_add(usize::from(is_part), Ordering::SeqCst);
        if is_part { Fault::Narrow { bytes_per_s: 82_000 } } else { Fault::None }
    });
    let file = large_file((8 << 20) + 1);
    block_on(async {
        let store = store_at(&line.endpoint);
        assert_eq!(store.put_file("large", &file, (8 << 20) + 1).await.unwrap().size, (8 << 20) + 1);
        assert!(content(&server.store(), "large").await.unwrap() == bytes_of(&file));
    });
    assert_eq!((parts.load(Ordering::SeqCst), server.half_uploads()), (2, 0), "no part was sent twice");
}

#[test]
fn a_store_that_knows_no_checksums_or_wants_every_hash_signed_gets_the_file_all_the_same() {
    let file = large_file(LARGE);
    let wanted = bytes_of(&file);
    let strict =
        [("x-amz-checksum-algorithm", 501), ("x-amz-checksum-algorithm", 400), ("UNSIGNED-PAYLOAD", 403), ("UNSIGNED-PAYLOAD", 501)];
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let line = Faulty::before(&server.endpoint);
        for (has, status) in strict {
            line.always(Fault::StatusIf { has, status });
            block_on(async {
                let put = store_at(&line.endpoint).put_file("model.bin", &file, LARGE as u64).await;
                put.unwrap_or_else(|error| panic!("{origin:?} {status} to {has}: {error}"));
                assert!(content(&server.store(), "model.bin").await.unwrap() == wanted, "{origin:?} {status} to {has}");
                assert_eq!(server.half_uploads(), 0, "{origin:?} {status} to {has}");
            });
        }
    }
}

#[test]
fn a_download_that_is_cut_goes_on_where_it_was_cut() {
    let server = S3Server::start(Origin::Minio);
    let (file, line) = (large_file(LARGE), Faulty::before(&server.endpoint));
    let wanted = bytes_of(&file);
    block_on(async {
        server.store().put_file("model.bin", &file, LARGE as u64).await.unwrap();
        line.first(3, Fault::CutDownload { after_bytes: 5 << 20 });
        assert!(content(&store_at(&line.endpoint), "model.bin").await.unwrap() == wanted);
        assert_eq!((line.faults(), line.requests()), (3, 4));
    });
}

#[test]
fn a_file_that_changes_while_it_is_read_is_never_a_mixture() {
    let server = S3Server::start(Origin::Minio);
    let line = Faulty::before(&server.endpoint);
    block_on(async {
        let (store, first) = (server.store(), large_file(LARGE));
        store.put_file("model.bin", &first, LARGE as u64).await.unwrap();
        line.first(1, Fault::CutDownload { after_bytes: 5 << 20 });
        let (_, mut body) = store_at(&line.endpoint).read("model.bin", 0).await.unwrap();
        let mut seen = body.next().await.unwrap().unwrap().len();
        store.put_bytes("model.bin", Bytes::from(vec![7; LARGE])).await.unwrap();
        let error = loop {
            match body.next().await.expect("it does not end well") {
                Ok(piece) => seen += piece.len(),
                Err(error) => break error,
            }
        };
        assert!(matches!(error.trouble, Trouble::Changed { .. }), "{error}");
        assert!(seen < LARGE);
    });
}

#[test]
fn a_line_that_stays_bad_says_how_and_leaves_no_parts() {
    let server = S3Server::start(Origin::Minio);
    let line = Faulty::before(&server.endpoint);
    let (store, file) = (store_at(&line.endpoint), large_file(LARGE));
    let parts_fail = |fault: Fault| {
        line.plan(move |first, _| if first.contains("partNumber=") { fault.clone() } else { Fault::None });
        let error = block_on(store.put_file("model.bin", &file, LARGE as u64)).unwrap_err();
        assert!(error.is_passing(), "{error}");
        assert!(block_on(server.store().head("model.bin")).unwrap_err().is_missing());
        assert_eq!(server.half_uploads(), 0, "{error}");
        error
    };
    assert!(parts_fail(Fault::Status(500)).to_string().contains("500"));
    assert!(parts_fail(Fault::CutUpload { after_bytes: 1 << 20 }).to_string().starts_with("data:model.bin cannot be reached now: "));
    let busy = parts_fail(Fault::TooMany { retry_after_s: 60 });
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(60)));
    assert!(busy.to_string().ends_with("it asks to wait 60 s"), "{busy}");
    line.heal();
    block_on(store.put_file("model.bin", &file, LARGE as u64)).unwrap();
}

#[test]
fn a_store_that_asks_to_wait_is_given_the_time() {
    let server = S3Server::start(Origin::Versity);
    let line = Faulty::before(&server.endpoint);
    line.first(1, Fault::TooMany { retry_after_s: 2 });
    let begun = Instant::now();
    block_on(store_at(&line.endpoint).put_bytes("x", Bytes::new())).unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(2));
    assert_eq!(line.requests(), 2);
}

#[test]
fn a_wrong_clock_is_named_with_its_minutes() {
    let server = S3Server::start(Origin::Minio);
    let line = Faulty::before(&server.endpoint);
    line.always(Fault::Skewed { minutes: 22 });
    let error = block_on(store_at(&line.endpoint).put_bytes("x", Bytes::new())).unwrap_err();
    assert!(matches!(error.trouble, Trouble::Denied { .. }));
    assert!(error.to_string().contains("clock is 22 minutes ahead of the store's"), "{error}");
    assert_eq!(line.requests(), 1, "a clock does not mend itself");
}

#[test]
fn what_a_crash_left_half_is_cleared_away() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let line = Faulty::before(&server.endpoint);
        let (store, file) = (store_at(&line.endpoint), large_file(LARGE));
        // Parts fail, and so does clearing up after them: what a crash leaves.
        line.plan(|first, number| if number > 1 && first.contains("uploadId=") { Fault::Refuse } else { Fault::None });
        block_on(store.put_file("out/model.bin", &file, LARGE as u64)).unwrap_err();
        let store = server.store();
        assert_eq!(server.half_uploads(), 1, "{origin:?}");
        assert_eq!(block_on(store.abort_stale("out/model")).unwrap(), 0, "{origin:?}");
        // MinIO knows only what is named; others know what lies below a directory as well.
        let path = if origin == Origin::Minio { "out/model.bin" } else { "out" };
        assert_eq!(block_on(store.abort_stale(path)).unwrap(), 1, "{origin:?}");
        assert_eq!(server.half_uploads(), 0, "{origin:?}");
    }
}

#[test]
fn keys_that_no_path_has_are_refused_and_never_become_others() {
    let server = S3Server::start(Origin::Minio);
    let line = Faulty::before(&server.endpoint);
    let store = store_at(&line.endpoint);
    for bad in ["", "/x", "x/", "a//b", "a/./b", "a/../b", "..", ".", "a\0b"] {
        let error = block_on(store.put_bytes(bad, Bytes::new())).unwrap_err();
        assert!(matches!(error.trouble, Trouble::Never { .. }), "{bad:?}: {error}");
        assert!(block_on(store.remove(bad)).is_err());
        assert!(block_on(store.read(bad, 0)).is_err());
    }
    assert!(block_on(store.put_bytes(&"x".repeat(2000), Bytes::new())).is_err());
    assert!(line.requests() <= 4, "only the empty path and the long one are worth a question");
    let nowhere = volumes::open(&volume_at("ftp://127.0.0.1"), None).err().unwrap();
    assert!(matches!(nowhere.trouble, Trouble::Never { .. }));
}
