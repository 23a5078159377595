//! What `uv` says when it fails, and whose doing that is.

use model::task::Whose;

use super::asked::Asked;
use crate::code::NotMade;

/// What is for the one who named the packages to change.
const THEIRS: [&str; 8] = [
    "No solution found",
    "Couldn't parse",
    "Unsupported requirement",
    "Hash mismatch",
    "Failed to build",
    "404 Not Found",
    "Failed to parse",
    "is not compatible with the locked Python requirement",
];
/// What is not, whatever else is said.
const OURS: [&str; 5] =
    ["the network was disabled", "No space left on device", "error sending request", "Connection refused", "Request failed after"];

const ONLY_BUILT: &str = "; this server installs only what is built already, unless its owner allows more (`[python] build = true`)";

/// A version that does not exist is for the one who named it to change. Everything else, from a full
/// disk to a line that is down, may be better in a while and is not their doing.
pub fn understand(said: &str) -> NotMade {
    let has = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    let whose = if has(&THEIRS) && !has(&OURS) { Whose::User } else { Whose::Platform };
    let hint = if said.contains("building from source is disabled") { ONLY_BUILT } else { "" };
    NotMade::Failed { why: format!("the Python environment could not be made: {}{hint}", last_words(said)), whose }
}

/// Names the file that the packages were asked for in, by the name it has in the code.
pub fn about(reason: NotMade, asked: Option<&Asked>) -> NotMade {
    match (reason, asked) {
        (NotMade::Failed { why, whose }, Some(asked)) => {
            let why = why.replace(&asked.entry(), &asked.file);
            NotMade::Failed {
                why: why.replacen(
                    "the Python environment could not be made",
                    &format!("the packages of `{}` cannot be installed", asked.file),
                    1,
                ),
                whose,
            }
        }
        (reason, _) => reason,
    }
}

/// From where it says that something is wrong, as much as an exit record has room for.
fn last_words(said: &str) -> String {
    const CHARACTERS_MAX: usize = 900;
    let from = said.rfind("\nerror:").map(|at| at + 1).unwrap_or(0);
    let words: Vec<&str> = said[from..].split_whitespace().collect();
    let text = words.join(" ").trim_start_matches("error: ").to_owned();
    if text.is_empty() {
        return "it gave no reason".into();
    }
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(said: &str) -> String {
        match understand(said) {
            NotMade::Failed { why, whose } => format!("{whose:?}: {why}"),
            NotMade::Stopped => "stopped".into(),
        }
    }

    #[test]
    fn a_version_that_does_not_exist_is_the_user_s_and_a_line_that_is_down_is_not() {
        let cases = [
            "Using Python 3.11\nerror: No solution found when resolving dependencies\n  cause: Because only torch<=2.15.0 is available and you require torch==99.*, we can conclude that your requirements are unsatisfiable.\n",
            "error: Request failed after 3 retries in 13.2s\n  cause: Failed to fetch: http://127.0.0.1:9/simple/jax/\n  cause: Connection refused (os error 111)\n",
            "error: No solution found when resolving dependencies\n  cause: Because jax was not found in the cache\n\nhint: Packages were unavailable because the network was disabled.\n",
            "",
        ];
        insta::assert_snapshot!(cases.map(understood).join("\n"), @"
        User: the Python environment could not be made: No solution found when resolving dependencies cause: Because only torch<=2.15.0 is available and you require torch==99.*, we can conclude that your requirements are unsatisfiable.
        Platform: the Python environment could not be made: Request failed after 3 retries in 13.2s cause: Failed to fetch: http://127.0.0.1:9/simple/jax/ cause: Connection refused (os error 111)
        Platform: the Python environment could not be made: No solution found when resolving dependencies cause: Because jax was not found in the cache hint: Packages were unavailable because the network was disabled.
        Platform: the Python environment could not be made: it gave no reason
        ");
        assert!(understood(&"é ".repeat(5_000)).chars().count() < 1_000);
    }
}
