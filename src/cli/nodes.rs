//! `trainmaster nodes`: what there is, what is free, who holds the rest.

use model::wire::NodeView;

use super::{
    context::{Context, encode},
    failure::{Exit, Failure},
    output, style,
    table::{Cell, Table},
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct NodesArgs {
    #[command(subcommand)]
    pub change: Option<Change>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum Change {
    /// Take a virtual node down as if its plug had been pulled, to see what happens to its tasks
    Down {
        /// As `trainmaster nodes` shows it
        node: String,
    },
    /// Bring a virtual node up again
    Up {
        /// As `trainmaster nodes` shows it
        node: String,
    },
}

pub async fn nodes(context: &Context, args: &NodesArgs) -> Result<Exit, Failure> {
    let changed = match &args.change {
        None => None,
        Some(Change::Down { node }) => Some(change(context, node, "down").await?),
        Some(Change::Up { node }) => Some(change(context, node, "up").await?),
    };
    let mut nodes: Vec<NodeView> = context.get("/api/v1/nodes").await?;
    if let Some(changed) = changed {
        nodes.retain(|node| node.name == changed);
    }
    if context.json {
        output::json(&nodes)?;
    } else {
        output::text(&nodes_table(&nodes).render(output::width(), "HELD BY"))?;
    }
    Ok(Exit::Done)
}

async fn change<'a>(context: &Context, node: &'a str, how: &str) -> Result<&'a str, Failure> {
    let path = format!("/api/v1/nodes/{}/{how}", encode(node));
    context.call(Call::post(&path, "{}")).await?;
    Ok(node)
}

pub fn nodes_table(nodes: &[NodeView]) -> Table {
    let mut table = Table::new(["NODE", "ADDRESS", "STATE", "FREE", "OF", "HELD BY"]);
    for node in nodes {
        let (style, state) = match (node.open, node.reason.as_str()) {
            (true, _) => (style::GOOD, "open".to_owned()),
            (false, "") => (style::WAITS, "closed".to_owned()),
            (false, reason) => (style::WAITS, format!("closed: {reason}")),
        };
        let held: Vec<String> = node.held_by.iter().map(|held| format!("{} ({})", held.job, held.amount)).collect();
        table.row([
            node.name.as_str().into(),
            node.address.as_str().into(),
            Cell::styled(style, &state),
            node.free.to_string().into(),
            node.capacity.to_string().into(),
            if held.is_empty() { "-".into() } else { held.join("; ").into() },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use model::wire::HeldView;

    use super::*;
    use crate::cli::fake::amount;

    #[test]
    fn nodes_say_what_is_free_and_who_holds_the_rest() {
        let left = NodeView {
            name: "left".into(),
            address: "127.0.0.2".into(),
            open: true,
            reason: String::new(),
            reason_zh: String::new(),
            capacity: amount(4, 8, &[("A100", 2)]),
            free: amount(1, 6, &[("A100", 0)]),
            held_by: vec![HeldView { job: "digits@3".into(), amount: amount(3, 2, &[("A100", 2)]) }],
        };
        let right = NodeView {
            name: "right".into(),
            open: false,
            reason: "it was taken down".into(),
            reason_zh: "已被手动下线".into(),
            free: amount(4, 8, &[]),
            capacity: amount(4, 8, &[]),
            held_by: Vec::new(),
            ..left.clone()
        };
        let table = nodes_table(&[left, right]).render(None, "HELD BY");
        insta::assert_snapshot!(anstream::adapter::strip_str(&table).to_string(), @"
        NODE   ADDRESS    STATE                      FREE                   OF                     HELD BY
        left   127.0.0.2  open                       1 CPU, 6GiB, 0 × A100  4 CPU, 8GiB, 2 × A100  digits@3 (3 CPU, 2GiB, 2 × A100)
        right  127.0.0.2  closed: it was taken down  4 CPU, 8GiB            4 CPU, 8GiB            -
        ");
    }
}
