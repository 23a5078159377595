//! What git says when it fails, understood: what it was about, and whose it is to put right.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use model::{code::git::origin, task::Whose};

use super::command::Git;
use crate::code::{NotMade, platform};

pub fn user(why: String) -> NotMade {
    NotMade::Failed { why, whose: Whose::User }
}

pub fn hangs(url: &str, time: Duration) -> NotMade {
    platform(format!("the git server of {url} was not done in {} s", time.as_secs()))
}

pub fn talks_too_much(url: &str, most: u64) -> NotMade {
    user(format!("git has more than {} to say about {url}, which is more than any repository needs", size(most)))
}

pub fn too_large(url: &str, most: u64) -> NotMade {
    user(format!(
        "the code of {url} is too large: more than {}; leave data and models out of the repository, and give them as inputs",
        size(most)
    ))
}

pub fn too_many_files(url: &str, most: u64) -> NotMade {
    user(format!("the code of {url} has too many files: more than {most}; leave data out of the repository, and give it as an input"))
}

fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fitting = units.iter().find(|(shift, _)| bytes >> shift > 0 && bytes.trailing_zeros() >= *shift);
    fitting.map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

pub fn understand(git: &Git<'_>, said: &str, ended: ExitStatus) -> NotMade {
    let url = git.url;
    // What a server says through git is for a person to read and for nobody to believe.
    let own: String = said.lines().filter(|line| !line.starts_with("remote:")).flat_map(|line| [line, "\n"]).collect();
    let has = |words: &[&str]| words.iter().any(|it| own.contains(it));
    let redirects = ["error: 301", "error: 302", "error: 303", "error: 307", "error: 308", "unable to update url base from redirection"];
    if has(&["No space left on device", "Disk quota exceeded"]) {
        platform(format!("the disk is full, so {url} could not be fetched"))
    } else if ended.signal() == Some(libc::SIGXFSZ) || has(&["File too large", "died of signal 25"]) {
        too_large(url, git.limits.bytes_max)
    } else if has(&[
        "could not read Username",
        "could not read Password",
        "Authentication failed",
        "error: 401",
        "error: 403",
        "Authentication required",
        "Authorization error",
    ]) {
        refused(git)
    } else if has(&redirects) {
        user(format!(
            "the git server of {url} sends us to another address, where credentials are not taken along; give the address it sends to"
        ))
    } else if has(&[
        "' not found",
        "error: 404",
        "not valid: is this a git repository?",
        "does not appear to be a git repository",
        "Repository not found",
        "error: 410",
    ]) {
        user(format!(
            "there is no git repository at {url}{}",
            if git.credentials.is_none() { "; if it is private, give `user` and `password`" } else { ", or it is hidden from this user" }
        ))
    } else if has(&["Operation too slow", "Operation timed out", "Connection timed out", "Timeout was reached"]) {
        platform(format!("the git server of {url} sent next to nothing for {} s", git.limits.stall_max.as_secs()))
    } else if has(&["fsck error", "in packed object", "object fails fsck", "invalid path"]) {
        user(format!("git refuses what is in {url}, because it could do harm: {}", last_words(said)))
    } else {
        platform(format!("{url} could not be fetched: {}", last_words(said)))
    }
}

/// A server may send us to another address of its own, and to nobody else.
pub fn redirected(url: &str, said: &str) -> Result<(), NotMade> {
    let elsewhere = said.lines().filter_map(|line| line.strip_prefix("warning: redirecting to ")).find(|it| !is_same_host(url, it));
    match elsewhere {
        None => Ok(()),
        Some(other) => Err(user(format!("the git server of {url} sends us to {}; give that address, if it is right", last_words(other)))),
    }
}

/// From `http` to `https` is the usual way, and leads to the same host.
fn is_same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| origin(url).split_once("://").map(|(_, it)| it.to_owned());
    origin(one) == origin(other) || (host(one) == host(other) && other.starts_with("https://"))
}

/// What a disk that lost something sounds like. Servers are not believed to have lost anything of ours.
pub fn is_about_damage(failure: &NotMade) -> bool {
    let signs = [
        "corrupt",
        "bad object",
        "unable to read",
        "missing blob",
        "missing tree",
        "is empty",
        "bad tree",
        "did not send all necessary",
        "packfile",
        "unresolved deltas",
    ];
    matches!(failure, NotMade::Failed { why, whose: Whose::Platform } if signs.iter().any(|it| why.contains(it)))
}

/// Servers answer alike for what is hidden and for what is not there.
fn refused(git: &Git<'_>) -> NotMade {
    let url = git.url;
    user(match git.credentials {
        Some(credentials) => format!("the git server of {url} refused the user `{}` with the password it was given", credentials.user()),
        None => format!(
            "the git server of {url} asks for a user and a password, and the job gives none; give `user` and `password`, or see whether the address is right"
        ),
    })
}

/// As much as an exit record has room for, on one line, and nothing that a terminal would obey.
pub fn last_words(said: &str) -> String {
    const CHARACTERS_MAX: usize = 600;
    let words: Vec<&str> = said.split_whitespace().collect();
    let text: String = words.join(" ").chars().filter(|it| !it.is_control()).collect();
    if text.is_empty() {
        return "git gave no reason".into();
    }
    let left_out = text.chars().count().saturating_sub(CHARACTERS_MAX);
    if left_out == 0 { text } else { format!("…{}", text.chars().skip(left_out).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{
        Waiting,
        git::{Limits, credentials::Credentials},
    };

    #[test]
    fn git_s_words_become_whose_doing_it_is_and_what_to_do() {
        let waiting = Waiting { pause: &|_| false, say: &|_| {} };
        let given = Credentials::new(Some("ann"), Some("pw"), "https://x.org/a");
        let told = |said: &str, credentials: Option<&Credentials>| {
            let git = Git { url: "https://x.org/a", credentials, limits: &Limits::default(), waiting: &waiting };
            match understand(&git, said, ExitStatus::from_raw(128 << 8)) {
                NotMade::Failed { why, whose } => format!("{whose:?}: {why}"),
                NotMade::Stopped => "stopped".into(),
            }
        };
        let cases = [
            ("fatal: could not read Username for 'https://x.org': terminal prompts disabled", None),
            ("fatal: could not read Username for 'https://x.org': terminal prompts disabled", given.as_ref()),
            ("fatal: unable to access 'https://x.org/a/': The requested URL returned error: 403", given.as_ref()),
            ("fatal: repository 'https://x.org/a/' not found", None),
            ("fatal: repository 'https://x.org/a/' not found", given.as_ref()),
            ("fatal: unable to access 'https://x.org/a/': The requested URL returned error: 301", given.as_ref()),
            ("fatal: unable to access 'https://x.org/a/': The requested URL returned error: 503", None),
            ("fatal: unable to access 'https://x.org/a/': Could not resolve host: x.org", None),
            (
                "fatal: unable to access 'https://x.org/a/': Operation too slow. Less than 1000 bytes/sec transferred the last 120 seconds",
                None,
            ),
            ("fatal: write error: No space left on device", None),
            ("error: object 12: hasDotgit: contains '.git'\nfatal: fsck error in packed object", None),
            ("remote: Authentication failed\nremote: \u{1b}[31mred\nfatal: the remote end hung up unexpectedly", None),
            ("", None),
        ];
        insta::assert_snapshot!(cases.map(|(said, credentials)| told(said, credentials)).join("\n"), @"
        User: the git server of https://x.org/a asks for a user and a password, and the job gives none; give `user` and `password`, or see whether the address is right
        User: the git server of https://x.org/a refused the user `ann` with the password it was given
        User: the git server of https://x.org/a refused the user `ann` with the password it was given
        User: there is no git repository at https://x.org/a; if it is private, give `user` and `password`
        User: there is no git repository at https://x.org/a, or it is hidden from this user
        User: the git server of https://x.org/a sends us to another address, where credentials are not taken along; give the address it sends to
        Platform: https://x.org/a could not be fetched: fatal: unable to access 'https://x.org/a/': The requested URL returned error: 503
        Platform: https://x.org/a could not be fetched: fatal: unable to access 'https://x.org/a/': Could not resolve host: x.org
        Platform: the git server of https://x.org/a sent next to nothing for 120 s
        Platform: the disk is full, so https://x.org/a could not be fetched
        User: git refuses what is in https://x.org/a, because it could do harm: error: object 12: hasDotgit: contains '.git' fatal: fsck error in packed object
        Platform: https://x.org/a could not be fetched: remote: Authentication failed remote: [31mred fatal: the remote end hung up unexpectedly
        Platform: https://x.org/a could not be fetched: git gave no reason
        ");
        assert!(last_words(&"é ".repeat(5_000)).chars().count() < 700);
    }
}
