//! `trainmaster lineage JOB`: what went into a job and what its results went into, as a tree.

use std::collections::BTreeSet;

use model::wire::{Lineage, LineageEdge, LineageKind, LineageNode};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::verb,
    style::{self, paint},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct LineageArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
}

pub async fn lineage(context: &Context, args: &LineageArgs) -> Result<Exit, Failure> {
    let path = job_path(&args.job, "/lineage");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let told: Lineage = context.get(&path).await?;
    output::text(&tree(&told))?;
    Ok(Exit::Done)
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Back,
    Forward,
}

impl Way {
    fn here(self, edge: &LineageEdge) -> &str {
        match self {
            Way::Back => &edge.to,
            Way::Forward => &edge.from,
        }
    }

    fn there(self, edge: &LineageEdge) -> &str {
        match self {
            Way::Back => &edge.from,
            Way::Forward => &edge.to,
        }
    }
}

fn tree(told: &Lineage) -> String {
    let own = told.nodes.iter().find(|it| it.id == told.job);
    let state =
        own.and_then(|it| it.state).map_or(String::new(), |state| format!(" {} {}", verb(state), paint(style::job(state), state.text())));
    let mut text = format!("{}{state}\n", paint(style::LOUD, &plain(own.map_or(&told.job, |it| &it.label))));
    for (way, head) in [(Way::Back, "made of"), (Way::Forward, "went into")] {
        let mut seen = BTreeSet::from([told.job.as_str()]);
        let branches = branches(told, way, &told.job, "", &mut seen);
        let branches = if branches.is_empty() { "└─ nothing that is known\n".to_owned() } else { branches };
        text.push_str(&format!("\n{head}\n{branches}"));
    }
    text
}

fn branches<'a>(told: &'a Lineage, way: Way, here: &str, indent: &str, seen: &mut BTreeSet<&'a str>) -> String {
    let edges: Vec<&LineageEdge> = told.edges.iter().filter(|edge| way.here(edge) == here).collect();
    let mut text = String::new();
    for (at, edge) in edges.iter().enumerate() {
        let Some(node) = told.nodes.iter().find(|it| it.id == way.there(edge)) else { continue };
        let (branch, below) = if at + 1 == edges.len() { ("└─", "   ") } else { ("├─", "│  ") };
        text.push_str(&format!("{indent}{branch} {}\n", leaf(node, &edge.how, way)));
        if seen.insert(&node.id) {
            text.push_str(&branches(told, way, &node.id, &format!("{indent}{below}"), seen));
        }
    }
    text
}

fn leaf(node: &LineageNode, how: &str, way: Way) -> String {
    let how = match (way, node.kind) {
        (Way::Forward, LineageKind::Job) if how == "input" => "input of",
        (Way::Forward, LineageKind::Job) if how.starts_with("output") => "its output began",
        (Way::Forward, LineageKind::Job) => "was rerun as",
        (Way::Back, LineageKind::Job) if how == "output" => "written by",
        (Way::Back | Way::Forward, _) => how,
    };
    let label = if node.kind == LineageKind::Job { paint(style::LOUD, &plain(&node.label)) } else { plain(&node.label) };
    let state = node.state.map_or(String::new(), |state| format!(" {}", paint(style::job(state), state.text())));
    // Of a job the state says enough, and of other things the print tells one from the next.
    let print = node.fingerprint.as_ref().filter(|_| node.detail.is_empty()).map(|it| it.chars().take(12).collect::<String>());
    let detail =
        Some(node.detail.clone()).filter(|it| !it.is_empty() && node.kind != LineageKind::Job || node.state.is_none() && !it.is_empty());
    let more = detail.or(print).map_or(String::new(), |it| format!("  {}", paint(style::QUIET, &plain(&it))));
    format!("{how}: {label}{state}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lineage_is_a_tree_both_ways_and_a_circle_has_an_end() {
        let node = |id: &str, kind: &str, label: &str, detail: &str| {
            let state = if kind == "job" { serde_json::json!("succeeded") } else { serde_json::Value::Null };
            serde_json::json!({"id": id, "kind": kind, "label": label, "detail": detail, "state": state})
        };
        let edge = |from: &str, to: &str, how: &str| serde_json::json!({"from": from, "to": to, "how": how});
        let told = serde_json::json!({"job": "j", "nodes": [
            node("j", "job", "digits@3", ""), node("c", "code", "upload 4f2a", "commit abc"), node("d", "data", "data:mnist", "3 files"),
            node("p", "job", "prep@1", "all good"), node("f", "job", "digits@2", ""), node("o", "output", "data:models/digits/3", ""),
            node("e", "job", "eval@1", ""), node("r", "job", "digits@4", "")],
            "edges": [edge("c", "j", "code"), edge("d", "j", "/input"), edge("p", "d", "output"), edge("f", "j", "output it began with"),
            edge("j", "f", "job it is a rerun of"), edge("j", "o", "output"), edge("o", "e", "input"), edge("j", "r", "output it began with")]});
        let text = tree(&serde_json::from_value(told).unwrap());
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @"
        digits@3 has succeeded

        made of
        ├─ code: upload 4f2a  commit abc
        ├─ /input: data:mnist  3 files
        │  └─ written by: prep@1 succeeded
        └─ output it began with: digits@2 succeeded
           └─ job it is a rerun of: digits@3 succeeded

        went into
        ├─ was rerun as: digits@2 succeeded
        │  └─ its output began: digits@3 succeeded
        ├─ output: data:models/digits/3
        │  └─ input of: eval@1 succeeded
        └─ its output began: digits@4 succeeded
        ");
    }
}
