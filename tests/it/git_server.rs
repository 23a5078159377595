//! A real git server: git's own `http-backend`, behind an HTTP server that asks for passwords, hangs, trickles
//! and redirects as a test likes, and writes down who told it what.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
pub enum Mood {
    Normal,
    /// Takes a request and never answers.
    Hangs,
    /// Answers with a byte each second.
    Trickles,
    /// Answers with what it would have answered, but takes its time before the last half of every pack.
    Slow(Duration),
    /// Sends everyone to the same path of another server.
    Redirects(String),
    Answers(u16),
    /// Tells everyone what it was told.
    Echoes,
}

/// What one request brought.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub authorization: Option<String>,
}

struct State {
    mood: Mood,
    account: Option<(String, String)>,
    /// What `main` of a repository becomes at the next look at it, the last first.
    pushes: Vec<(PathBuf, String)>,
    seen: Vec<Seen>,
}

pub struct GitServer {
    root: tempfile::TempDir,
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl GitServer {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { mood: Mood::Normal, account: None, pushes: Vec::new(), seen: Vec::new() }));
        let (shared, dir) = (state.clone(), root.path().to_owned());
        std::thread::spawn(move || {
            while let Ok((caller, _)) = listener.accept() {
                let (state, dir) = (shared.clone(), dir.clone());
                std::thread::spawn(move || drop(serve(&caller, &state, &dir)));
            }
        });
        Self { root, address, state }
    }

    pub fn private(user: &str, password: &str) -> Self {
        let server = Self::new();
        server.state.lock().unwrap().account = Some((user.to_owned(), password.to_owned()));
        server
    }

    pub fn set(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// Has somebody push to `main` before each look at the repository, for as long as there are commits.
    pub fn push_at_each_look(&self, repository: &Repository, commits: &[String]) {
        let pushes = commits.iter().rev().map(|commit| (repository.bare.clone(), commit.clone()));
        self.state.lock().unwrap().pushes = pushes.collect();
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}.git", self.base())
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// How often packs were asked for. Lists of names come by the same way, so they are told apart by the body.
    pub fn requests(&self, ending: &str) -> usize {
        self.seen().iter().filter(|it| it.path.contains(ending)).count()
    }

    /// A new and empty repository.
    pub fn repository(&self, name: &str) -> Repository {
        let bare = self.root.path().join(format!("{name}.git"));
        let work = self.root.path().join(format!("{name}.work"));
        fs::create_dir_all(&work).unwrap();
        let repository = Repository { bare, work };
        git(&repository.work, &["init", "--quiet", "--bare", "--initial-branch=main", repository.bare.to_str().unwrap()]);
        git(&repository.work, &["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    /// A large file, as git-lfs would find it here.
    pub fn put_lfs(&self, id: &str, bytes: &[u8]) {
        fs::create_dir_all(self.root.path().join("lfs")).unwrap();
        fs::write(self.root.path().join("lfs").join(id), bytes).unwrap();
    }
}

pub struct Repository {
    pub bare: PathBuf,
    pub work: PathBuf,
}

impl Repository {
    /// Writes files, and answers the commit that has them.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            let path = self.work.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self.commit_all()
    }

    pub fn commit_all(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "a commit"]);
        self.push();
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn push(&self) {
        self.git(&["push", "--quiet", "--force", self.bare.to_str().unwrap(), "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.work, arguments)
    }

    /// Something of any form, right or wrong, and its id.
    pub fn object(&self, kind: &str, bytes: &[u8]) -> String {
        let mut command = git_command(&self.bare, &["hash-object", "-t", kind, "-w", "--literally", "--stdin"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
    }

    /// A tree of (mode, name, id).
    pub fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(format!("{mode} {name}\0").into_bytes());
            bytes.extend((0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
        }
        self.object("tree", &bytes)
    }

    /// Makes the tree what `main` is.
    pub fn commit_tree(&self, tree: &str) -> String {
        let text = format!("tree {tree}\nauthor a <a@example.org> 0 +0000\ncommitter a <a@example.org> 0 +0000\n\nmade by hand\n");
        let commit = self.object("commit", text.as_bytes());
        git(&self.bare, &["update-ref", "refs/heads/main", &commit]);
        commit
    }
}

fn git_command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(dir).env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", "/dev/null");
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ALLOW_PROTOCOL", "file:http")]);
    command.envs([
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ]);
    command
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = git_command(dir, arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

fn serve(mut caller: &TcpStream, state: &Mutex<State>, root: &Path) -> std::io::Result<()> {
    let Some(request) = read(caller)? else { return Ok(()) };
    let authorization = request.headers.get("authorization").cloned();
    let (mood, account) = {
        let mut state = state.lock().unwrap();
        state.seen.push(Seen { path: format!("{}?{}", request.path, request.query), authorization: authorization.clone() });
        if let Some((bare, commit)) = request.path.ends_with("/info/refs").then(|| state.pushes.pop()).flatten() {
            git(&bare, &["update-ref", "refs/heads/main", &commit]);
        }
        (state.mood.clone(), state.account.clone())
    };
    let welcome =
        account.is_none_or(|(user, password)| authorization == Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))));
    let answer = match &mood {
        Mood::Hangs => {
            // Until the caller has enough.
            let _ = caller.read(&mut [0]);
            return Ok(());
        }
        Mood::Redirects(base) => plain("302 Found", &format!("Location: {base}{}?{}\r\n", request.path, request.query), b""),
        Mood::Answers(status) => plain(&format!("{status} So"), "", b"as the test likes"),
        Mood::Echoes => plain("500 So", "Content-Type: text/plain\r\n", echo(authorization.as_deref()).as_bytes()),
        _ if !welcome => plain("401 Unauthorized", "WWW-Authenticate: Basic realm=\"git\"\r\n", b"who are you?"),
        Mood::Normal | Mood::Trickles | Mood::Slow(_) => answer(&request, root),
    };
    match mood {
        Mood::Trickles => answer.iter().try_for_each(|byte| {
            caller.write_all(&[*byte])?;
            std::thread::sleep(Duration::from_secs(1));
            Ok(())
        }),
        Mood::Slow(time) if request.path.ends_with("git-upload-pack") => {
            let (first, last) = answer.split_at(answer.len() / 2);
            caller.write_all(first)?;
            std::thread::sleep(time);
            caller.write_all(last)
        }
        _ => caller.write_all(&answer),
    }
}

fn echo(authorization: Option<&str>) -> String {
    let encoded = authorization.and_then(|it| it.strip_prefix("Basic ")).unwrap_or_default();
    format!("you said {encoded}, which is {}\n", String::from_utf8_lossy(&STANDARD.decode(encoded).unwrap()))
}

fn read(caller: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(caller.try_clone()?);
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => drop(headers.insert(name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    if headers.contains_key("expect") {
        (&*caller).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = body(&mut reader, &headers)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body }))
}

fn body(reader: &mut impl BufRead, headers: &HashMap<String, String>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|it| it == "chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn plain(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn answer(request: &Request, root: &Path) -> Vec<u8> {
    if request.path.ends_with("/info/lfs/objects/batch") {
        return lfs_batch(request);
    }
    match request.path.strip_prefix("/lfs/").map(|id| fs::read(root.join("lfs").join(id))) {
        Some(Ok(bytes)) => plain("200 OK", "", &bytes),
        Some(Err(_)) => plain("404 Not Found", "", b""),
        None => backend(request, root),
    }
}

fn lfs_batch(request: &Request) -> Vec<u8> {
    let asked: Value = serde_json::from_slice(&request.body).unwrap();
    let base = format!("http://{}/lfs", request.headers["host"]);
    let objects: Vec<Value> = asked["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let href = format!("{base}/{}", it["oid"].as_str().unwrap());
            json!({ "oid": it["oid"], "size": it["size"], "authenticated": true, "actions": { "download": { "href": href } } })
        })
        .collect();
    let text = json!({ "transfer": "basic", "objects": objects }).to_string();
    plain("200 OK", "Content-Type: application/vnd.git-lfs+json\r\n", text.as_bytes())
}

/// What git's own program answers.
fn backend(request: &Request, root: &Path) -> Vec<u8> {
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    let mut command = git_command(root, &["http-backend"]);
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("REQUEST_METHOD", &request.method);
    command.env("PATH_INFO", &request.path).env("QUERY_STRING", &request.query).env("REMOTE_ADDR", "127.0.0.1");
    command.env("CONTENT_TYPE", header("content-type")).env("CONTENT_LENGTH", request.body.len().to_string());
    command.env("HTTP_CONTENT_ENCODING", header("content-encoding")).env("GIT_PROTOCOL", header("git-protocol"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut stdin, body) = (child.stdin.take().unwrap(), request.body.clone());
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    let end = output.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|it| it.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let headers: String = head.lines().filter(|it| !it.starts_with("Status: ")).map(|it| format!("{it}\r\n")).collect();
    plain(&status, &headers, &output[end + 4..])
}
