//! A service with its own directory, and a client that sends exact bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use log::{LevelFilter, Log, Metadata, Record};
use midrail::admin::{KeyRight, KeyScope};
use midrail::{Engine, Load, SqliteStore};
use midrail_service::{At, Config, ServeError, StoreAt, run_until};
use serde_json::Value;
use tempfile::TempDir;

/// Everything that the service logs, at the finest level.
static LOG: Mutex<String> = Mutex::new(String::new());
/// Everything that must never be in it.
static SECRETS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // As in the program: logs of libraries are ignored.
        metadata.target().starts_with("midrail")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
            log.push_str(&format!("{} {}\n", record.level(), record.args()));
        }
    }

    fn flush(&self) {}
}

pub(crate) fn secret(text: &str) {
    SECRETS.lock().unwrap().push(text.to_owned());
}

pub(crate) fn logged() -> (String, Vec<String>) {
    (LOG.lock().unwrap().clone(), SECRETS.lock().unwrap().clone())
}

pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) config: Config,
    pub(crate) address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn of(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.head, self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        if status >= 400 {
            assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.head);
            assert_eq!(self.json()["status"], status);
            assert!(self.json()["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        }
        self
    }
}

pub(crate) fn config(folder: &TempDir) -> Config {
    let pack = folder.path().join("pack.yaml");
    std::fs::write(&pack, "pack: p\nguardrails:\n  - {use: secret-redaction}\n  - {id: no-x, tools: x}\n")
        .unwrap();
    let load = Load { packs: vec![pack], ..Load::default() };
    let store = StoreAt::Sqlite(folder.path().join("store.db"));
    Config { store, ..Config::new(At::Address("127.0.0.1:0".parse().unwrap()), load) }
}

/// Opens the store that a service has.
pub(crate) fn engine(config: &Config, project: &str) -> Arc<Engine> {
    let StoreAt::Sqlite(home) = &config.store else { panic!("no file") };
    let path = match project {
        "default" => home.clone(),
        other => home.parent().unwrap().join("projects").join(format!("{other}.db")),
    };
    let loaded = config.load.load().unwrap();
    let store = Arc::new(SqliteStore::open(path).unwrap());
    Arc::new(Engine::builder(loaded.policy, &loaded.source).store(store).build().unwrap())
}

pub(crate) fn scope(rights: &[KeyRight]) -> KeyScope {
    KeyScope {
        name: "ci".to_owned(),
        projects: vec!["default".to_owned()],
        agents: None,
        rights: rights.to_vec(),
        per_minute: None,
    }
}

pub(crate) fn key(config: &Config, scope: &KeyScope) -> String {
    let engine = engine(config, "default");
    let by = midrail::admin::Person::authenticated("root", [midrail::admin::ADMIN]);
    let key = engine.admin().add_api_key(scope, Some(&by)).unwrap();
    secret(key.rsplit('_').next().unwrap());
    key
}

pub(crate) fn person(config: &Config, project: &str, name: &str, roles: &[&str]) -> String {
    let engine = engine(config, project);
    let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    let by = midrail::admin::Person::authenticated("root", ["human_operator"]);
    let key = engine.admin().add_approver(name, &roles, Some(&by)).unwrap();
    secret(&key);
    key
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Fixture::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(&folder);
        change(&mut config);
        Fixture::start(folder, config)
    }

    pub(crate) fn start(folder: TempDir, config: Config) -> Self {
        if log::set_logger(&Logger).is_ok() {
            log::set_max_level(LevelFilter::Trace);
        }
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (report, received) = mpsc::channel();
        let own = config.clone();
        let served = std::thread::spawn(move || {
            run_until(own, |ready| report.send(ready.url.clone()).unwrap(), async { drop(stopped.await) })
        });
        let url = received.recv_timeout(Duration::from_secs(60)).expect("it never got ready");
        let address = url.split("://").nth(1).unwrap().parse().unwrap();
        Fixture { folder, config, address, stop: Some(stop), served: Some(served) }
    }

    pub(crate) fn request_stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    pub(crate) fn ended(&mut self) -> Result<(), ServeError> {
        self.request_stop();
        self.served.take().map_or(Ok(()), |served| served.join().unwrap())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the other side closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        Answer::of(&text)
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.raw(request(&self.address.to_string(), method, path, headers, body).as_bytes())
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, "")
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.send("POST", path, &all, body)
    }

    pub(crate) fn decide(&self, headers: &[(&str, &str)]) -> Answer {
        self.post("/v1/decide", headers, EVENT)
    }

    /// Logs a person in. Their cookie and their token.
    pub(crate) fn log_in(&self, name: &str, key: &str, project: Option<&str>) -> (String, String) {
        let body = serde_json::json!({"name": name, "key": key, "project": project}).to_string();
        let answer = self.post("/v1/login", &[], &body).is(200);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let csrf = answer.json()["csrf"].as_str().unwrap().to_owned();
        secret(cookie.rsplit('.').next().unwrap());
        secret(&csrf);
        (cookie, csrf)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.ended();
    }
}

pub(crate) const EVENT: &str = r#"{"kind":"before_tool","session":"s","tool":{"name":"x"}}"#;

pub(crate) fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

/// A request as bytes. A header that is given replaces the one that is usual.
pub(crate) fn request(host: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let length = body.len().to_string();
    let has = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    for (name, value) in [("host", host), ("connection", "close"), ("content-length", &length)] {
        if !has(name) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n" + body
}

/// Repeats a check until it holds. The number of tries is far beyond what any check needs.
pub(crate) fn eventually(mut check: impl FnMut() -> bool) -> bool {
    (0..1_000_000).any(|_| check())
}
