//! `trainmaster show JOB --provenance`: what it was made of.

use model::{
    resources::Bytes,
    wire::{CodeProvenance, Provenance, PythonProvenance, TaskProvenance},
};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::{files, moment},
    style::{self, paint},
    terminal::plain,
};

pub async fn show(context: &Context, job: &str) -> Result<Exit, Failure> {
    let path = job_path(job, "/provenance");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let made: Provenance = context.get(&path).await?;
    output::text(&text(&made))?;
    Ok(Exit::Done)
}

fn text(made: &Provenance) -> String {
    let mut text = format!("{} was made of\n\n", paint(style::LOUD, &plain(&made.label)));
    for (key, value) in facts(made) {
        text.push_str(&format!("{key:<13}{}\n", plain(&value)));
    }
    if !made.not_recorded.is_empty() {
        text.push_str("\nnot recorded\n");
        made.not_recorded.iter().for_each(|it| text.push_str(&format!("{}: {}\n", plain(&it.what), plain(&it.why))));
    }
    text
}

fn facts(made: &Provenance) -> Vec<(&'static str, String)> {
    let mut facts =
        vec![("job file", made.file.as_ref().map_or_else(|| made.dialect.clone(), |file| format!("{file} ({})", made.dialect)))];
    facts.extend(made.rerun_of.iter().map(|it| ("rerun of", it.clone())));
    facts.extend(made.from.iter().map(|it| ("began with", it.clone())));
    facts.extend(made.algorithm.iter().map(|it| ("algorithm", it.clone())));
    facts.extend(made.framework.iter().map(|it| ("framework", it.clone())));
    facts.extend(made.code.iter().map(|it| ("code", code(it))));
    let params: Vec<String> = made.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    facts.extend((!params.is_empty()).then(|| ("params", params.join(" "))));
    facts.extend(made.setup.iter().map(|it| ("setup", it.clone())));
    facts.extend(made.inputs.iter().map(|it| ("input", format!("{} from {}: {}", it.path, it.from, content(&it.content)))));
    facts.extend(made.outputs.iter().map(|it| ("output", format!("{} to {}", it.path, it.to))));
    made.tasks.iter().for_each(|it| facts.extend(task(it)));
    made.python.iter().for_each(|it| facts.extend(python(it)));
    facts
}

fn code(code: &CodeProvenance) -> String {
    let commit = code.commit.as_ref().map(|it| format!("commit {it}"));
    let branch = code.branch.as_ref().map(|it| format!("of {it}"));
    let dirty = code.dirty.filter(|it| *it).map(|_| "with changes that are not in it".to_owned());
    let parts = [Some(code.source.clone()), commit, branch, dirty, code.content.as_ref().map(content)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn content(content: &model::provenance::Content) -> String {
    let newest = content.newest_ms.map_or(String::new(), |it| format!(", last changed {}", moment(it)));
    format!("{}, {}{newest}, {}", files(content.files), Bytes(content.bytes), content.fingerprint)
}

fn task(task: &TaskProvenance) -> Vec<(&'static str, String)> {
    let words = task.command.iter().chain(&task.arguments).cloned().collect::<Vec<_>>().join(" ");
    let mut facts = vec![
        ("command", format!("{words} ({} attempt {} on {})", task.task, task.attempt, task.node)),
        ("limits", task.limits.to_string()),
    ];
    facts.extend(task.env.iter().map(|(name, value)| ("env", format!("{name}={value}"))));
    facts
}

fn python(python: &PythonProvenance) -> Vec<(&'static str, String)> {
    let mut facts = vec![("python", format!("{} ({})", python.packages.python, python.fingerprint))];
    facts.extend(python.packages.packages.iter().map(|(name, version)| ("package", format!("{name}=={version}"))));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_one_file() {
        let held = serde_json::json!({"fingerprint": "ba5", "files": 1, "bytes": 2048});
        assert_eq!(content(&serde_json::from_value(held).unwrap()), "1 file, 2KiB, ba5");
    }

    #[test]
    fn everything_that_is_known_is_told_and_what_is_not_with_the_reason() {
        let made = serde_json::json!({"id": "x", "label": "digits@2", "dialect": "trainmaster", "file": "job.yaml", "rerun_of": "digits@1",
            "code": {"source": "upload 4f2a", "commit": "abc", "branch": "main", "dirty": true}, "params": {"lr": 0.1},
            "python": {"fingerprint": "f00", "python": "3.11.2", "packages": {"six": "1.17.0"}},
            "inputs": [{"path": "/input", "from": "data:mnist", "content": {"fingerprint": "ba5", "files": 3, "bytes": 2048}}],
            "outputs": [{"path": "/output", "to": "data:models"}],
            "tasks": [{"task": "main-0", "attempt": 1, "node": "node-1", "command": ["python", "t.py"], "arguments": ["--data=/input"],
                "env": {"SEED": "1", "KEY": "******"}, "limits": {"cpus_milli": 1000, "memory_bytes": 1073741824, "accelerators": {}}, "devices": {}}],
            "not_recorded": [{"what": "values of secrets", "why": "they are nobody's to see"}]});
        let told = text(&serde_json::from_value(made).unwrap());
        insta::assert_snapshot!(anstream::adapter::strip_str(&told).to_string(), @"
        digits@2 was made of

        job file     job.yaml (trainmaster)
        rerun of     digits@1
        code         upload 4f2a, commit abc, of main, with changes that are not in it
        params       lr=0.1
        input        /input from data:mnist: 3 files, 2KiB, ba5
        output       /output to data:models
        command      python t.py --data=/input (main-0 attempt 1 on node-1)
        limits       1 CPU, 1GiB
        env          KEY=******
        env          SEED=1
        python       3.11.2 (f00)
        package      six==1.17.0

        not recorded
        values of secrets: they are nobody's to see
        ");
    }
}
