//! `trainmaster lineage JOB`: what went into a job and what its results went into, as a tree.

use std::collections::BTreeSet;

use model::{
    wire::{Lineage, LineageEdge, LineageKind, LineageNode},
    words::{Lang, Words},
};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    language::LangArgs,
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
    #[command(flatten)]
    pub language: LangArgs,
}

pub async fn lineage(context: &Context, args: &LineageArgs) -> Result<Exit, Failure> {
    let path = job_path(&args.job, "/lineage");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let told: Lineage = context.get(&path).await?;
    output::text(&tree(&told, args.language.lang()))?;
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

fn tree(told: &Lineage, lang: Lang) -> String {
    let own = told.nodes.iter().find(|it| it.id == told.job);
    let state = own.and_then(|it| it.state).map_or(String::new(), |state| {
        let words = paint(style::job(state), state.words().say(lang));
        if lang == Lang::Zh { format!(" {words}") } else { format!(" {} {words}", verb(state)) }
    });
    let mut text = format!("{}{state}\n", paint(style::LOUD, &plain(own.map_or(&told.job, |it| &it.label))));
    let nothing = Words::new("└─ nothing that is known\n", "└─ 没有记录\n");
    for (way, head) in [(Way::Back, Words::new("made of", "从哪里来")), (Way::Forward, Words::new("went into", "到哪里去"))] {
        let mut seen = BTreeSet::from([told.job.as_str()]);
        let branches = branches((told, lang), way, &told.job, "", &mut seen);
        let branches = if branches.is_empty() { nothing.say(lang) } else { &branches };
        text.push_str(&format!("\n{}\n{branches}", head.say(lang)));
    }
    text
}

fn branches<'a>((told, lang): (&'a Lineage, Lang), way: Way, here: &str, indent: &str, seen: &mut BTreeSet<&'a str>) -> String {
    let edges: Vec<&LineageEdge> = told.edges.iter().filter(|edge| way.here(edge) == here).collect();
    let mut text = String::new();
    for (at, edge) in edges.iter().enumerate() {
        let Some(node) = told.nodes.iter().find(|it| it.id == way.there(edge)) else { continue };
        let (branch, below) = if at + 1 == edges.len() { ("└─", "   ") } else { ("├─", "│  ") };
        text.push_str(&format!("{indent}{branch} {}\n", leaf(node, &edge.how, way, lang)));
        if seen.insert(&node.id) {
            text.push_str(&branches((told, lang), way, &node.id, &format!("{indent}{below}"), seen));
        }
    }
    text
}

/// What the thing is to the one that it hangs on.
fn relation(kind: LineageKind, how: &str, way: Way) -> Words {
    match (way, kind, how) {
        (Way::Forward, LineageKind::Job, "input") => Words::new("input of", "作为输入给"),
        (Way::Forward, LineageKind::Job, how) if how.starts_with("output") => Words::new("its output began", "输出接续给"),
        (Way::Forward, LineageKind::Job, _) => Words::new("was rerun as", "被再次运行为"),
        (Way::Back, LineageKind::Job, "output") => Words::new("written by", "写入者"),
        (Way::Forward, _, "output") => Words::new(how, "输出到"),
        (_, _, "code") => Words::new(how, "代码"),
        (_, _, "environment") => Words::new(how, "运行环境"),
        (_, _, "output it began with") => Words::new(how, "输出的起点"),
        (_, _, "job it is a rerun of") => Words::new(how, "再次运行自"),
        (_, _, how) => how.into(),
    }
}

fn leaf(node: &LineageNode, how: &str, way: Way, lang: Lang) -> String {
    let say = |en: &String, zh: &String| Words::new(en.as_str(), zh.as_str()).say(lang).to_owned();
    let (label, detail) = (plain(&say(&node.label, &node.label_zh)), say(&node.detail, &node.detail_zh));
    let label = if node.kind == LineageKind::Job { paint(style::LOUD, &label) } else { label };
    let state = node.state.map_or(String::new(), |state| format!(" {}", paint(style::job(state), state.words().say(lang))));
    // Of a job the state says enough, and of other things the print tells one from the next.
    let print = node.fingerprint.as_ref().filter(|_| node.detail.is_empty()).map(|it| it.chars().take(12).collect::<String>());
    let detail = Some(detail).filter(|it| !it.is_empty() && (node.kind != LineageKind::Job || node.state.is_none()));
    let more = detail.or(print).map_or(String::new(), |it| format!("  {}", paint(style::QUIET, &plain(&it))));
    let colon = Words::new(": ", "：");
    format!("{}{}{label}{state}{more}", relation(node.kind, how, way).say(lang), colon.say(lang))
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
        let text = tree(&serde_json::from_value(told).unwrap(), Lang::En);
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

    #[test]
    fn a_lineage_is_told_in_chinese() {
        let told = serde_json::json!({"job": "j", "nodes": [
            {"id": "j", "kind": "job", "label": "digits@3", "state": "succeeded"},
            {"id": "c", "kind": "code", "label": "upload 4f2a", "label_zh": "上传 4f2a", "detail": "3 files", "detail_zh": "3 个文件"}],
            "edges": [{"from": "c", "to": "j", "how": "code"}]});
        let text = tree(&serde_json::from_value(told).unwrap(), Lang::Zh);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @"
        digits@3 完成

        从哪里来
        └─ 代码：上传 4f2a  3 个文件

        到哪里去
        └─ 没有记录
        ");
    }
}
