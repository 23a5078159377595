//! Parses the arguments and hands over: to the server, to the supervisor, or to a verb.

use std::process::ExitCode;

use clap::Parser;
use trainmaster::{
    cli::{self, Cli, Verb},
    supervisor,
};

fn main() -> ExitCode {
    // A supervisor starts beside every task, so it skips what only people need.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|verb| verb == "supervise") {
        return supervisor::main(arguments);
    }
    let Cli { server, verb } = Cli::parse();
    match verb {
        Verb::Up(args) => cli::serve::serve(server, args),
        Verb::Client(verb) => cli::main(server, verb, Vec::new),
    }
}
