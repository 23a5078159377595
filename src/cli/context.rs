//! How a verb finds its server and its token, and talks to it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    failure::{Exit, Failure},
    output,
    retry::{Patience, Tries},
};
use crate::client::{Call, Client};

/// Longer than any answer takes, shorter than a person believes in one.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Where the server is")]
pub struct ServerArgs {
    /// The server's address, such as http://127.0.0.1:7077
    #[arg(long, global = true, env = "TRAINMASTER_URL", hide_env_values = true, value_name = "URL")]
    pub server: Option<String>,
    /// A file with the token, readable by you alone
    #[arg(long, global = true, env = "TRAINMASTER_TOKEN_FILE", hide_env_values = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The data directory of a server on this machine
    #[arg(long, global = true, env = "TRAINMASTER_DATA", hide_env_values = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Answer in JSON, for scripts
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
}

/// Everything a verb knows about the world outside its own flags.
pub struct Context {
    args: ServerArgs,
    surroundings: Surroundings,
    pub json: bool,
}

/// What is taken from the environment, gathered once so that tests can bring their own.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `TRAINMASTER_TOKEN`. It is no flag, because everyone on the machine can read a process's arguments.
    pub token: Option<String>,
    pub data_dir: PathBuf,
    pub login_file: Option<PathBuf>,
}

impl Surroundings {
    pub fn read() -> Self {
        let token = read_variable("TRAINMASTER_TOKEN");
        Self { token, data_dir: crate::config::default_data_dir(), login_file: config_dir().map(|dir| dir.join("login.json")) }
    }
}

fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn config_dir() -> Option<PathBuf> {
    let base = read_variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let base = base.or_else(|| read_variable("HOME").map(|home| Path::new(&home).join(".config")));
    base.map(|base| base.join("trainmaster"))
}

/// `server.json` in the data directory, as the server writes it.
#[derive(Deserialize)]
struct Running {
    url: String,
}

/// What `trainmaster login` keeps.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    pub url: String,
    pub token: String,
}

/// A server that was found, though not yet asked.
pub struct Found {
    pub client: Client,
    /// Whether paths and programs of this machine mean the same to the server.
    pub on_this_machine: bool,
}

impl Context {
    pub fn new(args: ServerArgs, surroundings: Surroundings) -> Self {
        let json = args.json;
        Self { args, surroundings, json }
    }

    /// The data directory a server on this machine uses.
    pub fn data_dir(&self) -> PathBuf {
        self.args.data.clone().unwrap_or_else(|| self.surroundings.data_dir.clone())
    }

    pub fn login_file(&self) -> Result<PathBuf, Failure> {
        let file = self.surroundings.login_file.clone();
        file.ok_or_else(|| Failure::usage("there is no home directory to keep the token in").hint("set HOME or XDG_CONFIG_HOME"))
    }

    /// Looks for the server anew: one that was restarted may have another address.
    pub fn find(&self) -> Result<Found, Failure> {
        if let Some(url) = &self.args.server {
            return self.told(url);
        }
        if let Some(found) = self.running_here()? {
            return Ok(found);
        }
        let login = if self.args.data.is_none() { self.read_login()? } else { None };
        let login = login.ok_or_else(|| no_server(self.args.data.as_deref()))?;
        found(&login.url, login.token)
    }

    fn told(&self, url: &str) -> Result<Found, Failure> {
        let url = url.trim_end_matches('/');
        if let Some(token) = self.told_token()? {
            return found(url, token);
        }
        if let Some(here) = self.running_here()?.filter(|here| here.client.url() == url) {
            return Ok(here);
        }
        if let Some(login) = self.read_login()?.filter(|login| login.url == url) {
            return found(url, login.token);
        }
        Err(Failure::usage(format!("there is no token for {url}"))
            .hint(format!("`trainmaster login {url}` stores one; TRAINMASTER_TOKEN and --token-file give one for a single call")))
    }

    fn told_token(&self) -> Result<Option<String>, Failure> {
        match &self.args.token_file {
            Some(file) => read_secret(file)?.map(Some).ok_or_else(|| Failure::usage(format!("there is no file {}", file.display()))),
            None => Ok(self.surroundings.token.clone()),
        }
    }

    fn running_here(&self) -> Result<Option<Found>, Failure> {
        let dir = self.data_dir();
        let Ok(text) = fs::read_to_string(dir.join("server.json")) else { return Ok(None) };
        let Ok(running) = serde_json::from_str::<Running>(&text) else { return Ok(None) };
        let token = match self.told_token()? {
            Some(token) => Some(token),
            None => read_secret(&dir.join("admin-token"))?,
        };
        let Some(token) = token else { return Ok(None) };
        Ok(Some(Found { client: Client::new(&running.url, token)?, on_this_machine: true }))
    }

    fn read_login(&self) -> Result<Option<Login>, Failure> {
        let Some(file) = &self.surroundings.login_file else { return Ok(None) };
        let Some(text) = read_secret(file)? else { return Ok(None) };
        let login = serde_json::from_str(&text);
        login.map(Some).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())).hint("log in again"))
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(Call::get(path)).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: impl Into<Bytes>) -> Result<T, Failure> {
        self.ask(Call::post(path, body)).await
    }

    pub async fn ask<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        read_answer(&self.call(call).await?)
    }

    pub async fn call(&self, call: Call<'_>) -> Result<Bytes, Failure> {
        let found = self.find()?;
        in_time(found.client.call(call)).await
    }

    /// Asks again and again until the server has answered, for calls that may be heard twice.
    pub async fn insist<'a>(&self, call: impl Fn() -> Call<'a>) -> Result<Bytes, Failure> {
        let mut tries = Tries::new(Patience::ASKING);
        loop {
            let lost = match self.ask_once(call(), &mut tries).await {
                Err(failure) if failure.may_pass => failure,
                answer => return answer,
            };
            // Nothing says that there is a server at all, so there is nothing to wait for.
            let pointless = tries.never_contacted() && self.find().is_err();
            if pointless || !tries.wait().await {
                return Err(lost);
            }
            if tries.first_failure() {
                output::note("the server does not answer; asking again, which does nothing twice");
            }
        }
    }

    async fn ask_once(&self, call: Call<'_>, tries: &mut Tries) -> Result<Bytes, Failure> {
        let found = self.find()?;
        let connection = found.client.connect().await?;
        tries.seen();
        in_time(connection.call(call)).await
    }
}

/// Waits for an answer, but not for ever.
pub async fn in_time<T, E: Into<Failure>>(answer: impl Future<Output = Result<T, E>>) -> Result<T, Failure> {
    in_time_of(ANSWER_TIMEOUT, answer).await
}

/// The same for an answer that takes the server some work.
pub async fn in_time_of<T, E: Into<Failure>>(most: Duration, answer: impl Future<Output = Result<T, E>>) -> Result<T, Failure> {
    match tokio::time::timeout(most, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Failure::away(format!("the server has not answered for {} s", most.as_secs()))),
    }
}

pub fn read_answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::new(Exit::Us, "unreadable", format!("the server's answer cannot be read: {error}"))
            .hint("`trainmaster doctor` shows whether server and command line have the same version")
    })
}

fn found(url: &str, token: String) -> Result<Found, Failure> {
    Ok(Found { client: Client::new(url, token)?, on_this_machine: is_loopback(url) })
}

pub fn is_loopback(url: &str) -> bool {
    let authority = url.strip_prefix("http://").unwrap_or(url);
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn no_server(data: Option<&Path>) -> Failure {
    let place = data.map_or("here".into(), |dir| format!("with its data in {}", dir.display()));
    Failure::away(format!("no server is running {place}; start one with `trainmaster up`"))
        .hint("for a server elsewhere: `trainmaster login URL`, or `--server URL`")
}

/// Reads a file that nobody else may read. None if it is not there.
pub fn read_secret(file: &Path) -> Result<Option<String>, Failure> {
    let told = |what: &dyn std::fmt::Display| Failure::usage(format!("{} cannot be read: {what}", file.display()));
    let mode = match fs::metadata(file) {
        Ok(data) => data.permissions().mode(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(told(&error)),
    };
    if mode & 0o077 != 0 {
        return Err(Failure::usage(format!("{} can be read by others (mode {:o}), so it is no secret", file.display(), mode & 0o777))
            .hint(format!("`chmod 600 {}`, and get a new token if others may have seen it", file.display())));
    }
    let text = fs::read_to_string(file).map_err(|error| told(&error))?;
    Ok(Some(text.trim().to_owned()))
}

/// A path of the API for one job, with the job's name made safe for it.
pub fn job_path(job: &str, rest: &str) -> String {
    format!("/api/v1/jobs/{}{rest}", encode(job))
}

/// `?a=1&b=2` of those that are there.
pub fn query(pairs: &[(&str, Option<String>)]) -> String {
    let given = pairs.iter().filter_map(|(key, value)| value.as_ref().map(|value| format!("{key}={}", encode(value))));
    let text = given.collect::<Vec<_>>().join("&");
    if text.is_empty() { text } else { format!("?{text}") }
}

/// Percent-encodes everything but what a name is made of.
pub fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct House {
        dir: tempfile::TempDir,
    }

    impl House {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }

        fn put(&self, name: &str, text: &str, mode: u32) {
            let file = self.dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }

        fn surroundings(&self) -> Surroundings {
            let path = self.dir.path();
            Surroundings { token: None, data_dir: path.join("data"), login_file: Some(path.join("login.json")) }
        }

        fn find(&self, args: ServerArgs) -> String {
            self.find_with(args, self.surroundings())
        }

        fn find_with(&self, args: ServerArgs, surroundings: Surroundings) -> String {
            match Context::new(args, surroundings).find() {
                Ok(found) => format!("{}{}", found.client.url(), if found.on_this_machine { " here" } else { "" }),
                Err(failure) => {
                    format!("{}: {}", failure.exit.code(), failure.body.message).replace(&self.dir.path().display().to_string(), "DIR")
                }
            }
        }
    }

    fn server(url: &str) -> ServerArgs {
        ServerArgs { server: Some(url.into()), ..ServerArgs::default() }
    }

    #[test]
    fn a_server_on_this_machine_is_found_without_typing() {
        let house = House::new();
        house.put("data/server.json", r#"{"url":"http://127.0.0.1:7077","pid":1}"#, 0o644);
        house.put("data/admin-token", "secret\n", 0o600);
        house.put("login.json", r#"{"url":"http://far:1","token":"t"}"#, 0o600);
        assert_eq!(house.find(ServerArgs::default()), "http://127.0.0.1:7077 here");
        assert_eq!(house.find(server("http://127.0.0.1:7077/")), "http://127.0.0.1:7077 here");
    }

    #[test]
    fn a_login_is_used_when_nothing_runs_here() {
        let house = House::new();
        house.put("login.json", r#"{"url":"http://far:1","token":"t"}"#, 0o600);
        assert_eq!(house.find(ServerArgs::default()), "http://far:1");
        assert_eq!(house.find(server("http://far:1")), "http://far:1");
    }

    #[test]
    fn a_server_that_was_named_needs_a_token() {
        let house = House::new();
        assert_eq!(house.find(server("http://far:1")), "2: there is no token for http://far:1");
        let with_token = Surroundings { token: Some("t".into()), ..house.surroundings() };
        assert_eq!(house.find_with(server("http://far:1"), with_token.clone()), "http://far:1");
        assert_eq!(house.find_with(server("http://[::1]:1"), with_token.clone()), "http://[::1]:1 here");
        assert_eq!(house.find_with(server("ftp://far"), with_token), "2: `ftp://far` is not an address such as http://127.0.0.1:7077");
    }

    #[test]
    fn without_any_server_the_answer_is_how_to_start_one() {
        let house = House::new();
        assert_eq!(house.find(ServerArgs::default()), "4: no server is running here; start one with `trainmaster up`");
        house.put("login.json", r#"{"url":"http://far:1","token":"t"}"#, 0o600);
        let other = ServerArgs { data: Some(house.dir.path().join("other")), ..ServerArgs::default() };
        assert_eq!(house.find(other), "4: no server is running with its data in DIR/other; start one with `trainmaster up`");
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let house = House::new();
        house.put("login.json", r#"{"url":"http://far:1","token":"t"}"#, 0o640);
        assert_eq!(house.find(ServerArgs::default()), "2: DIR/login.json can be read by others (mode 640), so it is no secret");
        house.put("token", "t", 0o604);
        let args = ServerArgs { token_file: Some(house.dir.path().join("token")), ..server("http://far:1") };
        assert_eq!(house.find(args), "2: DIR/token can be read by others (mode 604), so it is no secret");
    }

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        assert_eq!(job_path("digits@3", "/stop"), "/api/v1/jobs/digits@3/stop");
        assert_eq!(job_path("../x?y", ""), "/api/v1/jobs/..%2Fx%3Fy");
        assert_eq!(query(&[("q", Some("a b&c".into())), ("state", None), ("limit", Some("5".into()))]), "?q=a%20b%26c&limit=5");
        assert_eq!(query(&[("q", None)]), "");
    }
}
