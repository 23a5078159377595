//! The command of an algorithm, and how flags get into it.

use super::{Algorithm, params};
use crate::{
    order::only_line,
    plan::handing_on,
    said,
    shell::{last_command, obstacle, says_arguments},
    spec::Command,
    words::Words,
};

/// The command with flags behind it, which a shell hands on to the last command of its line.
pub(super) fn with_flags(command: &Command, flags: Vec<String>) -> Command {
    match command {
        it if flags.is_empty() => it.clone(),
        // Nothing to run stays nothing to run, which is told.
        Command::Line(line) if line.trim().is_empty() => command.clone(),
        Command::Words(words) if words.is_empty() => command.clone(),
        Command::Line(line) => Command::Words([handing_on(line).to_vec(), flags].concat()),
        Command::Words(words) => Command::Words([words.clone(), flags].concat()),
    }
}

/// Why flags that are put behind the command would not get to the program, if they would not.
pub(super) fn fault(algorithm: &Algorithm) -> Option<(Words, Words)> {
    if !has_flags(algorithm) {
        return None;
    }
    match &algorithm.command {
        Command::Line(line) if says_arguments(line) => None,
        Command::Line(line) if line.trim().contains('\n') => Some(several_lines()),
        Command::Line(line) => obstacle(line).map(in_the_way).or_else(|| loses_them(&last_command(line)).then(a_shell_with_its_line)),
        Command::Words(words) => loses_them(words).then(a_shell_with_its_line),
    }
}

/// Whether a shell and its line are among the words, as in `timeout 1h bash -c LINE`, and it does not hand on what stands behind.
fn loses_them(words: &[String]) -> bool {
    let line = (0..words.len()).find_map(|from| Some(from + only_line(&words[from..])?));
    line.is_some_and(|at| !says_arguments(&words[at]) || at + 1 == words.len())
}

/// Whether a job may have any.
fn has_flags(algorithm: &Algorithm) -> bool {
    algorithm.custom_params || !params::flags_taken(algorithm).is_empty()
}

fn several_lines() -> (Words, Words) {
    (
        said!(
            "has several lines, so it cannot be told which command takes the parameters and channels",
            "有好几行，无法判断参数和通道该交给哪条命令"
        ),
        said!(
            "write `\"$@\"` behind the command that takes them, such as `python3 train.py \"$@\"`",
            "请在接收它们的命令后面写上 `\"$@\"`，如 `python3 train.py \"$@\"`"
        ),
    )
}

fn in_the_way(what: &str) -> (Words, Words) {
    (
        said!(
            "has `{what}`, and flags that are put behind the line would not get to the program",
            "写有 `{what}`，放在这一行末尾的命令行选项到不了程序"
        ),
        said!(
            "write `\"$@\"` where the flags belong, such as `python3 train.py \"$@\" | tee log`",
            "请在该放命令行选项的地方写上 `\"$@\"`，如 `python3 train.py \"$@\" | tee log`"
        ),
    )
}

fn a_shell_with_its_line() -> (Words, Words) {
    (
        said!(
            "is a shell and its line, and flags that are put behind them would not get to the program",
            "是 shell 和它要运行的一行，放在后面的命令行选项到不了程序"
        ),
        said!(
            "write the line alone, or `\"$@\"` in it where the flags belong and a word behind it: `[bash, -c, 'python3 train.py \"$@\"', bash]`",
            "请只写这一行；或在该放命令行选项的地方写上 `\"$@\"`，并在后面加一个词：`[bash, -c, 'python3 train.py \"$@\"', bash]`"
        ),
    )
}

/// One that was refused, so that only the names in it are still looked at.
pub(super) fn names_alone(command: &Command) -> Command {
    let words = match command {
        Command::Line(line) => std::slice::from_ref(line),
        Command::Words(words) => words,
    };
    Command::Words([&["true".to_owned()], words].concat())
}
