//! A porter by itself, told by hand what a supervisor would tell it.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use model::{task::Whose, volume::Volume};
use serde::Deserialize;
use serde_json::{Value, json};
use trainmaster::porter::errand::Staged;

use super::{
    house::binary,
    stores::{ACCESS_KEY, SECRET_KEY},
};

/// What porters are sent for.
pub struct Errands {
    /// In place of a server's data directory.
    pub data: PathBuf,
    volumes: BTreeMap<String, Volume>,
    staging: Value,
    crash_at: Option<String>,
    /// Which job it is that wants something.
    job: u8,
    /// A system call that its disk refuses.
    refused: Option<&'static str>,
    _home: Option<tempfile::TempDir>,
}

impl Errands {
    pub fn new(volumes: &[(&str, Volume)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let errands = Self::at(home.path(), volumes);
        Self { _home: Some(home), ..errands }
    }

    /// With everything in a directory that the test has made.
    pub fn at(data: &Path, volumes: &[(&str, Volume)]) -> Self {
        fs::create_dir_all(data.join("runs/job/main-0.1")).unwrap();
        let volumes = volumes.iter().map(|(name, volume)| ((*name).to_owned(), volume.clone())).collect();
        Self { data: fs::canonicalize(data).unwrap(), volumes, staging: Value::Null, crash_at: None, job: 1, refused: None, _home: None }
    }

    pub fn rules(&mut self, cache_bytes_max: Option<u64>, patience_ms: u64, code_bytes_max: u64) {
        self.staging = json!({ "cache_bytes_max": cache_bytes_max, "patience_ms": patience_ms, "code_bytes_max": code_bytes_max });
    }

    pub fn crash_at(&mut self, point: Option<&str>) {
        self.crash_at = point.map(str::to_owned);
    }

    /// From now on it is for another job.
    pub fn next_job(&mut self) {
        self.job += 1;
    }

    /// From now on every call of that name fails, as on a dying disk.
    pub fn refuse(&mut self, call: Option<&'static str>) {
        self.refused = call;
    }

    /// Sends one to bring this to `/input`.
    pub fn send(&self, from: &str) -> Porter {
        self.send_for(json!({ "freight": { "inputs": [{ "name": null, "from": from, "unpack": false }] } }))
    }

    pub fn send_to_unpack(&self, from: &str) -> Porter {
        self.send_for(json!({ "freight": { "inputs": [{ "name": null, "from": from, "unpack": true }] } }))
    }

    pub fn send_for_code(&self, at: &str) -> Porter {
        self.send_for(json!({ "code": { "at": at } }))
    }

    fn send_for(&self, what: Value) -> Porter {
        let mut order = json!({
            "run": format!("job-0198c0de0000700080000000000000{:02x}:main-0:1", self.job), "node": "node-1", "command": ["true"], "env": {},
            "limits": { "cpus_milli": 1000, "memory_bytes": 1 << 30, "shared_memory_bytes": 0, "processes_max": 100 },
            "stop_grace_ms": 1000, "ports": [], "address": "127.0.0.1", "volumes": self.volumes,
        });
        order.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let keys = json!({ "access_key": ACCESS_KEY, "secret_key": SECRET_KEY });
        let keys: BTreeMap<&String, Value> = self.volumes.keys().map(|name| (name, keys.clone())).collect();
        let errand = json!({ "kind": "stage", "order": order, "secrets": { "volumes": keys },
            "dir": self.data.join("runs/job/main-0.1"), "shelves": self.data });
        let mut command = match self.refused {
            None => Command::new(binary()),
            Some(call) => {
                let mut command = Command::new("strace");
                let inject = format!("inject={call}:error=EIO");
                command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]).arg(binary());
                command
            }
        };
        command.arg("porter").stdin(Stdio::piped()).stdout(Stdio::piped());
        if !self.staging.is_null() {
            command.env("TRAINMASTER_STAGING", self.staging.to_string());
        }
        command.envs(self.crash_at.iter().map(|point| ("TRAINMASTER_CRASH_AT", point)));
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{errand}").unwrap();
        let words = BufReader::new(child.stdout.take().unwrap());
        Porter { child, words, said: Vec::new() }
    }

    /// Everything below the cache's folder of that name.
    pub fn cached(&self, folder: &str) -> Vec<PathBuf> {
        files_below(&self.data.join("inputs").join(folder))
    }
}

/// A porter on its way. It holds what it has brought until it is dropped.
pub struct Porter {
    child: Child,
    words: BufReader<ChildStdout>,
    /// What it did that took its time.
    pub said: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Refusal {
    pub why: String,
    pub whose: Whose,
}

impl Porter {
    /// Waits until it is back. The outermost error is that it died.
    pub fn back(&mut self) -> Result<Result<Staged, Refusal>, String> {
        loop {
            let mut line = String::new();
            if self.words.read_line(&mut line).unwrap() == 0 {
                return Err(format!("{:?}", self.child.wait().unwrap()));
            }
            // What else it may say is not for those who wait for it.
            let word: Value = serde_json::from_str(&line).unwrap();
            if let Some(words) = word["doing"].as_str() {
                self.said.push(words.to_owned());
            } else if let Some(staged) = word.get("staged") {
                return Ok(Ok(serde_json::from_value(staged.clone()).unwrap()));
            } else {
                return Ok(Err(serde_json::from_value(word["failed"].clone()).unwrap()));
            }
        }
    }

    /// Where `/input` is.
    pub fn input(&mut self) -> PathBuf {
        self.back().unwrap().unwrap().input.unwrap()
    }

    pub fn refusal(&mut self) -> Refusal {
        self.back().unwrap().unwrap_err()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Paths of files below a directory, and what is in them.
pub fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let path = |file: &PathBuf| file.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
    files_below(dir).iter().map(|file| (path(file), fs::read(file).unwrap())).collect()
}

pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() { dirs.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    files
}
