//! A supervisor's life, in the order in which things must happen.

use std::{
    fs,
    io::Write,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use model::{
    order::{Report, RunOrder},
    task::{Cause, Ending},
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    cgroup::{Blueprint, Hierarchies},
    exit,
    identity::Identity,
    journal::{self, now_ms, say},
    launch::{self, Ground, Launched},
    lock::Lock,
    logs::Logs,
    report::{AFTER_THE_END_MAX, Home},
    signals,
    told::Told,
    watch,
};
use crate::{
    client::Client,
    crash,
    rundir::{RunDir, new_private_file},
};

/// What `supervisor.json` holds: who we are, and what to clean up if we cannot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupervisorRecord {
    pub identity: Identity,
    pub cgroups: Vec<PathBuf>,
}

pub fn live(told: &Told) -> anyhow::Result<()> {
    become_independent();
    let dir = RunDir::at(fs::canonicalize(&told.dir).with_context(|| format!("there is no {}", told.dir.display()))?);
    journal::open(dir.journal());
    // Somebody else supervises this run already.
    let Some(_lock) = Lock::take(&dir.lock()).context("taking the lock")? else { return Ok(()) };
    crash::point("start.after-spawn-before-identity-recorded");
    let order = read_order(&dir)?;
    let home = home(&dir, &order)?;
    if let Some(ending) = exit::read(&dir).context("reading the exit record")? {
        return runtime()?.block_on(tell_ending(&home, None, ending));
    }
    // An earlier supervisor of this run is dead, and what its child did nobody can know. It is not ours
    // to start it a second time.
    if dir.supervisor().exists() {
        return Ok(());
    }
    let stop = signals::descriptor(&STOPPING).context("listening for signals")?;
    run(&dir, &order, &home, stop)
}

/// Signals that ask for a stop, and the one we wait for ourselves.
const STOPPING: [i32; 2] = [libc::SIGTERM, libc::SIGINT];

/// Out of the server's session, so that nothing meant for the server reaches us; and no signal may end
/// us before we are ready for it.
fn become_independent() {
    signals::hold_back(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD]);
    // SAFETY: plain system calls on this process alone.
    unsafe {
        libc::setsid();
        libc::umask(0o077);
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
}

fn read_order(dir: &RunDir) -> anyhow::Result<RunOrder> {
    let text = fs::read(dir.order()).context("reading the order")?;
    serde_json::from_slice(&text).context("understanding the order")
}

fn home(dir: &RunDir, order: &RunOrder) -> anyhow::Result<Home> {
    let line = |path: &Path| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let (server, token) = (line(&dir.server()).context("reading `server`")?, line(&dir.token()).context("reading `token`")?);
    Ok(Home { client: Client::new(&server, token)?, run: order.run.clone() })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?)
}

fn run(dir: &RunDir, order: &RunOrder, home: &Home, stop: OwnedFd) -> anyhow::Result<()> {
    let hierarchies = Hierarchies::here().unwrap_or_default();
    let blueprint = Blueprint::draw(&hierarchies, &order.run, &order.limits);
    write_down_who_we_are(dir, &blueprint).context("writing supervisor.json")?;
    exit::reserve(dir).context("reserving room for the exit record")?;
    let mut logs = Logs::create(dir).context("creating the log")?;
    let launched = launch::launch(&Ground { dir, order, blueprint: &blueprint, stop: &stop });
    protect_ourselves();
    let runtime = runtime()?;
    let launched = match launched {
        Ok(launched) => launched,
        Err(cause) => {
            let ending = never_started(cause);
            exit::record(dir, &ending).context("writing the exit record")?;
            return runtime.block_on(tell_ending(home, None, ending));
        }
    };
    runtime.block_on(async {
        let telling = tokio::spawn(tell_start(home.clone(), started(&launched), launched.missing.is_empty()));
        let seen = watch::watch(&launched, &mut logs, stop).await.context("watching the child")?;
        let ending = watch::conclude(&launched, &mut logs, seen, &order.limits).map_err(anyhow::Error::msg)?;
        if let Err(error) = logs.finish() {
            say(&format!("the log may not survive a power cut: {error}"));
        }
        exit::record(dir, &ending).context("writing the exit record")?;
        let untold = !telling.is_finished() && !launched.missing.is_empty();
        telling.abort();
        tell_ending(home, untold.then(|| started(&launched)), ending).await
    })
}

fn write_down_who_we_are(dir: &RunDir, blueprint: &Blueprint) -> anyhow::Result<()> {
    let record = SupervisorRecord { identity: Identity::own()?, cgroups: blueprint.paths() };
    Ok(new_private_file(&dir.supervisor())?.write_all(&serde_json::to_vec(&record)?)?)
}

/// When memory is short, the kernel should take a task before the one who can tell what happened. Done
/// after the child is born, so that it does not inherit it.
fn protect_ourselves() {
    let _ = fs::write("/proc/self/oom_score_adj", "-900");
}

fn started(launched: &Launched) -> Report {
    Report::Started { at_ms: launched.started_at_ms, pid: launched.child.cast_unsigned(), missing: launched.missing.clone() }
}

fn never_started(cause: Cause) -> Ending {
    Ending { cause, started_at_ms: None, ended_at_ms: now_ms(), peak_memory_bytes: None, cpu_ms: None }
}

/// A child that is over in a blink is told of once, by its ending, which also says when it started. That
/// halves the work for a thousand small tasks.
async fn tell_start(home: Home, report: Report, may_wait: bool) {
    const BLINK: Duration = Duration::from_millis(4);
    const WHILE_IT_RUNS: Duration = Duration::from_secs(365 * 24 * 3600);
    if may_wait {
        tokio::time::sleep(BLINK).await;
    }
    home.tell(&report, Instant::now() + WHILE_IT_RUNS).await;
}

async fn tell_ending(home: &Home, start: Option<Report>, ending: Ending) -> anyhow::Result<()> {
    let until = Instant::now() + AFTER_THE_END_MAX;
    if let Some(start) = start {
        home.tell(&start, until).await;
    }
    let told = home.tell(&Report::Ended { ending }, until).await;
    if told != super::report::Told::Yes {
        say(&format!("the ending was written down, but the server did not take it: {told:?}"));
    }
    Ok(())
}
