//! A supervisor that has nothing but a TCP route to the server: no shared disk, no shared network.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use model::ids::RunKey;
use trainmaster::{client::Call, run_token::RunSecret, rundir::RunDir, supervisor::lock::Lock};

use crate::{
    house::{House, binary, until, until_some},
    place::{is_root, mount_small_disk, with_own_mounts_and_network},
    relay::{Line, Relay},
};

/// A run that the server has placed and that this machine's engine takes for somebody else's: its lock is
/// held, as it would be if another engine had a supervisor for it.
pub struct Placed {
    pub run: RunKey,
    pub lock: Lock,
}

/// `role` has to ask for more than one CPU, so that it waits until the place is prepared.
pub fn place(house: &House, role: serde_json::Value) -> Placed {
    let hog = house.submit("{name: hog, roles: {main: {cpus: 2, command: 'sleep 600'}}}");
    house.wait_for(&hog, "running");
    let job = house.submit(&serde_json::json!({ "name": "far", "roles": { "main": role } }).to_string());
    let run: RunKey = format!("{job}:main-0:1").parse().unwrap();
    let dir = RunDir::new(&house.data(), &run);
    fs::create_dir_all(dir.path()).unwrap();
    let lock = Lock::take(&dir.letter()).unwrap().expect("nobody else knows the run yet");
    house.call(Call::post(&format!("/api/v1/jobs/{hog}/stop"), "")).unwrap();
    house.wait_for(&job, "starting");
    Placed { run, lock }
}

/// A supervisor in a place where nothing of the server can be seen, and the line that leads home from it.
struct FarAway {
    supervisor: Child,
    /// Empty to everyone but the supervisor, who has a disk there.
    dir: tempfile::TempDir,
    relay: Relay,
}

impl FarAway {
    fn start(house: &House, run: &RunKey) -> Self {
        let url = house.url();
        let server: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
        let token = RunSecret::of(&house.data()).unwrap().token(run);
        let dir = tempfile::tempdir().unwrap();
        let (supervisor, listener) = with_own_mounts_and_network(|| {
            mount_small_disk(dir.path(), "size=64m");
            mount_small_disk(house.data().parent().unwrap(), "size=4k");
            assert!(!house.data().exists());
            let (far_dir, token_file) = (dir.path().join("run"), dir.path().join("its-token"));
            fs::create_dir(&far_dir).unwrap();
            fs::write(&token_file, token).unwrap();
            let mut command = Command::new(binary());
            command.arg("supervise").args(["--server", &url, "--run", &run.to_string()]);
            command.arg("--token-file").arg(token_file).arg("--dir").arg(far_dir);
            let supervisor = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // By the same name as at home, so that the server knows itself by it.
            (supervisor, TcpListener::bind(server).unwrap())
        });
        Self { supervisor, dir, relay: Relay::new(listener, server) }
    }

    /// A file of the run, through the eyes of its supervisor.
    fn file(&self, name: &str) -> PathBuf {
        let its_root = Path::new("/proc").join(self.supervisor.id().to_string()).join("root");
        its_root.join(self.dir.path().strip_prefix("/").unwrap()).join("run").join(name)
    }

    fn log_bytes(&self) -> u64 {
        fs::metadata(self.file("output.log")).map_or(0, |it| it.len())
    }

    /// Waits until the child has said more, whoever may hear it.
    fn until_more_is_said(&self) {
        let before = self.log_bytes();
        until("the child goes on talking", || self.log_bytes() > before + 2_000);
    }

    fn says_at_home(&self, house: &House, run: &RunKey) -> u64 {
        fs::metadata(RunDir::new(&house.data(), run).log()).map_or(0, |it| it.len())
    }

    fn until_home_has_more(&self, house: &House, run: &RunKey) {
        let before = self.says_at_home(house, run);
        until("the server gets more of the output", || self.says_at_home(house, run) > before + 2_000);
    }
}

impl Drop for FarAway {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

const TALKS: &str = "i=0; while [ ! -e /output/enough ]; do i=$((i+1)); \
    if [ $((i % 7)) = 3 ]; then echo line $i >&2; else echo line $i; fi; sleep 0.001; done; printf 'and %s' end; exit 7";

fn whole(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn every_byte_and_the_ending_come_home_through_cuts_and_deaths_of_the_server() {
    if !is_root("build a place with nothing but a route") {
        return;
    }
    let mut house = House::new();
    house.keep_port();
    let Placed { run, lock } = place(&house, serde_json::json!({ "cpus": 2, "command": TALKS }));
    let job = run.job.to_string();
    let mut far = FarAway::start(&house, &run);
    house.wait_for(&job, "running");
    far.until_home_has_more(&house, &run);

    house.kill();
    far.until_more_is_said();
    house.start();
    far.until_home_has_more(&house, &run);

    far.relay.set(Line::Cut);
    far.until_more_is_said();
    far.relay.set(Line::Whole);
    far.until_home_has_more(&house, &run);

    // Acted upon, but not answered: what is sent again must not be there twice.
    far.relay.set(Line::LosesAnswers("/output?"));
    until("some answers are lost", || far.relay.answers_lost() >= 2);
    far.relay.set(Line::Whole);
    far.until_home_has_more(&house, &run);

    let far_log = File::open(far.file("output.log")).unwrap();
    let far_usage = until_some("what it uses is written down", || File::open(far.file("usage.fine")).ok());
    far.relay.set(Line::Cut);
    fs::write(far.file("output/enough"), "").unwrap();
    until("the exit record is written", || far.file("exit.json").exists());
    assert_eq!(house.state(&job), "running", "nobody can know yet");
    let lost = far.relay.answers_lost();
    far.relay.set(Line::LosesAnswers("/report "));
    let shown = house.wait_until_over(&job);
    until("the answer to the report is lost", || far.relay.answers_lost() > lost);
    far.relay.set(Line::Whole);
    let status = until_some("the supervisor goes", || far.supervisor.try_wait().unwrap());
    drop(lock);

    assert!(status.success());
    assert_eq!((shown["state"].as_str(), shown["attempt"].as_u64()), (Some("failed"), Some(1)), "{shown:#}");
    assert_eq!(shown["runs"][0]["exit_code"], 7);
    let log = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log")).unwrap();
    assert!(log == whole(&far_log), "the server has other bytes than the far disk");
    let usage = fs::read(RunDir::new(&house.data(), &run).usage_fine()).unwrap();
    assert!(usage.len() > 100 && usage == whole(&far_usage), "the server has other readings than the far disk");
    let text = String::from_utf8(log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (last, numbered) = lines.split_last().unwrap();
    assert_eq!(*last, "and end");
    assert!(numbered.len() > 500, "only {} lines", numbered.len());
    let stream = |name: &str| String::from_utf8(house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?stream={name}")).unwrap()).unwrap();
    let of_errors: String = (1..=numbered.len()).filter(|i| i % 7 == 3).map(|i| format!("line {i}\n")).collect();
    assert_eq!(stream("stderr"), of_errors);
    let of_output: String = (1..=numbered.len()).filter(|i| i % 7 != 3).map(|i| format!("line {i}\n")).collect();
    assert_eq!(stream("stdout"), of_output + "and end");
}
