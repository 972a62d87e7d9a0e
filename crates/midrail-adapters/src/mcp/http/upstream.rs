//! Requests to an MCP server at an address: within limits of size and time, and interruptible from another thread.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;

use midrail::guardrails::EndpointUrl;
use midrail::http;
use parking_lot::Mutex;
use ureq::http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use ureq::{Agent, Body, BodyReader, Error};

use super::events::{EventReader, ServerEvent};
use crate::wire::MAX_EVENT_BYTES;

/// How long a server may send nothing while it answers.
const SILENCE: Duration = Duration::from_secs(600);

/// How long a request may take to be sent.
const SEND: Duration = Duration::from_secs(60);

/// The most redirects of one request, all to the same origin.
const MAX_REDIRECTS: usize = 3;

/// The most connections that wait for another request.
const MAX_IDLE: usize = 8;

/// What clients accept as answers.
pub const ACCEPTED: &str = "application/json, text/event-stream";

/// A server at an address.
pub struct Upstream {
    url: EndpointUrl,
    /// The headers of every request, such as a key.
    headers: Vec<(HeaderName, HeaderValue)>,
    config: ureq::config::Config,
    /// Clients with a connection each, which no request uses.
    idle: Mutex<Vec<Agent>>,
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The address is not valid.
    #[error("`{0}` is not the address of a server: {1}")]
    Url(String, String),
    /// A header is not valid.
    #[error("the header `{0}` is not valid, or has a value that cannot be sent")]
    Header(String),
    /// A header is one that Midrail sets.
    #[error("the header `{0}` is set by Midrail itself")]
    OwnHeader(String),
    /// A key would be sent unencrypted.
    #[error("headers for `{0}` would be sent unencrypted")]
    Plain(String),
    /// The certificates cannot be read.
    #[error("{0}")]
    Certificates(#[from] io::Error),
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It was interrupted.
    #[error("the request was cancelled")]
    Stopped,
    /// The server redirects to another origin, or in a circle.
    #[error(
        "the MCP server redirects to another place (`{0}`), which Midrail does not follow; use the final URL"
    )]
    Redirect(String),
    /// The server cannot be reached, or broke the connection.
    #[error("the MCP server at `{0}` {1}")]
    Failed(String, String),
    /// The answer is too large.
    #[error("the answer of the MCP server is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
}

/// Interrupts a request from another thread.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<StopState>>);

#[derive(Default)]
struct StopState {
    is_raised: bool,
    agent: Option<Agent>,
}

impl Stop {
    /// Interrupts the request, and those that are sent with this later.
    pub fn raise(&self) {
        let agent = {
            let mut state = self.0.lock();
            state.is_raised = true;
            state.agent.take()
        };
        if let Some(agent) = agent {
            agent.shutdown();
        }
    }

    /// Whether the request is interrupted.
    pub fn is_raised(&self) -> bool {
        self.0.lock().is_raised
    }

    /// Registers the client of a request. `false`: it is interrupted already.
    fn register(&self, agent: &Agent) -> bool {
        let mut state = self.0.lock();
        state.agent = (!state.is_raised).then(|| agent.clone());
        !state.is_raised
    }
}

/// The headers that Midrail sets, or that are for one connection.
const OWN: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A valid address of a server, and valid headers of every request.
pub(crate) fn check(
    url: &str,
    headers: &[(String, String)],
) -> Result<(EndpointUrl, Vec<(HeaderName, HeaderValue)>), UpstreamError> {
    let parsed = serde_json::from_value::<EndpointUrl>(url.into());
    let url = parsed.map_err(|error| UpstreamError::Url(url.to_owned(), error.to_string()))?;
    let is_plain = url.as_str().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if is_plain && !headers.is_empty() && !url.is_loopback() {
        return Err(UpstreamError::Plain(url.host().to_owned()));
    }
    let header = |(name, value): &(String, String)| {
        let lower = name.to_ascii_lowercase();
        if OWN.contains(&lower.as_str()) || lower.starts_with("mcp-") || lower == "last-event-id" {
            return Err(UpstreamError::OwnHeader(name.clone()));
        }
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let (name, mut value) = parsed.ok_or_else(|| UpstreamError::Header(name.clone()))?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
    Ok((url, headers))
}

impl Upstream {
    /// A server at an address, and the headers of every request.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Self, UpstreamError> {
        let (url, headers) = check(url, headers)?;
        let mut config = http::config()?.timeout_per_read(Some(SILENCE)).timeout_per_write(Some(SEND));
        if url.is_loopback() {
            // A proxy of the environment is for what leaves this machine.
            config = config.proxy(None);
        }
        Ok(Upstream { url, headers, config: config.build(), idle: Mutex::default() })
    }

    /// The host, for messages.
    pub fn host(&self) -> &str {
        self.url.host()
    }

    /// Sends a message, or asks for a stream (`GET`) or the end of the session (`DELETE`). `within`: how long the start of the
    /// answer may take.
    pub fn send(
        &self,
        method: &Method,
        headers: &[(String, String)],
        body: Option<&str>,
        within: Option<Duration>,
        stop: &Stop,
    ) -> Result<Reply, SendError> {
        let agent = self.idle.lock().pop().unwrap_or_else(|| Agent::new_with_config(self.config.clone()));
        if !stop.register(&agent) {
            return Err(SendError::Stopped);
        }
        let mut url = self.url.as_str().to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::builder().method(method).uri(&url);
            for (name, value) in &self.headers {
                request = request.header(name, value);
            }
            // The headers of a message come last, but cannot replace those of the configuration.
            for (name, value) in headers {
                request = request.header(name, value);
            }
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
                let accepted = if *method == Method::GET { "text/event-stream" } else { ACCEPTED };
                request = request.header(ACCEPT, accepted);
            }
            let sent = match body {
                Some(body) => {
                    let request = request.header(CONTENT_TYPE, "application/json").body(body.to_owned());
                    request.map_err(Error::from).and_then(|request| {
                        let request = agent.configure_request(request).timeout_recv_response(within).build();
                        agent.run(request)
                    })
                }
                None => request.body(()).map_err(Error::from).and_then(|request| {
                    agent.run(agent.configure_request(request).timeout_recv_response(within).build())
                }),
            };
            let response = sent.map_err(|error| self.failure(&error, stop))?;
            match self.redirect(&response, &url)? {
                Some(next) => url = next,
                None => return Ok(self.reply(response, agent, stop)),
            }
        }
        Err(SendError::Redirect(self.host().to_owned()))
    }

    fn reply(&self, response: Response<Body>, agent: Agent, stop: &Stop) -> Reply {
        let (parts, body) = response.into_parts();
        let input = BufReader::new(body.into_reader());
        let host = self.host().to_owned();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            events: EventReader::new(input),
            stop: stop.clone(),
            agent: Some(agent),
            host,
        }
    }

    /// Where a request goes instead. Keys go to no other origin.
    fn redirect(&self, response: &Response<Body>, url: &str) -> Result<Option<String>, SendError> {
        if !response.status().is_redirection() {
            return Ok(None);
        }
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
        let origin = |url: &str| -> Option<String> {
            let (scheme, rest) = url.split_once("://")?;
            Some(format!("{scheme}://{}", rest.split(['/', '?', '#']).next()?).to_ascii_lowercase())
        };
        let own = origin(url).unwrap_or_default();
        let to =
            if to.starts_with('/') && !to.starts_with("//") { format!("{own}{to}") } else { to.to_owned() };
        // Other kinds of redirects turn a message into a request without one.
        if matches!(response.status().as_u16(), 307 | 308) && origin(&to).as_deref() == Some(&own) {
            return Ok(Some(to));
        }
        let shown = to.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#', '@']).next();
        Err(SendError::Redirect(
            shown.unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect(),
        ))
    }

    fn failure(&self, error: &Error, stop: &Stop) -> SendError {
        if stop.is_raised() {
            return SendError::Stopped;
        }
        let what = match error {
            Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => "cannot be reached".to_owned(),
            Error::Timeout(_) => "did not answer in time".to_owned(),
            Error::HostNotFound => "is not known under this name".to_owned(),
            Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "refuses connections".to_owned()
            }
            Error::Io(error) => format!("broke the connection ({error})"),
            Error::Tls(_) | Error::Rustls(_) => format!("has no certificate that can be trusted ({error})"),
            other => format!("does not answer in HTTP ({other})"),
        };
        SendError::Failed(self.host().to_owned(), what)
    }

    /// Keeps the connection of an answer that was read completely.
    pub fn keep(&self, mut reply: Reply) {
        let mut idle = self.idle.lock();
        if let Some(agent) = reply.agent.take().filter(|_| !reply.stop.is_raised() && idle.len() < MAX_IDLE) {
            reply.stop.0.lock().agent = None;
            idle.push(agent);
        }
    }
}

/// The start of an answer, and the rest of it to read.
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    events: EventReader<BufReader<BodyReader<'static>>>,
    stop: Stop,
    agent: Option<Agent>,
    host: String,
}

impl Reply {
    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The type of the answer, without parameters.
    pub fn media_type(&self) -> String {
        let media = self.header("content-type").unwrap_or_default();
        media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether it is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.media_type() == "text/event-stream"
    }

    /// The next event. `None`: the stream has ended.
    pub fn next_event(&mut self) -> Result<Option<ServerEvent>, SendError> {
        self.events.next_event().map_err(|error| self.broken(&error))
    }

    /// The answer, if it is not a stream.
    pub fn body(&mut self) -> Result<Vec<u8>, SendError> {
        let mut bytes = Vec::new();
        let read = self.events.get_mut().take(MAX_EVENT_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.broken(&error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
            return Err(SendError::TooLarge);
        }
        Ok(bytes)
    }

    fn broken(&self, error: &io::Error) -> SendError {
        if self.stop.is_raised() {
            return SendError::Stopped;
        }
        let what = if error.kind() == io::ErrorKind::TimedOut {
            "stopped answering".to_owned()
        } else {
            format!("broke the connection ({error})")
        };
        SendError::Failed(self.host.clone(), what)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // The connection is closed with the client, which ends a stream for the server.
        self.stop.0.lock().agent = None;
    }
}
