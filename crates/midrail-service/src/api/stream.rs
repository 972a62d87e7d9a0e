//! Streamed text of a model: chunks in, decided steps out, as JSON lines in one request or as messages of a WebSocket.
//! Text that is not decided is withheld, also after an error.

mod lines;
mod session;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use tokio::time::timeout;

use self::lines::Lines;

use self::session::{Reply, StreamMessage, StreamSession, StreamedStep};
use crate::access::{Caller, Right};
use crate::api::input::media_type;
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::problem::{HandlerResult, Problem};
use crate::stream_body::{BodySender, stream_body, with_type};

/// The largest message.
const MAX_MESSAGE: usize = 1 << 20;

/// Steps that may wait to be read.
const WAITING: usize = 16;

const LINES: &str = "application/x-ndjson";

pub(super) fn routes(api: Api) -> Api {
    api.group("decisions")
        .post(
            "/v1/stream",
            "stream",
            "Decide text while a model streams it: JSON lines in, decided steps as JSON lines out",
        )
        .long()
        .takes_body::<StreamMessage>(LINES)
        .answers(200, "The steps, one per line", Some(Content::json_as::<StreamedStep>(LINES)))
        .fails(&[408, 503])
        .handler(Right::Decide, post(stream_lines))
        .get("/v1/stream", "stream_socket", "The same as a WebSocket: one text message per line")
        .long()
        .answers(101, "The connection is a WebSocket", None)
        .fails(&[400, 426, 503])
        .handler(Right::Decide, get(stream_socket))
}

async fn stream_lines(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HandlerResult<Response> {
    let media = media_type(&headers);
    if !media.eq_ignore_ascii_case(LINES) && !media.eq_ignore_ascii_case("application/jsonl") {
        return Err(Problem::wrong_media("the body has to be lines of JSON")
            .help(format!("send `Content-Type: {LINES}`")));
    }
    let permit = permit(&app)?;
    let mut session = StreamSession::new(app, caller, headers);
    let (sender, answer) = stream_body(WAITING);
    let mut transport = LineTransport { lines: Lines::new(body, MAX_MESSAGE), sender };
    // A problem with the opening is returned like that of any other request.
    let opening = received(&session, transport.lines.next()).await?;
    let opening =
        opening.ok_or_else(|| Problem::malformed("the body is empty: the first line opens the stream"))?;
    let first = session.open(&opening).await?;
    tokio::spawn(async move {
        let _permit = permit;
        if send(&session, &mut transport, &first).await {
            run(&mut session, &mut transport).await;
        }
    });
    Ok(with_type(LINES, answer))
}

/// How messages and steps are transported.
trait Transport: Send {
    /// The next message. `None`: the client has disconnected.
    fn receive(&mut self) -> impl Future<Output = HandlerResult<Option<Vec<u8>>>> + Send;

    /// Sends a step. `false`: the client has disconnected.
    fn send(&mut self, step: String) -> impl Future<Output = bool> + Send;
}

/// JSON lines in both directions.
struct LineTransport {
    lines: Lines,
    sender: BodySender,
}

impl Transport for LineTransport {
    async fn receive(&mut self) -> HandlerResult<Option<Vec<u8>>> {
        // A body that ends without `finish`: the text so far is decided as the whole.
        Ok(Some(self.lines.next().await?.unwrap_or_else(|| br#"{"finish":true}"#.to_vec())))
    }

    async fn send(&mut self, step: String) -> bool {
        self.sender.send(Ok(Bytes::from(step + "\n"))).await.is_ok()
    }
}

impl Transport for WebSocket {
    async fn receive(&mut self) -> HandlerResult<Option<Vec<u8>>> {
        loop {
            match self.recv().await {
                Some(Ok(Message::Text(text))) => return Ok(Some(text.as_bytes().to_vec())),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => {
                    return Err(Problem::malformed("a message has to be text"));
                }
                Some(Err(error)) => {
                    log::debug!("a stream was interrupted: {error}");
                    return Err(Problem::too_large(format!(
                        "the message could not be read; it holds at most {MAX_MESSAGE} bytes"
                    )));
                }
                Some(Ok(Message::Close(_))) | None => return Ok(None),
            }
        }
    }

    async fn send(&mut self, step: String) -> bool {
        WebSocket::send(self, Message::Text(step.into())).await.is_ok()
    }
}

/// Handles messages until the stream ends. `false`: the client has disconnected.
async fn run(session: &mut StreamSession, transport: &mut impl Transport) -> bool {
    loop {
        let reply = match received(session, transport.receive()).await {
            Ok(Some(text)) => session.handle(&text).await,
            Ok(None) => return false,
            Err(problem) => Reply::Last(StreamedStep::failed(problem)),
        };
        match reply {
            Reply::Nothing => {}
            Reply::Step(step) if !send(session, transport, &step).await => return false,
            Reply::Step(_) => {}
            Reply::Last(step) => return send(session, transport, &step).await,
        }
    }
}

/// Sends a step in time. `false`: the client has disconnected, or does not read.
async fn send(session: &StreamSession, transport: &mut impl Transport, step: &StreamedStep) -> bool {
    let sent = timeout(session.app.config.limits.silence, transport.send(step.to_line())).await;
    sent.unwrap_or(false)
}

/// The next message, unless the stream times out or the service stops.
async fn received<T>(
    session: &StreamSession,
    next: impl Future<Output = HandlerResult<T>>,
) -> HandlerResult<T> {
    tokio::select! {
        () = session.app.closed() => {
            Err(Problem::unavailable("the service is being stopped").help("start a new stream on another instance"))
        }
        received = timeout(session.message_timeout(), next) => match received {
            Ok(received) => received,
            Err(_) => Err(Problem::too_late("no message arrived in time, or the stream lasted too long")),
        },
    }
}

async fn stream_socket(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> HandlerResult<Response> {
    let upgrade = upgrade.map_err(|error| {
        Problem::malformed(format!("not a WebSocket request: {}", error.body_text()))
            .help("use GET for a WebSocket, or POST for JSON lines")
    })?;
    let permit = permit(&app)?;
    let mut session = StreamSession::new(app, caller, headers);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(async move |mut socket| {
        let _permit = permit;
        if run(&mut session, &mut socket).await {
            let silence = session.app.config.limits.silence;
            let _ = timeout(silence, WebSocket::send(&mut socket, Message::Close(None))).await;
        }
    }))
}

fn permit(app: &App) -> HandlerResult<tokio::sync::OwnedSemaphorePermit> {
    app.streams
        .clone()
        .try_acquire_owned()
        .map_err(|_| Problem::unavailable("too many streams are open").retry_after(1))
}
