//! The arguments of ssh, as far as launchers use them.

use std::ffi::OsString;

/// What somebody asked of ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Without the user.
    pub host: String,
    pub command: Vec<String>,
    pub with_stdin: bool,
}

impl Asked {
    /// ssh gives its words to a shell, with a space between them. Without any, the shell reads its input.
    pub fn shell_command(&self) -> Vec<String> {
        let shell = "/bin/sh".to_owned();
        if self.command.is_empty() { vec![shell] } else { vec![shell, "-c".into(), self.command.join(" ")] }
    }
}

/// The options that have a value; it may stand in the same word or in the next.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// `None` if there is no host in it, or something that is not text. Options may stand before the host and
/// behind it; all but one are about a network that is not used here.
pub fn read(arguments: &[OsString]) -> Option<Asked> {
    let mut words = arguments.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?.into_iter().peekable();
    let (mut host, mut with_stdin) = (None, true);
    while let Some(word) = words.next_if(|word| host.is_none() || (word.starts_with('-') && word.len() > 1)) {
        if word == "--" {
            host = host.or_else(|| words.next());
            break;
        }
        let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
            host = Some(word);
            continue;
        };
        with_stdin &= !without_values(flags).contains('n');
        if flags.find(|flag| WITH_VALUE.contains(flag)) == flags.len().checked_sub(1) {
            words.next();
        }
    }
    let host = host?.rsplit('@').next()?.to_owned();
    Some(Asked { host, command: words.map(str::to_owned).collect(), with_stdin })
}

/// The flags of a word up to the first that has a value.
fn without_values(flags: &str) -> &str {
    flags.find(|flag| WITH_VALUE.contains(flag)).map_or(flags, |at| &flags[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        read(&words).map_or("no host".into(), |it| {
            let input = if it.with_stdin { "" } else { " < /dev/null" };
            format!("{}: {}{input}", it.host, it.command.join(" "))
        })
    }

    #[test]
    fn what_launchers_say_to_ssh_is_understood() {
        insta::assert_snapshot!([
            said("worker-1 orted -mca ess env"),
            said("-x worker-1 PATH=/a:$PATH ; export PATH ; orted"),
            said("-o StrictHostKeyChecking=no -oBatchMode=yes -p 22 -l root worker-1 hostname"),
            said("-o PasswordAuthentication=no worker-1 -p 22 cd /code"),
            said("-p2222 -tt -q -n ann@worker-1 ls -l"),
            said("-xTn worker-1 ls"),
            said("-i n worker-1 cat"),
            said("worker-1"),
            said("-- worker-1 ls --all"),
            said("worker-1 -- ls"),
            said("-V"),
            said("-o"),
        ].join("\n"), @"
        worker-1: orted -mca ess env
        worker-1: PATH=/a:$PATH ; export PATH ; orted
        worker-1: hostname
        worker-1: cd /code
        worker-1: ls -l < /dev/null
        worker-1: ls < /dev/null
        worker-1: cat
        worker-1: 
        worker-1: ls --all
        worker-1: ls
        no host
        no host
        ");
    }

    #[test]
    fn the_command_goes_to_a_shell_as_ssh_would_give_it() {
        let asked =
            |command: &[&str]| Asked { host: "a".into(), command: command.iter().map(ToString::to_string).collect(), with_stdin: true };
        assert_eq!(asked(&["echo", "a b;", "ls"]).shell_command(), ["/bin/sh", "-c", "echo a b; ls"]);
        assert_eq!(asked(&[]).shell_command(), ["/bin/sh"]);
    }
}
