//! `TF_CONFIG`, as TensorFlow's strategies and estimators read it.
//!
//! They know `chief`, `worker`, `ps` and `evaluator` and refuse a cluster with any other job in it. So a
//! `master` is a chief; roles of other names are workers where nobody is called worker or chief, and are
//! left out otherwise. An evaluator is told of the cluster and is not in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Circle, Peer};

pub struct Cluster {
    /// The JSON of the `cluster` part, the same for everyone.
    text: String,
    /// Which job and index each task has.
    tasks: BTreeMap<(String, u32), (&'static str, usize)>,
}

impl Cluster {
    /// `None` while someone has no place: a list with a gap would give everyone after it a wrong index.
    pub fn new(circle: &Circle<'_>) -> Option<Self> {
        if !circle.is_complete() {
            return None;
        }
        let someone_trains = circle.peers.iter().any(|peer| ["chief", "master", "worker"].iter().any(|name| peer.is_called(name)));
        let mut jobs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut tasks = BTreeMap::new();
        for peer in circle.world().chain(circle.peers.iter().filter(|peer| peer.rank.is_none())) {
            let Some(job) = job_of(peer, someone_trains) else { continue };
            let members = jobs.entry(job).or_default();
            tasks.insert((peer.role.name.to_string(), peer.index), (job, members.len()));
            members.extend(peer.reached());
        }
        jobs.remove(EVALUATOR);
        Some(Self { text: json!(jobs).to_string(), tasks })
    }

    pub fn variable(&self, me: &Peer<'_>) -> Option<(String, String)> {
        let (job, index) = self.tasks.get(&(me.role.name.to_string(), me.index))?;
        let task: Value = json!({ "type": job, "index": index });
        Some(("TF_CONFIG".to_owned(), format!(r#"{{"cluster":{},"task":{task}}}"#, self.text)))
    }
}

const EVALUATOR: &str = "evaluator";

fn job_of(peer: &Peer<'_>, someone_trains: bool) -> Option<&'static str> {
    let known = [("chief", "chief"), ("master", "chief"), ("worker", "worker"), ("ps", "ps"), (EVALUATOR, EVALUATOR)];
    let job = known.iter().find(|(name, _)| peer.is_called(name)).map(|(_, job)| *job);
    job.or_else(|| (!someone_trains && peer.rank.is_some()).then_some("worker"))
}
