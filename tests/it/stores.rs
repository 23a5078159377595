//! Real S3 servers of two origins: MinIO, and Versity's gateway over a directory. `scripts/setup.sh tests`
//! builds both from their published sources.

use std::{
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use model::volume::{Credentials, Volume};
use trainmaster::volumes::{self, Store};

use super::house::until;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Minio,
    Versity,
}

pub const ORIGINS: [Origin; 2] = [Origin::Minio, Origin::Versity];
pub const ACCESS_KEY: &str = "trainmaster-tests";
pub const SECRET_KEY: &str = "canary-5f2c-secret-key";
pub const BUCKET: &str = "bucket";

/// A server with one empty bucket. It ends with this value.
pub struct S3Server {
    /// Such as `http://127.0.0.1:40123`.
    pub endpoint: String,
    dir: tempfile::TempDir,
    origin: Origin,
    port: u16,
    process: Option<Child>,
}

impl S3Server {
    pub fn start(origin: Origin) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Both take a directory in theirs as a bucket.
        std::fs::create_dir_all(dir.path().join("data").join(BUCKET)).unwrap();
        let port = free_port();
        let mut server = Self { endpoint: format!("http://127.0.0.1:{port}"), dir, origin, port, process: None };
        server.resume();
        server
    }

    /// Starts it (again) at the same address with the same data.
    pub fn resume(&mut self) {
        let log = std::fs::File::create(self.dir.path().join("log")).unwrap();
        let mut command = match self.origin {
            Origin::Minio => minio(self.port),
            Origin::Versity => versity(self.port),
        };
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        self.process = Some(command.spawn().unwrap_or_else(|error| panic!("{:?}: {error}; run scripts/setup.sh tests", self.origin)));
        let store = self.store();
        until("the store answers", || {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{:?} ended: {}", self.origin, self.log());
            block_on(store.put_bytes(".ready", bytes::Bytes::new())).is_ok()
        });
        block_on(store.remove(".ready")).unwrap();
    }

    /// Ends it as a machine ends that loses its power.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// How many uploads in parts it has on its disk that nobody finished or aborted. Its disk is looked at,
    /// since MinIO does not list them.
    pub fn half_uploads(&self) -> usize {
        let data = self.dir.path().join("data");
        let uploads = match self.origin {
            Origin::Minio => data.join(".minio.sys/multipart"),
            Origin::Versity => data.join(BUCKET).join(".sgwtmp/multipart"),
        };
        let below = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        below(uploads).flat_map(below).filter(|path| path.is_dir()).count()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// The whole bucket as a volume.
    pub fn volume(&self) -> Volume {
        volume_at(&self.endpoint)
    }

    pub fn store(&self) -> Store {
        volumes::open(&self.volume(), Some(&keys())).unwrap().named("data")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("---- {:?}\n{}", self.origin, self.log());
        }
    }
}

/// The bucket by way of another address, such as that of a [`super::faulty::Faulty`].
pub fn volume_at(endpoint: &str) -> Volume {
    Volume::S3 { endpoint: Some(endpoint.into()), bucket: BUCKET.into(), prefix: String::new(), region: None, virtual_host: false }
}

pub fn store_at(endpoint: &str) -> Store {
    volumes::open(&volume_at(endpoint), Some(&keys())).unwrap().named("data")
}

pub fn keys() -> Credentials {
    Credentials { access_key: ACCESS_KEY.into(), secret_key: SECRET_KEY.into(), session_token: None }
}

pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn tool(folder: &str, name: &str) -> Command {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    Command::new(home.join(".cache/trainmaster/tools").join(folder).join(name))
}

fn minio(port: u16) -> Command {
    let mut command = tool("minio-20260212", "minio");
    command.args(["server", "--quiet", "--address", &format!("127.0.0.1:{port}"), "data"]);
    command.env("MINIO_ROOT_USER", ACCESS_KEY).env("MINIO_ROOT_PASSWORD", SECRET_KEY);
    command.env("MINIO_BROWSER", "off").env("MINIO_DOMAIN", "localhost").env("MINIO_UPDATE", "off").env("MINIO_CALLHOME_ENABLE", "off");
    command
}

fn versity(port: u16) -> Command {
    let mut command = tool("versitygw-1.8.0", "versitygw");
    command.args(["--port", &format!("127.0.0.1:{port}"), "--keep-alive", "--quiet", "--virtual-domain", "localhost"]);
    command.args(["posix", "data"]).env("ROOT_ACCESS_KEY", ACCESS_KEY).env("ROOT_SECRET_KEY", SECRET_KEY);
    command
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
