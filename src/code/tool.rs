//! A program that is run to its end by someone who may be asked to stop meanwhile.

use std::{
    io,
    os::{fd::RawFd, unix::process::CommandExt},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use super::{NotMade, Waiting, platform};

/// What is over in a moment is not waited for much longer, and what takes long is not looked at too often.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const BETWEEN_LOOKS_MAX: Duration = Duration::from_millis(20);

pub struct Tool<'a> {
    pub waiting: &'a Waiting<'a>,
    pub time_max: Duration,
    /// What the program is given under the same numbers. Locks among them are held for as long as it lives, so
    /// that nobody begins anew meanwhile.
    pub inherited: &'a [RawFd],
    /// Looked at all the while. Its failure ends the program.
    pub watch: &'a dyn Fn() -> Result<(), NotMade>,
}

impl Tool<'_> {
    pub fn run(&self, command: &mut Command) -> Result<ExitStatus, NotMade> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = self.spawn(command).map_err(|error| platform(format!("`{program}` could not be started: {error}")))?;
        self.wait(&mut child, &program)
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let inherited = self.inherited.to_vec();
        command.stdin(Stdio::null()).process_group(0);
        // SAFETY: plain system calls on the new process alone, which does not outlive us for long.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                libc::umask(0o022);
                let kept = inherited.iter().all(|descriptor| libc::fcntl(*descriptor, libc::F_SETFD, 0) == 0);
                if kept { Ok(()) } else { Err(io::Error::last_os_error()) }
            })
        };
        command.spawn()
    }

    fn wait(&self, child: &mut Child, program: &str) -> Result<ExitStatus, NotMade> {
        let (began, mut between_looks) = (Instant::now(), FIRST_LOOK);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(platform(format!("`{program}` was lost sight of: {error}"))),
            }
            let given_up = if (self.waiting.pause)(between_looks) {
                Err(NotMade::Stopped)
            } else if began.elapsed() > self.time_max {
                Err(platform(format!("`{program}` was not done in {} s", self.time_max.as_secs())))
            } else {
                (self.watch)()
            };
            between_looks = (between_looks * 2).min(BETWEEN_LOOKS_MAX);
            if let Err(reason) = given_up {
                end(child);
                return Err(reason);
            }
        }
    }
}

/// It and everyone it has started.
fn end(child: &mut Child) {
    // SAFETY: a plain system call; the group is the child's own, and the child is not reaped yet.
    unsafe { libc::killpg(child.id().cast_signed(), libc::SIGKILL) };
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, pause: &dyn Fn(Duration) -> bool, watch: &dyn Fn() -> Result<(), NotMade>) -> Result<ExitStatus, NotMade> {
        let waiting = Waiting { pause, say: &|_| {} };
        let tool = Tool { waiting: &waiting, time_max: Duration::from_millis(300), inherited: &[], watch };
        tool.run(Command::new("/bin/sh").args(["-c", script]))
    }

    fn pause(time: Duration) -> bool {
        std::thread::sleep(time);
        false
    }

    #[test]
    fn a_program_ends_by_itself_by_time_by_stop_or_by_whoever_watches() {
        assert_eq!(run("exit 3", &pause, &|| Ok(())).map(|it| it.code()), Ok(Some(3)));
        assert_eq!(run("sleep 60", &pause, &|| Ok(())), Err(platform("`/bin/sh` was not done in 0 s".into())));
        assert_eq!(run("sleep 60 & wait", &|_| true, &|| Ok(())), Err(NotMade::Stopped));
        assert_eq!(run("sleep 60", &pause, &|| Err(platform("enough".into()))), Err(platform("enough".into())));
        let missing =
            Tool { waiting: &Waiting { pause: &pause, say: &|_| {} }, time_max: Duration::ZERO, inherited: &[], watch: &|| Ok(()) };
        assert!(matches!(missing.run(&mut Command::new("/nowhere/git")), Err(NotMade::Failed { why, .. }) if why.contains("/nowhere/git")));
    }
}
