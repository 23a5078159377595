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
