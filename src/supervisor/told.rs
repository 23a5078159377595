//! What a supervisor is told on its command line. Read by hand: a supervisor starts for every task, and
//! nobody types this.

use std::{ffi::OsString, fs, path::PathBuf};

use anyhow::{Context, bail};
use model::ids::RunKey;

#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// Without links or dots in it.
    pub dir: PathBuf,
    /// Without it everything is in the directory already.
    pub remote: Option<Remote>,
}

/// A place with nothing but a route to the server.
#[derive(Debug, PartialEq, Eq)]
pub struct Remote {
    pub server: String,
    pub run: RunKey,
    pub token_file: PathBuf,
}

pub fn read(arguments: impl Iterator<Item = OsString>) -> anyhow::Result<Told> {
    let (mut dir, mut server, mut run, mut token_file) = (None, None, None, None);
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        let slot = match name.to_str() {
            Some("--dir") => &mut dir,
            Some("--server") => &mut server,
            Some("--run") => &mut run,
            Some("--token-file") => &mut token_file,
            _ => bail!("{} is not an option of `supervise`", name.display()),
        };
        *slot = Some(arguments.next().with_context(|| format!("{} needs a value", name.display()))?);
    }
    let remote = match (server, run, token_file) {
        (None, None, None) => None,
        (Some(server), Some(run), Some(token_file)) => {
            let text = |it: OsString| it.into_string().map_err(|it| anyhow::anyhow!("{} is not text", it.display()));
            Some(Remote { server: text(server)?, run: text(run)?.parse()?, token_file: token_file.into() })
        }
        _ => bail!("--server, --run and --token-file go together"),
    };
    let dir = PathBuf::from(dir.context("--dir is missing")?);
    let dir = fs::canonicalize(&dir).with_context(|| format!("there is no {}", dir.display()))?;
    Ok(Told { dir, remote })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        match read(line.split_whitespace().map(OsString::from)) {
            Ok(told) => format!("{} {}", told.dir.display(), told.remote.map_or("local".into(), |it| it.server)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn both_forms_are_understood_and_anything_else_is_refused() {
        let run = "job-0198c0de000070008000000000000001:worker-0:1";
        insta::assert_snapshot!([
            said("--dir /usr"),
            said(&format!("--dir /usr --server http://a:1 --run {run} --token-file /t")),
            said("--dir /usr --server http://a:1"),
            said("--dir"),
            said("--dir /no/such/place"),
            said(""),
            said("--dir /usr --verbose"),
            said("--dir /usr --server http://a:1 --run nonsense --token-file /t"),
        ].join("\n"), @"
        /usr local
        /usr http://a:1
        --server, --run and --token-file go together
        --dir needs a value
        there is no /no/such/place
        --dir is missing
        --verbose is not an option of `supervise`
        `nonsense` is not a run key such as job-…:worker-0:1
        ");
    }
}
