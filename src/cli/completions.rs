//! `trainmaster completions SHELL`: what a shell needs to complete our verbs and flags.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{
    Cli,
    failure::{Exit, Failure},
    output::{self, Sink},
};

#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: Shell,
}

pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "trainmaster", &mut script);
    output::bytes(Sink::Stdout, &script)?;
    Ok(Exit::Done)
}
