//! What runs before the command: a line of the shell, in the child's own place and with its limits. Its output is the
//! beginning of the task's log.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use model::{
    logs::Stream,
    task::{Cause, Whose},
};

use super::{
    leash::{Down, Leash, Up},
    logs::{Logs, Read},
    signals,
};

/// The child stands before its exec, and runs its setup when it gets the word.
pub struct Setup<'a> {
    pub leash: &'a Leash,
    pub go: &'a File,
    pub stdout: &'a OwnedFd,
    pub stderr: &'a OwnedFd,
    /// Signals that ask us to stop wait here.
    pub stop: &'a OwnedFd,
}

/// What was heard of it so far.
#[derive(Default)]
struct Heard {
    stopping: bool,
    killed: bool,
    /// As `waitpid` gives it.
    status: Option<i32>,
    is_over: bool,
}

impl Setup<'_> {
    /// The error is how the run ended without its command ever having begun.
    pub fn run(&self, logs: &mut Logs) -> Result<(), Cause> {
        let outcome = self.watch(logs);
        for (pipe, stream) in [(self.stdout, Stream::Stdout), (self.stderr, Stream::Stderr)] {
            logs.drain(pipe.as_fd(), stream);
        }
        logs.flush();
        match outcome {
            Ok(heard) if heard.stopping => Err(Cause::Stopped { killed: heard.killed }),
            Ok(Heard { status: Some(0), .. }) => Ok(()),
            Ok(Heard { status: Some(status), .. }) => Err(Cause::SetupFailed { code: shell_code(status) }),
            Ok(_) => Err(platform("the child ended during its setup".into())),
            Err(error) => Err(platform(format!("its setup could not be watched: {error}"))),
        }
    }

    fn watch(&self, logs: &mut Logs) -> io::Result<Heard> {
        let mut go = self.go;
        go.write_all(b"s")?;
        let pipes = [(self.stdout, Stream::Stdout), (self.stderr, Stream::Stderr)];
        let (mut open, mut heard) = ([true; 2], Heard::default());
        while !heard.is_over {
            let fds = [0, 1].map(|it| if open[it] { pipes[it].0.as_raw_fd() } else { -1 });
            let [a_word, asked, out, err] =
                signals::wait_for([self.leash.as_fd().as_raw_fd(), self.stop.as_raw_fd(), fds[0], fds[1]], None);
            for (it, _) in [out, err].into_iter().enumerate().filter(|(_, ready)| *ready) {
                open[it] = logs.read(pipes[it].0.as_fd(), pipes[it].1)? != Read::End;
            }
            logs.flush();
            if asked && signals::take(self.stop) {
                // An init that cannot hear is gone, and its line will say so.
                let _ = self.leash.say(&Down::Stop);
            }
            if a_word {
                heard.note(self.leash.hear::<Up>()?.map(|it| it.word));
            }
        }
        Ok(heard)
    }
}

impl Heard {
    /// Whoever is stopped is not done before everyone is gone.
    fn note(&mut self, word: Option<Up>) {
        match word {
            Some(Up::SetupEnded { status }) => self.status = Some(status),
            Some(Up::Stopping) => self.stopping = true,
            Some(Up::Killing) => self.killed = true,
            Some(Up::Ready { .. } | Up::Refused { .. } | Up::MainEnded { .. } | Up::Kept) => {}
            None => self.is_over = true,
        }
        self.is_over |= self.status.is_some() && !self.stopping;
    }
}

fn platform(why: String) -> Cause {
    Cause::CannotStart { why, whose: Whose::Platform }
}

fn shell_code(status: i32) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}
