//! Streamed text of a model: chunks in, decided steps out, as JSON lines in one request or as messages of a WebSocket.
//! Text that is not decided is withheld, also after an error.

mod lines;
mod message;
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
use self::message::{StreamMessage, StreamedStep};
use self::session::{Reply, StreamSession};
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
    let mut session = StreamSession::new(app.clone(), caller, headers);
    let mut lines = Lines::new(body, MAX_MESSAGE);
    // A problem with the opening is returned like that of any other request.
    let opening = received(&session, lines.next()).await?;
    let opening =
        opening.ok_or_else(|| Problem::malformed("the body is empty: the first line opens the stream"))?;
    let first = session.open(&opening).await?;
    let (sender, answer) = stream_body(WAITING);
    tokio::spawn(async move {
        let _permit = permit;
        if !write(&session, &sender, &first).await {
            return;
        }
        loop {
            let line = match received(&session, lines.next()).await {
                Ok(Some(line)) => line,
                // The body ended without `finish`: the text so far is decided as the whole.
                Ok(None) => br#"{"finish":true}"#.to_vec(),
                Err(problem) => {
                    write(&session, &sender, &StreamedStep::failed(problem)).await;
                    return;
                }
            };
            match session.handle(&line).await {
                Reply::Nothing => {}
                Reply::Step(step) if !write(&session, &sender, &step).await => return,
                Reply::Step(_) => {}
                Reply::Last(step) => {
                    write(&session, &sender, &step).await;
                    return;
                }
            }
        }
    });
    Ok(with_type(LINES, answer))
}

/// The next message, unless the stream times out or the service stops.
async fn received<T>(
    session: &StreamSession,
    next: impl Future<Output = HandlerResult<T>>,
) -> HandlerResult<T> {
    tokio::select! {
        () = session.app().closed() => {
            Err(Problem::unavailable("the service is being stopped").help("start a new stream on another instance"))
        }
        received = timeout(session.message_timeout(), next) => match received {
            Ok(received) => received,
            Err(_) => Err(Problem::too_late("no message arrived in time, or the stream lasted too long")),
        },
    }
}

/// Writes a step. `false`: the caller has disconnected.
async fn write(session: &StreamSession, sender: &BodySender, step: &StreamedStep) -> bool {
    let line = Bytes::from(step.to_line() + "\n");
    let sent = timeout(session.app().config.limits.silence, sender.send(Ok(line))).await;
    matches!(sent, Ok(Ok(())))
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
    let session = StreamSession::new(app, caller, headers);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(async move |socket| {
        let _permit = permit;
        run_socket(session, socket).await;
    }))
}

fn permit(app: &App) -> HandlerResult<tokio::sync::OwnedSemaphorePermit> {
    app.streams
        .clone()
        .try_acquire_owned()
        .map_err(|_| Problem::unavailable("too many streams are open").retry_after(1))
}

async fn run_socket(mut session: StreamSession, mut socket: WebSocket) {
    let mut is_open = false;
    loop {
        let text = match received(&session, message(&mut socket)).await {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(problem) => {
                send_step(&session, &mut socket, &StreamedStep::failed(problem)).await;
                break;
            }
        };
        let received = if is_open {
            session.handle(&text).await
        } else {
            is_open = true;
            match session.open(&text).await {
                Ok(step) => Reply::Step(step),
                Err(problem) => Reply::Last(StreamedStep::failed(problem)),
            }
        };
        match received {
            Reply::Nothing => {}
            Reply::Step(step) if !send_step(&session, &mut socket, &step).await => return,
            Reply::Step(_) => {}
            Reply::Last(step) => {
                send_step(&session, &mut socket, &step).await;
                break;
            }
        }
    }
    let _ = timeout(session.app().config.limits.silence, socket.send(Message::Close(None))).await;
}

/// The next text. `None`: the client has disconnected.
async fn message(socket: &mut WebSocket) -> HandlerResult<Option<Vec<u8>>> {
    loop {
        match socket.recv().await {
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

async fn send_step(session: &StreamSession, socket: &mut WebSocket, step: &StreamedStep) -> bool {
    let sent =
        timeout(session.app().config.limits.silence, socket.send(Message::Text(step.to_line().into()))).await;
    matches!(sent, Ok(Ok(())))
}
