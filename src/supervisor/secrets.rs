//! What this run alone may know: asked for before anything is made ready, kept in memory, and put where only the child is.

use std::{
    fs,
    io::{self, Write},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::Path,
    time::Duration,
};

use model::{
    order::{RunOrder, RunSecrets},
    secret::SecretValues,
    task::{Cause, Whose},
};
use nix::mount::MsFlags;
use tokio::time::Instant;

use super::{
    mounts::make_read_only,
    report::{Home, Told},
    sandbox::mount_kind,
    watch,
};
use crate::rundir::{RunDir, private_dir};

/// A server that is away is asked until it is back: nobody else knows.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_secs(365 * 24 * 3600);

/// Asks the server, if the order says that there is something to ask for. The error is how the run ended without ever
/// having begun.
pub fn ask(order: &RunOrder, home: &Home, stop: &OwnedFd) -> Result<RunSecrets, Cause> {
    if !order.needs_secrets() {
        return Ok(RunSecrets::default());
    }
    let cannot = |why: String, whose| Err(Cause::CannotStart { why: format!("its secrets cannot be had: {why}"), whose });
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return cannot(error.to_string(), Whose::Platform),
    };
    runtime.block_on(async {
        tokio::select! {
            told = home.secrets(Instant::now() + AS_LONG_AS_IT_TAKES) => match told {
                Told::Yes(secrets) => Ok(secrets),
                Told::Unwanted(why) => cannot(why, Whose::User),
                Told::No(why) => cannot(why, Whose::Platform),
            },
            () = watch::asked_to_stop(stop) => Err(Cause::Stopped { killed: false }),
        }
    })
}

/// Shows files in a room of the child's new root that is in memory alone and goes with the child.
pub fn show(files: &SecretValues, room: &Path) -> io::Result<()> {
    const FLAGS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);
    fs::create_dir(room)?;
    mount_kind(room, "tmpfs", FLAGS, "mode=700")?;
    write(files, room)?;
    make_read_only(room, false)
}

/// Puts them into the run's directory, for a child that has no root of its own.
pub fn lay_out(files: &SecretValues, dir: &RunDir) -> io::Result<()> {
    if files.0.is_empty() {
        return Ok(());
    }
    private_dir(&dir.secrets())?;
    write(files, &dir.secrets())
}

fn write(files: &SecretValues, room: &Path) -> io::Result<()> {
    for (name, text) in &files.0 {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(room.join(name))?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Takes away what was laid out. Where there was a sandbox there is nothing.
pub fn take_away(dir: &RunDir) {
    match fs::remove_dir_all(dir.secrets()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            super::journal::say(&format!("the secrets in {} could not be removed: {error}", dir.secrets().display()));
        }
        Ok(()) | Err(_) => {}
    }
}
