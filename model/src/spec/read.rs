//! Job file text → [`JobSpec`], with every problem at once and each at its place.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::{
    Accelerators, Command, Completion, Convention, FixedPorts, JobSpec, Param, PortCount, Ports, Problem, Retries, RetriesWord, RoleSpec,
    Size, Threshold, ThresholdWord, channels, code, in_order, metrics, secrets,
    walk::{Elsewhere, Field, Keys, Places, Walk, is_null, scalar, whole_number},
};
use crate::{
    located::{self, Kind, Node, Place, Scalar, Value},
    said,
    words::{Said, listed},
};

/// As much of a job file as could be read, and what was wrong with the rest.
pub(crate) struct Reading {
    /// None if the text is not even YAML.
    pub spec: Option<JobSpec>,
    pub places: Places,
    pub problems: Vec<Problem>,
    /// What is in the file but not in the spec, by path: told already, not missing.
    pub left_out: BTreeSet<String>,
}

pub fn read(text: &str) -> Result<JobSpec, Vec<Problem>> {
    match read_all(text) {
        Reading { spec: Some(spec), problems, .. } if problems.is_empty() => Ok(spec),
        reading => Err(in_order(reading.problems)),
    }
}

const START_OF_FILE: Place = Place { line: 1, column: 1 };

pub(crate) fn read_all(text: &str) -> Reading {
    let parsed = located::parse(text);
    let mut walk = Walk { problems: parsed.problems, ..Walk::default() };
    walk.places.set("", START_OF_FILE);
    let spec = match parsed.root.filter(|root| !is_null(root)) {
        Some(root) => job(&mut walk, &root),
        None => {
            if walk.problems.is_empty() {
                walk.problems.push(
                    Problem::new("", ("the file is empty", "文件是空的"))
                        .at(START_OF_FILE)
                        .hint(("a job needs at least `name` and `roles`", "作业至少要有 `name` 和 `roles`")),
                );
            }
            None
        }
    };
    let told = walk.problems.iter().map(|problem| problem.path.clone()).filter(|path| !path.is_empty());
    let left_out = told.chain(walk.refused).collect();
    Reading { spec, places: walk.places, problems: walk.problems, left_out }
}

const OF_A_ROLE: Elsewhere = Elsewhere {
    keys: &["command", "tasks", "cpus", "memory", "shared_memory", "disk", "accelerators", "ports", "completion"],
    place: ("in a role, such as `worker` under `roles`", "写在角色里，例如 `roles` 下的 `worker`"),
};
const OF_THE_JOB: Elsewhere = Elsewhere {
    keys: &[
        "name",
        "algorithm",
        "description",
        "tags",
        "priority",
        "gang",
        "max_duration",
        "stop_grace",
        "keep_failed",
        "framework",
        "params",
        "secrets",
        "conventions",
        "code",
        "requirements",
        "setup",
        "input",
        "inputs",
        "output",
        "outputs",
        "logs",
        "metrics",
        "from",
        "roles",
    ],
    place: ("at the top of the file, for the whole job", "写在文件最外层，对整个作业生效"),
};
pub(super) const OF_NOTHING_ELSE: Elsewhere = Elsewhere { keys: &[], place: ("", "") };

pub(crate) const TEXT_HINT: Said = ("write a line of text", "请写一行文本");
const DURATION_HINT: Said = ("write 90s, 15m, 12h or 7d", "请写成 90s、15m、12h 或 7d 这样");
pub(crate) const ALGORITHM_HINT: Said =
    ("write an algorithm and version such as `mnist-mlp@latest`", "请写算法和版本，如 `mnist-mlp@latest`");
const ENV_HINT: Said = ("write `NAME: value` pairs", "请写成一组 `NAME: value`");

/// Whether an algorithm says what the job does not.
#[derive(Clone, Copy)]
enum Kinship {
    Alone,
    OfAlgorithm,
}

/// What a job file of our own names as its algorithm, if it does.
pub fn algorithm_of(text: &str) -> Option<String> {
    read_all(text).spec?.algorithm
}

fn job(walk: &mut Walk, root: &Node) -> Option<JobSpec> {
    let whole = Field { path: String::new(), node: root };
    let keys = &mut walk.keys(
        &whole,
        START_OF_FILE,
        ("a job file begins with a line such as `name: digits`", "作业文件以 `name: digits` 这样的一行开头"),
    )?;
    let name = walk.required(keys, "name", ("give the job a name, such as `name: digits`", "请给作业起名，如 `name: digits`"));
    let algorithm = walk.optional(keys, "algorithm");
    let kind = if algorithm.is_some() { Kinship::OfAlgorithm } else { Kinship::Alone };
    let spec = JobSpec {
        name: name.and_then(|it| walk.text(&it, TEXT_HINT)).unwrap_or_default(),
        algorithm: algorithm.and_then(|it| walk.text(&it, ALGORITHM_HINT)),
        description: walk.optional(keys, "description").and_then(|it| walk.text(&it, TEXT_HINT)),
        tags: walk
            .optional(keys, "tags")
            .map(|it| texts(walk, &it, ("write `[first, second]`", "请写成 `[first, second]` 这样")))
            .unwrap_or_default(),
        priority: walk.optional(keys, "priority").and_then(|it| priority(walk, &it)),
        retries: walk.optional(keys, "retries").and_then(|it| retries(walk, &it)),
        gang: walk.optional(keys, "gang").and_then(|it| truth(walk, &it)),
        max_duration: walk.optional(keys, "max_duration").and_then(|it| duration(walk, &it)),
        stop_grace: walk.optional(keys, "stop_grace").and_then(|it| duration(walk, &it)),
        keep_failed: walk.optional(keys, "keep_failed").and_then(|it| duration(walk, &it)),
        framework: walk.optional(keys, "framework").and_then(|it| {
            walk.text(&it, ("write a framework such as `tensorflow` or `pytorch@2.9`", "请写框架名，如 `tensorflow` 或 `pytorch@2.9`"))
        }),
        image: walk.optional(keys, "image").and_then(|it| walk.text(&it, TEXT_HINT)),
        params: walk.optional(keys, "params").map(|it| params(walk, &it, kind)).unwrap_or_default(),
        secrets: walk.optional(keys, "secrets").map(|it| secrets::all(walk, &it)).unwrap_or_default(),
        conventions: walk.optional(keys, "conventions").map(|it| conventions(walk, &it)),
        code: walk.optional(keys, "code").and_then(|it| code::read(walk, &it)),
        requirements: walk
            .optional(keys, "requirements")
            .and_then(|it| walk.text(&it, ("write a file of the code, or `none`", "请写代码里的一个文件，或 `none`"))),
        setup: walk.optional(keys, "setup").and_then(|it| walk.text(&it, TEXT_HINT)),
        input: walk.optional(keys, "input").and_then(|it| channels::input(walk, &it)),
        inputs: walk.optional(keys, "inputs").map(|it| named(walk, &it, channels::input)).unwrap_or_default(),
        output: walk.optional(keys, "output").and_then(|it| channels::output(walk, &it)),
        outputs: walk.optional(keys, "outputs").map(|it| named(walk, &it, channels::output)).unwrap_or_default(),
        logs: walk
            .optional(keys, "logs")
            .and_then(|it| walk.text(&it, ("write a volume and a path such as `results:logs`", "请写数据卷加路径，如 `results:logs`"))),
        metrics: walk.optional(keys, "metrics").and_then(|it| metrics::read(walk, &it)),
        from: walk.optional(keys, "from").and_then(|it| {
            walk.text(&it, ("write a job and version such as `digits@2`, or a place", "请写作业和版本（如 `digits@2`），或一个位置"))
        }),
        env: walk.optional(keys, "env").map(|it| env(walk, &it)).unwrap_or_default(),
        roles: roles(walk, keys, kind),
    };
    walk.no_more(keys, &OF_A_ROLE);
    Some(spec)
}

/// Channels by the names a person chooses.
fn named<T>(walk: &mut Walk, field: &Field<'_>, read: fn(&mut Walk, &Field<'_>) -> Option<T>) -> IndexMap<String, T> {
    let named = walk.open_map(field, ("write `NAME: place` pairs", "请写成一组 `NAME: 位置`"));
    named.into_iter().filter_map(|(name, field, _)| Some((name.to_owned(), read(walk, &field)?))).collect()
}

fn roles(walk: &mut Walk, keys: &mut Keys<'_>, kind: Kinship) -> IndexMap<String, RoleSpec> {
    const HINT: Said = ("write `worker:` and under it at least `command: …`", "请写 `worker:`，并在它下面至少写 `command: …`");
    let field = match kind {
        Kinship::Alone => walk.required_or_meant(keys, "roles", HINT),
        Kinship::OfAlgorithm => walk.optional(keys, "roles"),
    };
    let Some(field) = field else { return IndexMap::new() };
    let named = walk.open_map(&field, HINT);
    named.into_iter().map(|(name, field, place)| (name.to_owned(), role(walk, &field, (place, kind)))).collect()
}

fn role(walk: &mut Walk, field: &Field<'_>, (place, kind): (Place, Kinship)) -> RoleSpec {
    let nothing = Node { place, value: Value::Map(Vec::new()) };
    // `worker:` with nothing under it is a role without a command, not a value of the wrong shape.
    let node = if is_null(field.node) { &nothing } else { field.node };
    let Some(mut keys) =
        walk.keys(&Field { path: field.path.clone(), node }, place, ("write `command: …` under it", "请在它下面写 `command: …`"))
    else {
        return RoleSpec::default();
    };
    let keys = &mut keys;
    let spec = RoleSpec {
        tasks: walk.optional(keys, "tasks").and_then(|it| count(walk, &it, 1)),
        command: match kind {
            Kinship::Alone => walk.required(keys, "command", COMMAND_HINT).map(|it| command(walk, &it)).unwrap_or_default(),
            Kinship::OfAlgorithm => walk.optional(keys, "command").map(|it| command(walk, &it)).unwrap_or_default(),
        },
        image: walk.optional(keys, "image").and_then(|it| walk.text(&it, TEXT_HINT)),
        retries: walk.optional(keys, "retries").and_then(|it| count(walk, &it, 0)),
        cpus: walk.optional(keys, "cpus").and_then(|it| number(walk, &it)),
        memory: walk.optional(keys, "memory").and_then(|it| size(walk, &it)),
        shared_memory: walk.optional(keys, "shared_memory").and_then(|it| size(walk, &it)),
        disk: walk.optional(keys, "disk").and_then(|it| size(walk, &it)),
        accelerators: walk.optional(keys, "accelerators").and_then(|it| accelerators(walk, &it)),
        ports: walk.optional(keys, "ports").and_then(|it| ports(walk, &it)),
        env: walk.optional(keys, "env").map(|it| env(walk, &it)).unwrap_or_default(),
        completion: completion(walk, keys),
    };
    walk.no_more(keys, &OF_THE_JOB);
    spec
}

pub(crate) const COMMAND_HINT: Said = (
    "write a line such as `command: python3 train.py`, or a list of words",
    "请写一行命令，如 `command: python3 train.py`，或由各个词组成的列表",
);

pub(crate) fn command(walk: &mut Walk, field: &Field<'_>) -> Command {
    if !matches!(field.node.value, Value::List(_)) {
        return walk.text(field, COMMAND_HINT).map(Command::Line).unwrap_or_default();
    }
    let words = walk.list(field, COMMAND_HINT).unwrap_or_default();
    Command::Words(words.iter().filter_map(|it| walk.word(it, ("put the word in quotes", "请给这个词加上引号"))).collect())
}

pub(crate) fn texts(walk: &mut Walk, field: &Field<'_>, hint: Said) -> Vec<String> {
    let items = walk.list(field, hint).unwrap_or_default();
    items.iter().filter_map(|it| walk.text(it, hint)).collect()
}

/// Values are taken by the letters they were written with: `BATCH: 64` is the text `64`.
pub(crate) fn env(walk: &mut Walk, field: &Field<'_>) -> BTreeMap<String, String> {
    let named = walk.open_map(field, ENV_HINT);
    let hint = |it: &Field<'_>| {
        if is_null(it.node) {
            ("write \"\" for an empty value", "空值请写 \"\"")
        } else {
            ("write one value, in quotes if it is more than a word", "请写一个值；不止一个词时加上引号")
        }
    };
    let value = |walk: &mut Walk, it: &Field<'_>| walk.word(it, hint(it)).unwrap_or_default();
    named.into_iter().map(|(name, field, _)| (name.to_owned(), value(walk, &field))).collect()
}

/// The plan tells a number below `least`; here it is only said what to write.
pub(crate) fn count(walk: &mut Walk, field: &Field<'_>, least: u32) -> Option<u32> {
    walk.whole(field, said!("a whole number, {least} or more", "不小于 {least} 的整数"), ("write a number such as 2", "请写一个数，如 2"))
}

pub(crate) fn truth(walk: &mut Walk, field: &Field<'_>) -> Option<bool> {
    if let Some((_, Kind::Bool(value))) = scalar(field.node) {
        return Some(value);
    }
    walk.wrong(field, ("true or false", "true 或 false"), ("write true or false, without quotes", "请写 true 或 false，不要加引号"));
    None
}

fn retries(walk: &mut Walk, field: &Field<'_>) -> Option<Retries> {
    match scalar(field.node) {
        Some((scalar, Kind::Text)) if scalar.text == "always" => Some(Retries::Word(RetriesWord::Always)),
        Some((scalar, Kind::Text)) if scalar.text == "forever" => Some(Retries::Word(RetriesWord::Forever)),
        Some((_, Kind::Text | Kind::Int(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Null)) | None => walk
            .whole(
                field,
                ("a whole number, 0 or more, `always` or `forever`", "不小于 0 的整数、`always` 或 `forever`"),
                ("write a number such as 2", "请写一个数，如 2"),
            )
            .map(Retries::Count),
    }
}

fn params(walk: &mut Walk, field: &Field<'_>, kind: Kinship) -> IndexMap<String, Option<Param>> {
    let named = walk.open_map(field, ("write `NAME: value` pairs", "请写成一组 `NAME: value`"));
    let one = |walk: &mut Walk, field: &Field<'_>| match kind {
        Kinship::OfAlgorithm if is_null(field.node) => Some(None),
        Kinship::OfAlgorithm => param_as_written(walk, field).map(Some),
        Kinship::Alone => param(walk, field, Param::of).map(Some),
    };
    named.into_iter().filter_map(|(name, field, _)| Some((name.to_owned(), one(walk, &field)?))).collect()
}

/// One whose kind an algorithm says.
pub(crate) fn param_as_written(walk: &mut Walk, field: &Field<'_>) -> Option<Param> {
    param(walk, field, Param::as_written)
}

fn param(walk: &mut Walk, field: &Field<'_>, of: fn(&Scalar) -> Option<Param>) -> Option<Param> {
    let read = scalar(field.node).and_then(|(scalar, _)| of(scalar));
    if read.is_none() {
        walk.wrong(
            field,
            ("a number, true or false, or text", "数字、true 或 false，或文本"),
            ("write one value, in quotes if it is more than a word", "请写一个值；不止一个词时加上引号"),
        );
    }
    read
}

fn conventions(walk: &mut Walk, field: &Field<'_>) -> Vec<Convention> {
    let names = Convention::ALL.map(Convention::text);
    let items = walk
        .list(field, ("write `[tf_config, torch]`, or `[]` for none", "请写成 `[tf_config, torch]` 这样；都不要就写 `[]`"))
        .unwrap_or_default();
    let mut known = Vec::new();
    for item in items {
        let Some(text) = walk.text(&item, ("write a name such as tf_config", "请写名字，如 tf_config")) else { continue };
        match Convention::from_text(&text) {
            Some(it) => known.push(it),
            None => walk.tell(
                &item,
                said!("{} is not a convention", "没有 {} 这种约定", super::shown(&text)),
                listed(("there are", "可用的有"), &names),
            ),
        }
    }
    known
}

fn priority(walk: &mut Walk, field: &Field<'_>) -> Option<i32> {
    walk.whole(
        field,
        said!("a whole number from {} to {}", "{} 到 {} 之间的整数", i32::MIN, i32::MAX),
        ("write a number such as 10 or -5", "请写一个数，如 10 或 -5"),
    )
}

pub(crate) fn number(walk: &mut Walk, field: &Field<'_>) -> Option<f64> {
    match scalar(field.node) {
        Some((_, Kind::Int(number))) => Some(number as f64),
        Some((_, Kind::Float(number))) => Some(number),
        Some((_, Kind::Null | Kind::Bool(_) | Kind::Text)) | None => {
            walk.wrong(
                field,
                ("a number", "数字"),
                ("write a number such as 2 or 0.5, without quotes", "请写一个数，如 2 或 0.5，不要加引号"),
            );
            None
        }
    }
}

fn size(walk: &mut Walk, field: &Field<'_>) -> Option<Size> {
    const HINT: Said = ("write a size such as 512MiB or 4GiB, or a number of bytes", "请写大小，如 512MiB 或 4GiB，或直接写字节数");
    let Some((scalar, kind)) = scalar(field.node) else {
        walk.wrong(field, ("a size", "大小"), HINT);
        return None;
    };
    match (kind, whole_number(kind).and_then(|number| u64::try_from(number).ok())) {
        (Kind::Text, _) => return Some(Size::Text(scalar.text.clone())),
        (_, Some(bytes)) => return Some(Size::Bytes(bytes)),
        (Kind::Float(_), None) => walk.wrong(field, ("a size", "大小"), said!("add a unit: {}GiB", "请加上单位：{}GiB", scalar.text)),
        (Kind::Int(_) | Kind::Null | Kind::Bool(_), None) => walk.wrong(field, ("a size", "大小"), HINT),
    }
    None
}

/// A bare number is a number of seconds, which the plan reads from its text.
fn duration(walk: &mut Walk, field: &Field<'_>) -> Option<String> {
    match scalar(field.node) {
        Some((scalar, Kind::Text)) => Some(scalar.text.clone()),
        Some((_, kind)) if whole_number(kind).is_some() => whole_number(kind).map(|seconds| seconds.to_string()),
        Some((_, Kind::Int(_) | Kind::Float(_) | Kind::Null | Kind::Bool(_))) | None => {
            walk.wrong(field, ("a time", "时长"), DURATION_HINT);
            None
        }
    }
}

fn counts(walk: &mut Walk, field: &Field<'_>, least: u32, hint: Said) -> BTreeMap<String, u32> {
    let named = walk.open_map(field, hint);
    named.into_iter().filter_map(|(name, field, _)| Some((name.to_owned(), count(walk, &field, least)?))).collect()
}

fn accelerators(walk: &mut Walk, field: &Field<'_>) -> Option<Accelerators> {
    const HINT: Said =
        ("write a number such as 2, or a number by type such as `{A100: 2}`", "请写一个数，如 2；或按型号写，如 `{A100: 2}`");
    match &field.node.value {
        Value::Map(_) => Some(Accelerators::ByType(counts(walk, field, 0, HINT))),
        Value::Scalar(_) | Value::List(_) | Value::Refused => {
            walk.whole(field, ("a whole number or a map", "整数或键值对"), HINT).map(Accelerators::AnyType)
        }
    }
}

fn ports(walk: &mut Walk, field: &Field<'_>) -> Option<Ports> {
    const HINT: Said = (
        "write labels such as `[grpc]`, or how many by label such as `{grpc: 2}`",
        "请写端口标签，如 `[grpc]`；或每个标签要几个，如 `{grpc: 2}`",
    );
    match &field.node.value {
        Value::Map(_) => {
            let named = walk.open_map(field, HINT);
            Some(Ports::Counts(
                named.into_iter().filter_map(|(name, it, place)| Some((name.to_owned(), port_count(walk, &it, place)?))).collect(),
            ))
        }
        Value::List(_) => Some(Ports::Labels(texts(walk, field, HINT))),
        Value::Scalar(_) | Value::Refused => {
            walk.wrong(field, ("a list or a map", "列表或键值对"), HINT);
            None
        }
    }
}

fn port_count(walk: &mut Walk, field: &Field<'_>, place: Place) -> Option<PortCount> {
    if !matches!(field.node.value, Value::Map(_)) {
        return count(walk, field, 1).map(PortCount::Any);
    }
    let keys = &mut walk.keys(field, place, ("write `{from: 8000, count: 2}`", "请写成 `{from: 8000, count: 2}` 这样"))?;
    let from = walk.required(keys, "from", ("write the first port, such as `from: 8000`", "请写第一个端口，如 `from: 8000`"));
    let from = from.and_then(|it| {
        walk.whole(&it, ("a port from 1 to 65535", "1 到 65535 之间的端口"), ("write a number such as 8000", "请写一个数，如 8000"))
    });
    let count = walk.optional(keys, "count").and_then(|it| count(walk, &it, 1));
    walk.no_more(keys, &OF_NOTHING_ELSE);
    Some(PortCount::Fixed(FixedPorts { from: from?, count }))
}

fn completion(walk: &mut Walk, keys: &mut Keys<'_>) -> Completion {
    let Some((field, place)) = walk.as_written(keys, "completion").filter(|(field, _)| !is_null(field.node)) else {
        return Completion::default();
    };
    let Some(mut keys) = walk.keys(&field, place, ("write `min_failed: 1` under it", "请在它下面写 `min_failed: 1` 这样的规则"))
    else {
        return Completion::default();
    };
    let keys = &mut keys;
    let read = Completion {
        min_failed: threshold(walk, keys, "min_failed"),
        min_succeeded: threshold(walk, keys, "min_succeeded"),
        wait: walk.optional(keys, "wait").and_then(|it| truth(walk, &it)),
    };
    walk.no_more(keys, &OF_NOTHING_ELSE);
    read
}

fn threshold(walk: &mut Walk, keys: &mut Keys<'_>, key: &'static str) -> Option<Threshold> {
    let (field, _) = walk.as_written(keys, key)?;
    match scalar(field.node) {
        Some((scalar, Kind::Text)) if scalar.text == "all" => Some(Threshold::Word(ThresholdWord::All)),
        Some((scalar, Kind::Text)) if scalar.text == "never" => Some(Threshold::Word(ThresholdWord::Never)),
        // Nothing could mean "as usual" or "never"; a job's outcome must not hang on the guess.
        Some((_, Kind::Null)) => {
            walk.tell(
                &field,
                ("is there without a value", "写了却没有值"),
                (
                    "write `never` if that is meant, or remove the key for the usual rule",
                    "如果想写“永不”，请写 `never`；想用默认规则，请删掉这个键",
                ),
            );
            None
        }
        Some((_, Kind::Text | Kind::Int(_) | Kind::Float(_) | Kind::Bool(_))) | None => walk
            .whole(
                &field,
                ("a whole number, `all` or `never`", "整数、`all` 或 `never`"),
                ("write 1, all or never", "请写 1、all 或 never"),
            )
            .map(Threshold::Count),
    }
}
