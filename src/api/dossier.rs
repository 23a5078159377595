//! Everything that is kept of how a job came to be: the job itself, its runs, and what their supervisors wrote down.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use model::{
    code::CodePlan,
    ids::TaskName,
    layout,
    plan::Plan,
    provenance::{Found, Packages, PythonFound},
    wire::{NotRecorded, PythonProvenance, UploadFacts},
    words::Words,
};
use serde::de::DeserializeOwned;

use super::{App, jobs};
use crate::{
    error::Error,
    rundir::{RunDir, packages_file},
    store::{
        Sql, StoreError,
        jobs::Job,
        runs::{self, Run},
        tokens::Holder,
        uploads,
    },
};

/// A supervisor far away could send anything.
const RECORD_BYTES_MAX: u64 = 4 << 20;

pub struct Dossier {
    pub job: Job,
    /// Newest attempt first.
    pub runs: Vec<Run>,
    pub uploaded: Option<UploadFacts>,
    /// Of the chief, in the newest attempt that has any.
    pub found: Option<Found>,
    pub python: Option<PythonProvenance>,
}

impl Dossier {
    /// Those of these jobs, in this order, all from one moment.
    pub async fn of_all(app: &App, holder: &Holder, names: &[String]) -> Result<Vec<Self>, Error> {
        let (holder, names) = (holder.clone(), names.to_vec());
        let read = move |sql: &Sql<'_>| {
            let all =
                names.iter().map(|name| Ok(jobs::find(sql, &holder, name)?.map(|job| rows(sql, job)).transpose()?.ok_or(name.clone())));
            all.collect::<Result<Vec<Result<Self, String>>, StoreError>>()
        };
        let all: Vec<Self> = app.store.read(read).await?.into_iter().collect::<Result<_, String>>().map_err(Error::NoSuchJob)?;
        let data = app.data.clone();
        on_disk(move || all.into_iter().map(|it| it.with_records(&data)).collect()).await
    }

    pub async fn of(app: &App, holder: &Holder, name: &str) -> Result<Self, Error> {
        let mut all = Self::of_all(app, holder, &[name.to_owned()]).await?;
        all.pop().ok_or_else(|| Error::NoSuchJob(name.to_owned()))
    }

    fn with_records(self, data: &Path) -> Self {
        let chief = self.chief();
        let is_chief = |run: &&Run| Some(&run.run.task) == chief.as_ref();
        let found: Option<Found> = self.runs.iter().filter(is_chief).find_map(|run| read(&RunDir::new(data, &run.run).provenance()));
        let python = found.as_ref().and_then(|it| it.python.as_ref()).and_then(|it| python_of(data, it));
        Self { found, python, ..self }
    }

    pub fn chief(&self) -> Option<TaskName> {
        layout::chief(&self.job.plan)
    }

    /// What nobody knows about it, and why.
    pub fn not_recorded(&self) -> Vec<NotRecorded> {
        let not = NotRecorded::new;
        let plan = &self.job.plan;
        let mut all = Vec::new();
        if self.python.is_none() {
            all.push(not(Words::new("packages", "软件包"), self.why_no_packages()));
        }
        for input in &plan.freight.inputs {
            let path = input.path();
            let content = self.found.iter().flat_map(|it| &it.inputs).find(|it| it.path == path).map(|it| &it.content);
            match content.map(|it| it.partly.as_deref()) {
                None => all.push(not(content_of(&path), self.why_not_yet("it was never made ready", "它从未准备好"))),
                Some(Some(partly)) => {
                    let what = Words::new(format!("all of the content of {path}"), format!("{path} 的全部内容"));
                    all.push(not(what, partly.into()));
                }
                Some(None) => {}
            }
        }
        match &plan.code {
            Some(CodePlan::Git(_)) if self.job.commit.is_none() => {
                all.push(not(Words::new("commit", "提交"), self.why_not_yet("its code was never fetched", "它的代码从未取回")));
            }
            Some(CodePlan::At(_)) if self.found.as_ref().is_none_or(|it| it.code.is_none()) => {
                all.push(not(Words::new("content of the code", "代码内容"), self.why_not_yet("it was never looked at", "从未查看过")));
            }
            Some(CodePlan::Git(_) | CodePlan::At(_) | CodePlan::Upload(_)) | None => {}
        }
        if !plan.secrets.is_empty() {
            all.push(not(Words::new("values of secrets", "密钥的值"), Words::new("they are nobody's to see", "任何人都不能查看")));
        }
        all
    }

    fn why_no_packages(&self) -> Words {
        let Plan { framework, code, .. } = &self.job.plan;
        match (self.found.as_ref().and_then(|it| it.no_python.as_deref()), framework, code) {
            (Some(why), _, _) => why.into(),
            (None, Some(_), _) => self.why_not_yet(
                "its environment was never ready, or it ran before lists of packages were kept",
                "它的环境从未就绪，或者运行时还没有记录软件包列表",
            ),
            (None, None, Some(_)) => self.why_not_yet(
                "its code asks for none, or it ran before lists of packages were kept",
                "它的代码没有要求任何软件包，或者运行时还没有记录软件包列表",
            ),
            (None, None, None) => Words::new(
                "it has no Python environment of ours: it names no framework and has no code",
                "它没有使用本系统的 Python 环境：既没有指定框架，也没有代码",
            ),
        }
    }

    fn why_not_yet(&self, otherwise: &str, otherwise_zh: &str) -> Words {
        if self.runs.is_empty() { Words::new("it has not begun", "它还没有开始") } else { Words::new(otherwise, otherwise_zh) }
    }
}

fn content_of(path: &str) -> Words {
    Words::new(format!("content of {path}"), format!("{path} 的内容"))
}

fn rows(sql: &Sql<'_>, job: Job) -> Result<Dossier, StoreError> {
    let (runs, uploaded) = (runs::of_job(sql, job.id)?, uploads::of_job(sql, job.id)?);
    Ok(Dossier { job, runs, uploaded, found: None, python: None })
}

fn python_of(data: &Path, found: &PythonFound) -> Option<PythonProvenance> {
    let is_name = found.fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
    let kept = || is_name.then(|| read::<Packages>(&packages_file(data, &found.fingerprint))).flatten();
    let packages = found.list.clone().or_else(kept)?;
    Some(PythonProvenance { fingerprint: found.fingerprint.clone(), packages })
}

/// A record that is not there or cannot be read says nothing.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = || -> io::Result<Vec<u8>> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let mut bytes = Vec::new();
        file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    serde_json::from_slice(&bytes().ok()?).ok()
}

/// Works on the disk without holding up other requests.
pub async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(error.to_string()))
}
