//! A line to a store that does what lines do on bad days. It passes bytes on, one connection to the store
//! for each of its own, and one request at a time; what goes wrong is decided at each request's head.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The connection is closed before anything is read.
    Refuse,
    /// The answer comes, but that much later.
    Slow(Duration),
    /// No more of the request's body goes over the line in a second.
    Narrow {
        bytes_per_s: u32,
    },
    /// `429`, with `Retry-After` in seconds.
    TooMany {
        retry_after_s: u64,
    },
    /// That status, at once.
    Status(u16),
    /// That status, if this is in the request's head; else nothing is wrong with it.
    StatusIf {
        has: &'static str,
        status: u16,
    },
    /// The connection is closed after that many bytes of the request's body.
    CutUpload {
        after_bytes: usize,
    },
    /// The connection is closed after that many bytes of the answer's body.
    CutDownload {
        after_bytes: usize,
    },
    /// The request is passed on and done; its answer is lost.
    LoseAnswer,
    /// The last bit of the request's body is another one when it arrives.
    Flip,
    /// The connection is closed at once; the request's last byte comes to the store that much later.
    Late(Duration),
    /// `403 RequestTimeTooSkewed`, from a clock that is so many minutes before ours.
    Skewed {
        minutes: u64,
    },
}

/// Decides by the request's first line, such as `PUT /bucket/key HTTP/1.1`, and its number, counted from 1.
type Plan = Box<dyn Fn(&str, usize) -> Fault + Send + Sync>;

pub struct Faulty {
    /// Where it listens, as an endpoint.
    pub endpoint: String,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: String,
    plan: Mutex<Plan>,
    requests: AtomicUsize,
    faults: AtomicUsize,
    under_way: AtomicUsize,
    over: AtomicBool,
}

impl Faulty {
    /// Stands before a store at `endpoint`. No fault until one is planned.
    pub fn before(endpoint: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            upstream: endpoint.strip_prefix("http://").unwrap().to_owned(),
            plan: Mutex::new(Box::new(|_, _| Fault::None)),
            requests: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        thread::spawn(move || {
            for line in listener.incoming().map_while(Result::ok) {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = accepting.clone();
                thread::spawn(move || shared.serve(line));
            }
        });
        Self { endpoint: own, shared }
    }

    /// From now on; counting begins anew.
    pub fn plan(&self, plan: impl Fn(&str, usize) -> Fault + Send + Sync + 'static) {
        *self.shared.plan.lock().unwrap() = Box::new(plan);
        self.shared.requests.store(0, Ordering::SeqCst);
        self.shared.faults.store(0, Ordering::SeqCst);
    }

    pub fn always(&self, fault: Fault) {
        self.plan(move |_, _| fault.clone());
    }

    /// Every `n`th request; the others are passed on.
    pub fn every(&self, n: usize, fault: Fault) {
        self.plan(move |_, number| if number % n == 0 { fault.clone() } else { Fault::None });
    }

    /// The first requests; those after them are passed on.
    pub fn first(&self, count: usize, fault: Fault) {
        self.plan(move |_, number| if number <= count { fault.clone() } else { Fault::None });
    }

    pub fn heal(&self) {
        self.always(Fault::None);
    }

    /// How many requests came since the plan was made, and how many of them were wronged.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub fn faults(&self) -> usize {
        self.shared.faults.load(Ordering::SeqCst)
    }

    /// Nothing is on its way to the store, not even what whoever sent it takes for lost.
    pub fn is_idle(&self) -> bool {
        self.shared.under_way.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // The thread that accepts looks up once more.
        let _ = TcpStream::connect(self.endpoint.strip_prefix("http://").unwrap());
    }
}

impl Shared {
    /// A line that breaks is what this is about, so it is no error here.
    fn serve(&self, line: TcpStream) {
        let _broken_or_over = self.requests_of(line);
    }

    fn requests_of(&self, line: TcpStream) -> io::Result<()> {
        let mut client = BufReader::new(line.try_clone()?);
        let mut store = BufReader::new(TcpStream::connect(&self.upstream)?);
        while let Some(head) = Head::read(&mut client)? {
            let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
            let fault = match (self.plan.lock().unwrap())(&head.first, number) {
                Fault::StatusIf { has, status } => {
                    if head.text.contains(has) {
                        Fault::Status(status)
                    } else {
                        Fault::None
                    }
                }
                other => other,
            };
            if fault != Fault::None {
                self.faults.fetch_add(1, Ordering::SeqCst);
            }
            self.under_way.fetch_add(1, Ordering::SeqCst);
            let passed_on = pass_on(fault, &head, &mut client, &mut store);
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            if !passed_on? {
                return line.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }
}

/// Answers whether the line stays open.
fn pass_on(fault: Fault, head: &Head, client: &mut BufReader<TcpStream>, store: &mut BufReader<TcpStream>) -> io::Result<bool> {
    let upload = match fault {
        Fault::Refuse => return Ok(false),
        Fault::TooMany { retry_after_s } => {
            return answer(client, head, "429 Too Many Requests", &format!("retry-after: {retry_after_s}\r\n"), "");
        }
        Fault::Status(status) => return answer(client, head, &format!("{status} Fault"), "", ""),
        Fault::Skewed { minutes } => {
            let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(i64::try_from(minutes).unwrap());
            let date = at.strftime("date: %a, %d %b %Y %H:%M:%S GMT\r\n").to_string();
            return answer(client, head, "403 Forbidden", &date, "<Error><Code>RequestTimeTooSkewed</Code><Message>-</Message></Error>");
        }
        Fault::CutUpload { after_bytes } => after_bytes as u64,
        Fault::Late(time) => return arrive_late(time, head, client, store),
        Fault::None
        | Fault::StatusIf { .. }
        | Fault::Slow(_)
        | Fault::Narrow { .. }
        | Fault::CutDownload { .. }
        | Fault::LoseAnswer
        | Fault::Flip => u64::MAX,
    };
    store.get_mut().write_all(head.text.as_bytes())?;
    if fault == Fault::Flip {
        let mut body = Vec::new();
        head.copy_body(client, &mut body, u64::MAX)?;
        body.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        store.get_mut().write_all(&body)?;
    } else if let Fault::Narrow { bytes_per_s } = fault {
        let mut narrow = Narrow { to: store.get_mut(), bytes_per_s, passed: 0, began: Instant::now() };
        head.copy_body(client, &mut narrow, u64::MAX)?;
    } else if !head.copy_body(client, store.get_mut(), upload)? {
        return Ok(false);
    }
    let Some(answer) = Head::read(store)? else { return Ok(false) };
    let download = match fault {
        Fault::LoseAnswer => return Ok(false),
        Fault::Slow(time) => {
            thread::sleep(time);
            u64::MAX
        }
        Fault::CutDownload { after_bytes } => after_bytes as u64,
        _ => u64::MAX,
    };
    client.get_mut().write_all(answer.text.as_bytes())?;
    if head.first.starts_with("HEAD ") || answer.is_empty() {
        return Ok(true);
    }
    answer.copy_body(store, client.get_mut(), download)
}

/// Takes what it is given no faster than so.
struct Narrow<'a> {
    to: &'a mut TcpStream,
    bytes_per_s: u32,
    passed: usize,
    began: Instant,
}

impl Write for Narrow<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.passed += count;
        let due = Duration::from_secs_f64(self.passed as f64 / f64::from(self.bytes_per_s));
        thread::sleep(due.saturating_sub(self.began.elapsed()));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whoever sent it takes it for lost meanwhile.
fn arrive_late(time: Duration, head: &Head, client: &mut BufReader<TcpStream>, store: &mut BufReader<TcpStream>) -> io::Result<bool> {
    let mut body = Vec::new();
    head.copy_body(client, &mut body, u64::MAX)?;
    client.get_mut().shutdown(Shutdown::Both)?;
    let last = body.pop();
    store.get_mut().write_all(head.text.as_bytes())?;
    store.get_mut().write_all(&body)?;
    thread::sleep(time);
    store.get_mut().write_all(last.as_slice())?;
    Head::read(store)?;
    Ok(false)
}

/// Says it itself. The body was announced, so it is read before the answer; the line goes on.
fn answer(client: &mut BufReader<TcpStream>, head: &Head, status: &str, headers: &str, body: &str) -> io::Result<bool> {
    head.copy_body(client, &mut io::sink(), u64::MAX)?;
    write!(client.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())?;
    Ok(true)
}

/// The head of a request or of an answer.
struct Head {
    first: String,
    text: String,
}

impl Head {
    /// None if the line is at its end.
    fn read(from: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        let (mut text, mut first) = (String::new(), String::new());
        loop {
            let start = text.len();
            if from.read_line(&mut text)? == 0 {
                return Ok(None);
            }
            if start == 0 {
                first = text.trim_end().to_owned();
            }
            if text[start..].trim_end().is_empty() {
                return Ok(Some(Self { first, text }));
            }
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .find(|(it, _)| it.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    fn is_empty(&self) -> bool {
        self.first.contains(" 204") || self.first.contains(" 304")
    }

    /// Answers whether all of it was passed on.
    fn copy_body(&self, from: &mut BufReader<TcpStream>, to: &mut impl Write, bytes_max: u64) -> io::Result<bool> {
        if self.header("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
            return copy_chunks(from, to, bytes_max);
        }
        let length: u64 = self.header("content-length").map_or(0, |it| it.parse().unwrap());
        let passed = io::copy(&mut from.take(length.min(bytes_max)), to)?;
        to.flush()?;
        Ok(passed == length)
    }
}

fn copy_chunks(from: &mut BufReader<TcpStream>, to: &mut impl Write, bytes_max: u64) -> io::Result<bool> {
    let mut passed = 0;
    loop {
        let mut size_line = String::new();
        from.read_line(&mut size_line)?;
        let size = u64::from_str_radix(size_line.trim_end().split(';').next().unwrap_or_default(), 16).map_err(io::Error::other)?;
        to.write_all(size_line.as_bytes())?;
        if passed + size > bytes_max {
            io::copy(&mut from.take(bytes_max - passed), to)?;
            return Ok(false);
        }
        // The chunk and the line break behind it; after the last one, nothing but the line break.
        io::copy(&mut from.take(size + 2), to)?;
        to.flush()?;
        passed += size;
        if size == 0 {
            return Ok(true);
        }
    }
}
