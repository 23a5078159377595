//! `trainmaster explain JOB`: why it is as it is, with the arithmetic; and why it failed, with the proof.

use model::{
    wire::{DiagnosisView, Explanation, FailureView},
    words::{Lang, Words},
};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    language::{LangArgs, spelled},
    nodes::nodes_table,
    output,
    people::verb,
    style::{self, paint},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    #[command(flatten)]
    pub language: LangArgs,
}

pub async fn explain(context: &Context, args: &ExplainArgs) -> Result<Exit, Failure> {
    let lang = args.language.lang();
    let explanation: Explanation = context.get(&job_path(&args.job, &format!("/explain?lang={}", spelled(lang)))).await?;
    if context.json {
        output::json(&explanation)?;
    } else {
        output::text(&explanation_text(&explanation, lang, output::width()))?;
    }
    Ok(Exit::Done)
}

fn explanation_text(it: &Explanation, lang: Lang, width: Option<usize>) -> String {
    let say = |en: &str, zh: &str| Words::new(en, zh).say(lang).to_owned();
    let mut text = headline(it, lang);
    text.push_str(&about_failure(it, lang));
    // What it would need matters to a job that waits for it.
    if !it.state.is_over() && !it.needs.is_empty() {
        text.push_str(&say("\nIt needs\n", "\n它需要\n"));
        for need in &it.needs {
            text.push_str(&format!("  {} × {}{}{}\n", need.tasks, plain(&need.role), say(", each ", "，每个 "), need.each));
        }
    }
    if !it.state.is_over() && !it.nodes.is_empty() {
        text.push_str(&say("\nThere is\n", "\n现有\n"));
        text.push_str(&nodes_table(&it.nodes).render(width, "HELD BY"));
    }
    if !it.before.is_empty() {
        text.push_str(&format!("\n{}{}\n", say("Before it: ", "排在前面："), plain(&it.before.join(", "))));
    }
    if !it.next_step.is_empty() {
        text.push_str(&format!("\n{}\n", plain(&it.next_step)));
    }
    text
}

fn headline(it: &Explanation, lang: Lang) -> String {
    let (job, state) = (paint(style::LOUD, &plain(&it.job)), it.state.words());
    let state = paint(style::job(it.state), state.say(lang));
    match lang {
        Lang::En => format!("{job} {} {state}: {}\n", verb(it.state), plain(&it.reason)),
        Lang::Zh => format!("{job} {state}：{}\n", plain(&it.reason)),
    }
}

fn about_failure(it: &Explanation, lang: Lang) -> String {
    let Some(failure) = &it.failure else { return String::new() };
    let say = |en: &str, zh: &str| Words::new(en, zh).say(lang).to_owned();
    let mut text = format!("\n{}\n", say("First to fail", "最先失败的任务"));
    text.push_str(&one_failure(failure, lang));
    if let Some(diagnosis) = &failure.diagnosis {
        for line in diagnosis.evidence.iter().filter(|line| !failure.ending.contains(line.as_str())) {
            text.push_str(&format!("    {}\n", paint(style::QUIET, &plain(line))));
        }
    }
    let shown = failure.traceback.as_deref().unwrap_or(&failure.tail);
    if !shown.is_empty() {
        text.push('\n');
        shown.lines().for_each(|line| text.push_str(&format!("    {}\n", plain(line))));
    }
    if !it.others.is_empty() {
        text.push_str(&format!("\n{}\n", say("Failed after it", "之后失败的任务")));
        it.others.iter().for_each(|other| text.push_str(&one_failure(other, lang)));
    }
    for line in [&it.consequence, &it.rule].into_iter().filter(|line| !line.is_empty()) {
        text.push_str(&format!("\n{}\n", plain(line)));
    }
    text
}

/// `  worker-0  exited with code 1 after 2s: the Python module …  [python-module-missing]`.
fn one_failure(it: &FailureView, lang: Lang) -> String {
    let colon = Words::new(": ", "：");
    let beyond = |found: &DiagnosisView| match beyond(&found.sentence, &it.ending) {
        "" => String::new(),
        more => format!("{}{}", colon.say(lang), plain(more)),
    };
    let found = |found: &DiagnosisView| format!("{}  [{}]", beyond(found), plain(&found.id));
    let found = it.diagnosis.as_ref().map_or(String::new(), found);
    format!("  {}  {}{found}\n", paint(style::task(it.state), &plain(&it.task)), plain(&it.ending))
}

/// A sentence without what the ending has told just before it.
fn beyond<'a>(sentence: &'a str, ending: &str) -> &'a str {
    let why = ending.split_once([':', '：']).map(|(_, why)| why.trim()).filter(|why| !why.is_empty());
    why.and_then(|why| sentence.strip_suffix(why)).map_or(sentence, |rest| rest.trim_end_matches([' ', ':', '：']))
}

#[cfg(test)]
mod tests {
    use model::{diagnose::RetryClass, job::JobState, task::TaskState, wire::Need};

    use super::*;
    use crate::cli::fake::amount;

    fn explanation(state: JobState, reason: &str) -> Explanation {
        Explanation {
            job: "bert@1".into(),
            state,
            reason: reason.into(),
            needs: Vec::new(),
            nodes: Vec::new(),
            before: Vec::new(),
            next_step: String::new(),
            failure: None,
            others: Vec::new(),
            consequence: String::new(),
            rule: String::new(),
        }
    }

    fn shown(it: &Explanation, lang: Lang) -> String {
        anstream::adapter::strip_str(&explanation_text(it, lang, None)).to_string()
    }

    #[test]
    fn a_wait_is_explained_with_its_arithmetic() {
        let it = Explanation {
            needs: vec![Need { role: "worker".into(), tasks: 2, each: amount(4, 8, &[("A100", 1)]) }],
            before: vec!["digits@3".into(), "big@1".into()],
            next_step: "wait until digits@3 ends, or ask for less".into(),
            ..explanation(JobState::Queued, "needs 4 CPU on one node; the most free is 1")
        };
        insta::assert_snapshot!(shown(&it, Lang::En), @"
        bert@1 is queued: needs 4 CPU on one node; the most free is 1

        It needs
          2 × worker, each 4 CPU, 8GiB, 1 × A100

        Before it: digits@3, big@1

        wait until digits@3 ends, or ask for less
        ");
    }

    #[test]
    fn a_failure_is_explained_with_its_proof() {
        let failure = FailureView {
            task: "worker-1".into(),
            attempt: 1,
            state: TaskState::Failed,
            ending: "exited with code 1 after 2s".into(),
            diagnosis: Some(DiagnosisView {
                id: "python-module-missing".into(),
                title: "a Python module is not installed".into(),
                sentence: "the Python module `numpy` is not installed where the task runs".into(),
                advice: "put it into requirements.txt".into(),
                evidence: vec!["ModuleNotFoundError: No module named 'numpy'".into()],
                retry: RetryClass::Never,
            }),
            traceback: Some(
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module named 'numpy'".into(),
            ),
            tail: String::new(),
        };
        let it = Explanation {
            failure: Some(failure),
            consequence: "1 other task was stopped because of it".into(),
            rule: "a retry would end the same way".into(),
            next_step: "put it into requirements.txt".into(),
            ..explanation(JobState::Failed, "worker-1 exited with code 1")
        };
        insta::assert_snapshot!(shown(&it, Lang::Zh), @r#"
        bert@1 错误：worker-1 exited with code 1

        最先失败的任务
          worker-1  exited with code 1 after 2s：the Python module `numpy` is not installed where the task runs  [python-module-missing]
            ModuleNotFoundError: No module named 'numpy'

            Traceback (most recent call last):
              File "a.py", line 1
            ModuleNotFoundError: No module named 'numpy'

        1 other task was stopped because of it

        a retry would end the same way

        put it into requirements.txt
        "#);
    }

    #[test]
    fn what_the_ending_tells_is_not_told_again() {
        let sentence = |sentence: &str, ending: &str| beyond(sentence, ending).to_owned();
        assert_eq!(sentence("it cannot be installed: no six==99", "could not start: no six==99"), "it cannot be installed");
        assert_eq!(sentence("依赖无法安装：没有 six==99", "未能启动：没有 six==99"), "依赖无法安装");
        assert_eq!(sentence("it cannot be installed: no six==99", "exited with code 1"), "it cannot be installed: no six==99");
        assert_eq!(sentence("no six==99", "could not start:"), "no six==99");
    }

    #[test]
    fn an_ending_that_tells_everything_is_followed_by_the_name_of_the_reason_alone() {
        let said = "mnist@3 is not what it was when it was made";
        let failure = |ending: String| FailureView {
            task: "main-0".into(),
            attempt: 1,
            state: TaskState::Failed,
            ending,
            diagnosis: Some(DiagnosisView {
                id: "dataset-changed".into(),
                title: String::new(),
                sentence: said.into(),
                advice: String::new(),
                evidence: Vec::new(),
                retry: RetryClass::Never,
            }),
            traceback: None,
            tail: String::new(),
        };
        let shown = |ending: &str, lang| anstream::adapter::strip_str(&one_failure(&failure(ending.into()), lang)).to_string();
        assert_eq!(shown(&format!("could not start: {said}"), Lang::En), format!("  main-0  could not start: {said}  [dataset-changed]\n"));
        assert_eq!(shown(&format!("未能启动：{said}"), Lang::Zh), format!("  main-0  未能启动：{said}  [dataset-changed]\n"));
        assert_eq!(shown("ended", Lang::En), format!("  main-0  ended: {said}  [dataset-changed]\n"));
    }

    #[test]
    fn a_job_that_waits_for_nothing_needs_few_words() {
        assert_eq!(shown(&explanation(JobState::Running, "every task runs"), Lang::En), "bert@1 is running: every task runs\n");
    }
}
