//! An algorithm's text → [`Algorithm`], with every problem at once and each at its place.

use indexmap::IndexMap;

use super::{Accepted, Algorithm, InputSlot, Needs, OutputSlot, ParamRule, ParamType, check, params};
use crate::{
    located::{self, Node, Place, Value},
    said,
    spec::{
        COMMAND_HINT, Elsewhere, Field, Keys, Param, Problem, TEXT_HINT, Walk, command, count, in_order, is_null, outward, read_code,
        read_env, read_layout, read_number, read_param, shown, texts, truth,
    },
    words::{Said, listed},
};

/// Reads an algorithm and checks it.
pub fn read(text: &str) -> Result<Algorithm, Vec<Problem>> {
    read_with(text, |_| {})
}

/// The same for a file in which something is still to be put in, such as what its paths are relative to.
pub fn read_with(text: &str, complete: impl FnOnce(&mut Algorithm)) -> Result<Algorithm, Vec<Problem>> {
    let parsed = located::parse(text);
    let mut walk = Walk { problems: parsed.problems, ..Walk::default() };
    walk.places.set("", START_OF_FILE);
    let Some(root) = parsed.root.filter(|root| !is_null(root)) else {
        if walk.problems.is_empty() {
            let empty = Problem::new("", ("the file is empty", "文件是空的")).at(START_OF_FILE);
            walk.problems
                .push(empty.hint(("an algorithm needs at least `name`, `code` and `command`", "算法至少要有 `name`、`code` 和 `command`")));
        }
        return Err(in_order(walk.problems));
    };
    let Some(mut algorithm) = algorithm(&mut walk, &root) else { return Err(in_order(walk.problems)) };
    complete(&mut algorithm);
    let found = check(&algorithm).err().unwrap_or_default();
    if walk.problems.is_empty() && found.is_empty() {
        return Ok(algorithm);
    }
    // What could not be read was left out, so its rules miss it; that is no second problem.
    let told: Vec<String> = walk.problems.iter().map(|it| it.path.clone()).filter(|path| !path.is_empty()).chain(walk.refused).collect();
    let new = found.into_iter().filter(|it| !outward(&it.path).any(|path| told.iter().any(|told| told == path)));
    let placed = new.map(|it| match walk.places.nearest(&it.path) {
        Some(place) => it.at(place),
        None => it,
    });
    Err(in_order(walk.problems.into_iter().chain(placed).collect()))
}

const START_OF_FILE: Place = Place { line: 1, column: 1 };

const OF_A_JOB: Elsewhere = Elsewhere {
    keys: &[
        "roles",
        "tasks",
        "cpus",
        "memory",
        "shared_memory",
        "disk",
        "ports",
        "secrets",
        "priority",
        "retries",
        "gang",
        "tags",
        "max_duration",
        "stop_grace",
        "keep_failed",
        "logs",
        "metrics",
        "from",
        "conventions",
        "input",
        "output",
    ],
    place: ("in the job file that names the algorithm", "写在用到这个算法的作业文件里"),
};
const NOWHERE: Elsewhere = Elsewhere { keys: &[], place: ("", "") };
const PAIRS_HINT: Said = ("write `NAME: {…}` pairs", "请写成一组 `NAME: {…}`");

fn algorithm(walk: &mut Walk, root: &Node) -> Option<Algorithm> {
    let whole = Field { path: String::new(), node: root };
    let hint = ("an algorithm begins with a line such as `name: mnist-mlp`", "算法文件以 `name: mnist-mlp` 这样的一行开头");
    let keys = &mut walk.keys(&whole, START_OF_FILE, hint)?;
    let name = walk.required(keys, "name", ("give the algorithm a name, such as `name: mnist-mlp`", "请给算法起名，如 `name: mnist-mlp`"));
    let algorithm = Algorithm {
        name: name.and_then(|it| walk.text(&it, TEXT_HINT)).unwrap_or_default(),
        description: text(walk, keys, "description"),
        framework: text(walk, keys, "framework"),
        image: text(walk, keys, "image"),
        code: walk.optional(keys, "code").and_then(|it| read_code(walk, &it)),
        requirements: text(walk, keys, "requirements"),
        setup: text(walk, keys, "setup"),
        env: walk.optional(keys, "env").map(|it| read_env(walk, &it)).unwrap_or_default(),
        command: walk.required(keys, "command", COMMAND_HINT).map(|it| command(walk, &it)).unwrap_or_default(),
        inputs: walk.optional(keys, "inputs").map(|it| named(walk, &it, input)).unwrap_or_default(),
        outputs: walk.optional(keys, "outputs").map(|it| named(walk, &it, output)).unwrap_or_default(),
        params: walk.optional(keys, "params").map(|it| named(walk, &it, param)).unwrap_or_default(),
        custom_params: is_true(walk, keys, "custom_params", false),
        needs: walk.optional(keys, "needs").and_then(|it| needs(walk, &it)).unwrap_or_default(),
    };
    walk.no_more(keys, &OF_A_JOB);
    Some(algorithm)
}

fn text(walk: &mut Walk, keys: &mut Keys<'_>, key: &'static str) -> Option<String> {
    walk.optional(keys, key).and_then(|it| walk.text(&it, TEXT_HINT))
}

fn is_true(walk: &mut Walk, keys: &mut Keys<'_>, key: &'static str, otherwise: bool) -> bool {
    walk.optional(keys, key).and_then(|it| truth(walk, &it)).unwrap_or(otherwise)
}

type Reader<T> = fn(&mut Walk, &mut Keys<'_>) -> Option<T>;

/// Maps under names that a person chooses. One with nothing under it is a map without keys.
fn named<T>(walk: &mut Walk, field: &Field<'_>, read: Reader<T>) -> IndexMap<String, T> {
    let mut all = IndexMap::new();
    for (name, field, place) in walk.open_map(field, PAIRS_HINT) {
        let nothing = Node { place, value: Value::Map(Vec::new()) };
        let node = if is_null(field.node) { &nothing } else { field.node };
        let Some(mut keys) = walk.keys(&Field { path: field.path.clone(), node }, place, PAIRS_HINT) else { continue };
        all.extend(read(walk, &mut keys).map(|it| (name.to_owned(), it)));
        walk.no_more(&keys, &NOWHERE);
    }
    all
}

fn input(walk: &mut Walk, keys: &mut Keys<'_>) -> Option<InputSlot> {
    Some(InputSlot {
        description: text(walk, keys, "description"),
        argument: text(walk, keys, "argument"),
        env: text(walk, keys, "env"),
        accepts: walk.optional(keys, "accepts").map_or_else(Accepted::all, |it| accepts(walk, &it)),
        required: is_true(walk, keys, "required", true),
        unpack: is_true(walk, keys, "unpack", false),
    })
}

fn output(walk: &mut Walk, keys: &mut Keys<'_>) -> Option<OutputSlot> {
    Some(OutputSlot {
        description: text(walk, keys, "description"),
        argument: text(walk, keys, "argument"),
        env: text(walk, keys, "env"),
        required: is_true(walk, keys, "required", true),
        layout: walk.optional(keys, "layout").and_then(|it| read_layout(walk, &it)),
    })
}

fn accepts(walk: &mut Walk, field: &Field<'_>) -> Vec<Accepted> {
    const HINT: Said = ("write `[dataset, place]`, or one of them", "请写 `[dataset, place]`，或其中之一");
    let items = walk.list(field, HINT);
    let read = items.map(|items| items.iter().map(|item| accepted(walk, item, HINT)).collect::<Vec<_>>());
    // Where one of them could not be read, it is not empty.
    read.and_then(|all| all.into_iter().collect()).unwrap_or_else(Accepted::all)
}

fn accepted(walk: &mut Walk, field: &Field<'_>, hint: Said) -> Option<Accepted> {
    let text = walk.text(field, hint)?;
    let known = Accepted::ALL.into_iter().find(|it| it.text() == text);
    if known.is_none() {
        walk.tell(field, said!("{} is neither `dataset` nor `place`", "{} 既不是 `dataset` 也不是 `place`", shown(&text)), hint);
    }
    known
}

fn param(walk: &mut Walk, keys: &mut Keys<'_>) -> Option<ParamRule> {
    let kind = walk.required(keys, "type", listed(("write one of", "请写其中之一"), &ParamType::ALL.map(ParamType::text)));
    let kind = kind.and_then(|it| param_type(walk, &it));
    let typed = |value: Param| Some(params::typed(kind?, &value).unwrap_or(value));
    let rule = ParamRule {
        description: text(walk, keys, "description"),
        default: walk.optional(keys, "default").and_then(|it| read_param(walk, &it)).and_then(typed),
        min: walk.optional(keys, "min").and_then(|it| read_number(walk, &it)),
        max: walk.optional(keys, "max").and_then(|it| read_number(walk, &it)),
        choices: walk.optional(keys, "choices").map(|it| choices(walk, &it)).unwrap_or_default().into_iter().filter_map(typed).collect(),
        required: is_true(walk, keys, "required", true),
        fixed: is_true(walk, keys, "fixed", false),
        argument: text(walk, keys, "argument"),
        ..ParamRule::of(kind.unwrap_or(ParamType::Text))
    };
    kind.map(|_| rule)
}

fn param_type(walk: &mut Walk, field: &Field<'_>) -> Option<ParamType> {
    let hint = || listed(("write one of", "请写其中之一"), &ParamType::ALL.map(ParamType::text));
    let text = walk.text(field, hint())?;
    let kind = ParamType::ALL.into_iter().find(|it| it.text() == text);
    if kind.is_none() {
        walk.tell(field, said!("{} is not a type of parameters", "{} 不是参数的类型", shown(&text)), hint());
    }
    kind
}

fn choices(walk: &mut Walk, field: &Field<'_>) -> Vec<Param> {
    let items = walk.list(field, ("write a list such as `[adam, sgd]`", "请写成 `[adam, sgd]` 这样的列表")).unwrap_or_default();
    items.iter().filter_map(|it| read_param(walk, it)).collect()
}

fn needs(walk: &mut Walk, field: &Field<'_>) -> Option<Needs> {
    let keys = &mut walk.keys(
        field,
        field.node.place,
        ("write `tasks_max: 1` and the like under it", "请在它下面写 `tasks_max: 1` 这样的规则"),
    )?;
    let needs = Needs {
        accelerators: walk
            .optional(keys, "accelerators")
            .map(|it| texts(walk, &it, ("write a list such as `[none, A100]`", "请写成 `[none, A100]` 这样的列表"))),
        accelerators_max: walk.optional(keys, "accelerators_max").and_then(|it| count(walk, &it, 1)),
        tasks_max: walk.optional(keys, "tasks_max").and_then(|it| count(walk, &it, 1)),
    };
    walk.no_more(keys, &NOWHERE);
    Some(needs)
}
