//! A house for training: long patience, one training at a time, and environments that stay from one
//! test run to the next.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use trainmaster::{config::default_cache_dir, rundir::record::find_line, supervisor::ChildRecord};

use crate::house::{House, text, until_some_within};

/// From nothing, an environment takes minutes to fetch.
const PATIENCE: Duration = Duration::from_secs(900);

/// Frameworks take all the processors there are while they are loaded. Two trainings at a time would
/// only make each other slower.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub struct Hall {
    pub house: House,
    _turn: MutexGuard<'static, ()>,
}

impl Hall {
    pub fn open() -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "4", "--node-memory", "8GiB"]);
        house.env("TRAINMASTER_ENVIRONMENTS", default_cache_dir().join("environments").to_str().unwrap());
        house.start();
        Self { house, _turn: turn }
    }

    /// Submits an example as it is, but for some settings; answers the job's id.
    pub fn submit(&self, example: &str, settings: &[&str]) -> String {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        self.submit_file(&examples().join(example).join("job.yaml"), &settings)
    }

    pub fn submit_file(&self, file: &Path, arguments: &[&str]) -> String {
        let args = [&["--json", "submit", file.to_str().unwrap()], arguments].concat();
        let out = self.house.cli(&args);
        assert!(out.status.success(), "{}", text(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).unwrap()["id"].as_str().unwrap().to_owned()
    }

    pub fn succeeded(&self, job: &str) -> Value {
        self.over(job, "succeeded")
    }

    pub fn failed(&self, job: &str) -> Value {
        self.over(job, "failed")
    }

    pub fn stopped(&self, job: &str) -> Value {
        self.over(job, "stopped")
    }

    fn over(&self, job: &str, state: &str) -> Value {
        let shown = until_some_within(PATIENCE, &format!("{job} is over"), || {
            let shown = self.house.show(job);
            ["succeeded", "failed", "stopped"].contains(&shown["state"].as_str().unwrap()).then_some(shown)
        });
        let logs = || self.tasks(&shown).iter().map(|(task, _)| format!("---- {task}\n{}", self.log(job, task))).collect::<String>();
        assert_eq!(shown["state"], state, "{shown:#}\n{}", logs());
        shown
    }

    pub fn wait_for_output(&self, job: &str, task: &str, words: &str) {
        until_some_within(PATIENCE, &format!("{task} prints {words}"), || {
            let shown = self.house.show(job);
            assert!(shown["ended_at_ms"].is_null(), "{shown:#}\n{}", self.log(job, task));
            self.log(job, task).contains(words).then_some(())
        });
    }

    /// Nothing, as long as it has not begun.
    pub fn log(&self, job: &str, task: &str) -> String {
        self.house.get(&format!("/api/v1/jobs/{job}/tasks/{task}/log")).map(|bytes| text(&bytes)).unwrap_or_default()
    }

    /// As the kernel would.
    pub fn kill(&self, job: &str, task: &str) {
        let record = self.house.run_dir(job, task, 1).join("supervisor.json");
        let child = find_line::<ChildRecord>(&record).unwrap().whole().unwrap().child;
        child.signal(libc::SIGKILL).unwrap();
    }

    pub fn accuracy(&self, job: &str, task: &str) -> f64 {
        let log = self.log(job, task);
        let number = log.lines().find_map(|line| line.strip_prefix("Test-Accuracy: "));
        number.unwrap_or_else(|| panic!("no accuracy in\n{log}")).trim().parse().unwrap()
    }

    pub fn reason<'a>(&self, shown: &'a Value) -> &'a str {
        shown["reason"].as_str().unwrap()
    }

    /// `ps-0 stopped, worker-0 succeeded`
    pub fn states(&self, shown: &Value) -> String {
        let tasks = self.tasks(shown);
        tasks.iter().map(|(task, state)| format!("{task} {state}")).collect::<Vec<_>>().join(", ")
    }

    /// Whether every task has ended, one way or another.
    pub fn is_over(&self, shown: &Value) -> bool {
        self.tasks(shown).iter().all(|(_, state)| ["succeeded", "failed", "stopped"].contains(&state.as_str()))
    }

    fn tasks(&self, shown: &Value) -> Vec<(String, String)> {
        let word = |run: &Value, field: &str| run[field].as_str().unwrap().to_owned();
        let mut tasks: Vec<_> = shown["runs"].as_array().unwrap().iter().map(|run| (word(run, "task"), word(run, "state"))).collect();
        tasks.sort();
        tasks
    }
}

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}
