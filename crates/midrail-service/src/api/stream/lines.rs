//! Lines of a body while it arrives. At most one line is held.

use axum::body::{Body, BodyDataStream};
use bytes::BytesMut;
use futures_util::StreamExt;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder};

use crate::problem::{HandlerResult, Problem};

/// The lines of a body.
pub(super) struct Lines {
    body: BodyDataStream,
    held: BytesMut,
    codec: AnyDelimiterCodec,
    ended: bool,
}

impl Lines {
    pub(super) fn new(body: Body, most: usize) -> Self {
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), most);
        Lines { body: body.into_data_stream(), held: BytesMut::new(), codec, ended: false }
    }

    /// The next line that is not empty. `None`: the body ended. The future can be dropped without losing data.
    pub(super) async fn next(&mut self) -> HandlerResult<Option<Vec<u8>>> {
        loop {
            let decode = if self.ended { AnyDelimiterCodec::decode_eof } else { AnyDelimiterCodec::decode };
            match decode(&mut self.codec, &mut self.held).map_err(|error| self.problem(&error))? {
                Some(line) if !line.trim_ascii().is_empty() => return Ok(Some(line.to_vec())),
                Some(_) => continue,
                None if self.ended => return Ok(None),
                None => {}
            }
            match self.body.next().await {
                None => self.ended = true,
                Some(Ok(piece)) => self.held.extend_from_slice(&piece),
                Some(Err(error)) => {
                    return Err(Problem::malformed(format!("the body could not be read: {error}")));
                }
            }
        }
    }

    fn problem(&self, error: &AnyDelimiterCodecError) -> Problem {
        match error {
            AnyDelimiterCodecError::MaxChunkLengthExceeded => {
                Problem::too_large(format!("a line holds at most {} bytes", self.codec.max_length()))
            }
            AnyDelimiterCodecError::Io(error) => Problem::malformed(error.to_string()),
        }
    }
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
