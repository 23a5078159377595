//! `trainmaster doctor`: what this machine can do for tasks, and whether a server answers.

use model::wire::About;
use serde::Serialize;

use super::{
    context::Context,
    failure::{Exit, Failure},
    output,
    style::{self, paint},
    terminal::plain,
};
use crate::engine::local;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A machine that can do less is still a machine that works, so this is never a failure.
pub async fn doctor(context: &Context) -> Result<Exit, Failure> {
    let mut checks = machine(&context.data_dir());
    checks.push(server(context).await);
    if context.json {
        output::json(&checks)?;
    } else {
        output::text(&checks_text(&checks))?;
    }
    Ok(Exit::Done)
}

fn machine(data: &std::path::Path) -> Vec<Check> {
    let check = |it: local::Check| Check { name: it.name.into(), ok: it.ok, what: it.what, hint: it.hint };
    let exe = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    local::doctor(data, &exe).into_iter().map(check).collect()
}

async fn server(context: &Context) -> Check {
    let check = |ok, what: String, hint| Check { name: "server".into(), ok, what, hint };
    let url = match context.find() {
        Ok(found) => found.client.url(),
        Err(failure) => return check(false, failure.body.message, failure.body.hint),
    };
    match context.get::<About>("/api/v1/about").await {
        Ok(about) => {
            with_about(check(true, format!("{url} answers to {} ({}), version {}", about.user, about.role, about.version), None), &about)
        }
        Err(failure) => check(false, failure.body.message, failure.body.hint),
    }
}

fn with_about(check: Check, about: &About) -> Check {
    if !about.quarantined.is_empty() {
        let what =
            format!("{}; it set aside {} rows it could not read: {}", check.what, about.quarantined.len(), about.quarantined.join(", "));
        return Check {
            ok: false,
            what,
            hint: Some(
                "they changed nothing else; keep a copy of the data directory and report them. `trainmaster lost` shows and ends runs among them"
                    .into(),
            ),
            ..check
        };
    }
    if about.version != env!("CARGO_PKG_VERSION") {
        let what = format!("{}, while this program is {}", check.what, env!("CARGO_PKG_VERSION"));
        return Check { what, hint: Some("use the same version on both sides".into()), ..check };
    }
    check
}

fn checks_text(checks: &[Check]) -> String {
    let widest = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let mark = if check.ok { paint(style::GOOD, "ok     ") } else { paint(style::WAITS, "missing") };
        text.push_str(&format!("{mark}  {:<widest$}  {}\n", plain(&check.name), plain(&check.what)));
        if let Some(hint) = &check.hint {
            text.push_str(&format!("{}hint: {}\n", " ".repeat(widest + 11), plain(hint)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, ok: bool, what: &str, hint: Option<&str>) -> Check {
        Check { name: name.into(), ok, what: what.into(), hint: hint.map(Into::into) }
    }

    #[test]
    fn what_is_missing_comes_with_what_to_do() {
        let checks = [
            check("cgroup", true, "version 2, with cpu, memory and pids", None),
            check("user namespaces", false, "the kernel refuses them", Some("sysctl kernel.unprivileged_userns_clone=1")),
        ];
        insta::assert_snapshot!(anstream::adapter::strip_str(&checks_text(&checks)).to_string(), @"
        ok       cgroup           version 2, with cpu, memory and pids
        missing  user namespaces  the kernel refuses them
                                  hint: sysctl kernel.unprivileged_userns_clone=1
        ");
    }

    #[test]
    fn rows_that_were_set_aside_and_other_versions_are_told() {
        let about = |version: &str, quarantined: &[&str]| About {
            user: "admin".into(),
            role: "admin".into(),
            version: version.into(),
            quarantined: quarantined.iter().map(ToString::to_string).collect(),
            code: Default::default(),
        };
        let same = with_about(check("server", true, "x", None), &about(env!("CARGO_PKG_VERSION"), &[]));
        assert_eq!(same, check("server", true, "x", None));
        let other = with_about(check("server", true, "x", None), &about("0.0.0", &[]));
        assert!(other.what.starts_with("x, while this program is ") && other.hint.is_some());
        let odd = with_about(check("server", true, "x", None), &about("0.0.0", &["job-1"]));
        assert_eq!((odd.ok, odd.what.as_str()), (false, "x; it set aside 1 rows it could not read: job-1"));
    }
}
