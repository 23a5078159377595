//! Watching a child that runs: its output goes to disk, a stop goes to its init, and its end comes back.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use model::{
    clues::{Clues, FullPlace, ProcessLimit},
    logs::Stream,
    order::{Limits, RunOrder},
    task::{Cause, Ending, Kept, TaskState},
};
use tokio::{
    io::{
        Interest,
        unix::{AsyncFd, AsyncFdReadyGuard},
    },
    sync::watch,
};

use super::{
    cgroup::Usage,
    journal::{now_ms, say},
    launch::{LastAccount, Launched, wait_for_end},
    leash::{Down, Up},
    logs::{Logs, Read},
    memory,
    porter::Left,
    signals, spawn, tree,
};

/// What was seen of the tree's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Of the main process, as `waitpid` gives it.
    pub status: Option<i32>,
    pub stopping: bool,
    pub killed: bool,
    /// When it failed, if its sandbox is kept.
    pub kept_since_ms: Option<u64>,
    pub full_shm: Option<(u64, u64)>,
    /// What it had on disk when we stopped it for that.
    pub over_disk_bytes: Option<u64>,
}

impl Seen {
    /// Whether it runs, and nobody wants it to stop.
    pub fn is_left_alone(&self) -> bool {
        self.status.is_none() && !self.stopping
    }

    fn note(&mut self, word: &Up) {
        match word {
            Up::Stopping => self.stopping = true,
            Up::Killing => self.killed = true,
            Up::MainEnded { status, full_shm } => (self.status, self.full_shm) = (Some(*status), *full_shm),
            Up::Kept => self.kept_since_ms = Some(now_ms()),
            Up::Ready { .. } | Up::Refused { .. } | Up::SetupEnded { .. } => {}
        }
    }
}

/// Watches for a blink, and answers whether that was all. What is over so soon is spared the machinery
/// that a longer life deserves.
pub fn watch_a_blink(launched: &Launched, logs: &mut Logs, stop: &OwnedFd, seen: &mut Seen) -> io::Result<bool> {
    const BLINK: Duration = Duration::from_millis(4);
    let deadline = Instant::now() + BLINK;
    let (leash, stop_fd) = (launched.leash.as_fd().as_raw_fd(), stop.as_raw_fd());
    let pipes = [(&launched.stdout, Stream::Stdout), (&launched.stderr, Stream::Stderr)];
    let mut open = [true; 2];
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        let fds = [0, 1].map(|it| if open[it] { pipes[it].0.as_raw_fd() } else { -1 });
        let [a_word, asked, out, err] = signals::wait_for([leash, stop_fd, fds[0], fds[1]], Some(left));
        for (it, _) in [out, err].into_iter().enumerate().filter(|(_, ready)| *ready) {
            open[it] = logs.read(pipes[it].0.as_fd(), pipes[it].1)? != Read::End;
        }
        logs.flush();
        if asked && signals::take(stop) {
            let _ = launched.leash.say(&Down::Stop);
        }
        if a_word {
            match launched.leash.hear::<Up>()? {
                Some(heard) => seen.note(&heard.word),
                None => return Ok(true),
            }
        }
    }
    Ok(false)
}

/// Watches until init is gone, and shows what it has seen so far. Nothing in here waits for the server.
pub async fn watch(launched: &Launched, logs: &mut Logs, stop: &OwnedFd, so_far: &watch::Sender<Seen>) -> io::Result<Seen> {
    let (leash, stop) = (listen(launched.leash.as_fd())?, listen(stop.as_fd())?);
    let (stdout, stderr) = (listen(launched.stdout.as_fd())?, listen(launched.stderr.as_fd())?);
    let roomy = [&launched.stdout, &launched.stderr].map(|pipe| spawn::widen(pipe.as_fd())) == [true; 2];
    let (mut stdout_open, mut stderr_open, mut spoke) = (true, true, None);
    let mut porter = launched.porter.as_ref().and_then(|it| it.end.as_ref()).map(|end| listen(end.as_fd())).transpose()?;
    loop {
        tokio::select! {
            word = leash.async_io(Interest::READABLE, |_| launched.leash.hear_now::<Up>()) => match word? {
                Some(heard) => so_far.send_modify(|seen| seen.note(&heard.word)),
                None => return Ok(*so_far.borrow()),
            },
            asked = stop.async_io(Interest::READABLE, |fd| signals::take_now(*fd)) => {
                asked?;
                // An init that cannot hear is gone, and its line will say so.
                let _ = launched.leash.say(&Down::Stop);
            }
            ready = stdout.readable(), if stdout_open => {
                stdout_open = pour(ready?, logs, Stream::Stdout)?;
                spoke = Some(Stream::Stdout);
            }
            ready = stderr.readable(), if stderr_open => {
                stderr_open = pour(ready?, logs, Stream::Stderr)?;
                spoke = Some(Stream::Stderr);
            }
            () = end_of(porter.as_ref()) => {
                launched.porter.iter().for_each(Left::reap);
                porter = None;
            }
        }
        logs.flush();
        if let Some(stream) = spoke.take().filter(|_| roomy) {
            logs.rest_after(stream);
        }
    }
}

/// Of a process that can be listened for; that of nobody never comes.
async fn end_of(process: Option<&AsyncFd<BorrowedFd<'_>>>) {
    match process {
        Some(process) => _ = process.readable().await,
        None => std::future::pending().await,
    }
}

fn listen(fd: BorrowedFd<'_>) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: the descriptor is borrowed for as long as it is registered, so it stays open and the same.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}

/// Waits for a signal that asks us to go. If there is no way to listen for one, none will come.
pub async fn asked_to_stop(stop: &OwnedFd) {
    match listen(stop.as_fd()) {
        Ok(stop) => _ = stop.async_io(Interest::READABLE, |fd| signals::take_now(*fd)).await,
        Err(_) => std::future::pending().await,
    }
}

/// Waits until there is a word on a line, or its other side is gone.
pub async fn word_from(line: BorrowedFd<'_>) {
    match listen(line) {
        Ok(line) => _ = line.readable().await,
        Err(_) => std::future::pending().await,
    }
}

/// Answers whether there may ever be more.
fn pour(mut ready: AsyncFdReadyGuard<'_, BorrowedFd<'_>>, logs: &mut Logs, stream: Stream) -> io::Result<bool> {
    match ready.try_io(|pipe| logs.read(*pipe.get_ref(), stream)) {
        Ok(Ok(Read::Some)) | Err(_) => Ok(true),
        Ok(Ok(Read::All)) => {
            // What comes after this read wakes us again, so there is no need to read once more for nothing.
            ready.clear_ready();
            Ok(true)
        }
        Ok(Ok(Read::End)) => Ok(false),
        Ok(Err(error)) => Err(error),
    }
}

/// Everyone is gone, every byte is read, and the ending is known; it is not yet written down. With it comes what the kernel
/// has charged all of them for.
pub fn conclude(launched: &Launched, logs: &mut Logs, seen: Seen, limits: &Limits) -> (Ending, Option<LastAccount>) {
    let account = wait_for_end(launched.init);
    if !launched.pid_namespace {
        end_the_rest(launched.porter.as_ref());
    }
    logs.drain(launched.stdout.as_fd(), Stream::Stdout);
    logs.drain(launched.stderr.as_fd(), Stream::Stderr);
    let usage = launched.group.usage();
    let ending = ending(launched, seen, usage, limits);
    // A group that cannot be emptied holds someone who lives, and then nothing has ended. How it ended is known all the same, so
    // nobody gives up here: the kernel lets go of such a process when its disk or device answers again.
    if let Err(why) = launched.group.remove() {
        say(&format!("the task has ended ({}), and one of its processes does not: {why}", ending.cause));
        while launched.group.remove().is_err() {}
    }
    let cpu_ms = ending.cpu_ms.or(account.map(|it| it.cpu.as_millis() as u64));
    (Ending { cpu_ms, ..ending }, account)
}

/// Ends everyone, for nobody will watch: without its line init ends. Answers who does not go.
pub fn end_all(launched: Launched) -> Result<(), String> {
    drop(launched.leash);
    wait_for_end(launched.init);
    if !launched.pid_namespace {
        end_the_rest(launched.porter.as_ref());
    }
    launched.group.remove()
}

fn ending(launched: &Launched, seen: Seen, usage: Usage, limits: &Limits) -> Ending {
    let kernel_log = launched.witness.killed();
    let cause = cause(seen, limits, memory::cause(usage, limits, kernel_log.as_deref()));
    let clues = (cause.state() == TaskState::Failed).then(|| Box::new(Clues { kernel_log, ..clues(launched, seen, limits) }));
    let (peak_memory_bytes, cpu_ms) = (usage.peak_memory_bytes, usage.cpu_ms);
    let ended_at_ms = seen.kept_since_ms.unwrap_or_else(now_ms);
    Ending { peak_memory_bytes, cpu_ms, clues, ..Ending::new(cause, Some(launched.started_at_ms), ended_at_ms) }
}

/// What its group tells of it.
fn clues(launched: &Launched, seen: Seen, limits: &Limits) -> Clues {
    let refused = launched.group.refused_processes();
    let shm = |(free_bytes, all_bytes)| FullPlace { place: "/dev/shm".into(), free_bytes, all_bytes };
    Clues {
        full: seen.full_shm.map(shm).into_iter().collect(),
        processes: (refused > 0).then_some(ProcessLimit { refused, most: limits.processes_max }),
        core_dumped: seen.status.is_some_and(|status| libc::WCOREDUMP(status)),
        ..Clues::default()
    }
}

/// What is known of a child that has failed and whose sandbox is kept.
pub fn kept(launched: &Launched, seen: Seen, order: &RunOrder) -> Option<Kept> {
    let until_ms = seen.kept_since_ms?.saturating_add(order.keep_failed_ms?);
    let ending = ending(launched, seen, launched.group.usage(), &order.limits);
    Some(Kept { ending, until_ms, pid: launched.init.cast_unsigned() })
}

/// If init was killed from outside and no namespace ended its children, they are ours now. A porter that waits for a disk is
/// none of them, and nobody waits for it.
fn end_the_rest(porter: Option<&Left>) {
    const PAUSE: Duration = Duration::from_millis(2);
    while tree::kill_below(std::process::id().cast_signed(), porter.and_then(Left::pid)) > 0 {
        // SAFETY: no status is asked for.
        if unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

/// How it ended, from what was seen.
///
/// A kill for memory counts when the main process did not succeed: it may have been a child of it
/// that was killed, and the failure that followed is the same story.
fn cause(seen: Seen, limits: &Limits, for_memory: Option<Cause>) -> Cause {
    match (seen.status, for_memory) {
        _ if seen.stopping => match seen.over_disk_bytes.zip(limits.disk_bytes) {
            Some((used_bytes, limit_bytes)) => Cause::OverDisk { limit_bytes, used_bytes },
            None => Cause::Stopped { killed: seen.killed },
        },
        (Some(status), _) if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 => Cause::Exited { code: 0 },
        (Some(_) | None, Some(for_memory)) => for_memory,
        (Some(status), None) if libc::WIFEXITED(status) => Cause::Exited { code: libc::WEXITSTATUS(status) },
        (Some(status), None) => Cause::Signaled { signal: libc::WTERMSIG(status) },
        (None, None) => Cause::Unknown { why: "the first process of its tree was killed from outside".into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { cpus_milli: 0, memory_bytes: 50 << 20, shared_memory_bytes: 0, disk_bytes: None, processes_max: 0 };

    fn said(status: Option<i32>, stopping: bool, oom_kills: u64) -> String {
        let usage = Usage { oom_kills, reached_limit: Some(true), ..Usage::default() };
        let seen = Seen { status, stopping, killed: false, ..Seen::default() };
        cause(seen, &LIMITS, memory::cause(usage, &LIMITS, None)).to_string()
    }

    #[test]
    fn what_was_seen_decides_how_it_ended() {
        let exited = |code: i32| Some(code << 8);
        insta::assert_snapshot!([
            said(exited(0), false, 0),
            said(exited(255), false, 0),
            said(Some(11), false, 0),
            said(Some(9), false, 1),
            said(exited(1), false, 2),
            said(exited(0), false, 1),
            said(exited(0), true, 0),
            said(None, false, 1),
            said(None, false, 0),
        ].join("\n"), @"
        exited with code 0
        exited with code 255
        ended by signal 11 (SIGSEGV, a segmentation fault)
        out of memory: its limit is 50MiB and the kernel killed 1 of its processes
        out of memory: its limit is 50MiB and the kernel killed 2 of its processes
        exited with code 0
        stopped
        out of memory: its limit is 50MiB and the kernel killed 1 of its processes
        nobody knows how it ended: the first process of its tree was killed from outside
        ");
    }
}
