//! A supervisor's life, in the order in which things must happen.

use std::{
    cell::Cell,
    convert::Infallible,
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
use tokio::{
    runtime::Runtime,
    sync::watch::{Receiver, Sender},
    time::Instant,
};

use super::{
    cgroup::{Blueprint, Hierarchies},
    exit,
    identity::Identity,
    journal::{self, now_ms, say},
    launch::{self, Ground, Launched},
    letter::Letter,
    lock::Lock,
    logs::Logs,
    report::{Home, PATIENCE, Told},
    ship::Shipment,
    signals, stage,
    told::{self, Remote},
    watch::{self, Seen},
};
use crate::{
    client::Client,
    crash,
    rundir::{RunDir, new_private_file},
};

/// What the first line of `supervisor.json` holds: who we are, and what to clean up if we cannot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupervisorRecord {
    pub identity: Identity,
    pub cgroups: Vec<PathBuf>,
}

pub fn live(told: &told::Told) -> anyhow::Result<()> {
    become_independent();
    let dir = RunDir::at(&told.dir);
    journal::open(dir.journal());
    // Somebody else supervises this run already.
    let Some(_lock) = Lock::take(&dir.letter()).context("taking the lock")? else { return Ok(()) };
    crash::point("start.after-spawn-before-identity-recorded");
    let Some((order, home)) = find_order(&dir, told.remote.as_ref())? else { return Ok(()) };
    let life = Life { dir, order, home, stop: signals::descriptor(&STOPPING)?, is_remote: told.remote.is_some() };
    if let Some(ending) = exit::read(&life.dir).context("reading the exit record")? {
        return life.tell_from_the_door(ending);
    }
    // An earlier supervisor of this run is dead, and what its child did nobody can know. It is not ours
    // to start it a second time.
    if life.dir.supervisor().exists() { Ok(()) } else { life.run() }
}

const WHILE_IT_RUNS: Duration = Duration::from_secs(365 * 24 * 3600);
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

/// The order lies in our directory, or has to be asked for. `None` if nobody has one for us.
fn find_order(dir: &RunDir, remote: Option<&Remote>) -> anyhow::Result<Option<(RunOrder, Home)>> {
    let line =
        |path: &Path| fs::read_to_string(path).map(|text| text.trim().to_owned()).with_context(|| format!("reading {}", path.display()));
    let home = |server: &str, token: String, run| -> anyhow::Result<Home> { Ok(Home::new(Client::new(server, token)?, run, dir.clone())) };
    let Some(remote) = remote else {
        let letter = Letter::read(&dir.letter()).context("reading the letter")?.context("there is no letter that can be read")?;
        let home = home(&letter.server, letter.token, letter.order.run.clone())?;
        return Ok(Some((letter.order, home)));
    };
    let home = home(&remote.server, line(&remote.token_file)?, remote.run.clone())?;
    // The runtime ends with this line, and with it any thread it may have made to look up a name: init
    // must be forked from a process that has only one.
    match runtime()?.block_on(home.order(Instant::now() + PATIENCE)) {
        Told::Yes(order) => Ok(Some((order, home))),
        Told::Unwanted(why) | Told::No(why) => {
            say(&format!("there is no order for us: {why}"));
            Ok(None)
        }
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?)
}

struct Life {
    dir: RunDir,
    order: RunOrder,
    home: Home,
    /// Signals that ask us to stop wait here.
    stop: OwnedFd,
    is_remote: bool,
}

impl Life {
    fn run(&self) -> anyhow::Result<()> {
        let blueprint = Blueprint::draw(Hierarchies::here(), &self.order.run, &self.order.limits);
        self.write_down_who_we_are(&blueprint).context("writing supervisor.json")?;
        exit::reserve(&self.dir).context("reserving room for the exit record")?;
        let launched = self.launch(&blueprint);
        protect_ourselves();
        match launched {
            Ok(launched) => self.watch(&launched),
            Err(cause) => {
                let ending = never_started(cause);
                exit::record(&self.dir, &ending).context("writing the exit record")?;
                self.tell_from_the_door(ending)
            }
        }
    }

    fn launch(&self, blueprint: &Blueprint) -> Result<Launched, Cause> {
        let environment = stage::environment(&self.dir, &self.order, &self.home, &self.stop)?;
        launch::launch(&Ground { dir: &self.dir, order: &self.order, environment, blueprint, stop: &self.stop, home: &self.home })
    }

    /// A child that is over in a blink is told of once, by its ending, which also says when it started. A
    /// thousand small tasks are done in half the time for it.
    fn watch(&self, launched: &Launched) -> anyhow::Result<()> {
        let (mut logs, mut seen) = (Logs::new(&self.dir), Seen::default());
        let over = watch::watch_a_blink(launched, &mut logs, &self.stop, &mut seen).context("watching the child")?;
        if over && !self.is_remote && launched.missing.is_empty() {
            let ending = self.conclude(launched, &mut logs, seen)?;
            return self.tell_from_the_door(ending);
        }
        runtime()?.block_on(self.see_it_through(launched, logs, seen))
    }

    /// Says it once and goes, if there is somebody who says yes. Else it takes longer.
    fn tell_from_the_door(&self, ending: Ending) -> anyhow::Result<()> {
        let report = Report::Ended { ending };
        if self.home.knock(&report) { Ok(()) } else { runtime()?.block_on(self.tell_ending(None, report)) }
    }

    /// Waits until everyone is gone, and writes down how it ended.
    fn conclude(&self, launched: &Launched, logs: &mut Logs, seen: Seen) -> anyhow::Result<Ending> {
        let ending = watch::conclude(launched, logs, seen, &self.order.limits).map_err(anyhow::Error::msg)?;
        if let Err(error) = logs.finish() {
            say(&format!("the log may not survive a power cut: {error}"));
        }
        exit::record(&self.dir, &ending).context("writing the exit record")?;
        Ok(ending)
    }

    fn write_down_who_we_are(&self, blueprint: &Blueprint) -> anyhow::Result<()> {
        let record = SupervisorRecord { identity: Identity::own()?, cgroups: blueprint.paths() };
        let line = serde_json::to_string(&record)? + "\n";
        Ok(new_private_file(&self.dir.supervisor())?.write_all(line.as_bytes())?)
    }

    /// From the first blink to the report of the end.
    async fn see_it_through(&self, launched: &Launched, mut logs: Logs, seen: Seen) -> anyhow::Result<()> {
        let (start_told, so_far) = (Cell::new(false), Sender::new(seen));
        let mut shipment = self.is_remote.then(|| Shipment::new(self.home.clone(), &self.dir));
        let seen = tokio::select! {
            seen = watch::watch(launched, &mut logs, &self.stop, &so_far) => seen.context("watching the child")?,
            never = self.meanwhile(launched, (&start_told, so_far.subscribe()), &mut shipment) => match never {},
        };
        let ending = self.conclude(launched, &mut logs, seen)?;
        if let Some(shipment) = &mut shipment {
            shipment.ship(Instant::now() + PATIENCE).await;
        }
        let start_matters = !start_told.get() && !launched.missing.is_empty();
        self.tell_ending(start_matters.then(|| started(launched)), Report::Ended { ending }).await
    }

    /// What is done beside watching, and may wait for the server as long as it likes.
    async fn meanwhile(
        &self,
        launched: &Launched,
        (start_told, mut so_far): (&Cell<bool>, Receiver<Seen>),
        shipment: &mut Option<Shipment>,
    ) -> Infallible {
        let tell = async {
            let told = self.home.tell(&started(launched), Instant::now() + WHILE_IT_RUNS).await;
            start_told.set(told == Told::Yes(()));
            let seen = so_far.wait_for(|seen| seen.kept_since_ms.is_some()).await.map(|seen| *seen);
            if let Some(kept) = seen.ok().and_then(|seen| watch::kept(launched, seen, &self.order)) {
                self.home.tell(&Report::Kept { kept }, Instant::now() + WHILE_IT_RUNS).await;
            }
        };
        let ship = async {
            if let Some(shipment) = shipment {
                shipment.keep_shipping().await;
            }
        };
        let receive = async {
            if let Some(door) = &launched.door {
                door.serve().await;
            }
        };
        tokio::join!(tell, ship, receive);
        std::future::pending().await
    }

    /// The ending is on disk. At home that is enough for a supervisor that is asked to go; far away the
    /// disk may go with us, so we stay until it is told.
    async fn tell_ending(&self, start: Option<Report>, end: Report) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        let tell = async {
            if let Some(start) = start {
                self.home.tell(&start, until).await;
            }
            self.home.tell(&end, until).await
        };
        tokio::select! {
            told = tell => if told != Told::Yes(()) {
                say(&format!("the ending is written down, but the server did not take it: {told:?}"));
            },
            () = watch::asked_to_stop(&self.stop), if !self.is_remote => {}
        }
        Ok(())
    }
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
