//! A supervisor's life, in the order in which things must happen.

use std::{
    cell::{Cell, OnceCell},
    convert::Infallible,
    fs,
    io::{self, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use model::{
    order::{Report, RunOrder, RunSecrets},
    task::{Cause, Ending, TaskState, Whose},
};
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::Builder,
    sync::watch::{Receiver, Sender},
    time::Instant,
};

use super::{
    carry::Carrier,
    cgroup::{Blueprint, Hierarchies},
    clues, disk, exit,
    journal::{self, now_ms, say},
    launch::{self, Ground, LastAccount, Launched},
    leash::Down,
    letter::Letter,
    lock::Lock,
    logs::Logs,
    pattern::Pattern,
    report::{Home, PATIENCE, Told},
    secrets,
    ship::Shipment,
    signals,
    stage::Stage,
    steps::Steps,
    text,
    told::{self, Remote},
    usage::{Sampler, UsageShipment},
    watch::{self, Seen},
};
use crate::{
    client::Client,
    crash,
    identity::Identity,
    rundir::{RunDir, new_private_file},
};

/// What `supervisor.json` says first of us: who we are, and what to clean up if we cannot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupervisorRecord {
    pub identity: Identity,
    pub cgroups: Vec<PathBuf>,
}

pub fn live(told: &told::Told, pattern: Option<Pattern>) -> anyhow::Result<()> {
    become_independent(pattern.as_ref());
    let dir = RunDir::at(&told.dir);
    journal::open(dir.journal());
    // Somebody else supervises this run already.
    let Some(_lock) = Lock::take(&dir.letter()).context("taking the lock")? else { return Ok(()) };
    crash::point("start.after-spawn-before-identity-recorded");
    let Some((order, home)) = find_order(&dir, told.remote.as_ref())? else { return Ok(()) };
    let (stop, is_remote) = (signals::descriptor(&STOPPING)?, told.remote.is_some());
    let life = Life { dir, order, home, stop, is_remote, steps: Steps::default(), secrets: OnceCell::new(), pattern };
    // The server knows that it is over, and wants what it has left.
    if life.dir.wanted().exists() {
        return life.after_the_end(None);
    }
    if let Some(ending) = exit::read(&life.dir).context("reading the exit record")? {
        return life.after_the_end(Some(ending));
    }
    // An earlier supervisor of this run is dead, and what its child did nobody can know. It is not ours
    // to start it a second time.
    if life.dir.supervisor().exists() { Ok(()) } else { life.run() }
}

const WHILE_IT_RUNS: Duration = Duration::from_secs(365 * 24 * 3600);
const STOPPING: [i32; 2] = [libc::SIGTERM, libc::SIGINT];

/// Out of the server's session, so that nothing meant for the server reaches us; and no signal may end
/// us before we are ready for it.
fn become_independent(pattern: Option<&Pattern>) {
    signals::hold_back(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD]);
    // SAFETY: plain system calls on this process alone.
    unsafe {
        libc::setsid();
        libc::umask(0o077);
        let kept = pattern.map_or(2, |pattern| pattern.as_raw_fd().cast_unsigned());
        if kept > 3 {
            libc::syscall(libc::SYS_close_range, 3, kept - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
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
    match block_on(|| home.order(Instant::now() + PATIENCE))? {
        Told::Yes(order) => Ok(Some((order, home))),
        Told::Unwanted(why) | Told::No(why) => {
            say(&format!("there is no order for us: {why}"));
            Ok(None)
        }
    }
}

/// Apart from those who need it now and then: what it holds is large, and a child that is over in a blink would pay for every page.
#[inline(never)]
fn block_on<F: Future>(work: impl FnOnce() -> F) -> anyhow::Result<F::Output> {
    Ok(Builder::new_current_thread().enable_io().enable_time().build()?.block_on(work()))
}

/// Who works beside the watch, for as long as there is something to watch.
struct Beside<'a> {
    shipment: Option<(Shipment, UsageShipment)>,
    sampler: Sampler<'a>,
}

struct Life {
    dir: RunDir,
    order: RunOrder,
    home: Home,
    /// Signals that ask us to stop wait here.
    stop: OwnedFd,
    is_remote: bool,
    steps: Steps,
    /// Known once they were asked for.
    secrets: OnceCell<RunSecrets>,
    pattern: Option<Pattern>,
}

impl Life {
    fn run(&self) -> anyhow::Result<()> {
        let blueprint = Blueprint::draw(Hierarchies::here(), &self.order.run, &self.order.limits);
        self.write_down_who_we_are(&blueprint).context("writing supervisor.json")?;
        let reserved = exit::reserve(&self.dir).map_err(no_room_for_the_record);
        let launched = reserved.and_then(|()| self.launch(&blueprint));
        protect_ourselves();
        match launched {
            Ok((launched, logs)) => self.watch(&launched, logs).or_else(|error| self.give_up(launched, error)),
            Err(cause) => {
                secrets::take_away(&self.dir);
                let ending = self.with_what_it_left(Ending::new(cause, None, now_ms()));
                self.write_down(&ending);
                if self.is_remote {
                    // The server may take its time, and our disk is all that knows of the ending until then.
                    self.make_record_durable();
                    block_on(async || Shipment::new(self.home.clone(), &self.dir).ship(Instant::now() + PATIENCE).await)?;
                }
                self.after_the_end(Some(ending))
            }
        }
    }

    /// Something failed us, and not the child, which nobody would watch any more. What became of it nobody knows; why is known.
    fn give_up(&self, launched: Launched, error: anyhow::Error) -> anyhow::Result<()> {
        if self.dir.exit().exists() {
            return Err(error);
        }
        let why = format!("its supervisor could not go on: {error:#}");
        say(&why);
        let began = launched.started_at_ms;
        watch::end_all(launched).map_err(anyhow::Error::msg)?;
        secrets::take_away(&self.dir);
        let ending = self.with_what_it_left(Ending::new(Cause::Unknown { why }, Some(began), now_ms()));
        self.write_down(&ending);
        self.make_record_durable();
        self.after_the_end(Some(ending))
    }

    fn launch(&self, blueprint: &Blueprint) -> Result<(Launched, Logs), Cause> {
        let (dir, order, home, stop) = (&self.dir, &self.order, &self.home, &self.stop);
        let asked = secrets::ask(order, home, stop)?;
        let (secrets, steps) = (self.secrets.get_or_init(|| asked), &self.steps);
        let ready = Stage { dir, order, secrets, home, stop, steps }.set()?;
        let program = order.command.first().map_or("", String::as_str);
        let (order, secret_files) = order.filled(secrets);
        let pattern = self.pattern.as_ref();
        launch::launch(Ground { dir, order: &order, program, secret_files, ready, blueprint, stop, home, steps, pattern })
    }

    /// A child that is over in a blink is told of once, by its ending, which also says when it started. A
    /// thousand small tasks are done in half the time for it.
    fn watch(&self, launched: &Launched, mut logs: Logs) -> anyhow::Result<()> {
        let mut seen = Seen::default();
        let over = watch::watch_a_blink(launched, &mut logs, &self.stop, &mut seen).context("watching the child")?;
        if over && !self.is_remote && launched.missing.is_empty() {
            let (ending, _) = self.conclude(launched, &mut logs, seen)?;
            return self.after_the_end(Some(ending));
        }
        if text::is_moved() {
            let _ = launched.leash.say(&Down::Stay);
            text::settle();
        }
        block_on(|| self.see_it_through(launched, logs, seen))?
    }

    /// The child is over and everyone of it is gone: what is left to do is to say so, and to carry out what it has left.
    fn after_the_end(&self, ending: Option<Ending>) -> anyhow::Result<()> {
        match ending {
            Some(ending) if !self.carries() => self.tell_from_the_door(ending),
            None if !self.carries() => Ok(()),
            Some(_) | None => block_on(async || {
                let tell = async {
                    let report = ending.map(|ending| Report::Ended { ending });
                    match report.filter(|report| !self.is_taken_at_once(report)) {
                        Some(report) => self.tell_ending(None, report).await,
                        None => Ok(()),
                    }
                };
                let finish = Sender::new(true);
                tokio::try_join!(tell, self.carry(finish.subscribe())).map(|_| ())
            })?,
        }
    }

    /// Whether anything is still to be copied out.
    fn carries(&self) -> bool {
        self.order.copies_out() && !self.dir.synced().exists()
    }

    async fn carry(&self, finish: Receiver<bool>) -> anyhow::Result<()> {
        if self.carries() { Carrier::new(&self.dir, &self.order, &self.home).carry(finish).await } else { Ok(()) }
    }

    /// Says it once and goes, if there is somebody who says yes. Else it takes longer.
    fn tell_from_the_door(&self, ending: Ending) -> anyhow::Result<()> {
        let report = Report::Ended { ending };
        if self.is_taken_at_once(&report) { Ok(()) } else { block_on(|| self.tell_ending(None, report))? }
    }

    /// The same where there is no other work that would have to wait meanwhile.
    async fn say_in_passing(&self, end: Report) -> anyhow::Result<()> {
        if self.is_taken_at_once(&end) { Ok(()) } else { self.tell_ending(None, end).await }
    }

    /// Whether the server has an ending in its database already. Where it does not, the record must outlast a power cut by itself.
    fn is_taken_at_once(&self, end: &Report) -> bool {
        let taken = self.home.knock(end);
        if !taken {
            self.make_record_durable();
        }
        taken
    }

    fn make_record_durable(&self) {
        if let Err(error) = exit::make_durable(&self.dir) {
            say(&format!("the exit record may not survive a power cut: {error}"));
        }
    }

    /// Waits until everyone is gone, and writes down how it ended.
    fn conclude(&self, launched: &Launched, logs: &mut Logs, seen: Seen) -> anyhow::Result<(Ending, Option<LastAccount>)> {
        let (ending, account) = watch::conclude(launched, logs, seen, &self.order.limits);
        secrets::take_away(&self.dir);
        if let Err(error) = logs.finish() {
            say(&format!("the log may not survive a power cut: {error}"));
        }
        let ending = self.with_what_it_left(ending);
        self.write_down(&ending);
        Ok((ending, account))
    }

    /// Where our disk takes no record, the server's may: it is told all the same, and nobody else is.
    fn write_down(&self, ending: &Ending) {
        if let Err(error) = exit::record(&self.dir, ending) {
            say(&format!("the exit record could not be written: {error}"));
        }
    }

    /// With how it came to begin, and, if it failed, with what the log and the disk say.
    fn with_what_it_left(&self, mut ending: Ending) -> Ending {
        ending.steps = self.steps.all();
        ending.spoke_at_ms = clues::spoke_at_ms(&self.dir).filter(|at_ms| ending.started_at_ms.is_some_and(|began| began <= *at_ms));
        if ending.cause.state() == TaskState::Failed {
            let nothing = RunSecrets::default();
            clues::add_what_it_left(ending.clues.get_or_insert_default(), &self.dir, self.secrets.get().unwrap_or(&nothing));
        }
        ending
    }

    fn started(&self, launched: &Launched) -> Report {
        Report::Started {
            at_ms: launched.started_at_ms,
            pid: launched.child.cast_unsigned(),
            missing: launched.missing.clone(),
            steps: self.steps.all(),
            spoke_at_ms: self.spoke_since(launched),
        }
    }

    fn spoke_since(&self, launched: &Launched) -> Option<u64> {
        clues::spoke_at_ms(&self.dir).filter(|at_ms| *at_ms >= launched.started_at_ms)
    }

    /// Tells of the child's first word, if that comes later than its start is told.
    async fn tell_first_word(&self, launched: &Launched) {
        const FIRST_LOOK: Duration = Duration::from_secs(1);
        const BETWEEN_LOOKS_MAX: Duration = Duration::from_secs(30);
        let mut pause = FIRST_LOOK;
        loop {
            tokio::time::sleep(pause).await;
            if let Some(at_ms) = self.spoke_since(launched) {
                self.home.tell(&Report::Spoke { at_ms }, Instant::now() + WHILE_IT_RUNS).await;
                return;
            }
            pause = (pause * 2).min(BETWEEN_LOOKS_MAX);
        }
    }

    fn write_down_who_we_are(&self, blueprint: &Blueprint) -> anyhow::Result<()> {
        let record = SupervisorRecord { identity: Identity::own()?, cgroups: blueprint.paths() };
        // The letter's own line has no end.
        let line = format!("\n{}\n", serde_json::to_string(&record)?);
        Ok(self.take_up_the_letter()?.write_all(line.as_bytes())?)
    }

    /// Succeeds once for each run.
    fn take_up_the_letter(&self) -> io::Result<fs::File> {
        match fs::hard_link(self.dir.letter(), self.dir.supervisor()) {
            Ok(()) => fs::OpenOptions::new().append(true).open(self.dir.supervisor()),
            // A disk that knows no second names gets a file of its own. One that is there already is nobody's to write.
            Err(_) => new_private_file(&self.dir.supervisor()),
        }
    }

    /// From the first blink to the report of the end.
    async fn see_it_through(&self, launched: &Launched, logs: Logs, seen: Seen) -> anyhow::Result<()> {
        let finish = Sender::new(false);
        tokio::try_join!(self.see_the_child(launched, logs, seen, &finish), self.carry(finish.subscribe())).map(|_| ())
    }

    async fn see_the_child(&self, launched: &Launched, mut logs: Logs, seen: Seen, finish: &Sender<bool>) -> anyhow::Result<()> {
        let (start_told, so_far) = (Cell::new(false), Sender::new(seen));
        let mut beside = Beside { shipment: self.is_remote.then(|| self.shipments()), sampler: Sampler::new(&self.dir, &self.order) };
        let seen = tokio::select! {
            seen = watch::watch(launched, &mut logs, &self.stop, &so_far) => seen.context("watching the child")?,
            never = self.meanwhile(launched, (&start_told, so_far.subscribe()), &mut beside) => match never {},
            never = disk::guard(&self.dir, self.order.limits.disk_bytes, launched, &so_far) => match never {},
        };
        let (ending, account) = self.conclude(launched, &mut logs, seen)?;
        let start_matters = !start_told.get() && !launched.missing.is_empty();
        let in_passing = !start_matters && !self.is_remote && !self.carries();
        if !in_passing {
            self.make_record_durable();
        }
        if let Some(account) = account {
            beside.sampler.finish(account);
        }
        finish.send_replace(true);
        if let Some((output, usage)) = &mut beside.shipment {
            let until = Instant::now() + PATIENCE;
            tokio::join!(output.ship(until), usage.ship(until));
        }
        if in_passing {
            return self.say_in_passing(Report::Ended { ending }).await;
        }
        self.tell_ending(start_matters.then(|| self.started(launched)), Report::Ended { ending }).await
    }

    /// What goes to a server that does not share our disk.
    fn shipments(&self) -> (Shipment, UsageShipment) {
        (Shipment::new(self.home.clone(), &self.dir), UsageShipment::new(self.home.clone(), &self.dir))
    }

    /// What is done beside watching, and may wait for the server as long as it likes.
    async fn meanwhile(
        &self,
        launched: &Launched,
        (start_told, mut so_far): (&Cell<bool>, Receiver<Seen>),
        Beside { shipment, sampler }: &mut Beside<'_>,
    ) -> Infallible {
        let tell = async {
            let start = self.started(launched);
            let told = self.home.tell(&start, Instant::now() + WHILE_IT_RUNS).await;
            start_told.set(told == Told::Yes(()));
            let is_silent = matches!(start, Report::Started { spoke_at_ms: None, .. });
            let kept = so_far.wait_for(|seen| seen.kept_since_ms.is_some());
            let listen = async {
                if is_silent {
                    self.tell_first_word(launched).await;
                }
                std::future::pending::<Infallible>().await
            };
            let seen = tokio::select! {
                seen = kept => seen.map(|seen| *seen),
                never = listen => match never {},
            };
            if let Some(mut kept) = seen.ok().and_then(|seen| watch::kept(launched, seen, &self.order)) {
                kept.ending = self.with_what_it_left(kept.ending);
                self.home.tell(&Report::Kept { kept }, Instant::now() + WHILE_IT_RUNS).await;
            }
        };
        let ship = async {
            if let Some((output, usage)) = shipment {
                tokio::join!(output.keep_shipping(), usage.keep_shipping());
            }
        };
        let receive = async {
            if let Some(door) = &launched.door {
                door.serve().await;
            }
        };
        tokio::join!(tell, ship, receive, sampler.keep_looking(launched));
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

fn no_room_for_the_record(error: io::Error) -> Cause {
    Cause::CannotStart { why: format!("the disk gives no room for the exit record: {error}"), whose: Whose::Platform }
}

/// When memory is short, the kernel should take a task before the one who can tell what happened. Done
/// after the child is born, so that it does not inherit it.
fn protect_ourselves() {
    let _ = fs::write("/proc/self/oom_score_adj", "-900");
}
