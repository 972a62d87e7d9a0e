//! Reads the body of a request, within limits of size and time, before the request takes one of the slots for concurrent
//! requests: a client that sends its body slowly holds up no other.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use bytes::BytesMut;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::app::App;
use crate::problem::{HandlerResult, Problem};

/// Bodies up to this size are read for every connection at the same time.
const SMALL: usize = 64 << 10;

/// Reads a body.
pub(crate) async fn read_body(app: &App, headers: &HeaderMap, body: Body) -> HandlerResult<Bytes> {
    let limits = &app.config.limits;
    let too_large = || Problem::too_large(format!("the body is larger than {} bytes", limits.body));
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > limits.body) {
        return Err(too_large());
    }
    let read = async {
        // A body that arrives in one piece, as most do, is not copied.
        let (mut body, mut first, mut bytes) = (body.into_data_stream(), Bytes::new(), BytesMut::new());
        // Few large bodies are held at a time, so that they cannot use up the memory.
        let mut large = None;
        while let Some(piece) = body.next().await {
            let piece =
                piece.map_err(|error| Problem::malformed(format!("the body could not be read: {error}")))?;
            let length = first.len().max(bytes.len()) + piece.len();
            if length > limits.body {
                return Err(too_large());
            }
            if length > SMALL && large.is_none() {
                let busy = |_| Problem::unavailable("too many large bodies arrive now").retry_after(1);
                large = Some(app.large_bodies.try_acquire().map_err(busy)?);
            }
            if first.is_empty() {
                first = piece;
                continue;
            }
            if bytes.is_empty() {
                bytes.extend_from_slice(&first);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(if bytes.is_empty() { first } else { bytes.freeze() })
    };
    match timeout(limits.body_time, read).await {
        Ok(read) => read,
        Err(_) => Err(Problem::too_late(format!(
            "the body did not arrive within {} s",
            limits.body_time.as_secs_f64()
        ))),
    }
}
