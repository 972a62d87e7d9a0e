//! Bodies of responses. A streamed body is produced while it is read, with a bounded buffer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::poll_fn;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// A response with a body of a media type.
pub(crate) fn with_type(media: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, media)], body).into_response()
}

/// A body that holds something until it was sent.
pub(crate) fn body_with<T: Send + Unpin + 'static>(body: Body, held: T) -> Body {
    Body::new(HoldingBody { body, _held: held })
}

struct HoldingBody<T> {
    body: Body,
    _held: T,
}

impl<T: Send + Unpin> hyper::body::Body for HoldingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The sender of a body. An error aborts the response, so that the reader notices.
pub(crate) type BodySender = mpsc::Sender<io::Result<Bytes>>;

/// A body and its sender, with a buffer of a number of pieces.
pub(crate) fn stream_body(pieces: usize) -> (BodySender, Body) {
    let (sender, mut pieces) = mpsc::channel(pieces);
    (sender, Body::from_stream(poll_fn(move |context| pieces.poll_recv(context))))
}
