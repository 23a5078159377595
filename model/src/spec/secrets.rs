//! Secrets are taken and never given back: whoever reads a spec again sees that there is one, not what it is.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    JobSpec, Problem, join,
    read::{OF_NOTHING_ELSE, truth},
    walk::{Field, Walk, is_null},
};
use crate::{located::Value, plan::SecretPlan, said, secret::SecretValues, words::Said};

/// What stands for a secret where it must not be shown.
pub const MASK: &str = "******";

/// One secret of a job.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Secret {
    Value(String),
    Said(SaidSecret),
}

/// A secret with more to say about it: either its value, or the name by which its owner keeps it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidSecret {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// Whether tasks find it in a file of `/secrets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<bool>,
}

impl Secret {
    fn value_mut(&mut self) -> Option<&mut String> {
        match self {
            Secret::Value(value) => Some(value),
            Secret::Said(said) => said.value.as_mut(),
        }
    }

    /// What it is, if it stands here.
    pub fn value(&self) -> Option<&str> {
        match self {
            Secret::Value(value) => Some(value),
            Secret::Said(said) => said.value.as_deref(),
        }
    }

    /// Where it is, and where it goes.
    pub fn plan(&self) -> SecretPlan {
        match self {
            Secret::Value(_) => SecretPlan::default(),
            Secret::Said(said) => SecretPlan { named: said.named.clone(), file: said.file.unwrap_or(false) },
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({:?})", self.plan())
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Secret::Value(value)
    }
}

impl JobSpec {
    /// Takes the secrets that stand in it, and leaves a mask for each.
    pub fn take_secrets(&mut self) -> SecretValues {
        let take = |(name, secret): (&String, &mut Secret)| {
            let value = secret.value_mut()?;
            Some((name.clone(), std::mem::replace(value, MASK.into())))
        };
        SecretValues(self.secrets.iter_mut().filter_map(take).collect())
    }
}

/// Hides every secret of a spec in its JSON form.
pub fn mask(spec: &mut Json) {
    let secrets = spec.get_mut("secrets").and_then(Json::as_object_mut);
    for secret in secrets.into_iter().flat_map(|secrets| secrets.values_mut()) {
        match secret {
            Json::Object(said) => drop(said.get_mut("value").map(|value| *value = MASK.into())),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => *secret = MASK.into(),
        }
    }
}

/// Puts the secrets of the job that a spec was read from back in where they are hidden.
pub fn fill_masked(spec: &mut JobSpec, kept: &SecretValues) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    let masked = spec.secrets.iter_mut().filter_map(|(name, secret)| Some((name, secret.value_mut().filter(|value| *value == MASK)?)));
    for (name, value) in masked {
        match kept.0.get(name).filter(|value| *value != MASK) {
            Some(secret) => *value = secret.clone(),
            None => problems.push(unknown(name)),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn unknown(name: &str) -> Problem {
    let hint = (
        "write the secret itself, or submit with `from` and the job that has it, as `trainmaster rerun` does",
        "请写出密钥本身；或像 `trainmaster rerun` 那样，用 `from` 指明保存着它的作业再提交",
    );
    Problem::new(
        join("secrets", name),
        said!("is `{MASK}`, which stands for a secret and is none", "写的是 `{MASK}`，它只是密钥的遮挡，不是密钥本身"),
    )
    .hint(hint)
}

const HINT: Said = (
    "write the secret itself, `{named: NAME}` for one that you keep, or `{value: …, file: true}`",
    "请写出密钥本身；已保存的密钥写 `{named: NAME}`；要放进文件写 `{value: …, file: true}`",
);

pub(super) fn all(walk: &mut Walk, field: &Field<'_>) -> BTreeMap<String, Secret> {
    let named = walk.open_map(field, ("write `NAME: value` pairs", "请写成一组 `NAME: value`"));
    named.into_iter().filter_map(|(name, field, _)| Some((name.to_owned(), one(walk, &field)?))).collect()
}

fn one(walk: &mut Walk, field: &Field<'_>) -> Option<Secret> {
    if !matches!(field.node.value, Value::Map(_)) {
        let hint = if is_null(field.node) { ("write \"\" for an empty value", "空值请写 \"\"") } else { HINT };
        // A name that is used elsewhere is not missing too.
        return Some(Secret::Value(walk.word(field, hint).unwrap_or_default()));
    }
    let keys = &mut walk.keys(field, field.node.place, HINT)?;
    let value = walk.optional(keys, "value").and_then(|it| walk.word(&it, HINT));
    let named = walk
        .optional(keys, "named")
        .and_then(|it| walk.text(&it, ("write the name of a secret that you keep", "请写一个你已保存的密钥的名字")));
    let file = walk.optional(keys, "file").and_then(|it| truth(walk, &it));
    walk.no_more(keys, &OF_NOTHING_ELSE);
    if value.is_some() == named.is_some() {
        walk.tell(field, ("must have one of `value` and `named`", "`value` 和 `named` 要写且只能写一个"), HINT);
    }
    Some(Secret::Said(SaidSecret { value, named, file }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::read;

    fn spec(secrets: &str) -> JobSpec {
        read(&format!("{{name: a, secrets: {secrets}, roles: {{w: {{command: x}}}}}}")).unwrap()
    }

    fn kept(value: &str) -> SecretValues {
        SecretValues(BTreeMap::from([("key".to_owned(), value.to_owned())]))
    }

    #[test]
    fn a_hidden_spec_has_the_names_and_nothing_else() {
        let mut value =
            json!({"name": "a", "secrets": {"key": "s3cret", "other": 5, "f": {"value": "x", "file": true}, "n": {"named": "n"}}});
        mask(&mut value);
        let hidden = json!({"key": MASK, "other": MASK, "f": {"value": MASK, "file": true}, "n": {"named": "n"}});
        assert_eq!(value, json!({"name": "a", "secrets": hidden}));
        let mut none = json!({"name": "a"});
        mask(&mut none);
        assert_eq!(none, json!({"name": "a"}));
    }

    #[test]
    fn what_is_taken_leaves_a_mask_and_shows_nothing() {
        let mut taken = spec("{key: s3cret, f: {value: s3cret, file: true}, n: {named: wandb}}");
        assert!(!format!("{taken:?}").contains("s3cret"));
        let values = taken.take_secrets();
        assert_eq!(values.0.keys().collect::<Vec<_>>(), ["f", "key"]);
        assert_eq!((values.0["key"].as_str(), format!("{values:?}").as_str()), ("s3cret", r#"{"f", "key"}"#));
        assert_eq!(taken, spec("{key: '******', f: {value: '******', file: true}, n: {named: wandb}}"));
        assert_eq!(taken.secrets["n"].plan(), SecretPlan { named: Some("wandb".into()), file: false });
    }

    #[test]
    fn what_is_hidden_comes_back_from_the_job_it_was_read_from() {
        for (hidden, shown) in [("{key: '******'}", "{key: s3cret}"), ("{key: {value: '******'}}", "{key: {value: s3cret}}")] {
            let mut hidden = spec(hidden);
            assert_eq!(fill_masked(&mut hidden, &kept("s3cret")), Ok(()));
            assert_eq!(hidden, spec(shown));
        }
        let mut new = spec("{key: new}");
        assert_eq!(fill_masked(&mut new, &kept("s3cret")), Ok(()));
        assert_eq!(new, spec("{key: new}"));
        let problems = fill_masked(&mut spec("{key: '******'}"), &SecretValues::default()).unwrap_err();
        assert!(problems[0].to_string().starts_with("secrets.key: is `******`, which stands for a secret"), "{}", problems[0]);
    }
}
