//! The configuration of the service.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use midrail::Load;

use crate::observe::otlp::Otlp;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: At,
    /// Where projects are stored.
    pub store: StoreAt,
    /// The packs of every project that has no folder of its own.
    pub load: Load,
    /// Projects that have a folder with packs of their own, by name.
    pub projects: Vec<(String, PathBuf)>,
    /// Whether the files of the agents are on this machine.
    pub files: FilesAt,
    /// The certificate and key to serve HTTPS with.
    pub tls: Option<Tls>,
    /// Whether a proxy in front of the service terminates TLS.
    pub behind_proxy: bool,
    /// The addresses of that proxy. Other clients are not believed to forward requests. Empty: every client is.
    pub proxies: Vec<IpAddr>,
    /// The limits of requests.
    pub limits: Limits,
    /// Where traces and logs are sent.
    pub otlp: Option<Otlp>,
    /// Whether clients reach the MCP servers of the packs at `/mcp/SERVER`.
    pub mcp: bool,
}

impl Config {
    /// A service that keeps everything in memory, with default limits.
    pub fn new(listen: At, load: Load) -> Self {
        Config {
            listen,
            store: StoreAt::Memory,
            load,
            projects: Vec::new(),
            files: FilesAt::Elsewhere,
            tls: None,
            behind_proxy: false,
            proxies: Vec::new(),
            limits: Limits::default(),
            otlp: None,
            mcp: false,
        }
    }

    /// Whether only programs on this machine can send requests. Requests through a proxy may come from anywhere.
    pub(crate) fn is_private(&self) -> bool {
        self.listen.is_local() && !self.behind_proxy
    }

    /// Whether a client is the proxy in front of the service.
    pub(crate) fn is_proxy(&self, client: IpAddr) -> bool {
        self.behind_proxy && (self.proxies.is_empty() || self.proxies.contains(&client.to_canonical()))
    }
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// An address.
    Address(SocketAddr),
    /// A Unix socket, which only its owner can use.
    Socket(PathBuf),
}

impl At {
    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            At::Address(address) => address.ip().is_loopback(),
            At::Socket(_) => true,
        }
    }
}

/// Where projects are stored.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAt {
    /// In memory, until the process ends.
    Memory,
    /// In a SQLite file; other projects are in the directory `projects` next to it.
    Sqlite(PathBuf),
    /// In a PostgreSQL database, for any number of instances.
    Postgres {
        /// Its address.
        url: String,
        /// The file of the key that checkpoints are signed with. Absent: it is stored in the database.
        key_file: Option<PathBuf>,
    },
}

impl fmt::Debug for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAt::Memory => f.write_str("Memory"),
            StoreAt::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            // The address may hold a password.
            StoreAt::Postgres { .. } => f.debug_struct("Postgres").finish_non_exhaustive(),
        }
    }
}

/// Where the files of the agents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesAt {
    /// On this machine, where the agents work.
    Here,
    /// On other machines. No file is read, and actions that depend on one are blocked.
    Elsewhere,
}

/// A certificate with its chain, and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, with its chain.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// The limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// The timeout of requests that do not wait for a person.
    pub time: Duration,
    /// The most concurrent requests. Further requests are rejected with a retry time.
    pub at_once: usize,
    /// The most connections per address, except for this machine. Behind a proxy, the most concurrent requests per
    /// address that the proxy names.
    pub per_address: usize,
    /// How long running requests may take to finish at shutdown.
    pub grace: Duration,
    /// The time after which an address that sent too many wrong keys may try as many again.
    pub wrong_keys: Duration,
    /// How long a client has for the head of a request.
    pub head: Duration,
    /// How long a client has for the body of a request.
    pub body_time: Duration,
    /// The most open streams of text.
    pub streams: usize,
    /// How long a stream may be silent.
    pub silence: Duration,
    /// How long a stream may last.
    pub stream: Duration,
    /// The longest that a gateway waits for a decision, with the approvals that it takes. Each gateway has a limit of its own.
    pub gateway: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 8 << 20,
            time: Duration::from_secs(30),
            at_once: 512,
            per_address: 256,
            grace: Duration::from_secs(20),
            wrong_keys: Duration::from_secs(60),
            head: Duration::from_secs(10),
            body_time: Duration::from_secs(10),
            streams: 256,
            silence: Duration::from_secs(60),
            stream: Duration::from_secs(3600),
            gateway: Duration::from_secs(30),
        }
    }
}
