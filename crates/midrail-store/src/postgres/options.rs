//! How to connect to the database. Nothing here ever shows a password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{Result, StoreError};

/// How to connect to a PostgreSQL database, and how much of it to use.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require`. With `sslmode=require` the connection uses TLS,
    /// and the certificate and name of the server are verified against the authorities in `sslrootcert=FILE`, if it is
    /// set. Otherwise the connection is not encrypted.
    pub url: String,
    /// The file with the secret for checkpoints, fingerprints and approvers' keys, in the format of the key file of a
    /// SQLite store. `None`: it is stored in the database, and the owner of the database can sign anything.
    pub key_file: Option<PathBuf>,
    /// The maximum number of connections, in addition to the one that listens.
    pub pool: usize,
    /// The timeout for connecting and for each statement, after which the store returns an error.
    pub timeout: Duration,
    /// The maximum number of commits of one project in one transaction.
    pub batch: usize,
}

impl PostgresOptions {
    /// The default options for a database.
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

/// A parsed URL.
pub(super) struct Target {
    pub(super) config: Config,
    /// The server and database for messages, without a password.
    pub(super) server: String,
    pub(super) roots: Option<PathBuf>,
}

impl Target {
    // The causes are not shown: they quote parts of the URL, which can be parts of a password with an unescaped `@` or
    // `?`.
    pub(super) fn parse(url: &str, timeout: Duration) -> Result<Self> {
        let wrong = |what: &str| StoreError::Database {
            server: "postgres://…".to_owned(),
            what: format!("its URL cannot be used: {what}"),
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("it does not start with `postgres://`"));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut roots = None;
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) => {
                    let path = percent_decode_str(path).decode_utf8_lossy();
                    roots = Some(PathBuf::from(path.into_owned()));
                }
                // `require` verifies as well.
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
                "no host found; write `@`, `:`, `/`, `?` and `#` in a password as `%40`, \
                 `%3A`, `%2F`, `%3F` and `%23`",
            ));
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // An attacker on the network could disable the encryption anyway.
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(timeout);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(timeout.saturating_mul(2));
        }
        // A connection that a firewall has dropped is detected while it is idle, and not when it is needed.
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

/// The settings of a connection. A commit is durable when it returns, regardless of the settings of the database.
pub(super) fn settings(timeout: Duration) -> String {
    let limit = timeout.as_millis();
    format!(
        "SET search_path = midrail; SET statement_timeout = {limit}; SET lock_timeout = {limit};
         SET idle_in_transaction_session_timeout = {}; SET client_encoding = 'UTF8';
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        limit * 2
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(url, Duration::from_secs(5))
    }

    #[test]
    fn url_is_parsed() {
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
    fn errors_and_debug_output_do_not_show_a_password() {
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
