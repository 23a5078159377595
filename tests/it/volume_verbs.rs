//! `trainmaster volumes` and `trainmaster files`, from the command line to a real store and back.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use trainmaster::{
    client::{Call, Client},
    store::tokens,
};

use super::{
    faulty::{Fault, Faulty},
    house::{House, binary, text},
    stores::{ACCESS_KEY, BUCKET, Origin, S3Server, SECRET_KEY, block_on},
};

/// The command line with keys for buckets in its environment.
fn with_keys(house: &House, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env("TRAINMASTER_DATA", house.data()).env_remove("TRAINMASTER_URL").current_dir(house.place());
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY).output().unwrap()
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// A house with the volume `data`, a bucket.
fn with_bucket(endpoint: &str) -> House {
    let house = House::new();
    done(&with_keys(&house, &["volumes", "add", "data", "--s3", BUCKET, "--endpoint", endpoint, "--prefix", "all"]));
    house
}

fn put(root: &Path, files: &[(&str, &[u8])]) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files.push((path.strip_prefix(root).unwrap().display().to_string(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_directory_goes_to_a_bucket_and_comes_back_the_same() {
    let server = S3Server::start(Origin::Minio);
    let house = with_bucket(&server.endpoint);
    let large = vec![7; (9 << 20) + 5];
    let files: [(&str, &[u8]); 4] = [("a.txt", b"a"), ("b c/ü%20.bin", b"bytes"), ("b c/empty", b""), ("large.bin", &large)];
    put(&house.place().join("in"), &files);

    done(&house.cli(&["files", "cp", "in", "data:set"]));
    assert_eq!(tree(&house.data().join("spool")), [], "nothing is left on the way");
    let listed = done(&house.cli(&["files", "ls", "-R", "data:set", "--json"]));
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let shown = done(&house.cli(&["files", "ls", "data:set"]));
    assert!(shown.contains("set/b c/\n") && shown.contains("9437189  "), "{shown}");

    done(&house.cli(&["files", "cp", "data:set", "out"]));
    assert_eq!(tree(&house.place().join("out")), tree(&house.place().join("in")));
    assert_eq!(done(&house.cli(&["files", "cat", "data:set/a.txt"])), "a");
    done(&house.cli(&["files", "cp", "data:set/a.txt", "one.txt"]));
    assert_eq!(fs::read(house.place().join("one.txt")).unwrap(), b"a");

    done(&house.cli(&["files", "rm", "data:set/a.txt"]));
    assert!(refused(&house.cli(&["files", "cat", "data:set/a.txt"])).contains("data:set/a.txt is not there"));
    assert!(refused(&house.cli(&["files", "rm", "data:set/a.txt"])).contains("is not there"));
    assert!(refused(&house.cli(&["files", "rm", "data:set"])).contains("data:set is a directory"));
    assert!(done(&house.cli(&["files", "ls", "data:"])).ends_with("  set/\n"), "a directory may have one entry alone");
    done(&house.cli(&["files", "rm", "-r", "data:set"]));
    assert!(refused(&house.cli(&["files", "ls", "data:set"])).contains("is not there"));
    assert_eq!(server.half_uploads(), 0);
}

#[test]
fn a_copy_that_was_cut_goes_on_where_it_was() {
    let server = S3Server::start(Origin::Versity);
    let line = Faulty::before(&server.endpoint);
    let house = with_bucket(&line.endpoint);
    let large: Vec<u8> = (0..20_u32 << 18).flat_map(u32::to_le_bytes).collect();
    put(&house.place(), &[("large.bin", &large)]);
    done(&house.cli(&["files", "cp", "large.bin", "data:large.bin"]));

    line.plan(|first, _| match (first.starts_with("GET "), first.contains("list-type=2")) {
        (true, false) => Fault::CutDownload { after_bytes: 15 << 20 },
        _ => Fault::None,
    });
    done(&house.cli(&["files", "cp", "data:large.bin", "back.bin"]));
    assert!(line.faults() >= 2, "it was cut more than once");
    assert!(fs::read(house.place().join("back.bin")).unwrap() == large);
    let parts = fs::read_dir(house.place()).unwrap().flatten().filter(|it| it.path().extension().is_some_and(|end| end == "part"));
    assert_eq!(parts.count(), 0);
}

#[test]
fn half_a_download_is_taken_up_and_another_content_is_not_mixed_in() {
    let house = House::new();
    let (volume, place) = (house.place().join("volume"), house.place());
    let large: Vec<u8> = (0..1_u32 << 18).flat_map(u32::to_le_bytes).collect();
    put(&volume, &[("large.bin", &large)]);
    done(&house.cli(&["volumes", "add", "here", "--local", volume.to_str().unwrap()]));
    done(&house.cli(&["files", "cp", "here:large.bin", "first.bin"]));
    // What a copy that was killed leaves: the beginning, under the name of its content.
    let part = |to: &str| -> PathBuf {
        let listed: Value = serde_json::from_str(&done(&house.cli(&["files", "ls", "here:large.bin", "--json"]))).unwrap();
        let hash = sha2_hex(listed["etag"].as_str().unwrap());
        place.join(format!("{to}.{}.part", &hash[..8]))
    };
    let mut beginning = large[..1000].to_vec();
    beginning[0] ^= 1;
    fs::write(part("second.bin"), &beginning).unwrap();
    done(&house.cli(&["files", "cp", "here:large.bin", "second.bin"]));
    let second = fs::read(place.join("second.bin")).unwrap();
    assert!(second[0] == large[0] ^ 1 && second[1..] == large[1..], "what was there was kept, and only the rest fetched");

    let old_part = part("third.bin");
    fs::write(&old_part, b"old").unwrap();
    fs::write(volume.join("large.bin"), b"new").unwrap();
    done(&house.cli(&["files", "cp", "here:large.bin", "third.bin"]));
    assert_eq!(fs::read(place.join("third.bin")).unwrap(), b"new");
}

fn sha2_hex(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_upload_goes_on_after_the_server_was_killed() {
    let store = S3Server::start(Origin::Versity);
    let mut house = with_bucket(&store.endpoint);
    house.keep_port();
    let large: Vec<u8> = (0..6_u32 << 20).flat_map(u32::to_le_bytes).collect();
    put(&house.place(), &[("large.bin", &large)]);
    let copy = house.cli_in_background(&["files", "cp", "large.bin", "data:large.bin"]);
    super::house::until("some of it came", || {
        fs::read_dir(house.data().join("spool")).into_iter().flatten().flatten().any(|it| it.metadata().is_ok_and(|it| it.len() > 0))
    });
    house.restart();
    done(&copy.wait_with_output().unwrap());
    let head = block_on(store.store().head("all/large.bin")).unwrap();
    assert_eq!(head.size, large.len() as u64);
    assert_eq!(store.half_uploads(), 0);
}

#[test]
fn keys_come_from_files_or_the_environment_and_are_never_shown() {
    let server = S3Server::start(Origin::Minio);
    let house = House::new();
    let add = ["volumes", "add", "data", "--s3", BUCKET, "--endpoint", &server.endpoint];
    assert!(refused(&house.cli(&add)).contains("there are no keys for the bucket"));
    let place = house.place();
    put(&place, &[("access", ACCESS_KEY.as_bytes()), ("secret", SECRET_KEY.as_bytes())]);
    let files = ["--access-key-file", "access", "--secret-key-file", "secret"];
    assert!(refused(&house.cli(&[&add[..], &files].concat())).contains("can be read by others"));
    for name in ["access", "secret"] {
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    done(&house.cli(&[&add[..], &files].concat()));
    let tested = done(&house.cli(&["volumes", "test", "data"]));
    assert_eq!(tested.matches("works").count(), 4, "{tested}");
    assert!(refused(&house.cli(&[&add[..], &files].concat())).contains("there is a volume `data` already"));

    let shown = [done(&house.cli(&["volumes", "list", "--json"])), text(&house.get("/api/v1/volumes/data").unwrap()), house.server_log()];
    let kept: Vec<(String, Vec<u8>)> = tree(&house.data());
    for secret in [SECRET_KEY, ACCESS_KEY] {
        assert!(shown.iter().all(|text| !text.contains(secret)), "{shown:?}");
        let inside = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        let holders: Vec<&String> = kept.iter().filter(|(_, bytes)| inside(bytes)).map(|(name, _)| name).collect();
        assert_eq!(holders, Vec::<&String>::new());
    }
    done(&house.cli(&["volumes", "remove", "data"]));
    assert!(refused(&house.cli(&["files", "ls", "data:"])).contains("there is no volume `data`"));
}

#[test]
fn a_volume_that_a_job_needs_is_not_removed() {
    let house = House::new();
    fs::create_dir(house.place().join("volume")).unwrap();
    done(&house.cli(&["volumes", "add", "here", "--local", "volume"]));
    let job =
        serde_json::json!({ "name": "reads", "inputs": { "set": "here:" }, "roles": { "main": { "command": "sleep 300", "cpus": 64 } } });
    let id = house.submit(&job.to_string());
    assert!(refused(&house.cli(&["volumes", "remove", "here"])).contains("volume `here` is used by reads@1, which is not over"));
    house.cli(&["stop", &id]);
    house.wait_until_over(&id);
    done(&house.cli(&["volumes", "remove", "here"]));
}

#[test]
fn volumes_of_the_configuration_are_there_and_keys_in_it_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (place, config) = (dir.path(), dir.path().join("server.toml"));
    put(place, &[("volume/x", b"1")]);
    let local = format!("[[volume]]\nname = 'here'\nkind = 'local'\npath = '{}'\n", place.join("volume").display());
    fs::write(&config, &local).unwrap();
    let house = House::with_args(&["--config", config.to_str().unwrap()]);
    assert_eq!(done(&house.cli(&["files", "cat", "here:x"])), "1");
    assert!(done(&house.cli(&["volumes", "list"])).contains("configuration"));

    fs::write(&config, "[[volume]]\nname = 'b'\nkind = 's3'\nbucket = 'x'\naccess_key = 'canary-key'\n").unwrap();
    let output = Command::new(binary()).args(["up", "--data"]).arg(place.join("other")).arg("--config").arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("`access_key` does not belong in a file that others read"), "{said}");
}

#[test]
fn what_a_job_puts_out_is_seen_while_it_runs_and_afterwards() {
    let house = House::new();
    let line = "mkdir -p $TRAINMASTER_OUTPUT/sub; echo one > $TRAINMASTER_OUTPUT/sub/a.txt; ln -s /etc/passwd $TRAINMASTER_OUTPUT/link; \
                mkfifo $TRAINMASTER_OUTPUT/pipe; echo ready; while [ ! -e $TRAINMASTER_OUTPUT/go ]; do sleep 0.05; done; \
                echo two > $TRAINMASTER_OUTPUT/b.txt";
    let id = house.submit_line("puts", line);
    house.wait_for_output(&id, "main-0", "ready");
    for path in ["puts:/output/main-0/sub/a.txt", "puts/main-0:/output/sub/a.txt", "puts:/output/sub/a.txt"] {
        assert_eq!(done(&house.cli(&["files", "cat", path])), "one\n", "{path}");
    }
    let shown = done(&house.cli(&["files", "ls", "puts/main-0:/output"]));
    assert!(shown.contains("link  (a link)") && shown.contains("pipe  (a pipe)") && shown.contains("sub/\n"), "{shown}");
    assert!(done(&house.cli(&["files", "ls", "puts:/output"])).contains("main-0/\n"));
    for closed in ["link", "pipe"] {
        let said = refused(&house.cli(&["files", "cat", &format!("puts:/output/main-0/{closed}")]));
        assert!(said.contains("not followed") || said.contains("not opened"), "{said}");
    }
    assert!(refused(&house.cli(&["files", "cp", "server.toml", "puts:/output/x"])).contains("can only be read"));
    fs::write(house.output_dir(&id, "main-0").join("go"), b"").unwrap();
    house.wait_for(&id, "succeeded");

    done(&house.cli(&["files", "cp", "puts@1:/output", "out"]));
    let copied: Vec<String> = tree(&house.place().join("out")).into_iter().map(|(path, _)| path).collect();
    assert_eq!(copied, ["main-0/b.txt", "main-0/go", "main-0/sub/a.txt"]);
    done(&house.cli(&["files", "cp", "puts:/output", "out.tar"]));
    let listed = Command::new("tar").arg("-tf").arg(house.place().join("out.tar")).output().unwrap();
    let mut names: Vec<String> = done(&listed).lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(names, copied);
}

#[test]
fn a_directory_and_an_archive_of_a_job_s_output_come_as_one_file() {
    let house = House::new();
    let line = "cd $TRAINMASTER_OUTPUT; mkdir sub; echo one > sub/a.txt; echo two > b.txt; tar -cf set.tar b.txt";
    let id = house.submit_line("puts", line);
    house.wait_for(&id, "succeeded");
    done(&house.cli(&["files", "cp", "puts:/output/sub", "sub.tar"]));
    let names = |name: &str| done(&Command::new("tar").arg("-tf").arg(house.place().join(name)).output().unwrap());
    assert_eq!(names("sub.tar"), "sub/a.txt\n");
    done(&house.cli(&["files", "cp", "puts:/output/set.tar", "set.tar"]));
    assert_eq!(names("set.tar"), "b.txt\n", "an archive stays the one it is");
    assert!(refused(&house.cli(&["files", "cp", "puts:/output/none", "none.tar"])).contains("is not there"));
}

#[test]
fn a_file_that_a_job_writes_while_it_is_copied_is_taken_again_and_the_others_come_whatever_it_does() {
    let mut house = House::new();
    house.keep_port();
    let line = Faulty::before(&house.url());
    house.args(&["--allow-host", line.endpoint.strip_prefix("http://").unwrap()]);
    house.restart();
    let id = house.submit_line("puts", "cd $TRAINMASTER_OUTPUT; for f in a hot b; do echo first > $f; done; echo ready; sleep 300");
    house.wait_for_output(&id, "main-0", "ready");
    let copied = |to: &str, writes_max: usize| {
        let (hot, writes) = (house.output_dir(&id, "main-0").join("hot"), AtomicUsize::new(0));
        line.plan(move |first, _| {
            if first.contains("files/content") && first.contains("hot") && writes.fetch_add(1, Ordering::SeqCst) < writes_max {
                fs::write(&hot, format!("written {} times", writes.load(Ordering::SeqCst))).unwrap();
            }
            Fault::None
        });
        let mut command = Command::new(binary());
        command.args(["files", "cp", "puts:/output", to]).env("TRAINMASTER_URL", &line.endpoint).env("TRAINMASTER_TOKEN", house.token());
        command.current_dir(house.place()).output().unwrap()
    };
    let files = |to: &str| tree(&house.place().join(to)).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    done(&copied("twice", 2));
    assert_eq!(files("twice"), ["main-0/a", "main-0/b", "main-0/hot"]);
    assert_eq!(fs::read(house.place().join("twice/main-0/hot")).unwrap(), b"written 2 times");
    let said = refused(&copied("always", usize::MAX));
    assert!(said.contains("puts:/output/main-0/hot is written to again and again, and was not copied"), "{said}");
    assert_eq!(files("always"), ["main-0/a", "main-0/b"]);
}

#[test]
fn a_user_adds_buckets_but_no_directories_and_has_them_alone() {
    let mut house = House::new();
    house.kill();
    for user in ["ann", "bob"] {
        let store = trainmaster::store::Store::open(&house.data()).unwrap();
        let hash = trainmaster::api::token_hash(user);
        let add = move |sql: &trainmaster::store::Sql<'_>| tokens::add(sql, &hash, user, tokens::Role::User, "test", 1, None);
        block_on(store.write(add)).unwrap();
    }
    house.start();
    let ask = |user: &str, call: Call<'_>| {
        let client = Client::new(&house.url(), user).unwrap();
        block_on(client.call(call)).map(|bytes| text(&bytes)).map_err(|error| error.to_string())
    };
    let add = |user: &str, name: &str, volume: Value| {
        let body = serde_json::json!({ "name": name, "volume": volume });
        ask(user, Call::post("/api/v1/volumes", body.to_string()))
    };
    let said = add("ann", "etc", serde_json::json!({ "kind": "local", "path": "/etc" })).unwrap_err();
    assert!(said.contains("only administrators add"), "{said}");
    let site = serde_json::json!({ "kind": "http", "url": "http://127.0.0.1:1/x" });
    add("ann", "hers", site.clone()).unwrap();
    add("bob", "his", site).unwrap();
    let listed = ask("bob", Call::get("/api/v1/volumes")).unwrap();
    assert!(listed.contains("his") && !listed.contains("hers"), "{listed}");
    for call in [Call::get("/api/v1/volumes/hers"), Call::delete("/api/v1/volumes/hers"), Call::get("/api/v1/files?at=hers:")] {
        assert_eq!(ask("bob", call).unwrap_err(), "there is no volume `hers`");
    }
    assert!(done(&house.cli(&["volumes", "list"])).contains("hers"), "an administrator sees all");
    let bucket = serde_json::json!({ "kind": "s3", "bucket": "b", "endpoint": "http://127.0.0.1:1" });
    add("ann", "bucket", bucket.clone()).unwrap();
    let keys = |user: &str, name: &str, body: &str| ask(user, Call::put(&format!("/api/v1/volumes/{name}/credentials"), body.to_owned()));
    let pair = r#"{"access_key":"a","secret_key":"canary"}"#;
    assert!(keys("ann", "bucket", pair).unwrap().contains(r#""has_credentials":true"#));
    assert_eq!(keys("bob", "bucket", pair).unwrap_err(), "there is no volume `bucket`");
    assert!(keys("ann", "hers", pair).unwrap_err().contains("nothing else has keys"));
    let said = keys("ann", "bucket", r#"{"access_key":"canary"}"#).unwrap_err();
    assert!(said.contains("the keys of a bucket") && !said.contains("canary"), "{said}");
    done(&house.cli(&["volumes", "add", "shared", "--s3", "b", "--no-keys"]));
    assert!(keys("bob", "shared", pair).is_err(), "what an administrator added is for everyone to use, and not to change");
    ask("ann", Call::delete("/api/v1/volumes/hers")).unwrap();
}
