//! Hands over: to the supervisor, or to the command line, whose verbs include the server.

use std::process::ExitCode;

use trainmaster::{cli, supervisor};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    // One supervisor starts with every task, so it does not wait for the parser of all the verbs.
    if arguments.next_if(|first| first == "supervise").is_some() {
        return supervisor::main(arguments);
    }
    cli::main(cli::parse(std::env::args_os().collect()))
}
