//! A small web server of files with versions, which can also list them as a bucket does: for what no real store
//! would hold, and to see exactly what is asked for.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use model::volume::Volume;

use super::stores::BUCKET;

#[derive(Clone, Default)]
pub struct WebFiles {
    pub address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// By path, without the `/` before it: the ETag, which is not told where it is empty, and the content.
    files: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    asked: Mutex<Vec<String>>,
    /// The next so many answers end in the middle of their body.
    cuts: AtomicUsize,
}

impl WebFiles {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self { address: format!("http://{}", listener.local_addr().unwrap()), shared: Arc::default() };
        let shared = server.shared.clone();
        thread::spawn(move || {
            for line in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                thread::spawn(move || while shared.answer(&line).is_some() {});
            }
        });
        server
    }

    pub fn put(&self, path: &str, etag: &str, content: &[u8]) {
        self.shared.files.lock().unwrap().insert(path.into(), (etag.into(), content.into()));
    }

    pub fn cut_next(&self, answers: usize) {
        self.shared.cuts.store(answers, Ordering::SeqCst);
    }

    /// What was asked for since the last look: `GET /a 5-`.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }

    /// The files as the objects of a bucket.
    pub fn bucket(&self) -> Volume {
        Volume::S3 { endpoint: Some(self.address.clone()), bucket: BUCKET.into(), prefix: String::new(), region: None, virtual_host: false }
    }
}

impl Shared {
    /// None when the line is over.
    fn answer(&self, line: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(line.try_clone().ok()?);
        let (mut first, mut range, mut text) = (String::new(), None, String::new());
        reader.read_line(&mut first).ok().filter(|count| *count > 0)?;
        while reader.read_line(&mut text).ok()? > 2 {
            let lower = text.to_ascii_lowercase();
            range = lower.strip_prefix("range: bytes=").map(|it| it.trim().to_owned()).or(range);
            text.clear();
        }
        let (method, target) = first.split_once(' ')?;
        let target = target.split(' ').next()?.trim_start_matches('/');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.asked.lock().unwrap().push(format!("{method} /{path} {}", range.clone().unwrap_or_default()).trim_end().to_owned());
        if query.contains("list-type=2") {
            return send(line, method, "200 OK", "", self.listing(query).as_bytes(), usize::MAX);
        }
        let path = path.strip_prefix(&format!("{BUCKET}/")).unwrap_or(path);
        let found = self.files.lock().unwrap().get(path).cloned();
        let Some((etag, content)) = found else { return send(line, method, "404 Not Found", "", b"", usize::MAX) };
        let from: usize = range.as_deref().and_then(|it| it.split('-').next()?.parse().ok()).unwrap_or(0);
        let etag = if etag.is_empty() { String::new() } else { format!("etag: \"{etag}\"\r\n") };
        let cut = self.cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() && method == "GET";
        let most = if cut { (content.len() - from) / 2 } else { usize::MAX };
        if range.is_none() {
            return send(line, method, "200 OK", &etag, &content, most);
        }
        let range = format!("{etag}content-range: bytes {from}-{}/{}\r\n", content.len() - 1, content.len());
        send(line, method, "206 Partial Content", &range, &content[from..], most)
    }

    fn listing(&self, query: &str) -> String {
        let prefix = query.split('&').find_map(|it| it.strip_prefix("prefix=")).unwrap_or_default().replace("%2F", "/");
        let files = self.files.lock().unwrap();
        let objects = files.iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(key, (etag, content))| {
            let key = key.replace('&', "&amp;");
            format!("<Contents><Key>{key}</Key><Size>{}</Size><ETag>\"{etag}\"</ETag></Contents>", content.len())
        });
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{}</ListBucketResult>", objects.collect::<String>())
    }
}

fn send(mut line: &TcpStream, method: &str, status: &str, headers: &str, body: &[u8], most: usize) -> Option<()> {
    write!(line, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).ok()?;
    if method == "HEAD" {
        return Some(());
    }
    let sent = &body[..body.len().min(most)];
    line.write_all(sent).ok()?;
    if sent.len() == body.len() {
        return Some(());
    }
    line.shutdown(std::net::Shutdown::Both).ok()?;
    None
}
