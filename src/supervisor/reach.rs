//! Reaching into a task from another task of its gang, as `mpirun` does by ssh elsewhere: the supervisor
//! listens, and init starts what the caller asks for beside the child.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::TcpListener as StdListener,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use model::order::RunOrder;
use tokio::{
    io::{Interest, unix::AsyncFd},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::AbortHandle,
};

pub mod book;
pub mod guests;
pub mod line;
mod session;
pub mod wire;

use guests::{Ask, Tell};
use line::Line;
pub use session::fresh_nonce;
use wire::Key;

use super::journal::say;

/// A launcher needs one, a person a few; more is somebody's mistake.
const CALLERS_MAX: usize = 64;
const STRANGERS_MAX: usize = 64;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A task that can be reached: the door is open, and nobody looks after it yet.
pub struct Door {
    listener: StdListener,
    line: Line,
    key: Key,
    /// The task, by the name its peers call it.
    name: String,
}

impl Door {
    /// `None` if this task is not to be reached.
    pub fn open(order: &RunOrder, line: Option<Line>) -> io::Result<Option<Self>> {
        let Some((line, launch)) = line.zip(order.gang.as_ref().and_then(|gang| gang.launch.as_ref())) else { return Ok(None) };
        let key = Key::read(&launch.key).ok_or_else(|| io::Error::other("the gang's key cannot be read"))?;
        let listener = StdListener::bind((order.address.as_str(), launch.port))?;
        listener.set_nonblocking(true)?;
        Ok(Some(Self { listener, line, key, name: order.run.task.to_string() }))
    }

    /// Lets callers in for as long as it is asked.
    pub async fn serve(&self) {
        if let Err(error) = self.try_serve().await {
            say(&format!("nobody can reach this task any more: {error}"));
        }
    }

    async fn try_serve(&self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener.try_clone()?)?;
        let house = Arc::new(House {
            line: listen(self.line.as_fd().try_clone_to_owned()?)?,
            key: self.key.clone(),
            name: self.name.clone(),
            next: AtomicU64::new(1),
            room: Semaphore::new(CALLERS_MAX),
            waiting: Mutex::default(),
        });
        let listening = house.clone();
        tokio::spawn(async move { listening.hear().await });
        let mut strangers = Strangers::default();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let (house, is_known) = (house.clone(), Arc::new(AtomicBool::new(false)));
            let known = is_known.clone();
            let visit = tokio::spawn(async move { house.receive(stream, &known).await });
            strangers.add(Stranger { visit: visit.abort_handle(), is_known });
        }
    }
}

/// Who stands at the door and has not shown a key so far.
struct Stranger {
    visit: AbortHandle,
    is_known: Arc<AtomicBool>,
}

/// Those at the door, in the order in which they came. One too many sends the first away: who has a key is in within a moment, so
/// nobody waits behind those who have none.
#[derive(Default)]
struct Strangers(VecDeque<Stranger>);

impl Strangers {
    fn add(&mut self, stranger: Stranger) {
        self.0.retain(|it| !it.visit.is_finished() && !it.is_known.load(Ordering::Relaxed));
        if self.0.len() >= STRANGERS_MAX
            && let Some(first) = self.0.pop_front()
        {
            first.visit.abort();
        }
        self.0.push_back(stranger);
    }
}

fn listen(line: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by what it is registered with, so it stays open and the same.
    unsafe { AsyncFd::register_with_interest(line, Interest::READABLE) }.map_err(io::Error::from)
}

/// What all callers share.
struct House {
    line: AsyncFd<OwnedFd>,
    key: Key,
    name: String,
    next: AtomicU64,
    /// For callers whose key was seen.
    room: Semaphore,
    /// Who wants to know how which guest ended.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Option<i32>>>>,
}

/// A guest that was asked for.
struct Asked {
    id: u64,
    ended: oneshot::Receiver<Option<i32>>,
}

impl House {
    async fn receive(&self, stream: TcpStream, is_known: &AtomicBool) {
        // Strangers knock; that is not worth a word.
        let Ok(welcome) = session::welcome(self, stream).await else { return };
        is_known.store(true, Ordering::Relaxed);
        if let Ok(_place) = self.room.try_acquire() {
            let _ = welcome.attend(self).await;
        }
    }

    /// Hears from init how guests ended.
    async fn hear(&self) {
        while let Ok(Some((Tell::Ended { id, status }, _))) =
            self.line.async_io(Interest::READABLE, |fd| line::hear::<Tell>(std::os::fd::AsFd::as_fd(fd))).await
        {
            if let Some(who) = self.waiting().remove(&id) {
                let _ = who.send(status);
            }
        }
        // Whoever still waits sees that nobody will answer.
        self.waiting().clear();
    }

    fn begin(&self, fds: [&OwnedFd; 4]) -> io::Result<Asked> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, ended) = oneshot::channel();
        self.waiting().insert(id, tell);
        if let Err(error) = self.ask(Ask::Begin { id }, &fds.map(std::os::fd::AsRawFd::as_raw_fd)) {
            self.waiting().remove(&id);
            return Err(error);
        }
        Ok(Asked { id, ended })
    }

    fn signal(&self, id: u64, number: u8) {
        let _ = self.ask(Ask::Signal { id, number }, &[]);
    }

    fn ask(&self, ask: Ask, fds: &[i32]) -> io::Result<()> {
        line::say(std::os::fd::AsFd::as_fd(self.line.get_ref()), &ask, fds)
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Option<i32>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
