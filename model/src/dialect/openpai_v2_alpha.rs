//! The YAML that OpenPAI's first marketplace took, versions 0.8 to 0.12. Its server made a v1 job of it, and so do we.

use std::collections::BTreeMap;

use crate::{
    dialect::{
        Dialect, Given, Notes, Source, loose_json,
        note::with_words,
        openpai_common,
        openpai_v1::{self, dirs::OUTPUT, reader::Reader, roles},
    },
    located::{Kind as ScalarKind, Node, Place, Value},
    said,
    spec::{Convention, Elsewhere, Field, JobSpec, Keys, Param, Problem, Retries, is_null, join, scalar, shown},
    template,
    words::Words,
};

mod downloads;
mod params;
mod prerequisites;
mod tasks;

use prerequisites::{Kind, Prerequisite, for_people};

pub(super) const DIALECT: Dialect =
    Dialect { name: "openpai_v2_alpha", title: "OpenPAI v2-alpha", parse: loose_json::parse, recognises, read };

const START_OF_FILE: Place = Place { line: 1, column: 1 };
const OF_A_TASK: Elsewhere = Elsewhere {
    keys: &["role", "data", "script", "dockerimage", "resource", "minFailedTaskCount", "minSucceededTaskCount", "command"],
    place: ("in a task, under `tasks`", "写在 `tasks` 下的任务里"),
};

/// The later files say `protocolVersion`.
fn recognises(root: &Node) -> bool {
    let Value::Map(entries) = &root.value else { return false };
    entries.iter().any(|entry| entry.key == "protocol_version")
}

fn read(source: &Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>> {
    let root = params::filled(source.root).map_err(|problem| vec![problem])?;
    let mut r = Reader::default();
    let spec = job(&mut r, &root, source.given);
    r.done(spec)
}

fn job(r: &mut Reader, root: &Node, given: &Given) -> Option<JobSpec> {
    let whole = Field { path: String::new(), node: root };
    let keys = &mut r.walk.keys(
        &whole,
        START_OF_FILE,
        ("a job file begins with `protocol_version: v2`", "作业文件以 `protocol_version: v2` 开头"),
    )?;
    if !is_job(r, keys) {
        return None;
    }
    let name = name(r, keys, given);
    let description = description(r, keys);
    let experiment = r.text_or_nothing(keys, "experiment").map(|(field, text)| {
        r.kept(&field, "tags");
        text
    });
    let retries = r.field(keys, "retryCount").map_or(Some(Retries::Count(1)), |it| openpai_v1::retries(r, &it));
    openpai_v1::virtual_cluster(r, keys);
    let gpu_type = openpai_v1::gpu_type(r, keys);
    obsolete(r, keys);
    let params = parameters(r, keys);
    let prerequisites = prerequisites::prerequisites(r, keys);
    let image = image(r, &prerequisites);
    let shared = tasks::Shared { gpu_type: gpu_type.as_deref(), prerequisites: &prerequisites };
    let roles = tasks::tasks(r, keys, &shared);
    r.walk.no_more(keys, &OF_A_TASK);
    let mut spec = JobSpec {
        name,
        description,
        tags: experiment.into_iter().collect(),
        retries,
        image,
        params: params.into_iter().map(|(name, value)| (name, Some(value))).collect(),
        conventions: Some(vec![Convention::PaiV1, Convention::Mpi]),
        env: BTreeMap::from([("PAI_OUTPUT_DIR".into(), OUTPUT.into())]),
        ..JobSpec::default()
    };
    roles::put(r, roles, &mut spec);
    Some(spec)
}

/// Prerequisites were kept in files of their own too; about one of those there is nothing else to tell.
fn is_job(r: &mut Reader, keys: &mut Keys<'_>) -> bool {
    if let Some(field) = r.field(keys, "protocol_version") {
        match scalar(field.node) {
            Some((scalar, _)) if matches!(scalar.text.as_str(), "v2" | "") => {
                r.kept(&field, ("says whose file this is", "说明这是哪种文件"))
            }
            Some(_) | None => r.walk.wrong(&field, Words::from("v2"), ("write `protocol_version: v2`", "请写 `protocol_version: v2`")),
        }
    }
    let Some(field) = r.walk.required(keys, "type", ("write `type: job`", "请写 `type: job`")) else { return true };
    match r.walk.text(&field, ("write `type: job`", "请写 `type: job`")) {
        Some(text) if !text.contains("job") => {
            r.walk.tell(
                &field,
                said!("this is a {}, not a job", "这是 {}，不是作业", shown(&text)),
                ("submit the job that uses it", "请提交用到它的作业"),
            );
            return false;
        }
        Some(_) => r.kept(&field, ("says that this is a job", "说明这是一个作业")),
        None => {}
    }
    true
}

fn name(r: &mut Reader, keys: &mut Keys<'_>, given: &Given) -> String {
    let field = r.walk.required(keys, "name", ("give the job a name, such as `name: mnist`", "请给作业起名，如 `name: mnist`"));
    let written = field.and_then(|it| Some((r.name(&it, "-._~")?, it)));
    openpai_v1::noted_name(r, written, given)
}

fn description(r: &mut Reader, keys: &mut Keys<'_>) -> Option<String> {
    for key in ["version", "contributor"] {
        for_people(r, keys, key);
    }
    let (field, text) = r.text_or_nothing(keys, "description")?;
    r.kept(&field, "description");
    Some(text)
}

fn obsolete(r: &mut Reader, keys: &mut Keys<'_>) {
    if let Some(field) = r.field(keys, "killAllOnCompletedTaskNumber") {
        r.walk.tell(
            &field,
            ("is not taken in files of this kind", "这种文件不支持这个键"),
            ("write minFailedTaskCount and minSucceededTaskCount for a task", "请给任务写 minFailedTaskCount 和 minSucceededTaskCount"),
        );
    }
}

/// They were put in already; here they are kept for people who compare versions of the job.
fn parameters(r: &mut Reader, keys: &mut Keys<'_>) -> indexmap::IndexMap<String, Param> {
    let mut params = indexmap::IndexMap::new();
    let Some(field) = r.field(keys, "parameters").filter(|field| !is_null(field.node)) else { return params };
    for (name, field, _) in r.map(&field, ("write `NAME: value` pairs", "请写成一组 `NAME: value`")) {
        let about = (format!("put in where the file says `$${name}$$`"), format!("填入文件中写着 `$${name}$$` 的地方"));
        match param(&field).filter(|_| template::is_name(name)) {
            Some(param) => {
                r.kept(&field, with_words(join("params", name), about));
                params.insert(name.to_owned(), param);
            }
            None => r.kept(&field, about),
        }
    }
    params
}

fn param(field: &Field<'_>) -> Option<Param> {
    let (scalar, kind) = scalar(field.node)?;
    match kind {
        ScalarKind::Bool(truth) => Some(Param::Truth(truth)),
        ScalarKind::Int(number) => Some(i64::try_from(number).map_or_else(|_| Param::Text(scalar.text.clone()), Param::Whole)),
        ScalarKind::Float(number) if number.is_finite() => Some(Param::Number(number)),
        ScalarKind::Float(_) | ScalarKind::Text => Some(Param::Text(scalar.text.clone())),
        ScalarKind::Null => None,
    }
}

/// The first image is everyone's; data and scripts are fetched by the tasks that name them.
fn image(r: &mut Reader, prerequisites: &[Prerequisite<'_>]) -> Option<String> {
    let mut first = None;
    for it in prerequisites {
        let field = &it.field;
        match it.kind {
            Kind::Image if first.is_none() && it.uri.is_empty() => {
                r.walk.tell(
                    field,
                    ("names no image", "没有写镜像"),
                    ("write `uri: python:3.12`, or the image that is meant", "请写 `uri: python:3.12` 这样的镜像"),
                );
                return None;
            }
            Kind::Image if first.is_none() => {
                r.changed(field, openpai_common::image_note(&it.uri));
                first = Some(it.uri.clone());
            }
            Kind::Image => {
                let en = "OpenPAI ran all tasks in the first image of the file, and so do we; remove this one";
                r.ignored(field, (en, "OpenPAI 用文件里的第一个镜像运行所有任务，这里也一样；请删掉这一个"));
            }
            Kind::Data | Kind::Script if it.uri.is_empty() || it.uri.split(',').all(downloads::is_fetched) => {
                r.kept(field, ("fetched by the first steps of the tasks that name it", "由用到它的任务在最开始拉取"));
            }
            Kind::Data | Kind::Script => {
                r.ignored(
                    field,
                    (
                        "only addresses of the web are fetched; copy it to a directory and write `code` or `input` in the converted file",
                        "只拉取网页地址；请把它复制到一个目录，并在转换后的文件里写 `code` 或 `input`",
                    ),
                );
            }
        }
    }
    first
}
