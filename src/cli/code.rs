//! `trainmaster show JOB --code` and `--patch`: the folder that was uploaded with a job.

use model::{
    resources::Bytes,
    wire::{UploadEntry, UploadFacts, UploadList, UploadedThing},
};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output::{self, Sink},
    table::Table,
    terminal::plain,
};
use crate::client::Call;

/// Every file, with its size and the hash of its content.
pub async fn list(context: &Context, job: &str) -> Result<Exit, Failure> {
    let list: UploadList = context.get(&job_path(job, "/code")).await?;
    if context.json {
        output::json(&list)?;
    } else {
        output::text(&table(&list.entries).render(output::width(), "PATH"))?;
    }
    Ok(Exit::Done)
}

/// What was not committed, ready for `git apply`. On a terminal nothing of it can play tricks.
pub async fn patch(context: &Context, job: &str) -> Result<Exit, Failure> {
    let bytes = context.call(Call::get(&job_path(job, "/code/patch"))).await?;
    print(&bytes)
}

/// Whatever stands in the code, it does nothing to a terminal.
pub fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    if Sink::Stdout.is_terminal() {
        for line in String::from_utf8_lossy(bytes).lines() {
            output::line(&plain(line))?;
        }
    } else {
        output::bytes(Sink::Stdout, bytes)?;
    }
    Ok(Exit::Done)
}

fn table(entries: &[UploadEntry]) -> Table {
    let mut table = Table::new(["SIZE", "SHA-256", "PATH"]);
    for UploadEntry { path, what } in entries {
        match what {
            UploadedThing::File { sha256, size_bytes, executable } => {
                let mark = if *executable { "*" } else { "" };
                table.row([Bytes(*size_bytes).to_string().into(), sha256.as_str().into(), format!("{path}{mark}").into()]);
            }
            UploadedThing::Link { target } => table.row(["-".into(), "-".into(), format!("{path} -> {target}").into()]),
        }
    }
    table
}

/// `3 files, 2KiB, of commit c0ffee12 on main with changes`.
pub fn in_words(facts: &UploadFacts) -> String {
    let files = if facts.files == 1 { "1 file".into() } else { format!("{} files", facts.files) };
    let mut words = format!("{files}, {}", Bytes(facts.bytes));
    if let Some(commit) = &facts.commit {
        words += &format!(", of commit {}", commit.chars().take(12).collect::<String>());
        words += &facts.branch.as_ref().map_or_else(String::new, |branch| format!(" on {branch}"));
        words += if facts.dirty == Some(true) { " with changes" } else { "" };
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_in_one_line() {
        let plain = UploadFacts { digest: String::new(), files: 1, bytes: 2048, commit: None, branch: None, dirty: None };
        assert_eq!(in_words(&plain), "1 file, 2KiB");
        let commit = Some("c0ffee1234567890".to_owned());
        let of_git = UploadFacts { files: 3, commit, branch: Some("main".into()), dirty: Some(true), ..plain };
        assert_eq!(in_words(&of_git), "3 files, 2KiB, of commit c0ffee123456 on main with changes");
    }
}
