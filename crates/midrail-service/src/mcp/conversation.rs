//! A conversation of one client with one server: a session of the eras with `initialize`, or one request of the era without. It has one
//! proxy, and a stream for each request of the client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use midrail::{Decision, Effect};
use midrail_adapters::judge;
use midrail_adapters::mcp::http::events::ServerEvent;
use midrail_adapters::mcp::http::headers::on_one_line;
use midrail_adapters::mcp::http::upstream::Upstream;
use midrail_adapters::mcp::{Proxy, ProxyOptions, SealedQuestions};
use midrail_adapters::relay::{PendingApproval, Relay, RelayOutput, Side, Stream};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Receiver;

use super::pieces::{self, Outgoing, Piece};
use super::posted::Posted;
use crate::project::Project;

/// How long a call waits for an approver before the client receives an answer.
const WAIT: Duration = Duration::from_secs(50);

/// A conversation.
pub(crate) struct Conversation {
    pub(super) project: Arc<Project>,
    pub(super) upstream: Arc<Upstream>,
    /// Whether it is a session, in which a client can resume a stream.
    pub(super) is_session: bool,
    pub(super) proxy: Mutex<Proxy>,
    pub(super) state: Mutex<SessionState>,
    streams: Mutex<BTreeMap<Stream, OpenStream>>,
    next_stream: AtomicU64,
    started: Instant,
    runtime: Handle,
    /// How long a client may not read.
    silence: Duration,
}

/// The session of the server.
#[derive(Default)]
pub(super) struct SessionState {
    /// Its id, which clients do not learn: Midrail gives them one of its own.
    pub(super) id: Option<String>,
    /// The server does not know the session any longer.
    pub(super) is_gone: bool,
    is_ended: bool,
    last_used: Option<Instant>,
}

/// A stream whose client is connected.
struct OpenStream {
    outgoing: Outgoing,
    /// The request that opened it. `None`: it is for what belongs to no request.
    posted: Option<Arc<Posted>>,
}

impl Conversation {
    pub(super) fn new(
        project: Arc<Project>,
        upstream: Arc<Upstream>,
        options: ProxyOptions,
        is_session: bool,
        silence: Duration,
    ) -> Arc<Self> {
        let engine = project.engine().clone();
        let (pins, key, asking) = (engine.clone(), options.server.key.clone(), engine.clone());
        let decide = move |event| judge::decide(&engine, event, |engine, event| engine.decide(event));
        let waiting = move || pins.admin().mcp_waiting(&key).ok();
        let questions = SealedQuestions::new(move |_| Ok(asking.clone()));
        let proxy = Proxy::new(options, Box::new(decide)).announcing(Box::new(waiting)).asking(questions);
        Arc::new(Conversation {
            project,
            upstream,
            is_session,
            proxy: Mutex::new(proxy),
            state: Mutex::default(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            started: Instant::now(),
            runtime: Handle::current(),
            silence,
        })
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Opens a stream to the client.
    pub(super) fn open(self: &Arc<Self>, posted: Option<Arc<Posted>>) -> (Stream, Receiver<Piece>) {
        let stream = Stream(self.next_stream.fetch_add(1, Ordering::Relaxed));
        let (outgoing, receiver, is_gone) = Outgoing::new();
        self.streams.lock().insert(stream, OpenStream { outgoing, posted });
        self.state.lock().last_used = Some(Instant::now());
        let conversation = Arc::downgrade(self);
        self.runtime.spawn(async move {
            if is_gone.await
                && let Some(conversation) = conversation.upgrade()
            {
                // The proxy may be deciding.
                drop(tokio::task::spawn_blocking(move || conversation.abandon(stream)));
            }
        });
        (stream, receiver)
    }

    /// The client of a stream is gone: what it waits for is not done any longer.
    pub(super) fn abandon(&self, stream: Stream) {
        let Some(open) = self.streams.lock().remove(&stream) else { return };
        open.outgoing.stop.raise();
        let is_resumable = self.is_session && open.outgoing.is_events;
        self.proxy.lock().drop_stream(stream, is_resumable);
    }

    /// Ends a stream. The client receives what was sent.
    pub(super) fn close(&self, stream: Stream) {
        self.streams.lock().remove(&stream);
    }

    /// Ends a stream unless its request still waits for an approver or for the server.
    pub(super) fn settle(&self, stream: Stream) {
        if !self.proxy.lock().is_open(stream) {
            self.close(stream);
        }
    }

    pub(super) fn is_connected(&self, stream: Stream) -> bool {
        self.streams.lock().contains_key(&stream)
    }

    /// The request that opened a stream.
    pub(super) fn posted(&self, stream: Stream) -> Option<Arc<Posted>> {
        self.streams.lock().get(&stream)?.posted.clone()
    }

    /// Changes the response of a stream, and sends pieces of it.
    pub(super) fn with(&self, stream: Stream, change: impl FnOnce(&mut Outgoing) -> Vec<Piece>) {
        let (sender, pieces) = {
            let mut streams = self.streams.lock();
            let Some(open) = streams.get_mut(&stream) else { return };
            (open.outgoing.sender(), change(&mut open.outgoing))
        };
        if !pieces::send(&self.runtime, &sender, pieces, self.silence) {
            self.abandon(stream);
        }
    }

    /// The stream for what belongs to no request.
    fn listener(&self) -> Option<Stream> {
        let streams = self.streams.lock();
        streams.iter().find(|(_, open)| open.posted.is_none()).map(|(stream, _)| *stream)
    }

    /// Sends what the proxy returns to the client, and starts what it waits for. Returns the lines for the server, with the streams of
    /// their answers.
    #[must_use]
    pub(super) fn dispatch(
        self: &Arc<Self>,
        output: RelayOutput,
        event: Option<&ServerEvent>,
    ) -> Vec<(Stream, String)> {
        let RelayOutput { stream, to_client, to_server, remarks, holds, is_cancelled, elsewhere } = output;
        for remark in remarks {
            log::info!(project = self.project.name(), server = self.upstream.host(); "{remark}");
        }
        let to = if stream == Stream::default() { self.listener() } else { Some(stream) };
        // The id of an event belongs to its first message, and is kept although Midrail withheld the message.
        let mut event = event;
        for line in to_client {
            if let Some(to) = to {
                let event = event.take();
                self.with(to, |outgoing| outgoing.message(&line, event));
            }
        }
        if let Some(text) = event.and_then(ServerEvent::announcement) {
            self.with(stream, |outgoing| outgoing.event(text));
        }
        for hold in holds {
            self.hold(stream, hold);
        }
        if is_cancelled && let Some(open) = self.streams.lock().remove(&stream) {
            open.outgoing.stop.raise();
        }
        let mut lines: Vec<(Stream, String)> = to_server.into_iter().map(|line| (stream, line)).collect();
        for output in elsewhere.into_values() {
            let (stream, is_over) = (output.stream, output.to_server.is_empty());
            lines.extend(self.dispatch(output, None));
            if is_over && self.posted(stream).is_some() {
                self.settle(stream);
            }
        }
        lines
    }

    /// Waits for an approver on a separate thread.
    fn hold(self: &Arc<Self>, stream: Stream, hold: PendingApproval) {
        let (conversation, number) = (self.clone(), hold.number);
        let wait = move || {
            let engine = conversation.project.engine();
            let decision = judge::decide(engine, hold.event, |engine, event| {
                engine.approvals().decide_and_wait(event, WAIT)
            });
            conversation.answered(stream, number, decision);
        };
        if let Err(error) = thread::Builder::new().name("midrail-hold".to_owned()).spawn(wait) {
            let reason = format!("nothing can wait for an approver: {error}");
            let decision =
                Decision { effect: Effect::Block, by: Some("midrail".into()), reason, ..Decision::default() };
            self.answered(stream, number, decision);
        }
    }

    fn answered(self: &Arc<Self>, stream: Stream, number: u64, decision: Decision) {
        let output = self.proxy.lock().apply_answer(number, decision, self.now());
        for (stream, line) in self.dispatch(output, None) {
            self.post(stream, &line);
        }
        self.settle(stream);
    }

    /// Takes a line of one side, and does what follows from it.
    pub(super) fn handle(
        self: &Arc<Self>,
        stream: Stream,
        from: Side,
        line: &[u8],
        event: Option<&ServerEvent>,
    ) {
        // A body can have line ends between its tokens, and an event cannot.
        let line = on_one_line(line);
        let output = self.proxy.lock().handle_on(stream, from, line.as_bytes(), self.now());
        for (to, line) in self.dispatch(output, event) {
            if to == stream && from == Side::Client {
                self.post(stream, &line);
                continue;
            }
            // The answer to a message of the server, or a request of another stream.
            let conversation = self.clone();
            let post = move || {
                conversation.post(to, &line);
                conversation.settle(to);
            };
            if let Err(error) = thread::Builder::new().name("midrail-post".to_owned()).spawn(post) {
                self.fail(to, &error.to_string());
            }
        }
    }

    /// Answers the requests of a stream that the server does not answer.
    pub(super) fn fail(self: &Arc<Self>, stream: Stream, why: &str) {
        let output = self.proxy.lock().fail_stream(stream, why);
        drop(self.dispatch(output, None));
        self.close(stream);
    }

    /// Does what is due, unless the proxy is deciding.
    pub(super) fn tick(self: &Arc<Self>) {
        let now = self.now();
        let Some(mut proxy) = self.proxy.try_lock() else { return };
        if proxy.next_tick().is_none_or(|due| due > now) {
            return;
        }
        let output = proxy.tick(now);
        drop(proxy);
        drop(self.dispatch(output, None));
    }

    /// Ends the conversation: its streams, and its session in the records.
    pub(super) fn end(self: &Arc<Self>) {
        if std::mem::replace(&mut self.state.lock().is_ended, true) {
            return;
        }
        if self.is_session {
            let output = self.proxy.lock().end();
            drop(self.dispatch(output, None));
        }
        for (_, open) in std::mem::take(&mut *self.streams.lock()) {
            open.outgoing.stop.raise();
        }
    }

    /// How long it was not used. A connected client uses it.
    pub(super) fn idle_time(&self) -> Duration {
        let is_connected = !self.streams.lock().is_empty();
        let last = self.state.lock().last_used.unwrap_or(self.started);
        if is_connected { Duration::ZERO } else { last.elapsed() }
    }
}
