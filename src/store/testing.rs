//! What the store's tests have in common: a database in a fresh directory, and things to put in it.

use std::{collections::BTreeMap, path::PathBuf};

use model::{
    ids::{JobId, RunKey},
    job::JobState,
    plan::{CompletionPlan, Plan, Retries, RolePlan},
    resources::{MIB, Resources},
    task::{Cause, Ending},
};
use rusqlite::Connection;

use super::{
    Store,
    jobs::{Change, NewJob},
    runs::NewRun,
};
use crate::seal::Seal;

/// A store in a directory of its own.
pub struct Place {
    pub directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn open(&self) -> Store {
        Store::open(self.directory.path()).unwrap()
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    /// The same database without the store, as a person with the `sqlite3` program has it.
    pub fn by_hand(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }

    /// Runs one statement by hand, with no foreign key in its way, and says how many rows it changed.
    pub fn change_by_hand(&self, sql: &str) -> usize {
        let connection = self.by_hand();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.execute(sql, []).unwrap()
    }
}

/// A store, and a seal.
pub fn sealed_place() -> (Place, Store, Seal) {
    let place = Place::new();
    let (store, key) = (place.open(), place.directory.path().join("keys/secrets.key"));
    (place, store, Seal::open_or_make(&key).unwrap())
}

pub fn job_id(number: u64) -> JobId {
    JobId::new(number, &[0; 10])
}

pub fn resources(cpus: u64, memory_mib: u64) -> Resources {
    Resources { cpus_milli: cpus * 1000, memory_bytes: memory_mib * MIB, accelerators: BTreeMap::new() }
}

pub fn plan(name: &str) -> Plan {
    Plan {
        name: name.parse().unwrap(),
        description: format!("trains {name}"),
        tags: vec!["small".into()],
        priority: 0,
        retries: Retries::UpTo(1),
        gang: true,
        gang_timeout_ms: 600_000,
        max_duration_ms: None,
        stop_grace_ms: 5_000,
        keep_failed_ms: None,
        framework: None,
        params: Default::default(),
        secrets: BTreeMap::new(),
        conventions: Default::default(),
        code: None,
        requirements: Default::default(),
        setup: None,
        freight: Default::default(),
        metrics: Default::default(),
        roles: vec![role("ps", 1), role("worker", 2)],
        algorithm: None,
        origin: Default::default(),
    }
}

pub fn role(name: &str, tasks: u32) -> RolePlan {
    RolePlan {
        name: name.parse().unwrap(),
        tasks,
        command: vec!["true".into()],
        image: None,
        task_retries: 0,
        resources: resources(1, 64),
        shared_memory_bytes: 64 * MIB,
        disk_bytes: None,
        ports: BTreeMap::new(),
        env: BTreeMap::new(),
        completion: CompletionPlan { min_failed: Some(1), min_succeeded: None, waited_for: true },
    }
}

pub fn new_job(number: u64, name: &str) -> NewJob {
    NewJob { id: job_id(number), owner: "ann".into(), spec: "{}".into(), plan: plan(name), notes: Vec::new(), at_ms: number, key: None }
}

pub fn run_key(job: u64, task: &str, attempt: u32) -> RunKey {
    RunKey { job: job_id(job), task: task.parse().unwrap(), attempt }
}

pub fn new_run(run: &RunKey) -> NewRun {
    NewRun {
        run: run.clone(),
        job_attempt: run.attempt,
        node: "laptop".parse().unwrap(),
        amount: resources(1, 64),
        devices: BTreeMap::from([("A100".into(), vec![0, 3])]),
        ports: BTreeMap::from([("http".into(), vec![8080])]),
        address: "127.0.0.1".into(),
        at_ms: 20,
        copies_out: false,
    }
}

pub fn ending(cause: Cause) -> Ending {
    Ending::new(cause, Some(30), 40)
}

pub fn to(state: JobState, at_ms: u64) -> Change {
    Change { to: state, reason: None, at_ms, used: None, stop_by: None }
}

const CHILD: &str = "TRAINMASTER_STORE_TEST_DIRECTORY";

/// The directory that a test got from [`in_child`]; absent in the test that called it.
pub fn given_directory() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Runs a test again in a process of its own, which may then break or die without harm to the others.
pub fn in_child(test: &str, directory: &std::path::Path, crash_at: Option<&str>) -> std::process::Output {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, directory);
    command.envs(crash_at.map(|point| ("TRAINMASTER_CRASH_AT", point)));
    command.output().unwrap()
}
