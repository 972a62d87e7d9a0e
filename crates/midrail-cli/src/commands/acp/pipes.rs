//! Lines from a pipe, on a thread of their own.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::Sender;
use std::thread;

use midrail::Decision;
use midrail_adapters::acp::Side;
use midrail_adapters::wire::WireError;

use crate::commands::check::Lines;

/// What the one between hears.
pub(super) enum Heard {
    /// A line of one side.
    Line(Side, Vec<u8>),
    /// A line that is too large.
    Unreadable(Side, WireError),
    /// One side is gone.
    End(Side),
    /// What became of what was held.
    Answer(u64, Box<Decision>),
}

/// Hears one side until it is gone.
pub(super) fn listen(side: Side, pipe: impl Read + Send + 'static, tell: Sender<Heard>) -> io::Result<()> {
    let hear = move || {
        let mut lines = Lines(BufReader::new(pipe));
        while let Ok(Some(line)) = lines.next() {
            let heard = match line {
                Ok(line) => Heard::Line(side, line),
                Err(error) => Heard::Unreadable(side, error),
            };
            if tell.send(heard).is_err() {
                return;
            }
        }
        // Nobody listens where all is over.
        let _ = tell.send(Heard::End(side));
    };
    thread::Builder::new().name("midrail-acp".to_owned()).spawn(hear).map(drop)
}
