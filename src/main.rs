//! Hands over: to the supervisor, or to the command line, whose verbs include the server.

use std::{path::Path, process::ExitCode};

use trainmaster::{cli, porter, supervisor};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().peekable();
    let called = arguments.next().unwrap_or_default();
    // In tasks that may reach others there is a link of this name to us.
    if Path::new(&called).file_name().is_some_and(|name| name == "ssh") {
        return cli::reach::as_ssh(arguments.collect());
    }
    // One supervisor starts with every task, so it does not wait for the parser of all the verbs.
    if arguments.next_if(|first| first == "supervise").is_some() {
        return supervisor::main(arguments);
    }
    if arguments.next_if(|first| first == porter::VERB).is_some() {
        return porter::main();
    }
    cli::main(cli::parse(std::env::args_os().collect()))
}
