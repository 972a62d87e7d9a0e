//! How to reach the database. Nothing here ever shows a password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{Result, StoreError};

/// How to reach a PostgreSQL database, and how much of it to use.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require`. With `sslmode=require` the connection is TLS, and
    /// the server's certificate and name are checked, against the authorities in `sslrootcert=FILE` where it is given.
    /// Otherwise the connection is plain.
    pub url: String,
    /// The file that holds the secret of checkpoints, fingerprints and approvers' keys, as SQLite keeps it beside a
    /// store. `None`: it is kept in the database, and who owns the database can sign what they like.
    pub key_file: Option<PathBuf>,
    /// The most connections at once, beside the one that listens.
    pub pool: usize,
    /// The longest that a connection is waited for, and that a statement may take. Then the store answers an error.
    pub timeout: Duration,
    /// The most commits of one project that are written in one transaction.
    pub batch: usize,
}

impl PostgresOptions {
    /// The usual options for a database.
    pub fn new(url: impl Into<String>) -> Self {
        PostgresOptions { url: url.into(), ..PostgresOptions::default() }
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        let timeout = Duration::from_secs(5);
        PostgresOptions { url: String::new(), key_file: None, pool: 8, timeout, batch: 128 }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PostgresOptions { url, key_file, pool, timeout, batch } = self;
        let server = Target::parse(url, *timeout).map_or_else(|_| "?".to_owned(), |target| target.server);
        f.debug_struct("PostgresOptions")
            .field("server", &server)
            .field("key_file", key_file)
            .field("pool", pool)
            .field("timeout", timeout)
            .field("batch", batch)
            .finish()
    }
}

/// A URL that was understood.
pub(super) struct Target {
    pub(super) config: Config,
    /// The server and database, for messages. There is no password in it.
    pub(super) server: String,
    pub(super) roots: Option<PathBuf>,
}

impl Target {
    // The causes are not told: they quote pieces of the text, and with an `@` or `?` in a password that is not written
    // as `%40` or `%3F` such a piece is a piece of the password.
    pub(super) fn parse(url: &str, timeout: Duration) -> Result<Self> {
        let wrong = |what: &str| StoreError::Database {
            server: "postgres://…".to_owned(),
            what: format!("its URL cannot be used: {what}"),
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("it does not begin with `postgres://`"));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut roots = None;
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) => roots = Some(PathBuf::from(unescape(path))),
                // What `require` means here.
                Some(("sslmode", "verify-full" | "verify-ca")) => rest.push("sslmode=require"),
                _ => rest.push(pair),
            }
        }
        let text = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: Config =
            text.parse().map_err(|_| wrong("write it as `postgres://USER:PASSWORD@HOST:PORT/DATABASE`"))?;
        let is_plain = |host: &Host| match host {
            Host::Tcp(name) => {
                !name.contains(['@', ':', '/', '?', '#']) || name.parse::<std::net::Ipv6Addr>().is_ok()
            }
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        if config.get_hosts().is_empty() || !config.get_hosts().iter().all(is_plain) {
            return Err(wrong(
                "no host can be made out; write `@`, `:`, `/`, `?` and `#` in a password as `%40`, \
                 `%3A`, `%2F`, `%3F` and `%23`",
            ));
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Whoever stands in between could make it plain anyway, so it is what it looks like.
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(timeout);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(timeout.saturating_mul(2));
        }
        // A connection that a firewall has forgotten is noticed while it is idle, and not when it is needed.
        config.keepalives_idle(config.get_keepalives_idle().min(Duration::from_secs(30)));
        if config.get_application_name().is_none() {
            config.application_name("midrail");
        }
        let server = server(&config);
        Ok(Target { config, server, roots })
    }
}

fn server(config: &Config) -> String {
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    let ports = config.get_ports();
    let host = |(at, host): (usize, &Host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(path) => format!("{}:{port}", path.display()),
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    format!("postgres://{}/{database}", hosts.join(","))
}

/// `%2F` and the like. What is no escape stays as it is.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(url, Duration::from_secs(5))
    }

    #[test]
    fn url_says_where_and_how() {
        let target = parse(
            "postgres://u:secret@db.example:5433/midrail?sslmode=verify-full&sslrootcert=/etc/a%20b.pem",
        );
        let target = target.unwrap();
        assert_eq!(target.server, "postgres://db.example:5433/midrail");
        assert_eq!(target.roots, Some(PathBuf::from("/etc/a b.pem")));
        assert_eq!(target.config.get_ssl_mode(), SslMode::Require);
        for plain in ["postgres://h/d", "postgres://h/d?sslmode=prefer", "postgresql://h/d?sslmode=disable"] {
            assert_eq!(parse(plain).unwrap().config.get_ssl_mode(), SslMode::Disable);
        }
        assert_eq!(parse("postgres://u@[::1]:5/d").unwrap().server, "postgres://::1:5/d");
        assert_eq!(parse("postgres://u@h1:5,h2:6/d").unwrap().server, "postgres://h1:5,h2:6/d");
        assert_eq!(parse("postgres://u@%2Ftmp:5/d").unwrap().server, "postgres:///tmp:5/d");
    }

    #[test]
    fn no_error_and_no_debug_shows_a_password() {
        for url in [
            "postgres://u:hunter2@h/d",
            "postgres://u:x@hunter2@h/d",
            "postgres://u:x?hunter2@h/d",
            "postgres://u:x/hunter2@h/d",
            "postgres://u:x#hunter2@h/d",
            "postgres://u:x:hunter2@h/d",
            "postgres://u:hunter2",
            "host=h password=hunter2",
            "postgres://h/d?password=hunter2",
            "postgres://h/d?hunter2",
            "postgres://h/d?hunter2=1",
            "postgres://u:%hunter2@h/d",
            "mysql://u:hunter2@h/d",
        ] {
            let options = PostgresOptions::new(url);
            assert!(!format!("{options:?}").contains("hunter2"), "{options:?}");
            if let Err(error) = parse(url) {
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
            }
        }
    }
}
