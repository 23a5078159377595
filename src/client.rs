//! The one HTTP client: the CLI's and the supervisor's. One connection for each call, no pool, no state.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, client::conn::http1::SendRequest, header};
use hyper_util::rt::TokioIo;
use model::{said, speaks, wire::ErrorBody, words::Words};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long something may take that is done in passing.
const QUICK: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Client {
    authority: String,
    token: String,
}

#[derive(Debug)]
pub enum ClientError {
    /// Nobody answered; nothing is known about what was asked.
    Away(String, String),
    /// The server answered, and said no.
    Refused(StatusCode, Box<ErrorBody>),
    BadUrl(String),
}

impl ClientError {
    pub fn words(&self) -> Words {
        match self {
            ClientError::Away(url, why) => said!("the server at {url} cannot be reached: {why}", "连不上服务器 {url}（{why}）"),
            ClientError::Refused(_, body) => body.words(),
            ClientError::BadUrl(url) => {
                said!("`{url}` is not an address such as http://127.0.0.1:7077", "`{url}` 不是 http://127.0.0.1:7077 这样的地址")
            }
        }
    }
}

speaks!(ClientError);

/// A request before it is sent.
pub struct Call<'a> {
    pub method: Method,
    /// With its query, beginning with `/`.
    pub path: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

impl<'a> Call<'a> {
    pub fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, headers: Vec::new(), body: Bytes::new() }
    }

    pub fn post(path: &'a str, body: impl Into<Bytes>) -> Self {
        Self { method: Method::POST, path, headers: vec![("content-type", "application/json".into())], body: body.into() }
    }

    /// A body that is sent as it is.
    pub fn put(path: &'a str, body: impl Into<Bytes>) -> Self {
        Self { method: Method::PUT, path, headers: Vec::new(), body: body.into() }
    }

    pub fn delete(path: &'a str) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A line to the server, for one call.
pub struct Connection<'a> {
    client: &'a Client,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection<'_> {
    /// Sends a call and reads the whole answer.
    pub async fn call(self, call: Call<'_>) -> Result<Bytes, ClientError> {
        let client = self.client;
        let answer = self.open(call).await?;
        client.whole_body(answer).await
    }

    /// Sends a call and leaves the answer's body to be read as it comes.
    pub async fn open(self, call: Call<'_>) -> Result<Response<Incoming>, ClientError> {
        let client = self.client;
        let answer = self.answer(call).await?;
        if answer.status().is_success() { Ok(answer) } else { Err(client.refused(answer).await) }
    }

    /// Sends a call and answers with whatever comes, be it a yes or a no.
    pub async fn answer(mut self, call: Call<'_>) -> Result<Response<Incoming>, ClientError> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .header(header::HOST, &self.client.authority)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.client.token));
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(call.body)).map_err(|error| self.client.away(&error.to_string()))?;
        self.sender.send_request(request).await.map_err(|error| self.client.away(&error.to_string()))
    }
}

impl Client {
    pub fn new(url: &str, token: impl Into<String>) -> Result<Self, ClientError> {
        let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        let authority = authority.filter(|it| !it.is_empty() && !it.contains('/')).ok_or_else(|| ClientError::BadUrl(url.into()))?;
        Ok(Self { authority: authority.to_owned(), token: token.into() })
    }

    /// The same caller at another address.
    pub fn at(&self, url: &str) -> Result<Self, ClientError> {
        Self::new(url, self.token.clone())
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// One quick try at telling something, on a bare socket and without a runtime. Answers whether the
    /// server is there and said yes; for anything else there is [`Client::call`]. A supervisor whose child
    /// was over in a blink would else spend more on its report than on all the rest.
    ///
    /// `door` is where a server on this machine listens besides; it costs less than its address.
    pub fn tell_in_passing(&self, door: Option<&Path>, path: &str, json: &str) -> bool {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{json}",
            self.authority,
            self.token,
            json.len()
        );
        let heard = match door.and_then(|door| knock_at(door).ok()) {
            Some(line) => says_yes(line, &request),
            None => self.dial().and_then(|line| says_yes(line, &request)),
        };
        heard.unwrap_or(false)
    }

    fn dial(&self) -> io::Result<std::net::TcpStream> {
        // A name would have to be looked up, which is not quick.
        let address: SocketAddr = self.authority.parse().map_err(io::Error::other)?;
        let line = std::net::TcpStream::connect_timeout(&address, QUICK)?;
        line.set_read_timeout(Some(QUICK))?;
        Ok(line)
    }

    /// Sends a call and reads the whole answer.
    pub async fn call(&self, call: Call<'_>) -> Result<Bytes, ClientError> {
        let answer = self.open(call).await?;
        self.whole_body(answer).await
    }

    /// Sends a call and leaves the answer's body to be read as it comes.
    pub async fn open(&self, call: Call<'_>) -> Result<Response<Incoming>, ClientError> {
        self.connect().await?.open(call).await
    }

    /// Opens the line and sends nothing yet, for callers to whom "nobody was there" and "the line was
    /// cut while I spoke" are different news.
    pub async fn connect(&self) -> Result<Connection<'_>, ClientError> {
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&self.authority))
            .await
            .map_err(|_| self.away("no answer to the connection"))?
            .map_err(|error| self.away(&error.to_string()))?;
        stream.set_nodelay(true).map_err(|error| self.away(&error.to_string()))?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.away(&error.to_string()))?;
        tokio::spawn(connection);
        Ok(Connection { client: self, sender })
    }

    async fn whole_body(&self, answer: Response<Incoming>) -> Result<Bytes, ClientError> {
        let body = answer.into_body().collect().await.map_err(|error| self.away(&error.to_string()))?;
        Ok(body.to_bytes())
    }

    /// What an answer that is a no says.
    pub async fn refused(&self, answer: Response<Incoming>) -> ClientError {
        let status = answer.status();
        let body = match self.whole_body(answer).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        let unreadable = || ErrorBody {
            code: "unreadable".into(),
            message: format!("the server answered {status} without a reason"),
            hint: None,
            message_zh: format!("服务器回答了 {status}，没有说明原因"),
            hint_zh: None,
            problems: Vec::new(),
        };
        ClientError::Refused(status, Box::new(serde_json::from_slice(&body).unwrap_or_else(|_| unreadable())))
    }

    fn away(&self, why: &str) -> ClientError {
        ClientError::Away(self.url(), why.to_owned())
    }
}

/// Does not wait where too many others do.
fn knock_at(door: &Path) -> io::Result<UnixStream> {
    let line = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    connect(line.as_raw_fd(), &UnixAddr::new(door)?)?;
    let line = UnixStream::from(line);
    line.set_nonblocking(false)?;
    line.set_read_timeout(Some(QUICK))?;
    line.set_write_timeout(Some(QUICK))?;
    Ok(line)
}

fn says_yes(mut line: impl Read + Write, request: &str) -> io::Result<bool> {
    line.write_all(request.as_bytes())?;
    let mut answer = *b"HTTP/1.1 200";
    line.read_exact(&mut answer)?;
    Ok(answer.starts_with(b"HTTP/1.1 2"))
}
