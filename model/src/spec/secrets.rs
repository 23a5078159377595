//! Secrets are taken and never given back: whoever reads a spec again sees that there is one, not what it is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{JobSpec, Problem, join};

/// What stands for a secret where it must not be shown.
pub const MASK: &str = "******";

/// Hides every secret of a spec in its JSON form.
pub fn mask(spec: &mut Value) {
    let secrets = spec.get_mut("secrets").and_then(Value::as_object_mut);
    secrets.into_iter().flat_map(|secrets| secrets.values_mut()).for_each(|value| *value = MASK.into());
}

/// Puts the secrets of the job that a spec was read from back in where they are hidden.
pub fn fill_masked(spec: &mut JobSpec, kept: &BTreeMap<String, String>) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, value) in spec.secrets.iter_mut().filter(|(_, value)| *value == MASK) {
        match kept.get(name).filter(|value| *value != MASK) {
            Some(secret) => *value = secret.clone(),
            None => problems.push(unknown(name)),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn unknown(name: &str) -> Problem {
    let hint = "write the secret itself, or submit with `from` and the job that has it, as `trainmaster rerun` does";
    Problem::new(join("secrets", name), format!("is `{MASK}`, which stands for a secret and is none")).hint(hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: &str) -> JobSpec {
        JobSpec { secrets: BTreeMap::from([("key".to_owned(), value.to_owned())]), ..JobSpec::default() }
    }

    #[test]
    fn a_hidden_spec_has_the_names_and_nothing_else() {
        let mut value = json!({"name": "a", "secrets": {"key": "s3cret", "other": 5}});
        mask(&mut value);
        assert_eq!(value, json!({"name": "a", "secrets": {"key": MASK, "other": MASK}}));
        let mut none = json!({"name": "a"});
        mask(&mut none);
        assert_eq!(none, json!({"name": "a"}));
    }

    #[test]
    fn what_is_hidden_comes_back_from_the_job_it_was_read_from() {
        let kept = BTreeMap::from([("key".to_owned(), "s3cret".to_owned())]);
        let mut hidden = spec(MASK);
        assert_eq!(fill_masked(&mut hidden, &kept), Ok(()));
        assert_eq!(hidden, spec("s3cret"));
        let mut new = spec("new");
        assert_eq!(fill_masked(&mut new, &kept), Ok(()));
        assert_eq!(new, spec("new"));
        let problems = fill_masked(&mut spec(MASK), &BTreeMap::new()).unwrap_err();
        assert!(problems[0].to_string().starts_with("secrets.key: is `******`, which stands for a secret"), "{}", problems[0]);
    }
}
