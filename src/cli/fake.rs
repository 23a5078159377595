//! A server that says what it is told to say, for tests of how we ask.

use std::sync::{Arc, Mutex};

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
