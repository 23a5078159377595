//! `--set roles.worker.tasks=4`: one value of a spec, changed by its path.

use model::spec::Param;
use serde_json::{Map, Value};

use super::{failure::Failure, params::Assignment};

/// A path and the new value, as typed after `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    path: Vec<String>,
    value: Value,
    /// As it was typed.
    text: String,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text.split_once('=').ok_or("write it as key=value, such as roles.worker.tasks=4")?;
        let path = parse_path(path)?;
        let text = value.to_owned();
        let value = match is_text(&path) {
            true => text_or_list(value),
            false if is_param(&path) => param(value, Param::typed),
            false => scalar(value),
        };
        Ok(Self { path, value, text })
    }
}

impl Setting {
    /// Whether a problem at `path` of the spec is about what was set here.
    pub fn covers(&self, path: &str) -> bool {
        let plain = path.replace('[', ".").replace([']', '"'], "");
        let own = self.path.join(".");
        plain.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Takes out those that are no key of a spec and the name of one of its parameters: `lr=0.1` as `-p lr=0.1`.
pub fn without_params(settings: &[Setting], spec: &Value) -> (Vec<Setting>, Vec<Assignment>) {
    let keys = model::spec::schema();
    let param = |setting: &Setting| match setting.path.as_slice() {
        [name] if keys["properties"].get(name).is_none() && spec["params"].get(name).is_some() => {
            Some(Assignment { name: name.clone(), value: setting.text.clone() })
        }
        _ => None,
    };
    let (params, others): (Vec<&Setting>, Vec<&Setting>) = settings.iter().partition(|it| param(it).is_some());
    (others.into_iter().cloned().collect(), params.into_iter().filter_map(param).collect())
}

/// Applies the settings in their order.
pub fn apply(spec: &mut Value, settings: &[Setting]) -> Result<(), Failure> {
    let algorithm = settings.iter().rfind(|setting| setting.path == ["algorithm"]);
    let has_algorithm = algorithm.map_or(spec.get("algorithm").is_some(), |setting| !setting.value.is_null());
    for setting in settings {
        let value = match has_algorithm && is_param(&setting.path) {
            // Without the key it would be the algorithm's own value, and `-p` leaves the parameter out as well.
            true => Some(param(&setting.text, Param::as_typed)),
            false => Some(setting.value.clone()).filter(|value| !value.is_null()),
        };
        put(spec, &setting.path, value).map_err(|why| Failure::usage(format!("--set {}: {why}", setting.path.join("."))))?;
    }
    Ok(())
}

/// Splits at the dots; a part with dots of its own stands in double quotes.
fn parse_path(text: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(|| format!("`{text}` has a quote that is not closed"))?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if part.is_empty() {
            return Err(format!("`{text}` is not a path such as roles.worker.tasks"));
        }
        parts.push(part.to_owned());
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(parts),
            None => return Err(format!("`{text}` has something behind a quote; a dot belongs there")),
        }
    }
}

/// Whether the spec wants text here, so that `env.VERSION=1.10` stays as it was typed.
fn is_text(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        path.as_slice(),
        ["name" | "description" | "max_duration" | "stop_grace" | "keep_failed" | "framework" | "image" | "code" | "input" | "tags"]
            | ["env" | "secrets" | "tags", _]
            | ["roles", _, "command" | "image"]
            | ["roles", _, "env" | "command", _]
    )
}

fn is_param(path: &[String]) -> bool {
    path.len() == 2 && path[0] == "params"
}

fn param(text: &str, typed: fn(&str) -> Param) -> Value {
    if text == "null" { Value::Null } else { serde_json::to_value(typed(text)).unwrap_or_else(|_| text.into()) }
}

/// A list stays a list; everything else is taken as it was typed.
fn text_or_list(text: &str) -> Value {
    let list = || serde_json::from_str(text).ok().filter(Value::is_array);
    match text {
        "null" => Value::Null,
        text if text.starts_with('[') => list().unwrap_or_else(|| text.into()),
        text => text.into(),
    }
}

/// Numbers, booleans, `null`, lists and maps as JSON has them; everything else is text.
fn scalar(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Without a value, what is there is removed.
fn put(place: &mut Value, path: &[String], value: Option<Value>) -> Result<(), String> {
    let [part, rest @ ..] = path else {
        *place = value.unwrap_or_default();
        return Ok(());
    };
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    match place {
        Value::Object(map) if rest.is_empty() && value.is_none() => {
            map.remove(part);
            Ok(())
        }
        Value::Object(map) => put(map.entry(part.clone()).or_insert(Value::Null), rest, value),
        Value::Array(list) => put(list_item(list, part)?, rest, value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(format!("there is nothing inside {place} to set")),
    }
}

/// An item by its number from 0; the number after the last makes a new one.
fn list_item<'a>(list: &'a mut Vec<Value>, part: &str) -> Result<&'a mut Value, String> {
    let length = list.len();
    let index = part.parse().ok().filter(|index| *index <= length);
    let index: usize = index.ok_or_else(|| format!("`{part}` is not a number from 0 to {length}"))?;
    if index == length {
        list.push(Value::Null);
    }
    Ok(&mut list[index])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(settings: &[&str]) -> Result<Value, String> {
        let mut spec = json!({
            "name": "digits", "tags": ["a"],
            "roles": {"worker": {"command": ["python3", "train.py", "0.1"], "memory": "4GiB", "tasks": 2}},
        });
        let settings: Vec<Setting> = settings.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        apply(&mut spec, &settings).map_err(|failure| failure.body.message)?;
        Ok(spec)
    }

    #[test]
    fn a_value_is_set_by_its_path_and_has_the_type_it_looks_like() {
        let spec = set(&["roles.worker.tasks=4", "roles.worker.cpus=0.5", "roles.worker.memory=8GiB", "priority=-3"]).unwrap();
        assert_eq!(spec["roles"]["worker"]["tasks"], json!(4));
        assert_eq!(spec["roles"]["worker"]["cpus"], json!(0.5));
        assert_eq!(spec["roles"]["worker"]["memory"], json!("8GiB"));
        assert_eq!(spec["priority"], json!(-3));
    }

    #[test]
    fn what_the_spec_wants_as_text_stays_as_typed() {
        let spec = set(&["env.SEED=1.10", "name=42", "roles.worker.env.LR=1e-3", "roles.worker.command.2=0.20", "tags.1=true"]).unwrap();
        assert_eq!(spec["env"]["SEED"], json!("1.10"));
        assert_eq!(spec["name"], json!("42"));
        assert_eq!(spec["roles"]["worker"]["env"]["LR"], json!("1e-3"));
        assert_eq!(spec["roles"]["worker"]["command"], json!(["python3", "train.py", "0.20"]));
        assert_eq!(spec["tags"], json!(["a", "true"]));
    }

    #[test]
    fn a_parameter_has_the_type_it_has_in_a_file() {
        let spec = set(&["params.lr=.5", "params.steps=10", "params.on=true", "params.name=adam", "params.gone=null"]).unwrap();
        assert_eq!(spec["params"], json!({"lr": 0.5, "steps": 10, "on": true, "name": "adam"}));
        let of_algorithm = set(&["algorithm=mlp@1", "params.tag=1.10", "params.lr=0.1"]).unwrap();
        assert_eq!(of_algorithm["params"], json!({"tag": "1.10", "lr": 0.1}));
        assert_eq!(set(&["secrets.pin=0042"]).unwrap()["secrets"]["pin"], json!("0042"));
    }

    #[test]
    fn nothing_leaves_a_parameter_out_where_an_algorithm_has_a_value_for_it_and_removes_it_elsewhere() {
        let params = |settings: &[&str]| set(settings).unwrap().get("params").cloned();
        assert_eq!(params(&["algorithm=mlp@1", "params.augment=null"]), Some(json!({"augment": null})));
        assert_eq!(params(&["params.lr=1", "params.lr=null", "algorithm=mlp@1"]), Some(json!({"lr": null})));
        assert_eq!(params(&["params.lr=1", "params.lr=null"]), Some(json!({})));
        assert_eq!(params(&["algorithm=mlp@1", "algorithm=null", "params.lr=1", "params.lr=null"]), Some(json!({})));
        assert_eq!(params(&["algorithm=mlp@1", "params.a=1", "params=null"]), None);
        assert_eq!(set(&["algorithm=mlp@1", "params=3", "params.a=null"]).unwrap_err(), "--set params.a: there is nothing inside 3 to set");
    }

    #[test]
    fn lists_maps_and_nothing_can_be_set_too() {
        let spec = set(&["tags=[\"x\"]", "roles.worker.accelerators={\"A100\":2}", "roles.worker.memory=null", "env.A=x=y"]).unwrap();
        assert_eq!(spec["tags"], json!(["x"]));
        assert_eq!(spec["roles"]["worker"]["accelerators"], json!({"A100": 2}));
        assert_eq!(spec["roles"]["worker"].get("memory"), None);
        assert_eq!(spec["env"]["A"], json!("x=y"));
    }

    #[test]
    fn a_name_with_dots_stands_in_quotes() {
        assert_eq!(set(&["roles.\"a.b\".tasks=1"]).unwrap()["roles"]["a.b"]["tasks"], json!(1));
    }

    #[test]
    fn a_problem_of_a_value_that_was_set_is_known() {
        let setting: Setting = "roles.worker.command.2=x".parse().unwrap();
        assert!(setting.covers("roles.worker.command[2]"));
        assert!(!setting.covers("roles.worker.command"));
        assert!("env=3".parse::<Setting>().unwrap().covers("env.A"));
        assert!(!"env=3".parse::<Setting>().unwrap().covers("environment"));
        assert!("roles.\"a.b\".tasks=1".parse::<Setting>().unwrap().covers("roles.\"a.b\".tasks"));
    }

    #[test]
    fn a_path_that_leads_nowhere_says_why() {
        for (text, why) in [
            ("tasks", "write it as key=value, such as roles.worker.tasks=4"),
            ("=4", "`` is not a path such as roles.worker.tasks"),
            ("a..b=4", "`a..b` is not a path such as roles.worker.tasks"),
            ("roles.\"x=4", "`roles.\"x` has a quote that is not closed"),
            ("roles.\"x\"y=4", "`roles.\"x\"y` has something behind a quote; a dot belongs there"),
            ("name.x=4", "--set name.x: there is nothing inside \"digits\" to set"),
            ("tags.7=b", "--set tags.7: `7` is not a number from 0 to 1"),
        ] {
            assert_eq!(set(&[text]).unwrap_err(), why, "{text}");
        }
    }
}
