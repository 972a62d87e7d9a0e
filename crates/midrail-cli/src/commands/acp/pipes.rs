//! Reads the lines of a pipe on a separate thread.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::Sender;
use std::thread;

use midrail::Decision;
use midrail_adapters::acp::Side;
use midrail_adapters::wire::WireError;

use crate::commands::check::Lines;

/// A message to the proxy.
pub(super) enum Incoming {
    /// A line of one side.
    Line(Side, Vec<u8>),
    /// A line that is too large.
    Unreadable(Side, WireError),
    /// One side has disconnected.
    End(Side),
    /// The decision of a held call.
    Answer(u64, Box<Decision>),
}

/// Reads the lines of one side until it disconnects.
pub(super) fn listen(
    side: Side,
    pipe: impl Read + Send + 'static,
    sender: Sender<Incoming>,
) -> io::Result<()> {
    let read = move || {
        let mut lines = Lines(BufReader::new(pipe));
        while let Ok(Some(line)) = lines.next() {
            let incoming = match line {
                Ok(line) => Incoming::Line(side, line),
                Err(error) => Incoming::Unreadable(side, error),
            };
            if sender.send(incoming).is_err() {
                return;
            }
        }
        // If the proxy has ended, the message is not needed.
        let _ = sender.send(Incoming::End(side));
    };
    thread::Builder::new().name("midrail-acp".to_owned()).spawn(read).map(drop)
}
