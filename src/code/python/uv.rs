//! `uv`, which makes environments: found or installed, called, and its words understood.

use std::{
    cell::RefCell,
    fs::{self, OpenOptions},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    IS_WHOLE, Settings, Shelf, Wanted,
    asked::{self, Asked, Kind},
    interpreter::Interpreter,
    lines, once, words,
};
use crate::code::{
    NotMade, Waiting, beside,
    once::{MAKING_MAX, Making, remove},
    platform, tool,
    workshop::Workshop,
};

/// Installed where there is none.
const VERSION: &str = "0.13.7";

pub struct Uv<'a> {
    program: PathBuf,
    shelf: &'a Shelf,
    settings: &'a Settings,
    /// Everything that was said by a tool that failed.
    said: &'a RefCell<String>,
}

/// The machine's own `uv`.
pub fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("uv")).find(|it| it.is_file())
}

impl<'a> Uv<'a> {
    /// The one on this machine, or else one of our own, which stands on the shelf like an environment.
    pub fn find(shelf: &'a Shelf, settings: &'a Settings, waiting: &Waiting<'_>, said: &'a RefCell<String>) -> Result<Self, NotMade> {
        if let Some(program) = on_path() {
            return Ok(Self { program, shelf, settings, said });
        }
        let place = shelf.dir.join(format!("uv-{VERSION}"));
        let install = |making: &Making<'_>| {
            (waiting.say)(&format!("installs uv {VERSION}, which is not on this machine"));
            let tool = Tool::new(making, settings, said)?;
            tool.run(Command::new("python3").args(["-m", "venv"]).arg(making.place))?;
            let mut pip = Command::new(making.place.join("bin/pip"));
            pip.args(["install", "--disable-pip-version-check", "--quiet", &format!("uv=={VERSION}")]);
            if let Some(index) = settings.variables.get("UV_DEFAULT_INDEX").or_else(|| settings.variables.get("UV_INDEX_URL")) {
                // Not as an argument: it may hold a password, and arguments are for everyone to see.
                pip.env("PIP_INDEX_URL", index);
            }
            tool.run(&mut pip)?;
            Ok(IS_WHOLE.to_owned())
        };
        let ours = once(&place, waiting);
        if !ours.is_whole() {
            ours.make(install)?;
        }
        Ok(Self { program: place.join("bin/uv"), shelf, settings, said })
    }

    pub fn make(&self, making: &Making<'_>, wanted: &Wanted<'_>, interpreter: &Interpreter) -> Result<(), NotMade> {
        let tool = Tool::new(making, self.settings, self.said)?;
        let mut venv = Command::new(&self.program);
        venv.args(["venv", "--no-project", "--python", interpreter.text()]).arg(making.place);
        tool.run(&mut venv)?;
        let python = making.place.join("bin/python");
        let mut install = Command::new(&self.program);
        install.args(["pip", "install", "--python"]).arg(&python).args(wanted.packages());
        if let Some(asked) = &wanted.asked {
            let copies = beside(making.place, COPIES);
            write(&copies, asked).map_err(|error| platform(format!("{} cannot be written: {error}", copies.display())))?;
            install.arg("-r").arg(self.lines_of(asked, &copies, &tool)?).current_dir(&copies);
        } else if wanted.packages().is_empty() {
            return Ok(());
        }
        // Said as an argument: `uv pip` does not heed the variable for it.
        if !self.settings.may_build() {
            install.args(["--only-binary", ":all:"]);
        } else {
            self.enclose(making.place, &mut install).map_err(no_room)?;
        }
        tool.run(&mut install).map_err(|reason| words::about(reason, wanted.asked.as_ref()))?;
        self.compile(&tool, making.place)?;
        for ending in [COPIES, BUILT] {
            let _ = remove(&beside(making.place, ending));
        }
        Ok(())
    }

    /// Tasks cannot write into their environment, so what Python would note down there while importing is noted down
    /// now. Not by `uv`: it would let Python read the packages' `.pth` files, and what is in those is run. A file that
    /// is no good Python is left for whoever imports it.
    fn compile(&self, tool: &Tool<'_>, place: &Path) -> Result<(), NotMade> {
        let mut compile = Command::new(place.join("bin/python"));
        compile.args(["-I", "-S", "-m", "compileall", "-q", "-j", "0"]).arg(place.join("lib"));
        if self.settings.may_build() {
            // What was built may have put something of its own in Python's place.
            self.enclose(place, &mut compile).map_err(no_room)?;
        }
        match tool.run(&mut compile) {
            Err(NotMade::Stopped) => Err(NotMade::Stopped),
            Ok(()) | Err(NotMade::Failed { .. }) => Ok(()),
        }
    }

    /// What is built could spoil a cache that others use too, so it gets one of its own.
    fn enclose(&self, place: &Path, install: &mut Command) -> io::Result<()> {
        let (copies, cache) = (beside(place, COPIES), beside(place, BUILT));
        remove(&cache)?;
        fs::create_dir_all(&cache)?;
        install.env("UV_CACHE_DIR", &cache).env("UV_LINK_MODE", "copy");
        let tools = self.program.parent().and_then(Path::parent).filter(|it| it.starts_with(&self.shelf.dir)).map(Path::to_owned);
        let links = self.settings.variables.get("UV_FIND_LINKS").into_iter().flat_map(|it| it.split(',')).map(PathBuf::from);
        let shown = [place.to_owned(), copies, cache].into_iter().chain(tools).chain(links).collect();
        let hidden = vec![self.shelf.private.clone(), self.shelf.dir.clone(), std::env::temp_dir()];
        Workshop { hidden, shown }.enclose(install);
        Ok(())
    }

    /// The file that says in lines what the code asks for.
    fn lines_of(&self, asked: &Asked, copies: &Path, tool: &Tool<'_>) -> Result<String, NotMade> {
        match asked.kind {
            Kind::Lines => Ok(asked.entry()),
            Kind::Lock => {
                let mut export = Command::new(&self.program);
                export.args([
                    "export",
                    "--frozen",
                    "--no-emit-project",
                    "--no-dev",
                    "--no-header",
                    "--no-annotate",
                    "--no-build",
                    "--quiet",
                ]);
                export.args(["--output-file", EXPORTED, "--python"]).arg(tool.making.place.join("bin/python"));
                let dir = copies.join(&asked.file).parent().map(Path::to_owned).unwrap_or_default();
                tool.run(export.current_dir(&dir)).map_err(|reason| words::about(reason, Some(asked)))?;
                let text = fs::read_to_string(dir.join(EXPORTED))
                    .map_err(|error| platform(format!("uv did not write what it should: {error}")))?;
                let further = lines::check(&text, self.settings.may_build()).map_err(|why| asked::refused(&asked.file, &why))?;
                debug_assert!(further.is_empty(), "an export is one file");
                Ok(dir.join(EXPORTED).to_string_lossy().into_owned())
            }
        }
    }
}

/// Beside an environment, while it is made: the files of the code that were read, and a cache for what is built.
const COPIES: &str = ".asked";
const BUILT: &str = ".cache";

/// What a lock file says, in lines.
const EXPORTED: &str = "exported-from-the-lock.txt";

/// Copies what was read of the code, so that what was looked at is what is installed.
fn write(dir: &Path, asked: &Asked) -> io::Result<()> {
    remove(dir)?;
    let entry = (asked.entry(), &asked.files[&asked.file]);
    for (path, text) in asked.files.iter().map(|(path, text)| (path.clone(), text)).chain([entry]) {
        let path = dir.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn no_room(error: io::Error) -> NotMade {
    platform(format!("there is no room to build packages in: {error}"))
}

/// Runs the programs that make one environment. What they say goes into a file beside it.
struct Tool<'a> {
    making: &'a Making<'a>,
    settings: &'a Settings,
    said: &'a RefCell<String>,
    log: PathBuf,
}

impl<'a> Tool<'a> {
    fn new(making: &'a Making<'a>, settings: &'a Settings, said: &'a RefCell<String>) -> Result<Self, NotMade> {
        let log = beside(making.place, ".log");
        let tool = Self { making, settings, said, log };
        fs::write(&tool.log, "").map_err(|error| tool.no_log(&error))?;
        Ok(tool)
    }

    fn no_log(&self, error: &io::Error) -> NotMade {
        platform(format!("{} cannot be written: {error}", self.log.display()))
    }

    fn run(&self, command: &mut Command) -> Result<(), NotMade> {
        self.furnish(command).map_err(|error| self.no_log(&error))?;
        let inherited = [self.making.lock.as_raw_fd()];
        let tool = tool::Tool { waiting: self.making.waiting, time_max: MAKING_MAX, inherited: &inherited, watch: &|| Ok(()) };
        if tool.run(command)?.success() {
            return Ok(());
        }
        let said = self.settings.without_passwords(&String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()));
        let reason = words::understand(&said);
        *self.said.borrow_mut() = said;
        Err(reason)
    }

    fn furnish(&self, command: &mut Command) -> io::Result<()> {
        let log = OpenOptions::new().append(true).open(&self.log)?;
        let own: Vec<_> = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command.env_clear().envs(&self.settings.variables).envs(ALWAYS).envs(own);
        if command.get_current_dir().is_none() {
            command.current_dir(self.making.place.parent().unwrap_or(Path::new("/")));
        }
        command.stdout(log.try_clone()?).stderr(log);
        Ok(())
    }
}

/// A configuration file would be the code's, or of somebody's own work. The machine's Python comes before one of `uv`'s.
const ALWAYS: [(&str, &str); 4] = [("NO_COLOR", "1"), ("UV_NO_PROGRESS", "1"), ("UV_NO_CONFIG", "1"), ("UV_PYTHON_PREFERENCE", "system")];
