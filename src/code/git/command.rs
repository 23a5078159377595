//! `git`, run so that it does what we say and nothing that anybody else says: neither the machine's settings,
//! nor its user's, nor the repository.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::{
        fd::{AsRawFd, RawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::Command,
    time::Duration,
};

use nix::sys::{
    memfd::{MFdFlags, memfd_create},
    resource::{Resource, setrlimit},
};

use super::{Limits, credentials::Credentials, words};
use crate::code::{NotMade, Waiting, platform, tool::Tool};

/// What a list of a million files takes, and more than any server has names.
const OUTPUT_BYTES_MAX: u64 = 512 << 20;
const MEMORY_BYTES_MAX: u64 = 4 << 30;
/// A server that sends less than this in a second, for as long as the limits say, hangs.
const SLOW_BYTES_PER_S: u32 = 1000;

/// How this machine reaches others is its owner's business.
const KEPT: [&str; 14] = [
    "PATH",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "CURL_CA_BUNDLE",
    "TZ",
];

/// `HOME` is no directory, so that no `.netrc` is found in it.
const SET: [(&str, &str); 9] = [
    ("HOME", "/dev/null"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_ALLOW_PROTOCOL", "http:https"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// Nothing here runs a program. What old and honest repositories have wrong with them is let pass.
const SETTINGS: &str = "
[core]
hooksPath = /dev/null
fsmonitor = false
attributesFile = /dev/null
excludesFile = /dev/null
sshCommand = false
symlinks = true
autocrlf = false
bigFileThreshold = 32m
packedGitWindowSize = 64m
packedGitLimit = 1g
[protocol]
allow = never
[protocol \"http\"]
allow = always
[protocol \"https\"]
allow = always
[protocol \"file\"]
allow = never
[transfer]
fsckObjects = true
[fetch]
recurseSubmodules = false
writeCommitGraph = false
[fetch \"fsck\"]
badTimezone = ignore
missingSpaceBeforeDate = ignore
zeroPaddedFilemode = ignore
nullSha1 = ignore
missingTaggerEntry = ignore
badTagName = ignore
[submodule]
recurse = false
[gc]
auto = 0
[maintenance]
auto = false
[pack]
threads = 2
[credential]
helper =
[safe]
directory = *
[advice]
detachedHead = false
";

pub struct Git<'a> {
    pub url: &'a str,
    pub credentials: Option<&'a Credentials>,
    pub limits: &'a Limits,
    pub waiting: &'a Waiting<'a>,
}

/// One call of it.
pub struct Call<'a> {
    pub arguments: Vec<&'a str>,
    pub repository: &'a Path,
    /// The directory that paths begin from.
    pub from: &'a Path,
    pub variables: Vec<(&'a str, &'a Path)>,
    pub locks: Vec<&'a File>,
    pub lfs: bool,
    pub time_max: Duration,
    pub output_bytes_max: u64,
    pub watch: &'a dyn Fn() -> Result<(), NotMade>,
}

/// What it said before it ended well.
pub struct Said {
    pub out: Vec<u8>,
    pub err: String,
}

impl<'a> Call<'a> {
    pub fn new(repository: &'a Path, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().collect();
        Self {
            arguments,
            repository,
            from: Path::new("/"),
            variables: vec![],
            locks: vec![],
            lfs: false,
            time_max: Duration::MAX,
            output_bytes_max: OUTPUT_BYTES_MAX,
            watch: &|| Ok(()),
        }
    }
}

impl Git<'_> {
    /// The error is git's own words, understood.
    pub fn run(&self, call: Call<'_>) -> Result<Said, NotMade> {
        let (out, err, config) = self.files(call.lfs).map_err(|error| platform(format!("git could not be given its settings: {error}")))?;
        let mut command = self.command(&call, &config);
        let inherited: Vec<RawFd> = call.locks.iter().map(|it| it.as_raw_fd()).chain([config.as_raw_fd()]).collect();
        let too_much = || out.metadata().map_or(0, |it| it.len()) + err.metadata().map_or(0, |it| it.len()) > call.output_bytes_max;
        let watch = || if too_much() { Err(words::talks_too_much(self.url, call.output_bytes_max)) } else { (call.watch)() };
        let time_max = call.time_max.min(self.limits.time_max);
        let tool = Tool { waiting: self.waiting, time_max, inherited: &inherited, watch: &watch };
        let unread = |error: io::Error| platform(format!("what git said could not be read: {error}"));
        command.stdout(out.try_clone().map_err(unread)?).stderr(err.try_clone().map_err(unread)?);
        let ended = tool.run(&mut command).map_err(|reason| self.too_long(reason, time_max))?;
        let said = Said { out: all_of(out).map_err(unread)?, err: self.hide(&String::from_utf8_lossy(&all_of(err).map_err(unread)?)) };
        if ended.success() { Ok(said) } else { Err(words::understand(self, &said.err, ended)) }
    }

    /// A server that was told a password may say it again, in letters that nobody thought of. So of its words
    /// none are kept then, and git's own are looked through.
    fn hide(&self, words: &str) -> String {
        let Some(credentials) = self.credentials else { return words.to_owned() };
        let own: Vec<&str> = words.lines().filter(|line| !line.starts_with("remote:")).collect();
        credentials.hide(&own.join("\n"))
    }

    /// A server that keeps us waiting has a name.
    fn too_long(&self, reason: NotMade, time_max: Duration) -> NotMade {
        match reason {
            NotMade::Failed { why, .. } if why.contains("was not done in") => words::hangs(self.url, time_max),
            NotMade::Failed { .. } | NotMade::Stopped => reason,
        }
    }

    /// Files that are on no disk: what it will say, and what it is told.
    fn files(&self, lfs: bool) -> io::Result<(File, File, File)> {
        let file = |name: &str| memfd_create(name, MFdFlags::MFD_CLOEXEC).map(File::from);
        let mut config = file("settings")?;
        config.write_all(self.settings(lfs).as_bytes())?;
        Ok((file("out")?, file("err")?, config))
    }

    fn settings(&self, lfs: bool) -> String {
        let stall_s = self.limits.stall_max.as_secs().max(1);
        // With credentials not even the first answer may lead elsewhere.
        let redirects = if self.credentials.is_some() { "false" } else { "initial" };
        let http = format!("[http]\nlowSpeedLimit = {SLOW_BYTES_PER_S}\nlowSpeedTime = {stall_s}\nfollowRedirects = {redirects}\n");
        let credentials = self.credentials.map(Credentials::as_config).unwrap_or_default();
        let lfs = if lfs { super::lfs::settings(self.url, stall_s) } else { String::new() };
        [SETTINGS, &http, &credentials, &lfs].concat()
    }

    fn command(&self, call: &Call<'_>, config: &File) -> Command {
        let mut command = Command::new("git");
        command.args(&call.arguments).current_dir(call.from).env_clear();
        command.envs(KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))).envs(SET);
        command.env("GIT_CONFIG_GLOBAL", format!("/proc/self/fd/{}", config.as_raw_fd())).env("GIT_DIR", call.repository);
        command.envs(call.variables.iter().copied());
        let file_bytes_max = self.limits.bytes_max.saturating_mul(2);
        // SAFETY: plain system calls on the new process alone. What a core holds is for nobody to read.
        unsafe {
            command.pre_exec(move || {
                setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
                setrlimit(Resource::RLIMIT_FSIZE, file_bytes_max, file_bytes_max)?;
                Ok(setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES_MAX, MEMORY_BYTES_MAX)?)
            })
        };
        command
    }
}

fn all_of(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
