//! `uv`, which makes environments: found or installed, called, and its words understood.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use model::{framework::Environment, task::Whose};

use super::{
    NotMade, Settings, Waiting, beside,
    interpreter::Interpreter,
    once::{self, Making},
    platform,
};

/// Installed where there is none.
const VERSION: &str = "0.13.7";
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

pub struct Uv<'a> {
    program: PathBuf,
    settings: &'a Settings,
}

/// The machine's own `uv`.
pub fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("uv")).find(|it| it.is_file())
}

impl<'a> Uv<'a> {
    /// The one on this machine, or else one of our own, which stands on the shelf like an environment.
    pub fn find(shelf: &Path, settings: &'a Settings, waiting: &Waiting<'_>) -> Result<Self, NotMade> {
        if let Some(program) = on_path() {
            return Ok(Self { program, settings });
        }
        let place = shelf.join(format!("uv-{VERSION}"));
        let install = |making: &Making<'_>| {
            (waiting.say)(&format!("installs uv {VERSION}, which is not on this machine"));
            let tool = Tool { making, settings };
            tool.run(Command::new("python3").args(["-m", "venv"]).arg(making.place))?;
            let mut pip = Command::new(making.place.join("bin/pip"));
            pip.args(["install", "--disable-pip-version-check", "--quiet", &format!("uv=={VERSION}")]);
            if let Some(index) = settings.variables.get("UV_DEFAULT_INDEX").or_else(|| settings.variables.get("UV_INDEX_URL")) {
                // Not as an argument: it may hold a password, and arguments are for everyone to see.
                pip.env("PIP_INDEX_URL", index);
            }
            tool.run(&mut pip)
        };
        if !once::is_whole(&place) {
            once::make(&place, waiting, install)?;
        }
        Ok(Self { program: place.join("bin/uv"), settings })
    }

    pub fn make(&self, making: &Making<'_>, wanted: &Environment, interpreter: &Interpreter) -> Result<(), NotMade> {
        let tool = Tool { making, settings: self.settings };
        let mut venv = Command::new(&self.program);
        venv.args(["venv", "--no-project", "--python", interpreter.text()]).arg(making.place);
        tool.run(&mut venv)?;
        if wanted.requirements.is_empty() {
            return Ok(());
        }
        let mut install = Command::new(&self.program);
        // Tasks cannot write into their environment, so what Python would note down there while importing is
        // noted down now.
        install.args(["pip", "install", "--compile-bytecode", "--python"]).arg(making.place.join("bin/python")).args(&wanted.requirements);
        tool.run(&mut install)
    }
}

/// Runs the programs that make one environment. What they say goes into a file beside it.
struct Tool<'a> {
    making: &'a Making<'a>,
    settings: &'a Settings,
}

impl Tool<'_> {
    fn run(&self, command: &mut Command) -> Result<(), NotMade> {
        let log = beside(self.making.place, ".log");
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = self.spawn(command, &log).map_err(|error| platform(format!("`{program}` could not be started: {error}")))?;
        let status = self.wait(&mut child)?;
        if status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
        Err(understand(&said))
    }

    fn spawn(&self, command: &mut Command, log: &Path) -> io::Result<Child> {
        let log = File::create(log)?;
        let lock = self.making.lock.as_raw_fd();
        command.env_clear().envs(&self.settings.variables).envs([("NO_COLOR", "1"), ("UV_NO_PROGRESS", "1")]);
        command.current_dir(self.making.place.parent().unwrap_or(Path::new("/")));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        // SAFETY: plain system calls on the new process alone. It shares the lock, so that nobody begins anew
        // while it lives; and it does not outlive us for long.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                libc::umask(0o022);
                if libc::fcntl(lock, libc::F_SETFD, 0) == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
            })
        };
        command.spawn()
    }

    fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, NotMade> {
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(platform(format!("uv was lost sight of: {error}"))),
            }
            let stop = (self.making.waiting.pause)(BETWEEN_LOOKS);
            if stop || began.elapsed() > once::MAKING_MAX {
                end(child);
                let too_long = || platform(format!("the environment was not made in {} s", once::MAKING_MAX.as_secs()));
                return Err(if stop { NotMade::Stopped } else { too_long() });
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

/// A version that does not exist is for the one who named it to change. Everything else, from a full
/// disk to a line that is down, may be better in a while and is not their doing.
fn understand(said: &str) -> NotMade {
    let unsolvable = said.contains("No solution found") && !said.contains("the network was disabled");
    let whose = if unsolvable { Whose::User } else { Whose::Platform };
    NotMade::Failed { why: format!("the Python environment could not be made: {}", last_words(said)), whose }
}

/// From where it says that something is wrong, as much as an exit record has room for.
fn last_words(said: &str) -> String {
    const CHARACTERS_MAX: usize = 900;
    let from = said.rfind("\nerror:").map(|at| at + 1).unwrap_or(0);
    let words: Vec<&str> = said[from..].split_whitespace().collect();
    let text = words.join(" ").trim_start_matches("error: ").to_owned();
    if text.is_empty() {
        return "it gave no reason".into();
    }
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(said: &str) -> String {
        match understand(said) {
            NotMade::Failed { why, whose } => format!("{whose:?}: {why}"),
            NotMade::Stopped => "stopped".into(),
        }
    }

    #[test]
    fn a_version_that_does_not_exist_is_the_user_s_and_a_line_that_is_down_is_not() {
        let cases = [
            "Using Python 3.11\nerror: No solution found when resolving dependencies\n  cause: Because only torch<=2.15.0 is available and you require torch==99.*, we can conclude that your requirements are unsatisfiable.\n",
            "error: Request failed after 3 retries in 13.2s\n  cause: Failed to fetch: http://127.0.0.1:9/simple/jax/\n  cause: Connection refused (os error 111)\n",
            "error: No solution found when resolving dependencies\n  cause: Because jax was not found in the cache\n\nhint: Packages were unavailable because the network was disabled.\n",
            "",
        ];
        insta::assert_snapshot!(cases.map(understood).join("\n"), @"
        User: the Python environment could not be made: No solution found when resolving dependencies cause: Because only torch<=2.15.0 is available and you require torch==99.*, we can conclude that your requirements are unsatisfiable.
        Platform: the Python environment could not be made: Request failed after 3 retries in 13.2s cause: Failed to fetch: http://127.0.0.1:9/simple/jax/ cause: Connection refused (os error 111)
        Platform: the Python environment could not be made: No solution found when resolving dependencies cause: Because jax was not found in the cache hint: Packages were unavailable because the network was disabled.
        Platform: the Python environment could not be made: it gave no reason
        ");
        assert!(understood(&"é ".repeat(5_000)).chars().count() < 1_000);
    }
}
