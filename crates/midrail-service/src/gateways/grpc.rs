//! Unary calls of gRPC over the HTTP server of the service: one message in, one message out, and the status as a trailer.
//!
//! Compressed messages and streams of messages are not accepted.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;

const MEDIA: &str = "application/grpc";

const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The bytes before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// What remains of the caller's time for the way back.
const MARGIN: Duration = Duration::from_millis(20);

/// The message of a request. `None`: it is not one whole, uncompressed message.
pub(super) fn message<'b>(headers: &HeaderMap, body: &'b [u8]) -> Option<&'b [u8]> {
    let media = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let (prefix, message) = body.split_first_chunk::<PREFIX>()?;
    let [compressed, length @ ..] = *prefix;
    let is_whole = usize::try_from(u32::from_be_bytes(length)).is_ok_and(|length| length == message.len());
    (media.starts_with(MEDIA) && compressed == 0 && is_whole).then_some(message)
}

/// How long the caller waits, less the way back. `None`: it names no time.
pub(super) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    let time = match unit {
        "H" => Duration::from_secs(number.saturating_mul(3_600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    };
    Some(time.saturating_sub(MARGIN))
}

/// The response with a message and the status OK.
pub(super) fn response(message: &[u8]) -> Response {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    let framed = [&[0_u8][..], &length, message].concat();
    let trailers = HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]);
    let body = UnaryBody { message: Some(framed.into()), trailers: Some(trailers) };
    ([(CONTENT_TYPE, MEDIA)], Body::new(body)).into_response()
}

struct UnaryBody {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl hyper::body::Body for UnaryBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = match self.message.take() {
            Some(message) => Some(Frame::data(message)),
            None => self.trailers.take().map(Frame::trailers),
        };
        Poll::Ready(frame.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
    }

    #[test]
    fn only_one_whole_message_is_read() {
        let grpc = headers("content-type", "application/grpc+proto");
        assert_eq!(message(&grpc, b"\0\0\0\0\x02ab"), Some(&b"ab"[..]));
        assert_eq!(message(&grpc, b"\0\0\0\0\0"), Some(&b""[..]));
        for bad in [&b""[..], b"\0\0\0\0", b"\x01\0\0\0\x02ab", b"\0\0\0\0\x03ab", b"\0\0\0\0\x01ab"] {
            assert_eq!(message(&grpc, bad), None, "{bad:?}");
        }
        assert_eq!(message(&headers("content-type", "application/json"), b"\0\0\0\0\0"), None);
    }

    #[test]
    fn time_of_the_caller_is_read() {
        for (text, expected) in
            [("200m", Some(180)), ("1S", Some(980)), ("5m", Some(0)), ("1x", None), ("m", None)]
        {
            assert_eq!(
                timeout(&headers("grpc-timeout", text)),
                expected.map(Duration::from_millis),
                "{text}"
            );
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }
}
