//! Text that a model streams: chunks in, decided steps out, while chunks still come. As lines of JSON in one request, or
//! as messages of a WebSocket. Whatever goes wrong, what is not decided stays withheld.

mod lines;
mod talk;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use midrail::{Agent, Decision, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use self::lines::Lines;
use self::talk::{Heard, Talk};
use crate::access::{Caller, Right};

use crate::api::{Api, Content, Lasts, Operation};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::streamed::{Filling, streamed};

/// The largest message.
const MAX_MESSAGE: usize = 1 << 20;

/// Steps that may wait to be read.
const WAITING: usize = 16;

const LINES: &str = "application/x-ndjson";

/// One message to a stream. The first one opens it; each of the others is one of the rest.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StreamMessage {
    /// Whose stream it is. Only the first message has this, and it has to.
    open: Option<StreamOpening>,
    /// The next chunk of text.
    text: Option<String>,
    /// Decides what was collected, however little it is. It is always answered.
    flush: bool,
    /// Decides the rest and ends the stream.
    finish: bool,
    /// Asks again about the text that a person was asked about.
    resume: bool,
}

/// Whose stream it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamOpening {
    /// The session.
    session: String,
    /// The name of the stream. Absent: one of its own.
    #[serde(default)]
    stream: Option<String>,
    /// Chunks are collected until there are so many bytes, and decided together. Absent: 4096, and at most 65536. 0: each is decided
    /// by itself.
    #[serde(default)]
    max_bytes: Option<usize>,
    /// Who acts.
    #[serde(default)]
    agent: Option<Agent>,
    /// What the agent was asked to do.
    #[serde(default)]
    task: Option<Task>,
    /// The folder that it works in.
    #[serde(default)]
    cwd: Option<String>,
    /// The prompt that it runs under.
    #[serde(default)]
    prompt: Option<String>,
    /// Who started it, where it is a sub-agent.
    #[serde(default)]
    parent: Option<String>,
}

/// What comes out of a stream.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StreamedStep {
    /// The name of the stream, in the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    /// The text that may pass on now.
    text: String,
    /// Whether nothing more comes. Where the decision is `escalate`, a `resume` may still go on with it.
    over: bool,
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    /// What the user is told, where the run was halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<String>,
    /// Why the stream was broken off. What was not decided is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

impl StreamedStep {
    fn broken(problem: Problem) -> Self {
        StreamedStep { over: true, problem: Some(problem), ..StreamedStep::default() }
    }

    fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"text":"","over":true}"#.to_owned())
    }
}

pub(super) fn routes(api: Api) -> Api {
    let lines = Operation::new(
        "post",
        "/v1/stream",
        "stream",
        "decisions",
        "Decides text that a model streams: messages as lines of JSON in, decided steps as lines of JSON out, while the body still comes in",
    )
    .takes_as::<StreamMessage>(LINES)
    .answers(200, "The steps, a line each", Some(Content::json_as::<StreamedStep>(LINES)))
    .fails(&[408, 503]);
    let socket = Operation::new(
        "get",
        "/v1/stream",
        "stream_socket",
        "decisions",
        "The same as a WebSocket: a text message for each line",
    )
    .answers(101, "The connection is a WebSocket", None)
    .fails(&[400, 426, 503]);
    api.route(lines, Right::Decide, Lasts::Long, post(by_lines)).route(
        socket,
        Right::Decide,
        Lasts::Long,
        get(by_socket),
    )
}

async fn by_lines(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case(LINES) && !media.eq_ignore_ascii_case("application/jsonl") {
        return Err(Problem::wrong_media("the body has to be lines of JSON")
            .help(format!("send `Content-Type: {LINES}`")));
    }
    let place = place(&app)?;
    let mut talk = Talk::new(app.clone(), caller, headers);
    let mut lines = Lines::new(body, MAX_MESSAGE);
    // What is wrong with the opening is told as of any other request.
    let opening = heard(&talk, lines.next()).await?;
    let opening =
        opening.ok_or_else(|| Problem::malformed("the body is empty: the first line opens the stream"))?;
    let first = talk.open(&opening).await?;
    let (filling, answer) = streamed(WAITING);
    tokio::spawn(async move {
        let _place = place;
        if !write(&talk, &filling, &first).await {
            return;
        }
        loop {
            let line = match heard(&talk, lines.next()).await {
                Ok(Some(line)) => line,
                // The body has ended without `finish`: what was sent is decided as the whole of it.
                Ok(None) => br#"{"finish":true}"#.to_vec(),
                Err(problem) => {
                    write(&talk, &filling, &StreamedStep::broken(problem)).await;
                    return;
                }
            };
            match talk.hear(&line).await {
                Heard::Nothing => {}
                Heard::Step(step) if !write(&talk, &filling, &step).await => return,
                Heard::Step(_) => {}
                Heard::Last(step) => {
                    write(&talk, &filling, &step).await;
                    return;
                }
            }
        }
    });
    Ok(([(CONTENT_TYPE, LINES)], answer).into_response())
}

/// The next message, unless the stream has been silent for too long, has lasted for too long, or the service ends.
async fn heard<T>(talk: &Talk, next: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::select! {
        () = talk.app().closed() => {
            Err(Problem::unavailable("the service is being stopped").help("begin the stream anew, elsewhere"))
        }
        heard = timeout(talk.patience(), next) => match heard {
            Ok(heard) => heard,
            Err(_) => Err(Problem::too_late("no message came in time, or the stream lasted for too long")),
        },
    }
}

/// Writes a step. `false`: nobody reads it.
async fn write(talk: &Talk, filling: &Filling, step: &StreamedStep) -> bool {
    let line = Bytes::from(step.to_line() + "\n");
    let sent = timeout(talk.app().config.limits.silence, filling.send(Ok(line))).await;
    matches!(sent, Ok(Ok(())))
}

async fn by_socket(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Outcome<Response> {
    let upgrade = upgrade.map_err(|error| {
        Problem::malformed(format!("this is no WebSocket: {}", error.body_text()))
            .help("a GET asks for a WebSocket; POST takes lines of JSON")
    })?;
    let place = place(&app)?;
    let talk = Talk::new(app, caller, headers);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(async move |socket| {
        let _place = place;
        converse(talk, socket).await;
    }))
}

fn place(app: &App) -> Outcome<tokio::sync::OwnedSemaphorePermit> {
    app.streams
        .clone()
        .try_acquire_owned()
        .map_err(|_| Problem::unavailable("too many streams are open").retry_after(1))
}

async fn converse(mut talk: Talk, mut socket: WebSocket) {
    let mut is_open = false;
    loop {
        let text = match heard(&talk, message(&mut socket)).await {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(problem) => {
                tell(&talk, &mut socket, &StreamedStep::broken(problem)).await;
                break;
            }
        };
        let heard = if is_open {
            talk.hear(&text).await
        } else {
            is_open = true;
            match talk.open(&text).await {
                Ok(step) => Heard::Step(step),
                Err(problem) => Heard::Last(StreamedStep::broken(problem)),
            }
        };
        match heard {
            Heard::Nothing => {}
            Heard::Step(step) if !tell(&talk, &mut socket, &step).await => return,
            Heard::Step(_) => {}
            Heard::Last(step) => {
                tell(&talk, &mut socket, &step).await;
                break;
            }
        }
    }
    let _ = timeout(talk.app().config.limits.silence, socket.send(Message::Close(None))).await;
}

/// The next text. `None`: the other side has gone.
async fn message(socket: &mut WebSocket) -> Outcome<Option<Vec<u8>>> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) => return Ok(Some(text.as_bytes().to_vec())),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Binary(_))) => {
                return Err(Problem::malformed("a message is text, and this one is not"));
            }
            Some(Err(error)) => {
                log::debug!("a stream broke off: {error}");
                return Err(Problem::too_large(format!(
                    "the message could not be read; it holds at most {MAX_MESSAGE} bytes"
                )));
            }
            Some(Ok(Message::Close(_))) | None => return Ok(None),
        }
    }
}

async fn tell(talk: &Talk, socket: &mut WebSocket, step: &StreamedStep) -> bool {
    let sent =
        timeout(talk.app().config.limits.silence, socket.send(Message::Text(step.to_line().into()))).await;
    matches!(sent, Ok(Ok(())))
}
