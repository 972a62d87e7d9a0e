//! Benchmarks of the service: `POST /v1/decide` with the default pack against a handler that only parses the same body
//! and responds with the same bytes; in memory, with SQLite and with PostgreSQL, all in one run.
//!
//! Run it: `cargo bench -p midrail-service --bench service`. Each server runs in its own process; this process
//! generates the load over several connections, each of which sends its next request after the last response.
//! `MIDRAIL_BENCH_POSTGRES=postgres://…` adds PostgreSQL (`scripts/postgres.sh start` prints a URL), and words after `--` select
//! servers by name. The output shows decisions per second, the server's processor time per decision, and the ratios of the
//! latter to the bare handler and to the service in memory. No figure is asserted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_docs,
    reason = "a benchmark"
)]

use std::env;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use midrail::{Event, Load};
use midrail_service::{At, Config, FilesAt, StoreAt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Duration of each measurement, and of the warm-up before it.
const MEASURED: Duration = Duration::from_secs(6);
const WARM: Duration = Duration::from_secs(2);

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("--server") => return serve(&args[2], args.get(3).map(String::as_str)),
        Some("--bare") => return bare(args[2].clone()),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    println!(
        "{:<20} {:>6} {:>12} {:>10} {:>10} {:>14} {:>9} {:>11}",
        "server", "conns", "decisions/s", "p50", "p99", "processor", "of bare", "of memory"
    );
    let chosen: Vec<String> = args.into_iter().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let folder = tempfile::tempdir().unwrap();
    let postgres = env::var("MIDRAIL_BENCH_POSTGRES").ok();
    let in_memory = vec!["--server".to_owned(), "memory".to_owned()];
    let sample = runtime.block_on(sample_answer(&mut Server::start(&in_memory)));
    for connections in [1, 16, 64] {
        let (mut bare, mut memory) = (None, None);
        let store = folder.path().join(format!("{connections}/store.db"));
        let mut servers: Vec<(&str, Vec<String>)> = vec![
            ("bare axum handler", vec!["--bare".into(), sample.clone()]),
            ("midrail, in memory", in_memory.clone()),
            ("midrail, SQLite", vec!["--server".into(), "sqlite".into(), store.display().to_string()]),
        ];
        if let Some(url) = &postgres {
            servers.push(("midrail, PostgreSQL", vec!["--server".into(), "postgres".into(), url.clone()]));
        }
        let is_chosen =
            |name: &str| chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str()));
        for (name, args) in servers.into_iter().filter(|(name, _)| is_chosen(name)) {
            let mut server = Server::start(&args);
            let figures = runtime.block_on(load(&server, connections));
            let processor = figures.processor.as_secs_f64() * 1e6 / figures.times.len() as f64;
            match name {
                "bare axum handler" => bare = Some(processor),
                "midrail, in memory" => memory = Some(processor),
                _ => {}
            }
            let ratio = |of: Option<f64>| of.map_or_else(String::new, |of| format!("{:.2}", processor / of));
            println!(
                "{name:<20} {connections:>6} {:>12.0} {:>10.1?} {:>10.1?} {processor:>11.1} us {:>9} {:>11}",
                figures.rate,
                figures.part(50.0),
                figures.part(99.0),
                ratio(bare),
                ratio(memory),
            );
            server.stop();
        }
    }
    if postgres.is_none() {
        println!("PostgreSQL was not measured: MIDRAIL_BENCH_POSTGRES is not set");
    }
}

/// A server in its own process.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(args: &[String]) -> Self {
        let mut child =
            Command::new(env::current_exe().unwrap()).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(address) = line.trim().rsplit('/').next().unwrap().parse() else {
            panic!("the server {args:?} did not start and said {line:?}: {}", child.wait().unwrap());
        };
        Server { child, address }
    }

    /// Processor time used so far: fields 14 and 15 of `/proc/PID/stat`, in hundredths of a second.
    fn processor(&self) -> Duration {
        let line = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = line.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        Duration::from_millis(fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10)
    }

    fn stop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn serve(kind: &str, place: Option<&str>) {
    let store = match kind {
        "memory" => StoreAt::Memory,
        "sqlite" => StoreAt::Sqlite(place.unwrap().into()),
        _ => StoreAt::Postgres { url: place.unwrap().to_owned(), key_file: None },
    };
    let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
    let listen = At::Address("127.0.0.1:0".parse().unwrap());
    let config = Config { store, files: FilesAt::Here, ..Config::new(listen, load) };
    midrail_service::run(config, |ready| println!("{}", ready.url)).unwrap();
}

/// The body of a response of the service to a typical event.
async fn sample_answer(server: &mut Server) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let mut buffer = vec![0; 64 << 10];
    stream.write_all(request(0, 0).as_bytes()).await.unwrap();
    let sample = answer(&mut stream, &mut buffer).await.to_owned();
    server.stop();
    sample
}

/// A handler that parses the event and responds with `text`.
fn bare(text: String) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let text = Bytes::from(text);
        let answer = post(move |body: Bytes| async move {
            let event: Event = serde_json::from_slice(&body).unwrap();
            assert!(event.session.is_some());
            ([(CONTENT_TYPE, "application/json")], text)
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        axum::serve(listener, Router::new().route("/v1/decide", answer)).await.unwrap();
    });
}

struct Figures {
    rate: f64,
    processor: Duration,
    times: Vec<Duration>,
}

impl Figures {
    fn part(&self, percent: f64) -> Duration {
        let at = ((self.times.len() - 1) as f64 * percent / 100.0) as usize;
        self.times[at]
    }
}

/// Sends requests over a number of connections, and returns the responses per second.
async fn load(server: &Server, connections: usize) -> Figures {
    let address = server.address;
    let (measuring, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let tasks: Vec<_> = (0..connections)
        .map(|connection| {
            let (measuring, done) = (measuring.clone(), done.clone());
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (mut times, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
                let mut round = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    let request = request(connection, round);
                    let started = Instant::now();
                    stream.write_all(request.as_bytes()).await.unwrap();
                    answer(&mut stream, &mut buffer).await;
                    if measuring.load(Ordering::Relaxed) {
                        times.push(started.elapsed());
                    }
                    round += 1;
                }
                times
            })
        })
        .collect();
    tokio::time::sleep(WARM).await;
    measuring.store(true, Ordering::Relaxed);
    let (started, before) = (Instant::now(), server.processor());
    tokio::time::sleep(MEASURED).await;
    let (took, processor) = (started.elapsed(), server.processor() - before);
    done.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times.sort_unstable();
    Figures { rate: times.len() as f64 / took.as_secs_f64(), processor, times }
}

/// A typical event: three reads per command, in sessions of a hundred events.
fn request(connection: usize, round: u64) -> String {
    let tool = match round % 4 {
        3 => r#"{"name":"Bash","args":{"command":"cargo test --workspace 2>&1 | tail -20"}}"#.to_owned(),
        file => format!(r#"{{"name":"Read","args":{{"file_path":"/repo/src/file{file}.rs"}}}}"#),
    };
    let session = round / 100;
    let body = format!(
        r#"{{"kind":"before_tool","session":"s-{connection}-{session}","cwd":"/repo","agent":{{"id":"a-{connection}","role":"implementer"}},"tool":{tool}}}"#
    );
    format!(
        "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one response, and returns its body.
async fn answer<'b>(stream: &mut TcpStream, buffer: &'b mut [u8]) -> &'b str {
    let mut have = 0;
    loop {
        let read = stream.read(&mut buffer[have..]).await.unwrap();
        assert!(read > 0, "the server went away");
        have += read;
        let text = std::str::from_utf8(&buffer[..have]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap() {
            let start = have - body.len();
            return std::str::from_utf8(&buffer[start..have]).unwrap();
        }
    }
}
