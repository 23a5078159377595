//! The server: opens the house, listens, and leaves its tasks alone when it goes.

use std::{net::SocketAddr, os::unix::fs::DirBuilderExt, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use model::plan::HouseRules;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{
    api::{self, App},
    config::ServerConfig,
    control::{Board, Control, Nudge, now_ms},
    engine::{
        Engine,
        local::{Local, LocalEngine},
    },
    run_token::{RunSecret, hex, write_private},
    store::{Store, StoreError, tokens},
};

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
    ensure_admin(&store, &config.data).await?;
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

    let switched = engine.clone();
    let app = Arc::new(App {
        store: store.clone(),
        house: house_rules(&board, config.gang_timeout_ms),
        nudge: nudge.clone(),
        board: board.clone(),
        data: config.data.clone(),
        run_key: run_key.clone(),
        hosts: own_names(address, &config.allow_hosts),
        node_switch: Box::new(move |node, up| if up { switched.bring_up(node) } else { switched.take_down(node) }),
    });
    let control = move || Control {
        store: store.clone(),
        engine: engine.clone(),
        nudge: nudge.clone(),
        board: board.clone(),
        server_url: url.clone(),
        run_key: run_key.clone(),
    };
    tokio::spawn(keep_going(control));

    let ready_now = Ready { url: format!("http://{}", reachable(address)), data: config.data.clone() };
    let card = config.data.join("server.json");
    write_private(&card, serde_json::json!({ "url": ready_now.url, "pid": std::process::id() }).to_string().as_bytes())?;
    ready(&ready_now);
    serve(listener, api::router(app), connections_max).await?;
    std::fs::remove_file(card).context("removing the server's card")?;
    Ok(())
}

/// What a server that answers has to say about itself.
pub struct Ready {
    pub url: String,
    pub data: std::path::PathBuf,
}

fn make_private_dir(data: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.with_context(|| format!("making the data directory {}", data.display()))
}

/// The administrator's token lies in a file that only the owner of the data directory can read, so the
/// command line on this machine needs no typing. The file comes first: a crash in between makes a new one.
async fn ensure_admin(store: &Store, data: &Path) -> anyhow::Result<()> {
    let path = data.join("admin-token");
    if let Ok(token) = std::fs::read_to_string(&path) {
        let hash = api::token_hash(token.trim());
        match store.read(move |sql| tokens::find(sql, &hash, now_ms())).await {
            Ok(Some(_)) => return Ok(()),
            // A token that cannot be read opens no door, so it is replaced like one that is gone.
            Ok(None) | Err(StoreError::Unreadable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let token = fresh_token()?;
    write_private(&path, format!("{token}\n").as_bytes()).context("writing the administrator's token")?;
    let hash = api::token_hash(&token);
    store.write(move |sql| tokens::add(sql, &hash, "admin", tokens::Role::Admin, "made at first start", now_ms(), None)).await?;
    Ok(())
}

fn fresh_token() -> anyhow::Result<String> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(format!("tm_{}", hex(&bits)))
}

/// A task that does not say how much memory it needs gets the share that goes with its CPUs.
fn house_rules(board: &Board, gang_timeout_ms: Option<u64>) -> HouseRules {
    let defaults = HouseRules::default();
    let largest = board.for_placing().into_iter().map(|node| node.capacity).max_by_key(|it| it.memory_bytes);
    let share = largest.map(|node| node.memory_bytes / (node.cpus_milli / 1000).max(1));
    HouseRules {
        memory_bytes_per_cpu: share.unwrap_or(defaults.memory_bytes_per_cpu),
        gang_timeout_ms: gang_timeout_ms.unwrap_or(defaults.gang_timeout_ms),
        ..defaults
    }
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

/// How many connections we may have: half of the files we may have open, after asking for more of those.
/// Made after the engine, whose tasks keep the limit we were given.
fn connections_max() -> anyhow::Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = OPEN_FILES_WANTED.clamp(soft, hard.max(soft));
    let granted = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_or(soft, |()| wanted);
    Ok(usize::try_from(granted / 2)?.clamp(1, CONNECTIONS_MAX))
}

async fn serve(listener: TcpListener, router: axum::Router, connections_max: usize) -> anyhow::Result<()> {
    let room = Arc::new(Semaphore::new(connections_max));
    let graceful = GracefulShutdown::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            accepted = accept(&listener, &room) => match accepted {
                Ok((stream, place)) => {
                    let connection = graceful.watch(connection(stream, router.clone()));
                    tokio::spawn(async move {
                        let _closed_by_either_side = connection.await;
                        drop(place);
                    });
                }
                // Out of file descriptors, most likely: wait for some to come back instead of spinning.
                Err(error) => {
                    tracing::warn!("could not take a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    let _streams_that_stay_are_cut = tokio::time::timeout(GOODBYE, graceful.shutdown()).await;
    Ok(())
}

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

fn connection(
    stream: TcpStream,
    router: axum::Router,
) -> hyper::server::conn::http1::Connection<TokioIo<TcpStream>, TowerToHyperService<axum::Router>> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("a connection keeps its delay: {error}");
    }
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
}
