//! A connection to a server at an address for a proxy whose client has pipes: it posts lines of the client, and returns what the
//! server sends as lines. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use ureq::http::Method;

use super::headers::{self, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use super::params::ToolParams;
use super::upstream::{Reply, SendError, Stop, Upstream};
use crate::rpc::{self, Line, Message};

/// The most requests that wait for answers.
const MAX_OPEN: usize = 128;

/// How long the server may take to accept a notification or an answer.
const ACCEPT: Duration = Duration::from_secs(30);

/// How long the end of the session may take.
const GOODBYE: Duration = Duration::from_secs(3);

/// How long to wait before a stream is resumed, unless the server names a time, and the longest time that it may name.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// How often a stream is resumed that brings nothing.
const MAX_RESUMES: u32 = 5;

/// What a server sent, or why it did not.
pub enum Received {
    /// A message on one line.
    Line(Vec<u8>),
    /// A request gets no answer.
    Failed {
        /// The id of the request.
        id: Value,
        /// The reason.
        why: String,
    },
    /// Something to show to the user.
    Remark(String),
    /// The server has ended the session.
    Closed(String),
}

/// Takes what a server sent. It may block, which slows the server down.
type Receive = Box<dyn Fn(Received) + Send + Sync>;

/// A connection to a server.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    upstream: Upstream,
    receive: Receive,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The session of the era with `initialize`.
    session: Option<String>,
    /// The version of its messages.
    version: Option<String>,
    /// The requests that have no answer yet, by id.
    open: BTreeMap<String, OpenExchange>,
    /// The number of the last request.
    number: u64,
    params: ToolParams,
    /// Stops the stream of the session.
    listener: Option<Stop>,
    is_closed: bool,
}

struct OpenExchange {
    /// Tells it from a later request with the same id.
    number: u64,
    stop: Stop,
    is_modern: bool,
}

impl Link {
    /// A connection to a server. `receive` is called on several threads.
    pub fn new(upstream: Upstream, receive: Receive) -> Self {
        Link(Arc::new(Inner { upstream, receive, state: Mutex::default() }))
    }

    /// Sends a line of the client. Requests are sent at the same time, notifications and answers in their order.
    pub fn send(&self, line: &str) {
        let Ok(Line::Message(message)) = rpc::read(line.as_bytes()) else { return };
        match (message.method.as_deref(), message.id.clone()) {
            (Some(_), Some(id)) => self.start(message, id),
            (Some("notifications/cancelled"), None) if self.close_cancelled(&message) => {}
            (method, _) => {
                let is_ready = method == Some("notifications/initialized");
                self.post_one_way(&message);
                if is_ready {
                    self.listen();
                }
            }
        }
    }

    /// Ends the session. Nothing is received after it.
    pub fn close(&self) {
        let (open, session) = {
            let mut state = self.0.state.lock();
            state.is_closed = true;
            let stops = std::mem::take(&mut state.open).into_values().map(|open| open.stop);
            (stops.chain(state.listener.take()).collect::<Vec<_>>(), state.session.is_some())
        };
        open.iter().for_each(Stop::raise);
        if session {
            let headers = self.session_headers();
            // A server that cannot end sessions lets them expire.
            let _ = self.0.upstream.send(&Method::DELETE, &headers, None, Some(GOODBYE), &Stop::default());
        }
    }

    fn receive(&self, received: Received) {
        if !self.0.state.lock().is_closed {
            (self.0.receive)(received);
        }
    }

    /// Removes a request from those without an answer. `false`: it is not one of them.
    fn remove_open(&self, key: &str, number: u64) -> bool {
        let mut state = self.0.state.lock();
        let is_it = state.open.get(key).is_some_and(|open| open.number == number);
        is_it && state.open.remove(key).is_some()
    }

    /// Over HTTP, a request of the era without `initialize` is cancelled by closing its stream.
    fn close_cancelled(&self, message: &Message) -> bool {
        let Some(key) = message.param("requestId").map(rpc::key) else { return false };
        let mut state = self.0.state.lock();
        let Some(open) = state.open.get(&key) else { return false };
        let (stop, is_modern) = (open.stop.clone(), open.is_modern);
        if is_modern {
            state.open.remove(&key);
        }
        drop(state);
        if is_modern {
            stop.raise();
        }
        is_modern
    }

    /// The headers of a message of a session.
    fn session_headers(&self) -> Vec<(String, String)> {
        let state = self.0.state.lock();
        let header = |name: &str, value: &Option<String>| Some((name.to_owned(), value.clone()?));
        [header(SESSION_ID, &state.session), header(PROTOCOL_VERSION, &state.version)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The headers of a message.
    fn headers(&self, message: &Message) -> Vec<(String, String)> {
        let mut headers = headers::of_message(message);
        if headers.is_empty() {
            return self.session_headers();
        }
        if message.method.as_deref() == Some("tools/call")
            && let (Some(tool), Some(args)) = (message.text("name"), message.param("arguments"))
        {
            headers.extend(self.0.state.lock().params.headers(tool, args));
        }
        headers
    }

    fn post_one_way(&self, message: &Message) {
        let headers = self.headers(message);
        let sent = self.0.upstream.send(
            &Method::POST,
            &headers,
            Some(&message.line),
            Some(ACCEPT),
            &Stop::default(),
        );
        let problem = match sent {
            Ok(reply) if (200..300).contains(&reply.status) => return,
            Ok(reply) => format!("the MCP server answered {} to a notification or an answer", reply.status),
            Err(error) => error.to_string(),
        };
        self.receive(Received::Remark(problem));
    }

    /// Sends a request on a thread of its own.
    fn start(&self, message: Message, id: Value) {
        let (key, stop) = (rpc::key(&id), Stop::default());
        let is_modern = headers::version_of(&message).is_some();
        let number = {
            let mut state = self.0.state.lock();
            state.number += 1;
            let number = state.number;
            let is_full = state.open.len() >= MAX_OPEN;
            if !is_full {
                state.open.insert(key.clone(), OpenExchange { number, stop: stop.clone(), is_modern });
            }
            (!is_full).then_some(number)
        };
        let Some(number) = number else {
            let why = format!("{MAX_OPEN} requests have no answer yet");
            return self.receive(Received::Failed { id, why });
        };
        let (link, failed) = (self.clone(), id.clone());
        let exchange = move || {
            let exchange = Exchange {
                link: &link,
                id: &id,
                number,
                method: message.method.as_deref().unwrap_or_default(),
                is_modern,
            };
            let outcome = exchange.run(&message, &stop);
            let was_open = link.remove_open(&key, number);
            match outcome {
                Err(why) if was_open => link.receive(Received::Failed { id: id.clone(), why }),
                _ => {}
            }
        };
        if let Err(error) = thread::Builder::new().name("midrail-post".to_owned()).spawn(exchange) {
            self.receive(Received::Failed { id: failed, why: error.to_string() });
        }
    }

    /// Opens the stream of the session, on which the server sends what belongs to no request.
    fn listen(&self) {
        let stop = Stop::default();
        {
            let mut state = self.0.state.lock();
            if state.is_closed || state.listener.is_some() {
                return;
            }
            state.listener = Some(stop.clone());
        }
        let link = self.clone();
        let listen = move || {
            let mut resumed = Resumed::default();
            while resumed.may_try() && !stop.is_raised() {
                let Ok(reply) = link.get(resumed.last.as_deref(), &stop) else {
                    resumed.wait();
                    continue;
                };
                if reply.status != 200 || !reply.is_stream() {
                    // It has no such stream.
                    return;
                }
                // The stream ends when the server or a proxy closes it, which is not an error.
                let _ = link.read_stream(reply, &mut resumed, &mut |line| {
                    link.receive(Received::Line(line.into_bytes()));
                    false
                });
                resumed.wait();
            }
        };
        if let Err(error) = thread::Builder::new().name("midrail-listen".to_owned()).spawn(listen) {
            self.receive(Received::Remark(error.to_string()));
        }
    }

    /// Asks for a stream, from the last event on.
    fn get(&self, last: Option<&str>, stop: &Stop) -> Result<Reply, SendError> {
        let mut headers = self.session_headers();
        headers.extend(last.map(|last| (LAST_EVENT_ID.to_owned(), last.to_owned())));
        self.0.upstream.send(&Method::GET, &headers, None, Some(ACCEPT), stop)
    }

    /// Reads the messages of a stream. `take` returns whether it has seen what it waits for.
    fn read_stream(
        &self,
        mut reply: Reply,
        resumed: &mut Resumed,
        take: &mut dyn FnMut(String) -> bool,
    ) -> Result<bool, SendError> {
        let mut is_answered = false;
        while let Some(event) = reply.next_event()? {
            resumed.note(event.id, event.retry);
            if event.is_too_large {
                return Err(SendError::TooLarge);
            }
            if !event.data.trim_ascii().is_empty() {
                is_answered |= take(headers::on_one_line(&event.data));
            }
        }
        self.0.upstream.keep(reply);
        Ok(is_answered)
    }
}

/// Where a stream is resumed, and how often it was without a new event.
#[derive(Default)]
struct Resumed {
    last: Option<String>,
    retry: Option<Duration>,
    tries: u32,
}

impl Resumed {
    fn note(&mut self, id: Option<String>, retry: Option<u64>) {
        if id.is_some() {
            self.last = id;
            self.tries = 0;
        }
        self.retry = retry.map(Duration::from_millis).or(self.retry);
    }

    fn may_try(&self) -> bool {
        self.tries < MAX_RESUMES
    }

    fn wait(&mut self) {
        self.tries += 1;
        thread::sleep(self.retry.unwrap_or(RETRY * self.tries).min(MAX_RETRY));
    }
}

/// A request, and its answer.
struct Exchange<'a> {
    link: &'a Link,
    id: &'a Value,
    number: u64,
    method: &'a str,
    is_modern: bool,
}

impl Exchange<'_> {
    /// Sends the request and returns what the server sends. `Err`: why there is no answer.
    fn run(&self, message: &Message, stop: &Stop) -> Result<(), String> {
        let link = self.link;
        let headers = link.headers(message);
        let sent = link.0.upstream.send(&Method::POST, &headers, Some(&message.line), None, stop);
        let mut reply = sent.map_err(|error| error.to_string())?;
        match reply.status {
            200..=299 => {}
            404 if !self.is_modern && headers.iter().any(|(name, _)| name == SESSION_ID) => {
                let why = "the MCP server has ended the session".to_owned();
                link.receive(Received::Failed { id: self.id.clone(), why: why.clone() });
                link.receive(Received::Closed(why.clone()));
                return Err(why);
            }
            status => return self.refused(status, reply),
        }
        if self.method == "initialize" {
            let session = reply.header(SESSION_ID).filter(|session| session.len() <= 1024).map(str::to_owned);
            link.0.state.lock().session = session;
        }
        if !reply.is_stream() {
            if reply.media_type() != "application/json" {
                return Err("the MCP server sent something else than a message".to_owned());
            }
            let body = reply.body().map_err(|error| error.to_string())?;
            link.0.upstream.keep(reply);
            let is_answer = self.received(headers::on_one_line(&body));
            return if is_answer { Ok(()) } else { Err("the MCP server sent no answer".to_owned()) };
        }
        let mut resumed = Resumed::default();
        let mut take = |line| self.received(line);
        let mut ended = link.read_stream(reply, &mut resumed, &mut take);
        while !matches!(ended, Ok(true)) && !self.is_modern && resumed.last.is_some() && resumed.may_try() {
            resumed.wait();
            if stop.is_raised() {
                break;
            }
            match link.get(resumed.last.as_deref(), stop) {
                Ok(reply) if reply.status == 200 && reply.is_stream() => {
                    ended = link.read_stream(reply, &mut resumed, &mut take);
                }
                Ok(_) => break,
                Err(error) => ended = Err(error),
            }
        }
        match ended {
            Ok(true) => Ok(()),
            Ok(false) => Err("the MCP server ended the stream without an answer".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The answer to a request with an HTTP status that is an error. Some have a message for the client.
    fn refused(&self, status: u16, mut reply: Reply) -> Result<(), String> {
        let body = reply.body().unwrap_or_default();
        self.link.0.upstream.keep(reply);
        let hint = match status {
            401 | 403 => "; check `--header-env`, and note that OAuth is not supported",
            404 | 405 => "; check the URL, which must be one of Streamable HTTP",
            _ => "",
        };
        let line = headers::on_one_line(&headers::with_id(&body, self.id));
        if !matches!(status, 401 | 403) && self.is_answer(&line) {
            self.received(line);
            return Ok(());
        }
        Err(format!("the MCP server answered {status}{hint}"))
    }

    fn is_answer(&self, line: &str) -> bool {
        let Ok(Line::Message(message)) = rpc::read(line.as_bytes()) else { return false };
        message.method.is_none() && message.key().as_deref() == Some(&rpc::key(self.id))
    }

    /// Passes a message on, and returns whether it is the answer.
    fn received(&self, line: String) -> bool {
        let is_answer = self.is_answer(&line);
        let line = if is_answer { self.learn(line) } else { line };
        if is_answer {
            self.link.remove_open(&rpc::key(self.id), self.number);
        }
        self.link.receive(Received::Line(line.into_bytes()));
        is_answer
    }

    /// Learns the version of the session, and the headers of tools.
    fn learn(&self, line: String) -> String {
        let is_list = self.method == "tools/list" && self.is_modern;
        if self.method != "initialize" && !is_list {
            return line;
        }
        let Ok(Line::Message(message)) = rpc::read(line.as_bytes()) else { return line };
        if is_list {
            let Some(result) = message.result() else { return line };
            let (line, invalid) = self.link.0.state.lock().params.learn(line, result);
            for tool in invalid {
                let remark =
                    format!("the tool `{tool}` is left out: its schema has an invalid `x-mcp-header`");
                self.link.receive(Received::Remark(remark));
            }
            return line;
        }
        let version = message.result_field("protocolVersion").and_then(Value::as_str);
        let is_plain =
            |version: &&str| version.len() <= 40 && version.bytes().all(|byte| byte.is_ascii_graphic());
        self.link.0.state.lock().version = version.filter(is_plain).map(str::to_owned);
        line
    }
}
