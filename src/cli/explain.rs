//! `trainmaster explain JOB`: why it is as it is, with the arithmetic.

use model::wire::Explanation;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    nodes::nodes_table,
    output,
    style::{self, paint},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
}

pub async fn explain(context: &Context, args: &ExplainArgs) -> Result<Exit, Failure> {
    let explanation: Explanation = context.get(&job_path(&args.job, "/explain")).await?;
    if context.json {
        output::json(&explanation)?;
    } else {
        output::text(&explanation_text(&explanation, output::width()))?;
    }
    Ok(Exit::Done)
}

fn explanation_text(it: &Explanation, width: Option<usize>) -> String {
    let state = paint(style::job(it.state), it.state.text());
    let mut text = format!("{} is {state}: {}\n", paint(style::LOUD, &plain(&it.job)), plain(&it.reason));
    if !it.needs.is_empty() {
        text.push_str("\nIt needs\n");
        for need in &it.needs {
            text.push_str(&format!("  {} × {}, each {}\n", need.tasks, plain(&need.role), need.each));
        }
    }
    if !it.nodes.is_empty() {
        text.push_str("\nThere is\n");
        text.push_str(&nodes_table(&it.nodes).render(width, "HELD BY"));
    }
    if !it.before.is_empty() {
        text.push_str(&format!("\nBefore it: {}\n", plain(&it.before.join(", "))));
    }
    if !it.next_step.is_empty() {
        text.push_str(&format!("\n{}\n", plain(&it.next_step)));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{job::JobState, wire::Need};

    use super::*;
    use crate::cli::fake::amount;

    #[test]
    fn a_wait_is_explained_with_its_arithmetic() {
        let explanation = Explanation {
            job: "bert@1".into(),
            state: JobState::Queued,
            reason: "needs 4 CPU on one node; the most free is 1".into(),
            needs: vec![Need { role: "worker".into(), tasks: 2, each: amount(4, 8, &[("A100", 1)]) }],
            nodes: Vec::new(),
            before: vec!["digits@3".into(), "big@1".into()],
            next_step: "wait until digits@3 ends, or ask for less".into(),
        };
        let text = anstream::adapter::strip_str(&explanation_text(&explanation, None)).to_string();
        insta::assert_snapshot!(text, @"
        bert@1 is queued: needs 4 CPU on one node; the most free is 1

        It needs
          2 × worker, each 4 CPU, 8GiB, 1 × A100

        Before it: digits@3, big@1

        wait until digits@3 ends, or ask for less
        ");
    }

    #[test]
    fn a_job_that_waits_for_nothing_needs_few_words() {
        let explanation = Explanation {
            job: "bert@1".into(),
            state: JobState::Running,
            reason: "every task runs".into(),
            needs: Vec::new(),
            nodes: Vec::new(),
            before: Vec::new(),
            next_step: String::new(),
        };
        let text = anstream::adapter::strip_str(&explanation_text(&explanation, None)).to_string();
        assert_eq!(text, "bert@1 is running: every task runs\n");
    }
}
