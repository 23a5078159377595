//! The plan as text, for `trainmaster submit --dry-run`.

use std::{borrow::Cow, fmt};

use super::{CompletionPlan, Plan, PortPlan, Retries, RolePlan, SecretPlan};
use crate::{
    order::SECRETS,
    rendezvous::{Extra, extra_ports},
    resources::{Bytes, show_duration_ms},
    spec::harmless,
    template,
};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} in {}", self.name, counted(self.task_count(), "task"), counted(self.roles.len() as u32, "role"))?;
        for line in self.description.lines() {
            writeln!(f, "  {line}")?;
        }
        for (label, value) in self.facts() {
            writeln!(f, "  {label:<13} {value}")?;
        }
        self.roles.iter().try_for_each(|role| self.write_role(f, role))
    }
}

impl Plan {
    fn facts(&self) -> Vec<(Cow<'static, str>, String)> {
        let mut facts: Vec<(Cow<'static, str>, String)> = Vec::new();
        if !self.tags.is_empty() {
            facts.push(("tags".into(), self.tags.join(", ")));
        }
        facts.push(("priority".into(), self.priority.to_string()));
        facts.push(("retries".into(), self.retries.to_string()));
        facts.push(("max duration".into(), self.max_duration_ms.map_or("none".into(), show_duration_ms)));
        facts.push(("stop grace".into(), show_duration_ms(self.stop_grace_ms)));
        if !self.gang {
            facts.push(("gang".into(), "no: tasks start as they fit".into()));
        }
        facts.extend(self.keep_failed_ms.map(|ms| ("keep failed".into(), show_duration_ms(ms))));
        facts.extend(self.framework.as_ref().map(|it| ("framework".into(), it.to_string())));
        facts.extend(self.algorithm.as_ref().map(|it| ("algorithm".into(), it.to_string())));
        facts.extend(self.params.iter().map(|(name, value)| ("param".into(), format!("{name}={}", harmless(&value.to_string())))));
        facts.extend(self.secrets.iter().map(|(name, plan)| ("secret".into(), secret(name, plan))));
        facts.extend(self.code.as_ref().map(|code| ("/code".into(), harmless(&code.to_string()))));
        facts.extend(self.freight.inputs.iter().map(|it| (it.path().into(), harmless(&it.from.to_string()))));
        facts.extend(self.freight.outputs.iter().map(|it| (it.path().into(), format!("to {}", harmless(&it.to.to_string())))));
        facts.extend(self.freight.logs.as_ref().map(|at| ("logs".into(), format!("to {}", harmless(&at.to_string())))));
        facts.extend(self.freight.from.as_ref().map(|it| ("begins with".into(), harmless(&it.to_string()))));
        facts.extend(self.metrics.off.then(|| ("metrics".into(), "not looked for".into())));
        facts.extend(self.metrics.rules.iter().map(|rule| ("metrics rule".into(), harmless(rule))));
        facts.extend(self.setup.as_ref().map(|line| ("setup".into(), harmless(line))));
        facts
    }

    fn write_role(&self, f: &mut fmt::Formatter<'_>, role: &RolePlan) -> fmt::Result {
        let shared = Bytes(role.shared_memory_bytes);
        let disk = role.disk_bytes.map_or(String::new(), |bytes| format!(", {} on disk", Bytes(bytes)));
        writeln!(f, "  {}: {} × ({}, {shared} shared memory{disk})", role.name, role.tasks, role.resources)?;
        writeln!(f, "    command     {}", command(&role.command))?;
        if let Some(image) = &role.image {
            writeln!(f, "    image       {}", harmless(image))?;
        }
        if role.task_retries > 0 {
            writeln!(f, "    retries     {} for each task", role.task_retries)?;
        }
        for (label, plan) in &role.ports {
            writeln!(f, "    ports       {label} × {plan}")?;
        }
        for extra in extra_ports(self, role) {
            match extra {
                Extra::EveryTask(label) => writeln!(f, "    ports       {label} × 1, so that peers find each other")?,
                Extra::FirstTask(label) => writeln!(f, "    ports       {label} × 1 of {}-0, so that peers find each other", role.name)?,
            }
        }
        for (name, value) in &role.env {
            writeln!(f, "    env         {name}={}", harmless(&template::shown(value)))?;
        }
        writeln!(f, "    completion  {}", role.completion)
    }
}

impl fmt::Display for PortPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        self.from.map_or(Ok(()), |from| write!(f, " from {from}"))
    }
}

impl fmt::Display for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retries::UpTo(count) => write!(f, "{count}"),
            Retries::Always => write!(f, "always"),
            Retries::Forever => write!(f, "forever"),
        }
    }
}

impl fmt::Display for CompletionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min_failed {
            Some(least) => write!(f, "fails with {}", counted(least, "failed task"))?,
            None => write!(f, "never fails by its tasks")?,
        }
        if let Some(least) = self.min_succeeded {
            write!(f, "; succeeds with {}", counted(least, "succeeded task"))?;
        }
        if self.waited_for { Ok(()) } else { write!(f, "; the job does not wait for it") }
    }
}

/// Its name, where it is kept, and where tasks find it.
fn secret(name: &str, plan: &SecretPlan) -> String {
    let kept = plan.named.as_ref().map(|kept| format!(", kept as {kept}")).unwrap_or_default();
    let file = if plan.file { format!(", in {SECRETS}/{name}") } else { String::new() };
    format!("{name}{kept}{file}")
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// As one would type it, with further lines under the first.
fn command(words: &[String]) -> String {
    typed(words).replace('\n', "\n                ")
}

/// As one would type it: words with anything special in them stand in quotes.
pub(super) fn typed(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
