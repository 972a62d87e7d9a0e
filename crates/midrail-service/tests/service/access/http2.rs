//! HTTP/2: many requests over one connection.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::access::fixture::{EVENT, Fixture};

/// Runs `test` with a connection to the service.
fn with_connection<F: Future>(fixture: &Fixture, test: impl FnOnce(SendRequest<Body>) -> F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(fixture.address).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        test(sender).await
    })
}

fn decide(host: &str) -> Request<Body> {
    let request =
        Request::post(format!("http://{host}/v1/decide")).header("content-type", "application/json");
    request.body(Body::from(EVENT)).unwrap()
}

#[test]
fn concurrent_requests_share_a_connection() {
    let fixture = Fixture::new();
    let host = fixture.address.to_string();
    let bodies = with_connection(&fixture, |mut sender| async move {
        let mut answers = Vec::new();
        for _ in 0..20 {
            sender.ready().await.unwrap();
            answers.push(sender.send_request(decide(&host)));
        }
        let mut bodies = Vec::new();
        for answer in answers {
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let body = to_bytes(Body::new(answer.into_body()), 1 << 20).await.unwrap();
            bodies.push(String::from_utf8(body.to_vec()).unwrap());
        }
        bodies
    });
    assert!(bodies.iter().all(|body| body.contains("\"block\"")), "{bodies:?}");
}

/// A page whose name was pointed to this machine is refused, although HTTP/2 has no header for the host.
#[test]
fn foreign_host_is_refused() {
    let fixture = Fixture::new();
    let status = with_connection(&fixture, |mut sender| async move {
        sender.send_request(decide("example.com")).await.unwrap().status()
    });
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[test]
fn silent_connection_is_closed() {
    let fixture = Fixture::with(|config| config.limits.head = Duration::from_millis(300));
    for first in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream: TcpStream = fixture.connect();
        std::io::Write::write_all(&mut stream, first.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut all = Vec::new();
        let ended = stream.read_to_end(&mut all);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.as_ref().map_or_else(is_reset, |_| true), "{first:?}: {ended:?}");
    }
}
