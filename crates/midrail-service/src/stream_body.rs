//! Bodies of responses. A streamed body is produced while it is read, with a bounded buffer.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::poll_fn;
use tokio::sync::mpsc;

/// A response with a body of a media type.
pub(crate) fn with_type(media: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, media)], body).into_response()
}

/// The sender of a body. An error aborts the response, so that the reader notices.
pub(crate) type BodySender = mpsc::Sender<io::Result<Bytes>>;

/// A body and its sender, with a buffer of a number of pieces.
pub(crate) fn stream_body(pieces: usize) -> (BodySender, Body) {
    let (sender, mut pieces) = mpsc::channel(pieces);
    (sender, Body::from_stream(poll_fn(move |context| pieces.poll_recv(context))))
}
