//! The server: opens the house, listens, and leaves its tasks alone when it goes.

use std::{net::SocketAddr, os::unix::fs::DirBuilderExt, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown},
};
use model::plan::HouseRules;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    signal::unix::{SignalKind, signal},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tower::ServiceExt;

use crate::{
    api::{self, App},
    code::upload::Room,
    config::{PrometheusConfig, ServerConfig},
    control::{self, Board, Control, Endings, Nudge, now_ms},
    engine::{
        Engine,
        local::{Local, LocalEngine},
    },
    metrics::Collector,
    run_token::{RunSecret, hex, write_private},
    rundir,
    seal::Seal,
    store::{self, Store, StoreError, secrets, tokens},
};

mod measuring;
mod volumes;

/// How long it is tried to save the output of a run that is over, where the owner does not say.
const SYNC_PATIENCE_MS: u64 = 24 * 3_600_000;
/// Room for people and streams, where so many files may be open.
const CONNECTIONS_MAX: usize = 4_096;
/// Enough for every connection, and as much again for everything else.
const OPEN_FILES_WANTED: u64 = 2 * CONNECTIONS_MAX as u64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long open streams have to close when the server is asked to stop.
const GOODBYE: Duration = Duration::from_secs(2);

/// Runs the server until it is asked to stop. `ready` is called once it answers.
pub async fn up(config: ServerConfig, ready: impl FnOnce(&Ready)) -> anyhow::Result<()> {
    config.check()?;
    make_private_dir(&config.data)?;
    let store = Store::open(&config.data)?;
    let admin = ensure_admin(&store, &config.data).await?;
    let link = api::make_link(&store, admin).await.context("making a link to the console")?;
    let seal = open_seal(&store, &config).await?;
    volumes::configure(&store, &seal, &config.data, &config.volumes).await?;
    let run_key = RunSecret::of(&config.data).context("reading the secret of the runs")?;
    let engine = Arc::new(LocalEngine::new(Local::from_config(&config)?));
    let connections_max = connections_max()?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}; `--listen` names another address", config.listen))?;
    let address = listener.local_addr()?;
    let url = format!("http://{}", reachable(address));
    let (nudge, board) = (Nudge::default(), Board::default());
    board.set(engine.nodes().await?);

    let (switched, keeping) = (engine.clone(), config.logs.keeping()?);
    let endings = match &config.catalogue {
        Some(file) => Endings::read(file).map_err(anyhow::Error::msg)?,
        None => Endings::default(),
    };
    let app = Arc::new(App {
        store: store.clone(),
        house: house_rules(&board, &config)?,
        nudge: nudge.clone(),
        board: board.clone(),
        data: config.data.clone(),
        log_bytes_max: keeping.run_bytes_max,
        run_key: run_key.clone(),
        seal,
        large_puts: Semaphore::new(api::LARGE_PUTS_MAX),
        scraping: scraping(&config.prometheus)?,
        hosts: own_names(address, &config.allow_hosts),
        node_switch: Box::new(move |node, up| if up { switched.bring_up(node) } else { switched.take_down(node) }),
        endings: endings.clone(),
        lookouts: api::Lookouts::default(),
    });
    let measured = store.clone();
    let (uploads, data) = (Room::of(&config.data), config.data.clone());
    let sync_patience_ms = config.sync_patience_ms.unwrap_or(SYNC_PATIENCE_MS);
    let make_control = move || Control {
        store: store.clone(),
        engine: engine.clone(),
        nudge: nudge.clone(),
        board: board.clone(),
        server_url: url.clone(),
        run_key: run_key.clone(),
        sync_patience_ms,
        uploads: uploads.clone(),
        data: data.clone(),
        keeping,
        endings: endings.clone(),
    };
    tokio::spawn(measuring::keep_measuring(measured, config.data.clone()));
    tokio::spawn(control::keep_starting(make_control()));
    tokio::spawn(keep_going(make_control));
    collect_metrics(&config.data)?;

    let ready_now = Ready { url: format!("http://{}", reachable(address)), data: config.data.clone(), console: link.path };
    let card = config.data.join("server.json");
    write_private(&card, serde_json::json!({ "url": ready_now.url, "pid": std::process::id() }).to_string().as_bytes())?;
    ready(&ready_now);
    let doors = (listener, side_door(&config.data));
    serve(doors, api::router(app), connections_max).await?;
    std::fs::remove_file(card).context("removing the server's card")?;
    // Where there was none, there is none to close.
    let _ = std::fs::remove_file(rundir::side_door(&config.data));
    Ok(())
}

/// What a server that answers has to say about itself.
pub struct Ready {
    pub url: String,
    pub data: std::path::PathBuf,
    /// Behind the address: logs the administrator in to the console, once and soon.
    pub console: String,
}

/// Whether a server, this one or another, keeps its database and its keys in a directory.
pub fn keeps_data_in(directory: &Path) -> bool {
    [RunSecret::FILE_NAME, store::FILE_NAME].iter().all(|name| directory.join(name).is_file())
}

fn make_private_dir(data: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.with_context(|| format!("making the data directory {}", data.display()))
}

/// The administrator's token lies in a file that only the owner of the data directory can read, so the
/// command line on this machine needs no typing. The file comes first: a crash in between makes a new one. Answers the token's hash.
async fn ensure_admin(store: &Store, data: &Path) -> anyhow::Result<String> {
    let path = data.join("admin-token");
    if let Ok(token) = std::fs::read_to_string(&path) {
        let hash = api::token_hash(token.trim());
        let asked = hash.clone();
        match store.read(move |sql| tokens::find(sql, &asked, now_ms())).await {
            Ok(Some(_)) => return Ok(hash),
            // A token that cannot be read opens no door, so it is replaced like one that is gone.
            Ok(None) | Err(StoreError::Unreadable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let token = fresh_token()?;
    write_private(&path, format!("{token}\n").as_bytes()).context("writing the administrator's token")?;
    let hash = api::token_hash(&token);
    let added = hash.clone();
    store.write(move |sql| tokens::add(sql, &added, "admin", tokens::Role::Admin, "made at first start", now_ms(), None)).await?;
    Ok(hash)
}

/// The key of the secrets is made only where nothing was sealed with an older one. A change of keys that a crash has cut
/// short is brought to its end, and what was written down before there were seals is sealed.
async fn open_seal(store: &Store, config: &ServerConfig) -> anyhow::Result<Seal> {
    let file = config.secrets_key();
    let samples = store.read(secrets::samples).await?;
    let seal = if samples.is_empty() { Seal::open_or_make(&file)? } else { Seal::open_file(&file)? };
    samples.iter().try_for_each(|sealed| seal.knows(sealed))?;
    if seal.has_old_keys() {
        let resealing = seal.clone();
        store.write(move |sql| secrets::reseal(sql, &resealing)).await?;
        seal.forget_old_keys()?;
    }
    secrets::seal_old(&config.data, &seal).context("sealing the secrets that were written down before")?;
    Ok(seal)
}

fn scraping(config: &PrometheusConfig) -> anyhow::Result<api::Scraping> {
    let hash = |path: &std::path::PathBuf| -> anyhow::Result<String> {
        let token = std::fs::read_to_string(path).with_context(|| format!("reading the token of Prometheus in {}", path.display()))?;
        anyhow::ensure!(!token.trim().is_empty(), "{} is empty; put a token of Prometheus into it", path.display());
        Ok(api::token_hash(token.trim()))
    };
    Ok(api::Scraping { loopback: config.loopback, token_hash: config.token_file.as_ref().map(hash).transpose()? })
}

fn fresh_token() -> anyhow::Result<String> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(format!("tm_{}", hex(&bits)))
}

/// A task that does not say how much memory it needs gets the share that goes with its CPUs.
fn house_rules(board: &Board, config: &ServerConfig) -> anyhow::Result<HouseRules> {
    let defaults = HouseRules::default();
    let largest = board.for_placing().into_iter().map(|node| node.capacity).max_by_key(|it| it.memory_bytes);
    let share = largest.map(|node| node.memory_bytes / (node.cpus_milli / 1000).max(1));
    Ok(HouseRules {
        memory_bytes_per_cpu: share.unwrap_or(defaults.memory_bytes_per_cpu),
        gang_timeout_ms: config.gang_timeout_ms.unwrap_or(defaults.gang_timeout_ms),
        code: config.code.limits()?,
        ..defaults
    })
}

/// The address as someone on this machine dials it.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn own_names(address: SocketAddr, allowed: &[String]) -> Vec<String> {
    let port = address.port();
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
    if !address.ip().is_unspecified() {
        names.push(address.to_string());
    }
    names.extend(allowed.iter().map(|name| if name.contains(':') { name.clone() } else { format!("{name}:{port}") }));
    names
}

/// A panic in a turn is a bug, but not a reason to leave jobs alone: the loop starts anew from what is durable.
async fn keep_going(control: impl Fn() -> Control) {
    loop {
        let Err(error) = tokio::spawn(control().run()).await else { return };
        tracing::error!("the control loop stopped and is started again: {error}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Reads numbers in what tasks write, in a thread of its own: whatever happens there is nobody else's trouble.
fn collect_metrics(data: &Path) -> anyhow::Result<()> {
    let data = data.to_owned();
    let forever = move || {
        loop {
            let turns = std::panic::AssertUnwindSafe(|| Collector::new(&data).run());
            if std::panic::catch_unwind(turns).is_err() {
                tracing::error!("the collector of metrics stopped and is started again");
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    };
    std::thread::Builder::new().name("metrics".into()).spawn(forever).context("starting the collector of metrics")?;
    Ok(())
}

/// How many connections we may have: half of the files we may have open, after asking for more of those.
/// Made after the engine, whose tasks keep the limit we were given.
fn connections_max() -> anyhow::Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = OPEN_FILES_WANTED.clamp(soft, hard.max(soft));
    let granted = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_or(soft, |()| wanted);
    Ok(usize::try_from(granted / 2)?.clamp(1, CONNECTIONS_MAX))
}

/// A door for those who share our disk. Where there can be none, they come by the address.
fn side_door(data: &Path) -> Option<UnixListener> {
    let place = rundir::side_door(data);
    // Whoever left it behind is gone: the data directory is ours.
    let _ = std::fs::remove_file(&place);
    UnixListener::bind(place).inspect_err(|error| tracing::debug!("there is no side door: {error}")).ok()
}

async fn serve((listener, side): (TcpListener, Option<UnixListener>), router: axum::Router, connections_max: usize) -> anyhow::Result<()> {
    let room = Arc::new(Semaphore::new(connections_max));
    let graceful = GracefulShutdown::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            accepted = accept(&listener, side.as_ref(), &room) => match accepted {
                Ok((Line::Net(stream, peer), place)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!("a connection keeps its delay: {error}");
                    }
                    tokio::spawn(until_closed(graceful.watch(connection(stream, Some(peer), router.clone())), place));
                }
                Ok((Line::Near(stream), place)) => {
                    tokio::spawn(until_closed(graceful.watch(connection(stream, None, router.clone())), place));
                }
                // Out of file descriptors, most likely: wait for some to come back instead of spinning.
                Err(error) => {
                    tracing::warn!("could not take a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop((listener, side));
    let _streams_that_stay_are_cut = tokio::time::timeout(GOODBYE, graceful.shutdown()).await;
    Ok(())
}

/// Somebody who came, by the address or by the side door.
enum Line {
    Net(TcpStream, SocketAddr),
    Near(UnixStream),
}

async fn until_closed<C: Future>(connection: C, place: OwnedSemaphorePermit) {
    let _closed_by_either_side = connection.await;
    drop(place);
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    side: Option<&UnixListener>,
    room: &Arc<Semaphore>,
) -> std::io::Result<(Line, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let near = async {
        match side {
            Some(side) => side.accept().await,
            None => std::future::pending().await,
        }
    };
    let line = tokio::select! {
        accepted = listener.accept() => accepted.map(|(stream, peer)| Line::Net(stream, peer))?,
        accepted = near => Line::Near(accepted?.0),
    };
    Ok((line, place))
}

/// Writes on each request where it comes from, and how fast its reader is.
fn connection<S>(stream: S, peer: Option<SocketAddr>, router: axum::Router) -> impl GracefulConnection<Error = hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let flow = Arc::new(api::Flow::default());
    let line = api::Metered { line: stream, flow: flow.clone() };
    let answer = service_fn(move |mut request: Request<Incoming>| {
        peer.map(|peer| request.extensions_mut().insert(api::Peer(peer)));
        request.extensions_mut().insert(flow.clone());
        router.clone().oneshot(request)
    });
    http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).serve_connection(TokioIo::new(line), answer)
}
