//! Files of a web server as a volume, against one that does as it is told.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use bytes::Bytes;
use futures_util::TryStreamExt;
use model::volume::Volume;
use trainmaster::volumes::{self, Listed, Store, Trouble, VolumeError};

use super::{
    faulty::{Fault, Faulty},
    stores::block_on,
};

/// What it answers at a path.
#[derive(Clone)]
enum Page {
    File(&'static str),
    /// Elsewhere; to itself, it is a circle.
    Moved(String),
}

struct Site {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// With `ranges`, a part of a file is answered as a part; without, always the whole.
    fn start(pages: &[(&str, Page)], ranges: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let pages: BTreeMap<String, Page> = pages.iter().map(|(path, page)| ((*path).to_owned(), page.clone())).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = asked.clone();
        thread::spawn(move || {
            for line in listener.incoming().map_while(Result::ok) {
                let (pages, heard) = (pages.clone(), heard.clone());
                thread::spawn(move || while answer(&line, &pages, ranges, &heard).unwrap_or(false) {});
            }
        });
        Self { url, asked }
    }

    fn volume(&self, path: &str) -> Store {
        volumes::open(&Volume::Http { url: format!("{}{path}", self.url) }, None).unwrap().named("web")
    }
}

/// Answers one request; whether there may be another.
fn answer(line: &TcpStream, pages: &BTreeMap<String, Page>, ranges: bool, heard: &Mutex<Vec<String>>) -> std::io::Result<bool> {
    let (mut reader, mut head) = (BufReader::new(line), String::new());
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(false);
        }
    }
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let from = head.lines().find_map(|line| line.strip_prefix("range: bytes=")?.split('-').next()?.parse::<usize>().ok());
    heard.lock().unwrap().push(format!("{method} {path}"));
    let mut out = line;
    match (pages.get(path), from) {
        (None, _) => write!(out, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?,
        (Some(Page::Moved(to)), _) => write!(out, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")?,
        (Some(Page::File(text)), Some(from)) if ranges => {
            let (rest, size) = (&text[from..], text.len());
            let head = format!("content-range: bytes {from}-{}/{size}\r\netag: \"1\"\r\ncontent-length: {}", size - 1, rest.len());
            write!(out, "HTTP/1.1 206 Partial Content\r\n{head}\r\n\r\n{rest}")?;
        }
        (Some(Page::File(text)), _) => {
            let body = if method == "HEAD" { "" } else { text };
            write!(out, "HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: {}\r\n\r\n{body}", text.len())?;
        }
    }
    Ok(true)
}

async fn content(store: &Store, path: &str, from: u64) -> Result<String, VolumeError> {
    let (_, body) = store.read(path, from).await?;
    Ok(String::from_utf8(body.try_collect::<Vec<Bytes>>().await?.concat()).unwrap())
}

#[test]
fn files_of_a_web_server_are_read_from_anywhere_whether_it_knows_ranges_or_not() {
    for ranges in [true, false] {
        let site = Site::start(&[("/sets/a%20b.txt", Page::File("0123456789"))], ranges);
        let store = site.volume("/sets/");
        block_on(async {
            assert_eq!(content(&store, "a b.txt", 0).await.unwrap(), "0123456789");
            assert_eq!(content(&store, "a b.txt", 7).await.unwrap(), "789", "ranges: {ranges}");
            assert_eq!(store.head("a b.txt").await.unwrap().size, 10);
            assert!(store.head("other").await.unwrap_err().is_missing());
            let put = store.put_bytes("new", Bytes::new()).await.unwrap_err();
            assert!(put.to_string().starts_with("web:new: files of a web server can only be read"), "{put}");
            assert!(store.remove("a b.txt").await.is_err());
        });
        let file = Store::of_url(&format!("{}/sets/a%20b.txt", site.url)).unwrap();
        assert_eq!(block_on(content(&file, "", 0)).unwrap(), "0123456789");
    }
}

#[test]
fn a_cut_line_to_a_web_server_is_taken_up_again() {
    let site = Site::start(&[("/a.txt", Page::File("0123456789"))], true);
    let line = Faulty::before(&site.url);
    line.first(2, Fault::CutDownload { after_bytes: 4 });
    let store = volumes::open(&Volume::Http { url: line.endpoint.clone() }, None).unwrap();
    assert_eq!(block_on(content(&store, "a.txt", 0)).unwrap(), "0123456789");
    assert_eq!(line.requests(), 3);
}

#[test]
fn an_index_is_listed_and_without_one_the_reason_is_told() {
    let index = "3\ta.txt\n5\td/b.txt\n7\td/e/c.txt\nx\twrong\n9\t../canary\n";
    let site = Site::start(&[("/.trainmaster-index", Page::File(index))], true);
    block_on(async {
        let found: Vec<_> = futures_util::StreamExt::collect(site.volume("").list("d")).await;
        let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
        let good: Vec<String> =
            good.into_iter().map(|entry| entry.unwrap()).map(|entry| format!("{} {}", entry.size, entry.path)).collect();
        assert_eq!(good, ["5 d/b.txt", "7 d/e/c.txt"]);
        assert_eq!(bad.len(), 2, "a wrong line and a way out are told");
        let top: Vec<_> = futures_util::StreamExt::collect(site.volume("").browse("")).await;
        let folders: Vec<_> = top.into_iter().filter(|it| matches!(it, Ok(Listed::Directory { path }) if path == "d")).collect();
        assert_eq!(folders.len(), 1);
        let without = Site::start(&[], true).volume("").list("").try_collect::<Vec<_>>().await.unwrap_err();
        assert!(without.to_string().contains(".trainmaster-index"), "{without}");
    });
}

#[test]
fn redirects_are_followed_a_few_times_and_not_in_a_circle() {
    let target = Site::start(&[("/real.txt", Page::File("real"))], true);
    let pages = [
        ("/near.txt", Page::Moved(format!("{}/real.txt", target.url))),
        ("/circle.txt", Page::Moved("/circle.txt".into())),
        ("/file.txt", Page::Moved("file:///etc/passwd".into())),
    ];
    let site = Site::start(&pages, true);
    let store = site.volume("");
    block_on(async {
        assert_eq!(content(&store, "near.txt", 0).await.unwrap(), "real");
        for wrong in ["circle.txt", "file.txt"] {
            let error = content(&store, wrong, 0).await.unwrap_err();
            assert!(matches!(error.trouble, Trouble::Never { .. } | Trouble::Missing { .. }), "{wrong}: {error}");
        }
    });
    let circles = site.asked.lock().unwrap().iter().filter(|line| line.contains("circle")).count();
    assert!(circles <= 7, "{circles}");
}
