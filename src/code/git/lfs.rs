//! Large files that stand beside a repository, fetched by `git-lfs` while git writes the tree.

use std::path::PathBuf;

use model::task::Whose;

use crate::code::NotMade;

/// The one filter that is ever run, and only when it is asked for. Where the files are is for the address to
/// say: a repository that names another place is not listened to.
pub fn settings(url: &str, stall_s: u64) -> String {
    let ending = if url.ends_with(".git") { "" } else { ".git" };
    format!(
        "[filter \"lfs\"]\nprocess = git-lfs filter-process\nsmudge = git-lfs smudge -- %f\nclean = git-lfs clean -- %f\nrequired = true\n\
         [lfs]\nurl = \"{url}{ending}/info/lfs\"\nlocksVerify = false\nactivityTimeout = {stall_s}\ndialTimeout = {stall_s}\n\
         [lfs \"transfer\"]\nmaxRetries = 3\n"
    )
}

/// Before anything is fetched that would be of no use without it.
pub fn check() -> Result<(), NotMade> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path).map(|dir| dir.join("git-lfs")).find(|it| it.is_file());
    let why = "the job asks for large files (`lfs`), and there is no `git-lfs` on this machine; its owner can install it, on Debian with `apt-get install git-lfs`";
    found.map(drop).ok_or_else(|| NotMade::Failed { why: why.into(), whose: Whose::Platform })
}
