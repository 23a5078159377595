//! A server that says what it is told to say, and things to speak of, for tests.

use std::sync::{Arc, Mutex};

use model::{job::JobState, resources::Resources, wire::JobSummary};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::context::{Context, ServerArgs, Surroundings};

/// What one connection gets.
pub enum Turn {
    /// The request is heard, and the line is cut without a word.
    Cut,
    Answer(u16, String),
    /// A stream that is cut after this text.
    Stream(String),
}

pub struct Fake {
    pub context: Context,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// Takes as many connections as there are turns.
    pub async fn new(turns: Vec<Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Some(format!("http://{}", listener.local_addr().unwrap()));
        let surroundings = Surroundings { token: Some("t".into()), ..Surroundings::default() };
        let context = Context::new(ServerArgs { server, ..ServerArgs::default() }, surroundings);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = heard.clone();
        tokio::spawn(async move {
            for turn in turns {
                let (mut line, _) = listener.accept().await.unwrap();
                let request = read_request(&mut line).await;
                ears.lock().unwrap().push(request);
                line.write_all(spoken(turn).as_bytes()).await.unwrap();
            }
        });
        Self { context, heard }
    }

    pub fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// The value of a header in each request; empty where it is missing.
    pub fn header(&self, name: &str) -> Vec<String> {
        let of = |request: &String| {
            let line = request.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap_or_default().to_owned()
        };
        self.requests().iter().map(of).collect()
    }
}

async fn read_request(line: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = line.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |it| it.parse().unwrap());
        if body.len() >= length || count == 0 {
            return text;
        }
    }
}

fn spoken(turn: Turn) -> String {
    match turn {
        Turn::Cut => String::new(),
        Turn::Answer(status, body) => {
            format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        }
        Turn::Stream(text) => format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n", text.len()),
    }
}

pub fn amount(cpus: u64, memory_gib: u64, accelerators: &[(&str, u32)]) -> Resources {
    let accelerators = accelerators.iter().map(|(kind, count)| (kind.to_string(), *count)).collect();
    Resources { cpus_milli: cpus * 1000, memory_bytes: memory_gib << 30, accelerators }
}

/// A job that was submitted at second 1 and started at second 2.
pub fn job(name: &str, state: JobState) -> JobSummary {
    JobSummary {
        reason_zh: String::new(),
        id: "job-0198c0de000070008000000000000001".into(),
        name: name.into(),
        version: 3,
        owner: "admin".into(),
        state,
        reason: "because".into(),
        attempt: 1,
        priority: 0,
        tags: Vec::new(),
        description: String::new(),
        tasks: 1,
        resources: amount(2, 4, &[]),
        params: Default::default(),
        max_duration_ms: None,
        created_at_ms: 1_000,
        started_at_ms: Some(2_000),
        ended_at_ms: state.is_over().then_some(3_500),
    }
}
