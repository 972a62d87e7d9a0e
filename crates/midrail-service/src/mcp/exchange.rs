//! Requests to the server for a stream of the client, and what becomes of their answers.

use std::sync::Arc;

use axum::http::Method;
use midrail_adapters::mcp::http::headers::{MessageKind, PostedMessage, SESSION_ID, with_id};
use midrail_adapters::mcp::http::upstream::{Reply, SendError, Stop};
use midrail_adapters::relay::{Side, Stream};

use super::conversation::Conversation;
use super::pieces::Head;
use super::posted::Posted;

impl Conversation {
    /// Judges the message that opened a stream, and sends it if it is allowed.
    pub(super) fn run(self: &Arc<Self>, stream: Stream, posted: &Posted) {
        self.handle(stream, Side::Client, posted.message.line().as_bytes(), None);
        if posted.message.kind() == MessageKind::OneWay {
            // It was dropped, or the server has accepted it.
            self.with(stream, |outgoing| outgoing.head(Head::Empty(202)));
        }
        self.settle(stream);
    }

    /// Sends a line to the server, and returns its answer on a stream.
    pub(super) fn post(self: &Arc<Self>, stream: Stream, line: &str) {
        let Ok(message) = PostedMessage::read(line.as_bytes()) else { return };
        let posted = self.posted(stream);
        let own = posted
            .filter(|posted| posted.message.id() == message.id() && posted.message.kind() == message.kind());
        let mut headers = own.as_ref().map(|own| own.headers_for(line)).unwrap_or_default();
        headers.extend(self.session_header());
        let stop = self.stop(stream);
        let is_one_way = message.kind() == MessageKind::OneWay;
        let sent = self.upstream.send(&Method::POST, &headers, Some(line), None, &stop);
        let mut reply = match sent {
            Ok(reply) => reply,
            Err(SendError::Stopped) => return self.abandon(stream),
            Err(error) if is_one_way => {
                log::info!(server = self.upstream.host(), error:%; "a notification was not delivered");
                return self.with(stream, |outgoing| outgoing.head(Head::Empty(502)));
            }
            Err(error) => return self.fail(stream, &error.to_string()),
        };
        if own.is_none() {
            // An answer of Midrail, whose status concerns no client.
            return self.upstream.keep(reply);
        }
        let status = reply.status;
        if is_one_way {
            self.upstream.keep(reply);
            let status = if matches!(status, 401 | 403) { 502 } else { status };
            return self.with(stream, |outgoing| outgoing.head(Head::Empty(status)));
        }
        if !(200..300).contains(&status) {
            return self.refused(stream, &message, reply);
        }
        if message.kind() == MessageKind::Initialize {
            let id = reply.header(SESSION_ID).filter(|id| id.len() <= 1024).map(str::to_owned);
            self.state.lock().id = id;
        }
        if reply.is_stream() {
            self.with(stream, |outgoing| {
                outgoing.is_events = true;
                Vec::new()
            });
            return self.read_stream(stream, reply);
        }
        if reply.media_type() != "application/json" {
            return self.fail(stream, "the server sent something else than a message");
        }
        match reply.body() {
            Ok(body) => {
                self.upstream.keep(reply);
                self.handle(stream, Side::Server, &body, None);
                if self.proxy.lock().is_waiting_for_server(stream) {
                    self.fail(stream, "the server sent no answer");
                }
            }
            Err(SendError::Stopped) => self.abandon(stream),
            Err(error) => self.fail(stream, &error.to_string()),
        }
    }

    /// Opens the stream for what belongs to no request, or resumes one.
    pub(super) fn listen(self: &Arc<Self>, stream: Stream, mut headers: Vec<(String, String)>) {
        headers.extend(self.session_header());
        let stop = self.stop(stream);
        let reply = match self.upstream.send(&Method::GET, &headers, None, None, &stop) {
            Ok(reply) => reply,
            Err(error) => {
                log::info!(server = self.upstream.host(), error:%; "a stream could not be opened");
                self.with(stream, |outgoing| outgoing.head(Head::Empty(502)));
                return self.close(stream);
            }
        };
        if reply.status == 200 && reply.is_stream() {
            self.with(stream, |outgoing| {
                outgoing.is_events = true;
                outgoing.head(Head::Events)
            });
            return self.read_stream(stream, reply);
        }
        let status = match reply.status {
            200..=299 | 401 | 403 => 502,
            status => status,
        };
        self.with(stream, |outgoing| outgoing.head(Head::Empty(status)));
        self.close(stream);
    }

    /// Ends the session of the server. Returns its status.
    pub(super) fn delete(&self, headers: &[(String, String)]) -> u16 {
        let headers: Vec<_> = headers.iter().cloned().chain(self.session_header()).collect();
        if self.state.lock().id.is_none() {
            return 200;
        }
        match self.upstream.send(&Method::DELETE, &headers, None, None, &Stop::default()) {
            Ok(reply) if !matches!(reply.status, 401 | 403) => reply.status,
            _ => 502,
        }
    }

    fn session_header(&self) -> Option<(String, String)> {
        let id = self.state.lock().id.clone();
        id.map(|id| (SESSION_ID.to_owned(), id))
    }

    fn read_stream(self: &Arc<Self>, stream: Stream, mut reply: Reply) {
        let mut is_resumable = false;
        let problem = loop {
            match reply.next_event() {
                Ok(Some(event)) if event.is_too_large => break Some(SendError::TooLarge.to_string()),
                Ok(Some(event)) => {
                    is_resumable |= self.is_session && event.id.is_some();
                    if event.data.trim_ascii().is_empty() {
                        let text = event.announcement();
                        self.with(stream, |outgoing| text.map_or_else(Vec::new, |text| outgoing.event(text)));
                    } else {
                        self.handle(stream, Side::Server, &event.data, Some(&event));
                    }
                    if !self.is_connected(stream) {
                        return;
                    }
                }
                Ok(None) => {
                    self.upstream.keep(reply);
                    break None;
                }
                Err(SendError::Stopped) => return self.abandon(stream),
                Err(error) => break Some(error.to_string()),
            }
        };
        if !self.proxy.lock().is_waiting_for_server(stream) || is_resumable && problem.is_none() {
            // The client resumes it where it ended, as without the proxy.
            return self.close(stream);
        }
        self.fail(
            stream,
            &problem.unwrap_or_else(|| "the server ended the stream without an answer".to_owned()),
        );
    }

    /// The answer to a request with an HTTP status that is an error. Some have a message for the client.
    fn refused(self: &Arc<Self>, stream: Stream, message: &PostedMessage, mut reply: Reply) {
        let status = reply.status;
        if matches!(status, 401 | 403) {
            self.set_status(stream, 502);
            return self.fail(stream, "the server refuses the credentials of Midrail, or requires some");
        }
        let body = with_id(&reply.body().unwrap_or_default(), &message.id());
        self.upstream.keep(reply);
        self.set_status(stream, status);
        if status == 404 && self.is_session {
            self.state.lock().is_gone = true;
        }
        let is_answer = PostedMessage::read(&body)
            .is_ok_and(|answer| answer.kind() == MessageKind::OneWay && answer.id() == message.id());
        if is_answer {
            self.handle(stream, Side::Server, &body, None);
        }
        if self.proxy.lock().is_waiting_for_server(stream) {
            self.fail(stream, &format!("the server answered {status}"));
        }
    }

    fn set_status(&self, stream: Stream, status: u16) {
        self.with(stream, |outgoing| {
            outgoing.status = status;
            Vec::new()
        });
    }

    fn stop(&self, stream: Stream) -> Stop {
        let mut stop = Stop::default();
        self.with(stream, |outgoing| {
            stop = outgoing.stop.clone();
            Vec::new()
        });
        stop
    }
}
