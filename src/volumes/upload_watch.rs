//! Whether a body still moves. A line may be as slow as it likes, and a body as large: a request is given up when nothing of it
//! has moved for a while.

use std::{
    convert::Infallible,
    fmt,
    pin::pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::{Body, RequestBuilder, header};
use tokio::sync::watch;

/// A body is handed over in pieces of this size. Whoever asks for the next one has taken those before it.
const PIECE_BYTES: usize = 64 << 10;
/// The client takes so much at a time, and asks for no more before all of that is the kernel's.
const TAKEN_AT_ONCE_BYTES: usize = 512 << 10;
/// So much the kernel takes before the line has moved anything of it.
const UNSEEN_BYTES: usize = 2 << 20;

/// When it is taken for certain that nothing moves.
#[derive(Clone, Copy)]
pub struct Patience {
    /// Without a body.
    silence: Duration,
    /// A line that is slower than this cannot be told from one that stands still, as far as we do not see it move.
    slowest_bytes_per_s: u64,
}

impl Patience {
    pub fn new(silence: Duration) -> Self {
        Self { silence, slowest_bytes_per_s: 8 << 10 }
    }

    /// How long it may be until something else is seen of a body that is so far along after that time.
    fn after(self, handed: usize, total: usize, elapsed: Duration) -> Duration {
        let unseen = |bytes: usize| Duration::from_millis(bytes.min(total) as u64 * 1_000 / self.slowest_bytes_per_s);
        match handed < total {
            true => self.silence + unseen(TAKEN_AT_ONCE_BYTES),
            // The rest of it goes no faster than what went before.
            false => self.silence + unseen(UNSEEN_BYTES) + elapsed * 4,
        }
    }
}

/// Nothing moved for so long.
#[derive(Debug, PartialEq, Eq)]
pub struct Still {
    waited: Duration,
    handed: usize,
    total: usize,
}

impl fmt::Display for Still {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waited, handed, total } = self;
        match handed < total {
            true => write!(f, "nothing moved for {} s, with {handed} of {total} bytes sent", waited.as_secs()),
            false => write!(f, "no answer within {} s", waited.as_secs()),
        }
    }
}

/// A body on its way.
pub struct Watched {
    handed: watch::Receiver<usize>,
    total: usize,
}

impl Watched {
    /// Gives a request its body, with its length: stores do not take one that does not say how long it is.
    pub fn with_body(request: RequestBuilder, body: Bytes) -> (RequestBuilder, Self) {
        let (sender, handed) = watch::channel(0);
        let total = body.len();
        let request = match total {
            0 => request.body(body),
            _ => request.header(header::CONTENT_LENGTH, total).body(Body::wrap_stream(pieces(body, sender))),
        };
        (request, Self { handed, total })
    }

    /// Waits for an answer while something moves.
    pub async fn unless_still<T>(&mut self, answer: impl Future<Output = T>, patience: Patience) -> Result<T, Still> {
        let (mut answer, began) = (pin!(answer), Instant::now());
        loop {
            let handed = *self.handed.borrow_and_update();
            let waited = patience.after(handed, self.total, began.elapsed());
            tokio::select! {
                answer = &mut answer => return Ok(answer),
                Ok(()) = self.handed.changed() => {}
                () = tokio::time::sleep(waited) => return Err(Still { waited, handed, total: self.total }),
            }
        }
    }
}

fn pieces(body: Bytes, handed: watch::Sender<usize>) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let starts = (0..body.len()).step_by(PIECE_BYTES);
    stream::iter(starts.map(move |from| {
        let to = (from + PIECE_BYTES).min(body.len());
        handed.send_replace(to);
        Ok(body.slice(from..to))
    }))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, TcpListener},
        sync::mpsc,
        thread,
    };

    use super::*;

    /// More than kernels keep for whoever has not read it yet.
    const BODY_BYTES: usize = 32 << 20;
    const QUICK: Patience = Patience { silence: Duration::from_secs(1), slowest_bytes_per_s: 64 << 20 };

    /// Takes so many bytes of one request, in a second no more than that. The answer comes after the last, where there is one. The line
    /// stays open for as long as the sender is kept.
    fn line(takes_bytes: usize, bytes_per_s: f64, answer: &'static str) -> (String, mpsc::Sender<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (keeps, kept) = mpsc::channel();
        thread::spawn(move || {
            let (mut line, _) = listener.accept().unwrap();
            let (began, mut taken, mut buffer) = (Instant::now(), 0, vec![0; PIECE_BYTES]);
            while taken < takes_bytes {
                taken += line.read(&mut buffer).unwrap();
                thread::sleep(Duration::from_secs_f64(taken as f64 / bytes_per_s).saturating_sub(began.elapsed()));
            }
            line.write_all(answer.as_bytes()).unwrap();
            let _gone: Result<(), _> = kept.recv();
        });
        (url, keeps)
    }

    async fn sent(url: &str) -> String {
        let request = reqwest::Client::builder().no_proxy().build().unwrap().put(url);
        let (request, mut watched) = Watched::with_body(request, vec![7; BODY_BYTES].into());
        match watched.unless_still(request.send(), QUICK).await {
            Ok(answer) => answer.map_or_else(|error| error.to_string(), |it| it.status().to_string()),
            Err(still) => still.to_string(),
        }
    }

    #[tokio::test]
    async fn a_line_may_be_slow_as_long_as_something_moves() {
        let (url, _kept) = line(BODY_BYTES, f64::from(10 << 20), "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(sent(&url).await, "200 OK");
    }

    #[tokio::test]
    async fn a_line_that_stands_still_is_given_up_soon() {
        let (url, _kept) = line(BODY_BYTES / 4, f64::INFINITY, "");
        let said = sent(&url).await;
        assert!(said.starts_with("nothing moved for 1 s, with ") && said.ends_with(" of 33554432 bytes sent"), "{said}");
    }

    #[tokio::test]
    async fn a_store_that_has_all_of_it_and_says_nothing_is_given_up_soon() {
        let (url, _kept) = line(BODY_BYTES, f64::INFINITY, "");
        let said = sent(&url).await;
        assert!(said.starts_with("no answer within "), "{said}");
    }
}
