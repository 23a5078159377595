//! The harness: a server of one's own in a fresh directory, and hands to do things with it.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use trainmaster::client::{Call, Client, ClientError};

const PATIENCE: Duration = Duration::from_secs(60);

pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_trainmaster")
}

pub struct House {
    dir: tempfile::TempDir,
    args: Vec<String>,
    env: Vec<(String, String)>,
    server: Option<Child>,
}

impl House {
    /// A running server with two CPUs to give out.
    pub fn new() -> Self {
        Self::with_args(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"])
    }

    pub fn with_args(args: &[&str]) -> Self {
        let mut house = Self::unopened(args);
        house.start();
        house
    }

    pub fn unopened(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, args: args.iter().map(ToString::to_string).collect(), env: Vec::new(), server: None }
    }

    /// An environment variable for the servers started from now on.
    pub fn env(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    pub fn clear_env(&mut self) {
        self.env.clear();
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A directory for a test's own files, beside the data directory.
    pub fn place(&self) -> PathBuf {
        let place = self.dir.path().join("place");
        std::fs::create_dir_all(&place).unwrap();
        place
    }

    pub fn spawn(&mut self) {
        assert!(self.server.is_none(), "a server runs already");
        let _ = std::fs::remove_file(self.data().join("server.json"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.dir.path().join("server.log")).unwrap();
        let mut command = Command::new(binary());
        command.arg("up").arg("--data").arg(self.data()).args(["--listen", "127.0.0.1:0"]).args(&self.args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        self.server = Some(command.spawn().unwrap());
    }

    pub fn start(&mut self) {
        self.spawn();
        until("the server answers", || {
            if let Some(status) = self.server.as_mut().and_then(|server| server.try_wait().unwrap()) {
                panic!("the server ended with {status}:\n{}", self.server_log());
            }
            self.data().join("server.json").exists() && self.get("/api/v1/health").is_ok()
        });
    }

    /// As `kill -9`.
    pub fn kill(&mut self) {
        let mut server = self.server.take().expect("a server runs");
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Waits until the server ends by itself.
    pub fn ended(&mut self) -> std::process::ExitStatus {
        let mut server = self.server.take().expect("a server runs");
        until_some("the server ends", || server.try_wait().unwrap())
    }

    pub fn server_log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("server.log")).unwrap_or_default()
    }

    pub fn url(&self) -> String {
        let card: Value = serde_json::from_slice(&std::fs::read(self.data().join("server.json")).unwrap()).unwrap();
        card["url"].as_str().unwrap().to_owned()
    }

    pub fn token(&self) -> String {
        std::fs::read_to_string(self.data().join("admin-token")).unwrap().trim().to_owned()
    }

    // ---- over HTTP

    pub fn call(&self, call: Call<'_>) -> Result<Vec<u8>, ClientError> {
        let client = Client::new(&self.url(), self.token()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.call(call)).map(|bytes| bytes.to_vec())
    }

    pub fn get(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        self.call(Call::get(path))
    }

    pub fn get_json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.get(path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
    }

    /// Submits a job file and answers the job's id.
    pub fn submit(&self, job_file: &str) -> String {
        let answer = self.call(Call::post("/api/v1/jobs", job_file.to_owned())).unwrap_or_else(|error| panic!("{job_file}: {error:?}"));
        serde_json::from_slice::<Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// A job of one task that runs a shell line.
    pub fn submit_line(&self, name: &str, line: &str) -> String {
        self.submit(&serde_json::json!({ "name": name, "roles": { "main": { "command": line } } }).to_string())
    }

    pub fn show(&self, job: &str) -> Value {
        self.get_json(&format!("/api/v1/jobs/{job}"))
    }

    pub fn state(&self, job: &str) -> String {
        self.show(job)["state"].as_str().unwrap().to_owned()
    }

    pub fn wait_for(&self, job: &str, state: &str) -> Value {
        let mut last = Value::Null;
        let found = poll(|| {
            last = self.show(job);
            (last["state"] == state).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("{job} is not {state}: {last:#}\n{}", self.server_log()))
    }

    pub fn wait_until_over(&self, job: &str) -> Value {
        until_some(&format!("{job} is over"), || {
            let shown = self.show(job);
            ["succeeded", "failed", "stopped"].contains(&shown["state"].as_str().unwrap()).then_some(shown)
        })
    }

    pub fn log(&self, job: &str, task: &str) -> String {
        String::from_utf8(self.get(&format!("/api/v1/jobs/{job}/tasks/{task}/log")).unwrap()).unwrap()
    }

    /// Waits until a task has printed something that holds `text`.
    pub fn wait_for_output(&self, job: &str, task: &str, text: &str) {
        until(&format!("{task} prints {text}"), || self.log(job, task).contains(text));
    }

    pub fn run_dir(&self, job: &str, task: &str, attempt: u32) -> PathBuf {
        self.data().join("runs").join(job).join(format!("{task}.{attempt}"))
    }

    // ---- by the command line

    pub fn cli(&self, args: &[&str]) -> Output {
        self.cli_in(&self.place(), args)
    }

    pub fn cli_in(&self, place: &Path, args: &[&str]) -> Output {
        Command::new(binary())
            .args(args)
            .env("TRAINMASTER_DATA", self.data())
            .env_remove("TRAINMASTER_URL")
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .current_dir(place)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        // Tasks outlive their server by design; those of this house end with it.
        for pid in self.supervisors() {
            // SAFETY: plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        if std::thread::panicking() {
            eprintln!("---- server.log\n{}", self.server_log());
        }
    }
}

impl House {
    /// The supervisors of this house that live: processes whose arguments name this data directory.
    pub fn supervisors(&self) -> Vec<i32> {
        let own = self.data().display().to_string();
        let is_own = |pid: &i32| {
            let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            arguments.contains("\0supervise\0") && arguments.contains(&own)
        };
        processes().into_iter().filter(is_own).collect()
    }
}

pub fn processes() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The processes that carry a marker in their arguments or environment.
pub fn marked(marker: &str) -> Vec<i32> {
    let carries = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
        })
    };
    processes().into_iter().filter(carries).collect()
}

fn poll<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn until_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    poll(look).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain until {what}"))
}

pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    until_some(what, || look().then_some(()));
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl House {
    pub fn is_alive(&mut self) -> bool {
        self.server.as_mut().is_some_and(|server| server.try_wait().unwrap().is_none())
    }
}
