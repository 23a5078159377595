use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|it| it == "supervise") {
        return trainmaster::supervisor::main(arguments);
    }
    ExitCode::from(2)
}
