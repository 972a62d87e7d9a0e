//! What a client receives on one stream: either one answer, or events. Its client can be slow or gone.

use std::time::Duration;

use axum::body::Bytes;
use midrail_adapters::mcp::http::events::ServerEvent;
use midrail_adapters::mcp::http::headers::is_answer;
use midrail_adapters::mcp::http::upstream::Stop;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Pieces that wait for the client.
const WAITING: usize = 16;

/// The start of a response.
#[derive(Debug)]
pub(super) enum Head {
    /// A status without a message.
    Empty(u16),
    /// One message.
    Answer(u16, String),
    /// A stream of events.
    Events,
}

/// A part of a response.
#[derive(Debug)]
pub(super) enum Piece {
    Head(Head),
    Event(Bytes),
}

/// The sending end of a response.
pub(super) struct Outgoing {
    pieces: Sender<Piece>,
    /// Dropped with this, which ends the wait for the end of the client.
    _open: oneshot::Sender<()>,
    /// Interrupts the request to the server that it is the response to.
    pub(super) stop: Stop,
    /// The status of an answer.
    pub(super) status: u16,
    has_head: bool,
    /// Events are sent, because the server does so, or because something precedes the answer.
    pub(super) is_events: bool,
}

impl Outgoing {
    /// A response, its receiving end, and whether the client goes before the response has ended.
    pub(super) fn new() -> (Self, Receiver<Piece>, impl Future<Output = bool>) {
        let (pieces, receiver) = channel(WAITING);
        let (open, mut ended) = oneshot::channel();
        let waiting = pieces.clone();
        let is_gone = async move {
            tokio::select! {
                () = waiting.closed() => true,
                _ = &mut ended => false,
            }
        };
        let outgoing = Outgoing {
            pieces,
            _open: open,
            stop: Stop::default(),
            status: 200,
            has_head: false,
            is_events: false,
        };
        (outgoing, receiver, is_gone)
    }

    /// The sender.
    pub(super) fn sender(&self) -> Sender<Piece> {
        self.pieces.clone()
    }

    /// The pieces that send a message. `event`: the event in which it came.
    pub(super) fn message(&mut self, line: &str, event: Option<&ServerEvent>) -> Vec<Piece> {
        if !self.has_head && !self.is_events && is_answer(line) {
            return self.head(Head::Answer(self.status, line.to_owned()));
        }
        let text = event.unwrap_or(&ServerEvent::default()).message(line);
        self.event(text)
    }

    /// The pieces that send a text of events.
    pub(super) fn event(&mut self, text: String) -> Vec<Piece> {
        self.is_events = true;
        let mut pieces = self.head(Head::Events);
        pieces.push(Piece::Event(text.into()));
        pieces
    }

    /// The piece that starts the response, unless it has started.
    pub(super) fn head(&mut self, head: Head) -> Vec<Piece> {
        if std::mem::replace(&mut self.has_head, true) { Vec::new() } else { vec![Piece::Head(head)] }
    }
}

/// Sends pieces from a thread that may block. `false`: the client is gone, or does not read.
pub(super) fn send(runtime: &Handle, sender: &Sender<Piece>, pieces: Vec<Piece>, at_most: Duration) -> bool {
    pieces.into_iter().all(|piece| {
        let sent = async { timeout(at_most, sender.send(piece)).await };
        matches!(runtime.block_on(sent), Ok(Ok(())))
    })
}
