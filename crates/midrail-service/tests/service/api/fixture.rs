//! A service in a folder of its own, those who call it, and another process that works on the same store.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use midrail::admin::{KeyRight, KeyScope, Person};
use midrail::{Engine, Event, Files, Load, SqliteStore};
use midrail_service::{At, Config, StoreAt, run_until};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use ureq::Body;
use ureq::http::{Request, Response};

/// The pack of most tests: one tool is escalated, one is blocked with a bypass, one is always blocked.
pub(crate) const PACK: &str = "pack: shop
extends: none
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday, bypass: {allowed: true, requires_approval: architect}}
  - {id: ask, tools: refund, effect: escalate, approver: reviewer}
  - {id: never, tools: erase, effect: block, reason: Nothing is erased}
";

/// Every right that a key can have.
pub(crate) const ALL: [KeyRight; 3] = [KeyRight::Decide, KeyRight::Ask, KeyRight::Read];

/// A folder with a pack and stores.
pub(crate) struct Fixture {
    folder: TempDir,
    projects: Vec<(String, PathBuf)>,
}

impl Fixture {
    pub(crate) fn new(pack: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("pack.yaml"), pack).unwrap();
        Fixture { folder, projects: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn store_of(&self, project: &str) -> PathBuf {
        let path = match project {
            "default" => self.path().join("state/store.db"),
            name => self.path().join(format!("state/projects/{name}.db")),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// An engine of another process on the store of a project.
    pub(crate) fn engine(&self, project: &str) -> Arc<Engine> {
        self.engine_with(project, &self.path().join("pack.yaml"))
    }

    /// The same under another pack.
    pub(crate) fn engine_with(&self, project: &str, pack: &Path) -> Arc<Engine> {
        let loaded = Load { packs: vec![pack.to_owned()], ..Load::default() }.load().unwrap();
        let store = SqliteStore::open(self.store_of(project)).unwrap();
        let engine = Engine::builder(loaded.policy, &loaded.source).store(Arc::new(store));
        Arc::new(engine.files(Arc::new(Files::Unavailable)).build().unwrap())
    }

    /// Makes a person an approver of a project, and answers their key.
    pub(crate) fn person(&self, project: &str, name: &str, roles: &[&str]) -> String {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let by = Person::authenticated("root", ["human_operator"]);
        self.engine(project).admin().add_approver(name, &roles, Some(&by)).unwrap()
    }

    /// Makes a key.
    pub(crate) fn key(&self, projects: &[&str], agents: Option<&[&str]>, rights: &[KeyRight]) -> Auth {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let scope = KeyScope {
            name: "test".to_owned(),
            projects: owned(projects),
            agents: agents.map(owned),
            rights: rights.to_vec(),
            per_minute: None,
        };
        let by = Person::authenticated("root", ["human_operator", "admin"]);
        Auth::Key(self.engine("default").admin().add_api_key(&scope, Some(&by)).unwrap())
    }

    /// Starts a service on it.
    pub(crate) fn serve(&self) -> Service {
        self.serve_with(|_| ())
    }

    /// The same, set up otherwise.
    pub(crate) fn serve_with(&self, change: impl FnOnce(&mut Config)) -> Service {
        let load = Load { packs: vec![self.path().join("pack.yaml")], ..Load::default() };
        let mut config = Config {
            store: StoreAt::Sqlite(self.store_of("default")),
            projects: self.projects.clone(),
            ..Config::new(At::Address("127.0.0.1:0".parse().unwrap()), load)
        };
        change(&mut config);
        let (ready, url) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let report = move |report: &midrail_service::Ready| ready.send(report.url.clone()).unwrap();
            run_until(config, report, async { drop(stopped.await) }).unwrap();
        });
        Service { url: url.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }
}

/// A service that runs.
pub(crate) struct Service {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Tells it to stop.
    pub(crate) fn request_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Logs a person in.
    pub(crate) fn login(&self, project: &str, name: &str, key: &str) -> Auth {
        let body = json!({"name": name, "key": key, "project": project});
        let response = self.send("POST", "/v1/login", Some(body), &Auth::Anonymous, None);
        assert_eq!(response.status, 200, "{}", response.text);
        Auth::Person {
            cookie: response.cookie.clone(),
            csrf: response.json()["csrf"].as_str().unwrap().to_owned(),
        }
    }

    pub(crate) fn get(&self, path: &str, auth: &Auth) -> Answer {
        self.send("GET", path, None, auth, None)
    }

    pub(crate) fn post(&self, path: &str, body: Value, auth: &Auth) -> Answer {
        self.send("POST", path, Some(body), auth, None)
    }

    /// Sends a request, and reads the whole answer, or as much of it as arrives before the timeout.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        auth: &Auth,
        project: Option<&str>,
    ) -> Answer {
        let mut response = self.open(method, path, body, auth, project);
        let header = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let cookie = header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        let media = header("content-type");
        let status = response.status().as_u16();
        let mut text = String::new();
        let reader = response.body_mut().as_reader();
        if media.starts_with("text/event-stream") {
            // A stream has no end.
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                if line.contains("\"last\"") || line.starts_with("event: passed") {
                    break;
                }
            }
        } else {
            let mut bytes = Vec::new();
            let _ = reader.take(64 << 20).read_to_end(&mut bytes);
            text = String::from_utf8_lossy(&bytes).into_owned();
        }
        Answer { status, media, cookie, text }
    }

    /// Sends something, and leaves the answer to be read.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        auth: &Auth,
        project: Option<&str>,
    ) -> Response<Body> {
        let mut headers = auth.headers();
        headers.extend(project.map(|project| ("midrail-project", project.to_owned())));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.request(method, path, &headers, body.as_ref())
    }

    /// The same with other headers.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response<Body> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let agent: ureq::Agent = config.into();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if body.is_some() && !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match body {
            Some(body) => agent.run(request.body(body.to_string()).unwrap()).unwrap(),
            None => agent.run(request.body(()).unwrap()).unwrap(),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.request_stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) enum Auth {
    Anonymous,
    Key(String),
    Person { cookie: String, csrf: String },
}

impl Auth {
    /// The headers of a request.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        match self {
            Auth::Anonymous => Vec::new(),
            Auth::Key(key) => vec![("authorization", format!("Bearer {key}"))],
            Auth::Person { cookie, csrf } => {
                vec![("cookie", cookie.clone()), ("x-csrf-token", csrf.clone())]
            }
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media: String,
    cookie: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The answer, which has to be good.
    #[track_caller]
    pub(crate) fn good(self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem, which has to be of this status.
    #[track_caller]
    pub(crate) fn problem(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.media, "application/problem+json");
        self.json()
    }
}

/// A call of a tool.
pub(crate) fn call(session: &str, tool: &str) -> Value {
    json!({"kind": "before_tool", "session": session, "agent": {"id": "coder"},
           "tool": {"name": tool, "args": {"n": 1}}})
}

/// The same as another process makes it.
pub(crate) fn event(session: &str, tool: &str) -> Event {
    serde_json::from_value(call(session, tool)).unwrap()
}
