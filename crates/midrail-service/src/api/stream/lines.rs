//! Lines of a body while it arrives. At most one line is held.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Body;
use hyper::body::Body as _;

use crate::problem::{HandlerResult, Problem};

/// The lines of a body.
pub(super) struct Lines {
    body: Body,
    held: Vec<u8>,
    /// The start of the current line.
    start: usize,
    /// The position up to which there is no line break.
    seen: usize,
    most: usize,
    ended: bool,
}

impl Lines {
    pub(super) fn new(body: Body, most: usize) -> Self {
        Lines { body, held: Vec::new(), start: 0, seen: 0, most, ended: false }
    }

    /// The next line that is not empty. `None`: the body ended. The future can be dropped without losing data.
    pub(super) async fn next(&mut self) -> HandlerResult<Option<Vec<u8>>> {
        loop {
            // INVARIANT: every byte is scanned once, however small the chunks are.
            while let Some(at) = self.unseen().iter().position(|byte| *byte == b'\n') {
                let end = self.seen + at;
                let line = self.held.get(self.start..end).unwrap_or_default().to_vec();
                (self.start, self.seen) = (end + 1, end + 1);
                if line.len() > self.most {
                    return Err(self.too_long());
                }
                if !is_blank(&line) {
                    return Ok(Some(line));
                }
            }
            self.held.drain(..self.start.min(self.held.len()));
            (self.start, self.seen) = (0, self.held.len());
            if self.held.len() > self.most {
                return Err(self.too_long());
            }
            if self.ended {
                let line = std::mem::take(&mut self.held);
                self.seen = 0;
                return Ok(Some(line).filter(|line| !is_blank(line)));
            }
            match poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await {
                None => self.ended = true,
                Some(Ok(frame)) => self.held.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => {
                    return Err(Problem::malformed(format!("the body could not be read: {error}")));
                }
            }
        }
    }

    fn unseen(&self) -> &[u8] {
        self.held.get(self.seen..).unwrap_or_default()
    }

    fn too_long(&self) -> Problem {
        Problem::too_large(format!("a line holds at most {} bytes", self.most))
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_body::stream_body;

    async fn all(pieces: &[&str], most: usize) -> Vec<HandlerResult<Option<String>>> {
        let (sender, body) = stream_body(100);
        for piece in pieces {
            sender.send(Ok(axum::body::Bytes::copy_from_slice(piece.as_bytes()))).await.unwrap();
        }
        drop(sender);
        let mut lines = Lines::new(body, most);
        let mut found = Vec::new();
        loop {
            let line = lines.next().await.map(|line| line.map(|line| String::from_utf8(line).unwrap()));
            let is_end = !matches!(line, Ok(Some(_)));
            found.push(line);
            if is_end {
                return found;
            }
        }
    }

    #[test]
    fn lines_are_complete_for_any_chunks() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let text = |text: &str| Ok(Some(text.to_owned()));
        let found = runtime.block_on(all(&["a", "b\n\n", "\r\nc\nd", "e"], 10));
        assert_eq!(found, [text("ab"), text("c"), text("de"), Ok(None)]);
        let found = runtime.block_on(all(&["ab\n", "abcdef", "ghijklm"], 10));
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].as_ref().unwrap_err().status, 413);
    }
}
