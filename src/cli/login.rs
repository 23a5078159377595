//! `trainmaster login URL`: keeps a server's address and a token for the next calls.

use std::{
    fs,
    io::{self, BufRead, IsTerminal, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use model::wire::About;
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use super::{
    context::{Context, Login, in_time, is_loopback, read_answer},
    failure::{Exit, Failure},
    output,
};
use crate::client::{Call, Client};

#[derive(Clone, Debug, clap::Args)]
pub struct LoginArgs {
    /// The server's address, such as http://127.0.0.1:7077
    pub url: String,
    /// Send the token over a network without encryption
    #[arg(long)]
    pub insecure_http: bool,
}

pub async fn login(context: &Context, args: &LoginArgs) -> Result<Exit, Failure> {
    let url = args.url.trim_end_matches('/').to_owned();
    if !is_loopback(&url) && !args.insecure_http {
        return Err(Failure::usage(format!("{url} is on the network, and the token would travel there unencrypted"))
            .hint("use a tunnel such as `ssh -L 7077:127.0.0.1:7077 HOST`, or add --insecure-http if you trust the network"));
    }
    // A wrong address is told before a token is asked for.
    Client::new(&url, "")?;
    let login = Login { token: read_token()?, url };
    let client = Client::new(&login.url, &login.token)?;
    let about: About = read_answer(&in_time(client.call(Call::get("/api/v1/about"))).await?)?;
    let file = context.login_file()?;
    keep(&file, &login).map_err(|error| Failure::usage(format!("{} cannot be written: {error}", file.display())))?;
    if context.json {
        output::json(&about)?;
    } else {
        output::line(&format!("logged in to {} as {} ({})", login.url, about.user, about.role))?;
    }
    Ok(Exit::Done)
}

fn read_token() -> Result<String, Failure> {
    let line = if io::stdin().is_terminal() { ask_without_echo("token: ") } else { first_line() };
    let line = line.map_err(|error| Failure::usage(format!("the token cannot be read: {error}")))?;
    let token = line.trim();
    let fits = !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic());
    if fits {
        Ok(token.to_owned())
    } else {
        Err(Failure::usage("there is no token on standard input").hint("one line, such as `trainmaster login URL < token-file`"))
    }
}

fn first_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

/// Asks whoever sits at the terminal, and does not show what they type.
pub fn ask_without_echo(words: &str) -> io::Result<String> {
    output::prompt(words);
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut silent = before.clone();
    silent.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &silent)?;
    let line = first_line();
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &before)?;
    output::note("");
    line
}

/// Written aside and renamed, so that there is never half a token, and never one that others can read.
fn keep(file: &Path, login: &Login) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let part = dir.join(format!("login.{}.part", std::process::id()));
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    out.write_all(serde_json::to_string(login)?.as_bytes())?;
    out.sync_all()?;
    fs::rename(part, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_login_is_kept_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config/login.json");
        for token in ["first", "second"] {
            keep(&file, &Login { url: "http://127.0.0.1:7077".into(), token: token.into() }).unwrap();
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"url":"http://127.0.0.1:7077","token":"second"}"#);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }
}
