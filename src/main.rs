//! Parses the arguments and hands over: to the server, to the supervisor, or to a verb.

use std::process::ExitCode;

use clap::Parser;
use trainmaster::cli::{self, Cli, Verb};

fn main() -> ExitCode {
    let Cli { server, verb } = Cli::parse();
    match verb {
        Verb::Up(_) | Verb::Supervise(_) => ExitCode::from(3),
        Verb::Client(verb) => cli::main(server, verb, Vec::new),
    }
}
