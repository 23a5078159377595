//! Where a job comes from and where its results went.

use std::collections::{BTreeSet, VecDeque};

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    ids::JobId,
    plan::{Beginning, FormerJob},
    provenance::Found,
    resources::Bytes,
    said,
    wire::{CodeProvenance, ErrorBody, Lineage, LineageEdge, LineageKind, LineageNode, UploadFacts},
    words::{Lang, Words},
};

use super::{AppState, compare::in_words, dossier::Dossier, guard::Caller, jobs, provenance::code_of};
use crate::{
    error::Error,
    store::{
        Sql, StoreError,
        jobs::Job,
        lineage::{self, How},
        tokens::Holder,
    },
};

/// How many jobs are followed back, and how many of those that came after are told.
const FORMER_MAX: usize = 50;
const LATER_MAX: u32 = 100;

/// Shows what went into a job and what its results went into: data, code, environment, former jobs, outputs, later jobs.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/lineage", params(("job" = String, Path)),
    responses((status = 200, body = Lineage), (status = 404, body = ErrorBody)))]
pub async fn of_job(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<Lineage>, Error> {
    let dossier = Dossier::of(&app, &holder, &text).await?;
    let graph = app.store.read(move |sql| Drawing { sql, holder: &holder, graph: Graph::default() }.draw(&dossier)).await?;
    Ok(Json(graph))
}

#[derive(Default)]
struct Graph {
    nodes: Vec<LineageNode>,
    edges: Vec<LineageEdge>,
}

impl Graph {
    fn node(&mut self, node: LineageNode) -> String {
        let id = node.id.clone();
        if self.nodes.iter().all(|it| it.id != id) {
            self.nodes.push(node);
        }
        id
    }

    fn edge(&mut self, from: &str, to: &str, how: &str) {
        let edge = LineageEdge { from: from.to_owned(), to: to.to_owned(), how: how.to_owned() };
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }
}

struct Drawing<'a, 'b> {
    sql: &'a Sql<'b>,
    holder: &'a Holder,
    graph: Graph,
}

impl Drawing<'_, '_> {
    fn draw(mut self, dossier: &Dossier) -> Result<Lineage, StoreError> {
        let job = &dossier.job;
        let own = self.graph.node(job_node(job));
        self.made_of(&own, dossier);
        self.back_from(job, dossier.found.as_ref())?;
        self.forward_from(&own, job)?;
        Ok(Lineage { job: own, nodes: self.graph.nodes, edges: self.graph.edges })
    }

    fn made_of(&mut self, own: &str, dossier: &Dossier) {
        if let Some(code) = code_of(dossier) {
            let id = self.graph.node(code_node(dossier, code));
            self.graph.edge(&id, own, "code");
        } else if let Some(algorithm) = &dossier.job.plan.algorithm {
            let label = said!("algorithm {algorithm}", "算法 {algorithm}");
            let id = self.graph.node(node(LineageKind::Code, label, Words::default(), None));
            self.graph.edge(&id, own, "code");
        }
        if let Some(python) = &dossier.python {
            let (version, count) = (&python.packages.python, python.packages.packages.len());
            let label = Words::new(format!("Python {version} with {count} packages"), format!("Python {version}，{count} 个软件包"));
            let environment = node(LineageKind::Environment, label, Words::default(), Some(python.fingerprint.clone()));
            let id = self.graph.node(LineageNode { id: format!("environment:{}", python.fingerprint), ..environment });
            self.graph.edge(&id, own, "environment");
        }
    }

    /// The job's data and former jobs, and theirs, as far back as anybody knows.
    fn back_from(&mut self, job: &Job, found: Option<&Found>) -> Result<(), StoreError> {
        let mut seen = BTreeSet::from([job.id]);
        let mut queue = VecDeque::from([job.clone()]);
        while let Some(job) = queue.pop_front() {
            let own = self.graph.node(job_node(&job));
            let mut former = self.named(&own, &job)?;
            former.extend(self.data_of(&own, &job, found.filter(|_| seen.len() == 1))?);
            let new = former.into_iter().filter(|it| seen.len() < FORMER_MAX && seen.insert(it.id));
            queue.extend(new.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// The jobs that it says it comes from.
    fn named(&mut self, own: &str, job: &Job) -> Result<Vec<Job>, StoreError> {
        let began = if let Some(Beginning::Former(former)) = &job.plan.freight.from { Some(former) } else { None };
        let rerun = job.plan.origin.rerun_of.as_ref();
        let all = began.map(|it| (it, "output it began with")).into_iter().chain(rerun.map(|it| (it, "job it is a rerun of")));
        let mut found = Vec::new();
        for (former, how) in all {
            match self.visible(former.id)? {
                Seen::Job(former) => {
                    let id = self.graph.node(job_node(&former));
                    self.graph.edge(&id, own, how);
                    found.push(*former);
                }
                Seen::Gone => {
                    let id = self.graph.node(gone_node(former));
                    self.graph.edge(&id, own, how);
                }
                Seen::NotTheirs => {}
            }
        }
        Ok(found)
    }

    /// The data it reads, and the earlier jobs that wrote there.
    fn data_of(&mut self, own: &str, job: &Job, found: Option<&Found>) -> Result<Vec<Job>, StoreError> {
        let freight = &job.plan.freight;
        let inputs = freight.inputs.iter().filter_map(|it| Some((it.path(), it.from.without_query(), it.from.place()?)));
        let began = freight.from.iter().filter_map(|it| if let Beginning::At(at) = it { Some(at) } else { None });
        let began = began.map(|at| ("/output".to_owned(), at.without_query(), at));
        let mut former = Vec::new();
        for (path, name, place) in inputs.chain(began) {
            let content = found.into_iter().flat_map(|it| &it.inputs).find(|it| it.path == path).map(|it| &it.content);
            let print = content.map(|it| it.fingerprint.clone());
            let id = self.graph.node(node(LineageKind::Data, name.as_str().into(), content.map(in_words).unwrap_or_default(), print));
            self.graph.edge(&id, own, &path);
            for (writer, _) in lineage::at(self.sql, How::Writes, &place.without_query(), LATER_MAX)? {
                if let (true, Seen::Job(writer)) = (writer < job.id, self.visible(writer)?) {
                    let from = self.graph.node(job_node(&writer));
                    self.graph.edge(&from, &id, "output");
                    former.push(*writer);
                }
            }
        }
        Ok(former)
    }

    /// Where its results are, and who has used them.
    fn forward_from(&mut self, own: &str, job: &Job) -> Result<(), StoreError> {
        for place in lineage::written(&job.plan, job.version) {
            let place = place.without_query();
            let id = self.graph.node(node(LineageKind::Output, place.as_str().into(), Words::default(), None));
            self.graph.edge(own, &id, "output");
            for (reader, _) in lineage::at(self.sql, How::Reads, &place, LATER_MAX)? {
                self.later(reader, job.id, &id, "input")?;
            }
        }
        for (how, words) in [(How::From, "output it began with"), (How::Rerun, "job it is a rerun of")] {
            for later in lineage::naming(self.sql, how, job.id, LATER_MAX)? {
                self.later(later, job.id, own, words)?;
            }
        }
        Ok(())
    }

    fn later(&mut self, later: JobId, than: JobId, from: &str, how: &str) -> Result<(), StoreError> {
        if let (true, Seen::Job(later)) = (later > than, self.visible(later)?) {
            let to = self.graph.node(job_node(&later));
            self.graph.edge(from, &to, how);
        }
        Ok(())
    }

    /// Someone else's job is not there, and nobody learns its name.
    fn visible(&self, id: JobId) -> Result<Seen, StoreError> {
        if let Some(job) = jobs::find(self.sql, self.holder, &id.to_string())? {
            return Ok(Seen::Job(Box::new(job)));
        }
        Ok(if crate::store::jobs::get(self.sql, id)?.is_some() { Seen::NotTheirs } else { Seen::Gone })
    }
}

enum Seen {
    Job(Box<Job>),
    Gone,
    NotTheirs,
}

fn job_node(job: &Job) -> LineageNode {
    let node = node(LineageKind::Job, jobs::label(job).into(), job.reason.clone(), None);
    LineageNode { id: format!("job:{}", job.id), state: Some(job.state), ..node }
}

fn code_node(dossier: &Dossier, code: CodeProvenance) -> LineageNode {
    let upload = dossier.uploaded.as_ref();
    let print = |it: &UploadFacts| it.digest.get(..12).unwrap_or(&it.digest).to_owned();
    let label = upload.map(print).map(|it| Words::new(format!("upload {it}"), format!("上传 {it}")));
    let size = upload.map(|it| {
        let (files, bytes) = (it.files, Bytes(it.bytes));
        Words::new(format!("{files} files, {bytes}"), format!("{files} 个文件，{bytes}"))
    });
    let commit = code.commit.as_ref().map(|it| Words::new(format!("commit {it}"), format!("提交 {it}")));
    let changed = code.dirty.filter(|it| *it).map(|_| Words::new("with changes that are not in it", "另有未提交的改动"));
    let algorithm = dossier.job.plan.algorithm.as_ref().map(|it| said!("of the algorithm {it}", "属于算法 {it}"));
    let detail: Vec<Words> = [algorithm, size, commit, changed, code.content.as_ref().map(in_words)].into_iter().flatten().collect();
    let listed = |lang, comma| detail.iter().map(|it| it.say(lang)).collect::<Vec<_>>().join(comma);
    let detail = Words::new(listed(Lang::En, ", "), listed(Lang::Zh, "，"));
    let print = upload.map(|it| it.digest.clone()).or(code.commit).or(code.content.map(|it| it.fingerprint));
    node(LineageKind::Code, label.unwrap_or(code.source.into()), detail, print)
}

fn gone_node(former: &FormerJob) -> LineageNode {
    let node = node(LineageKind::Job, former.label.as_str().into(), Words::new("deleted since", "后来已删除"), None);
    LineageNode { id: format!("job:{}", former.id), ..node }
}

fn node(kind: LineageKind, label: Words, detail: Words, fingerprint: Option<String>) -> LineageNode {
    let id = format!("{}:{label}", kind.text());
    let (Words { en: label, zh: label_zh }, Words { en: detail, zh: detail_zh }) = (label, detail);
    LineageNode { id, kind, label, label_zh, detail, detail_zh, fingerprint, state: None }
}
