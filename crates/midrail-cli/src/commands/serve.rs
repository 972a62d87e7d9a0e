//! `midrail serve`: decisions over HTTP, with a console.

use std::env;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use midrail_service::{At, Config, FilesAt, Limits, Otlp, Ready, StoreAt, Tls};
use serde_json::json;

use crate::error::{CliError, CliResult, InvalidValue};
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs, StorePlace};
use crate::logger;
use crate::output::Output;
use crate::paint::Style;
use crate::time;

/// The default port.
const PORT: u16 = 7420;

/// Serve decisions over HTTP, with a web console.
///
/// By default it listens on the loopback address only and uses the same store as hooks, so the console also shows
/// their decisions. Ctrl-C or SIGTERM stops it gracefully.
///
/// It enforces the packs of its own command line and folder, and does not start while other instances on the same store
/// enforce another policy, unless an administrator has confirmed it with `midrail policy confirm`.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::SERVE)]
pub(crate) struct Args {
    /// The address to listen on; port 0 selects a free one [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Listen on a Unix socket instead, which only its owner can access
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "tls_cert"])]
    socket: Option<PathBuf>,
    /// The store: a SQLite file, postgres://…, or env:NAME to read it from a variable [default: midrail/midrail.db
    /// in the user's state directory, which hooks also use]
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// The file of the key that signs the audit log of a PostgreSQL store [default: in the database]
    #[arg(long, value_name = "FILE")]
    store_key: Option<PathBuf>,
    /// Keep everything in memory, until the service stops
    #[arg(long, conflicts_with = "store")]
    memory: bool,
    #[command(flatten)]
    packs: PackArgs,
    /// A project with its own packs, in FOLDER/.midrail. Can be given several times
    #[arg(long = "project", value_name = "NAME=FOLDER", value_parser = project)]
    projects: Vec<(String, PathBuf)>,
    /// Where the files of the agents are: `here`, on this machine, or `elsewhere`, so that no file is read [default:
    /// here; elsewhere if other machines can reach the service]
    #[arg(long, value_name = "WHERE", value_parser = ["here", "elsewhere"])]
    files: Option<String>,
    /// Serve HTTPS with this certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy in front of the service terminates TLS, so no certificate is needed to listen on other addresses
    #[arg(long)]
    behind_proxy: bool,
    /// An address of that proxy. Requests from other addresses do not count as forwarded. Can be given several times
    /// [default: every request is forwarded]
    #[arg(long = "proxy", value_name = "ADDRESS", requires = "behind_proxy")]
    proxies: Vec<IpAddr>,
    /// Serve the MCP servers that the packs name with a `url`, at /mcp/SERVER: clients reach them through Midrail
    #[arg(long)]
    mcp: bool,
    /// Send traces and logs of every decision to this OTLP/HTTP collector [default: OTEL_EXPORTER_OTLP_ENDPOINT, else
    /// none]; headers come from OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// The format of the log: `text`, or `json` with one object per line
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    log_format: String,
    /// The largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body)]
    max_body: usize,
    /// The timeout of requests that do not wait for a person
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time::parse_duration)]
    timeout: Duration,
    /// The most connections per address, except for this machine; behind a proxy, the most concurrent requests per
    /// address that it names in `X-Forwarded-For`
    #[arg(long, value_name = "N", default_value_t = Limits::default().per_address)]
    max_connections_per_address: usize,
    /// The most concurrent requests
    #[arg(long, value_name = "N", default_value_t = Limits::default().at_once)]
    max_requests: usize,
}

fn store(args: &Args) -> CliResult<StoreAt> {
    if args.memory {
        return Ok(StoreAt::Memory);
    }
    Ok(match (StoreArgs { store: args.store.clone(), ..StoreArgs::default() }).place()? {
        StorePlace::File(path) => StoreAt::Sqlite(path),
        StorePlace::Postgres(url) => StoreAt::Postgres { url, key_file: args.store_key.clone() },
    })
}

fn project(text: &str) -> Result<(String, PathBuf), InvalidValue> {
    let invalid = || InvalidValue("use the form NAME=FOLDER".to_owned());
    let (name, folder) = text.split_once('=').ok_or_else(invalid)?;
    let folder = PathBuf::from(folder);
    if !folder.is_dir() {
        return Err(InvalidValue(format!("there is no folder `{}`", folder.display())));
    }
    Ok((name.to_owned(), folder))
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    logger::start_for_service(args.log_format == "json");
    let listen = match &args.socket {
        Some(path) => At::Socket(path.clone()),
        None => At::Address(args.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))),
    };
    let files = match args.files.as_deref() {
        Some("elsewhere") => FilesAt::Elsewhere,
        None if !listen.is_local() => FilesAt::Elsewhere,
        _ => FilesAt::Here,
    };
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let config = Config {
        listen,
        store: store(args)?,
        load: args.packs.here(),
        projects: args.projects.clone(),
        files,
        tls: tls.map(|(certificate, key)| Tls { certificate, key }),
        behind_proxy: args.behind_proxy,
        proxies: args.proxies.iter().map(IpAddr::to_canonical).collect(),
        limits: Limits {
            body: args.max_body,
            time: args.timeout,
            at_once: args.max_requests,
            per_address: args.max_connections_per_address,
            ..Limits::default()
        },
        otlp: otlp(args.otlp.as_deref()),
        mcp: args.mcp,
    };
    let mut reported = Ok(());
    let served = midrail_service::run(config, |ready| reported = report(ready, output));
    reported?;
    served.map_err(|error| {
        let differs = error.policy_differs().map(|_| Exit::PolicyDiffers);
        CliError::new(error.to_string()).maybe_help(error.help()).exit(differs)
    })?;
    Ok(Exit::Good)
}

/// The OTLP collector of the command line, or else of the environment.
fn otlp(named: Option<&str>) -> Option<Otlp> {
    let from = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let endpoint = named.map(str::to_owned).or_else(|| from("OTEL_EXPORTER_OTLP_ENDPOINT"))?;
    let headers = from("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let pairs = headers.split(',').filter_map(|pair| pair.split_once('='));
    let headers = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
    Some(Otlp { endpoint, headers })
}

fn report(Ready { url, takes_keys, has_people }: &Ready, output: &mut Output) -> CliResult<()> {
    if output.is_json {
        output
            .json(&json!({"ready": true, "url": url, "takes_keys": takes_keys, "has_people": has_people}))?;
        return output.flush();
    }
    let strong = output.paint.style(Style::Strong, url);
    output.line(format!(
        "midrail is ready at {strong}\n  decide   POST {url}/v1/decide\n  console  {url}/\n  API      {url}/v1/docs"
    ))?;
    if !takes_keys {
        output.line(
            "There are no keys yet, so any program on this machine may request decisions; create one with `midrail key add NAME`.",
        )?;
    }
    if !has_people {
        output.line(
            "There are no approvers yet; add one with `midrail approver add NAME --role human_operator`.",
        )?;
    }
    output.flush()
}
