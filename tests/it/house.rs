//! The harness: a server of one's own in a fresh directory, and hands to do things with it.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use trainmaster::{
    client::{Call, Client, ClientError},
    rundir::record::find_line,
    supervisor::{SupervisorRecord, cgroup, letter::Letter},
};

const PATIENCE: Duration = Duration::from_secs(60);
const TWO_CPUS: [&str; 6] = ["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"];

pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_trainmaster")
}

pub struct House {
    dir: tempfile::TempDir,
    data: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    /// 0: any that is free.
    port: u16,
    /// Made by whoever dies at the crash point that was asked for.
    mark: Option<PathBuf>,
    server: Option<Child>,
}

impl House {
    /// A running server with two CPUs to give out.
    pub fn new() -> Self {
        Self::with_args(&TWO_CPUS)
    }

    pub fn with_args(args: &[&str]) -> Self {
        let mut house = Self::unopened(args);
        house.start();
        house
    }

    pub fn unopened(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (data, args) = (dir.path().join("data"), args.iter().map(ToString::to_string).collect());
        Self { dir, data, args, env: Vec::new(), port: 0, mark: None, server: None }
    }

    /// The same with its data somewhere else, such as on a disk of its own.
    pub fn unopened_at(data: &Path) -> Self {
        let mut house = Self::unopened(&TWO_CPUS);
        house.data = data.to_owned();
        house
    }

    /// From now on every server of this house has the port of this one.
    pub fn keep_port(&mut self) {
        self.port = self.url().rsplit(':').next().unwrap().parse().unwrap();
    }

    /// Whoever of the next server and its supervisors first comes to this point dies there; nobody after it does.
    pub fn crash_at(&mut self, point: &str) {
        let mark = tempfile::Builder::new().prefix("crashed").tempfile_in(self.dir.path()).unwrap().path().to_owned();
        self.clear_env();
        self.env("TRAINMASTER_CRASH_AT", &format!("{point}={}", mark.display()));
        self.mark = Some(mark);
    }

    /// Whether somebody has died at the point that was asked for.
    pub fn crashed(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.exists())
    }

    /// An environment variable for the servers started from now on.
    pub fn env(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    /// Further arguments for the servers started from now on.
    pub fn args(&mut self, args: &[&str]) {
        self.args.extend(args.iter().map(ToString::to_string));
    }

    pub fn clear_env(&mut self) {
        self.env.clear();
    }

    pub fn data(&self) -> PathBuf {
        self.data.clone()
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
        command.arg("up").arg("--data").arg(self.data()).args(["--listen", &format!("127.0.0.1:{}", self.port)]).args(&self.args);
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

    pub fn is_alive(&mut self) -> bool {
        self.server.as_mut().is_some_and(|server| server.try_wait().unwrap().is_none())
    }

    pub fn server_pid(&self) -> u32 {
        self.server.as_ref().expect("a server runs").id()
    }

    pub fn restart(&mut self) {
        self.kill();
        self.start();
    }

    /// The last of what the server said.
    pub fn server_log(&self) -> String {
        const LINES: usize = 40;
        let text = text(&std::fs::read(self.dir.path().join("server.log")).unwrap_or_default());
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
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
        self.asking().call(call)
    }

    /// A way to ask this house, for threads that go on while its server is killed and started again.
    pub fn asking(&self) -> Asking {
        Asking(Client::new(&self.url(), self.token()).unwrap())
    }

    pub fn get(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        self.call(Call::get(path))
    }

    pub fn get_json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.get(path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
    }

    /// Submits a job file and answers the job's id.
    pub fn submit(&self, job_file: &str) -> String {
        let answer =
            self.call(Call::post("/api/v1/jobs", job_file.to_owned())).unwrap_or_else(|error| panic!("{job_file:.500}: {error:?}"));
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

    /// What the supervisor of a task's first run was told.
    pub fn letter(&self, job: &str, task: &str) -> Letter {
        Letter::read(&self.run_dir(job, task, 1).join("order.json")).unwrap().expect("a letter")
    }

    /// What a task has written to `/output`, in all its attempts.
    pub fn output_dir(&self, job: &str, task: &str) -> PathBuf {
        self.data().join("runs").join(job).join(format!("{task}.output"))
    }

    // ---- by the command line

    pub fn cli(&self, args: &[&str]) -> Output {
        self.cli_in(&self.place(), args)
    }

    pub fn cli_in(&self, place: &Path, args: &[&str]) -> Output {
        self.command(place, args).output().unwrap()
    }

    /// A command that goes on while the test does other things; what it prints waits to be read.
    pub fn cli_in_background(&self, args: &[&str]) -> Child {
        self.command(&self.place(), args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn command(&self, place: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).env("TRAINMASTER_DATA", self.data()).env_remove("TRAINMASTER_URL");
        command.env("XDG_CONFIG_HOME", self.dir.path().join("config")).current_dir(place).stdin(Stdio::null());
        command
    }
}

pub struct Asking(Client);

impl Asking {
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    pub fn call(&self, call: Call<'_>) -> Result<Vec<u8>, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.0.call(call)).map(|bytes| bytes.to_vec())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        // Tasks outlive their server by design; those of this house end with it.
        for record in self.records() {
            let _ = record.identity.signal(libc::SIGKILL);
            record.cgroups.iter().for_each(|group| cgroup::lift_cpu_limit(group));
            for group in &record.cgroups {
                let _ = cgroup::clear_away(group, Duration::from_secs(1));
            }
        }
        if std::thread::panicking() {
            eprintln!("---- server.log\n{}", self.server_log());
        }
    }
}

impl House {
    /// Who ever supervised a run of this house.
    fn records(&self) -> Vec<SupervisorRecord> {
        let below = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let runs = below(self.data().join("runs")).flat_map(below);
        let record = |run: PathBuf| find_line(&run.join("supervisor.json")).ok()?.whole();
        runs.filter_map(record).collect()
    }

    /// The supervisors of this house that live.
    pub fn supervisors(&self) -> Vec<i32> {
        self.records().into_iter().filter(|it| it.identity.alive()).map(|it| it.identity.pid).collect()
    }

    /// The control groups of this house's runs that are still there.
    pub fn groups(&self) -> Vec<PathBuf> {
        self.records().into_iter().flat_map(|it| it.cgroups).filter(|path| path.exists()).collect()
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

/// The processor time that a process has had; none once it is gone.
pub fn cpu_ms(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks = |text: &str| text.parse::<u64>().unwrap();
    Some(stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2).map(|it| ticks(it) * 10).sum())
}

fn poll<T>(look: impl FnMut() -> Option<T>) -> Option<T> {
    poll_for(PATIENCE, look)
}

fn poll_for<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
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

/// For what takes longer than anything else here.
pub fn until_some_within<T>(patience: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    poll_for(patience, look).unwrap_or_else(|| panic!("waited {patience:?} in vain until {what}"))
}

pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    until_some(what, || look().then_some(()));
}

/// Looks again and again for that long, and panics if it was ever otherwise.
pub fn holds_for(time: Duration, what: &str, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        assert!(look(), "it was to hold that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The most memory that was a process's own. The pages of the program itself are the same for all of its processes, and
/// those of a build for tests are many.
pub fn peak_own_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    kib("VmHWM:").saturating_sub(kib("RssFile:")) >> 10
}
