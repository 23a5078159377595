//! A post office between the command line and the server: it counts what goes through, and may lose some once.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::Output,
    sync::{Arc, Mutex},
};

use crate::house::House;

#[derive(Default)]
struct Book {
    /// The first line of every request.
    requests: Vec<String>,
    bytes: u64,
    /// How many bytes may still go through before one connection is cut.
    cut_after: Option<u64>,
    was_cut: bool,
}

#[derive(Clone)]
pub struct Post {
    address: String,
    book: Arc<Mutex<Book>>,
}

impl Post {
    pub fn before(house: &House) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, server) = (listener.local_addr().unwrap().to_string(), house.url().replace("http://", ""));
        let post = Self { address: address.clone(), book: Arc::default() };
        let book = post.book.clone();
        std::thread::spawn(move || {
            for caller in listener.incoming() {
                let (book, server, address) = (book.clone(), server.clone(), address.clone());
                std::thread::spawn(move || pass_on(caller.unwrap(), &server, &address, &book));
            }
        });
        post
    }

    /// The command line, which takes us for the server.
    pub fn cli(&self, house: &House, dir: &Path, args: &[&str]) -> Output {
        let token = house.place().join("token");
        std::fs::write(&token, house.token()).unwrap();
        std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let url = format!("http://{}", self.address);
        let args = [&["--server", &url, "--token-file", token.to_str().unwrap()], args].concat();
        house.cli_in(dir, &args)
    }

    pub fn forget(&self) {
        *self.book.lock().unwrap() = Book::default();
    }

    pub fn cut_after(&self, bytes: u64) {
        self.book.lock().unwrap().cut_after = Some(bytes);
    }

    pub fn was_cut(&self) -> bool {
        self.book.lock().unwrap().was_cut
    }

    /// How many bytes came from the command line.
    pub fn bytes(&self) -> u64 {
        self.book.lock().unwrap().bytes
    }

    /// How many requests were for paths that begin like this.
    pub fn heard(&self, path: &str) -> usize {
        self.book.lock().unwrap().requests.iter().filter(|line| line.split(' ').nth(1).is_some_and(|it| it.starts_with(path))).count()
    }
}

/// The command line has one connection for each request, so a connection is a request.
fn pass_on(mut caller: TcpStream, server: &str, address: &str, book: &Mutex<Book>) -> Option<()> {
    let mut to_server = TcpStream::connect(server).ok()?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        caller.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?.replace(address, server);
    {
        let mut book = book.lock().unwrap();
        book.requests.push(head.lines().next()?.to_owned());
        book.bytes += head.len() as u64;
    }
    to_server.write_all(head.as_bytes()).ok()?;
    let mut answers = to_server.try_clone().ok()?;
    let mut back = caller.try_clone().ok()?;
    std::thread::spawn(move || {
        std::io::copy(&mut answers, &mut back).ok();
        back.shutdown(Shutdown::Both).ok();
    });
    let mut buffer = [0; 16 << 10];
    while let Ok(count) = caller.read(&mut buffer)
        && count > 0
    {
        if !may_pass(&mut book.lock().unwrap(), count as u64) {
            to_server.shutdown(Shutdown::Both).ok()?;
            return caller.shutdown(Shutdown::Both).ok();
        }
        to_server.write_all(&buffer[..count]).ok()?;
    }
    to_server.shutdown(Shutdown::Write).ok()
}

fn may_pass(book: &mut Book, count: u64) -> bool {
    book.bytes += count;
    match &mut book.cut_after {
        Some(left) if *left < count => {
            (book.cut_after, book.was_cut) = (None, true);
            false
        }
        Some(left) => {
            *left -= count;
            true
        }
        None => true,
    }
}
