//! The porter that fetches what the child needs, as its supervisor sees it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use model::task::{Cause, Whose};
use nix::{
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};
use tokio::io::AsyncBufReadExt;

use super::{carry::Words, signals};
use crate::{
    identity::pidfd,
    porter::{
        VERB,
        errand::{Errand, Staged, Word},
    },
};

/// How long a porter has to end by itself.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// What was carried in, and the locks that keep it there.
#[derive(Default)]
pub struct Fetched {
    pub staged: Staged,
    pub held: Vec<File>,
    pub left: Option<Left>,
}

/// A porter that does by itself what nobody waits for. It ends with us at the latest.
pub struct Left {
    pid: i32,
    /// There is something to read here when it has ended; where the kernel does not tell, it is reaped with us.
    pub end: Option<OwnedFd>,
}

impl Left {
    /// Its number, for as long as that cannot be a stranger's.
    pub fn pid(&self) -> Option<i32> {
        let has_ended = |end: &OwnedFd| signals::wait_for([end.as_raw_fd()], Some(Duration::ZERO)) == [true];
        (!self.end.as_ref().is_some_and(has_ended)).then_some(self.pid)
    }

    /// Waits for its end, where it has nothing more to do than to come to it.
    pub fn wait(self) {
        if let Some(end) = &self.end {
            signals::wait_for([end.as_raw_fd()], None);
        }
        self.reap();
    }

    pub fn reap(&self) {
        // SAFETY: no status is asked for, and nobody but us can reap it.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

/// Sends a porter and waits for it, or until we are asked to stop.
pub fn fetch(errand: &Errand, stop: &OwnedFd, tell: &dyn Fn(&str)) -> Result<Fetched, Cause> {
    let trouble = |error: io::Error| platform(format!("no porter could be sent: {error}"));
    let mut sent = Sent::off(errand).map_err(trouble)?;
    loop {
        if sent.output.buffer().is_empty() {
            let [word, asked] = signals::wait_for([sent.output.get_ref().as_raw_fd(), stop.as_raw_fd()], None);
            if asked && signals::take(stop) {
                return Err(Cause::Stopped { killed: false });
            }
            if !word {
                continue;
            }
        }
        match sent.hear().map_err(trouble)? {
            Some(Word::Doing(what)) => tell(&what),
            Some(Word::Staged(staged)) => {
                let held = hold(&staged).map_err(trouble);
                let left = Some(sent.leave());
                return Ok(Fetched { held: held?, staged, left });
            }
            Some(Word::Failed { why, whose }) => return Err(Cause::CannotStart { why, whose }),
            Some(Word::Synced(_) | Word::Stuck { .. } | Word::Replaced) => {
                return Err(platform("the porter spoke of something else".into()));
            }
            None => return Err(platform("the porter ended without a word".into())),
        }
    }
}

fn platform(why: String) -> Cause {
    Cause::CannotStart { why, whose: Whose::Platform }
}

fn hold(staged: &Staged) -> io::Result<Vec<File>> {
    let shared = |path| {
        let file = File::open(path)?;
        file.lock_shared()?;
        Ok(file)
    };
    staged.locks.iter().map(shared).collect()
}

/// A porter that is on its way. It ends when we let go of it.
pub struct Sent {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    is_left: bool,
}

impl Sent {
    pub fn off(errand: &Errand) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).process_group(0);
        // SAFETY: a plain system call on the new process alone. It does not outlive us.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                Ok(())
            })
        };
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut sent = Self { child, output, is_left: false };
        let line = serde_json::to_string(errand)? + "\n";
        sent.child.stdin.as_mut().expect("its input is a pipe").write_all(line.as_bytes())?;
        Ok(sent)
    }

    /// Both ends of a talk with it, for whoever does other things meanwhile. Nothing was heard from it so far.
    pub fn talk(&mut self) -> io::Result<(Words, ChildStdin)> {
        let output = self.output.get_ref().as_fd().try_clone_to_owned()?;
        let words = tokio::io::BufReader::new(tokio::net::unix::pipe::Receiver::from_owned_fd(output)?);
        Ok((words.lines(), self.child.stdin.take().expect("its input is a pipe")))
    }

    /// Lets it do by itself what nobody waits for. It ends when that is done, or with us.
    fn leave(mut self) -> Left {
        drop(self.child.stdin.take());
        self.is_left = true;
        let pid = self.child.id().cast_signed();
        Left { pid, end: pidfd(pid).ok().flatten() }
    }

    /// Without reaping it, so that its group is still its own.
    fn lives(&self) -> bool {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(Pid::from_raw(self.child.id().cast_signed())), look) == Ok(WaitStatus::StillAlive)
    }

    fn hear(&mut self) -> io::Result<Option<Word>> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }
}

impl Drop for Sent {
    /// It and everyone it has started. It is asked first, so that it can end those who are not of its group.
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        drop(self.child.stdin.take());
        let asked = Instant::now();
        while asked.elapsed() < FAREWELL_MAX && self.lives() {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        // SAFETY: a plain system call; the group is the porter's own, and it is not reaped yet.
        unsafe { libc::killpg(self.child.id().cast_signed(), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_left_has_its_number_until_it_has_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id().cast_signed();
        let left = Left { pid, end: pidfd(pid).unwrap() };
        assert_eq!(left.pid(), Some(pid));
        drop(child.stdin.take());
        signals::wait_for([left.end.as_ref().unwrap().as_raw_fd()], None);
        assert_eq!(left.pid(), None);
        left.reap();
        assert_eq!(left.pid(), None, "the number may be another's now");
        assert!(child.try_wait().is_err(), "it is reaped");
    }
}
