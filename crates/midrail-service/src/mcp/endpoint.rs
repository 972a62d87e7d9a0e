//! `/mcp/SERVER`: reads the messages of clients, checks their headers, and returns what the conversation sends.

use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::stream::unfold;
use midrail_adapters::mcp::http::headers::{
    LAST_EVENT_ID, MessageKind, PARAM, PROTOCOL_VERSION, PostedMessage, SESSION_ID, error, is_modern,
};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Receiver;

use super::conversation::Conversation;
use super::hub::Hub;
use super::pieces::{Head, Piece};
use super::posted::{FORWARDED, Posted};
use crate::access::{Caller, Right, Surface, guard, read_body};
use crate::app::App;
use crate::observe::meter::measure;
use crate::problem::{HandlerResult, Problem};
use crate::stream_body::{body_with, with_type};

const PATH: &str = "/mcp/{server}";

/// The routes of the endpoint, if it is served.
pub(crate) fn routes(app: &App) -> Router<App> {
    if !app.config.mcp {
        return Router::new();
    }
    let hub = Arc::new(Hub::default());
    let (ending, closing) = (hub.clone(), app.clone());
    let unrecorded = app.delay_end();
    tokio::spawn(async move {
        let _unrecorded = unrecorded;
        closing.closed().await;
        // Its streams end, and its sessions are recorded as ended.
        let _ = tokio::task::spawn_blocking(move || ending.end()).await;
    });
    let app = app.clone();
    let checked = from_fn(move |request: Request, next: Next| {
        let app = app.clone();
        async move {
            let method = match *request.method() {
                Method::GET => "get",
                Method::DELETE => "delete",
                _ => "post",
            };
            let answer = guard(&app, Right::Decide, (Surface::Api, true), request, next);
            measure(&app.meter, method, PATH, answer).await
        }
    });
    let serve = move |State(app): State<App>, Path(server): Path<String>, request: Request| async move {
        serve(&app, &hub, server, request).await
    };
    Router::new().route(PATH, any(serve).layer(checked))
}

async fn serve(app: &App, hub: &Arc<Hub>, server: String, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let served = async {
        let caller = Caller::from_request_parts(&mut parts, app).await?;
        // The agent behind a client is not known, so a key that is limited to agents may not be used.
        caller.check_agent(None)?;
        hub.start_ticks(app)?;
        match parts.method {
            Method::POST => post((app, hub), &caller, &server, &parts, body).await,
            Method::GET => listen((app, hub), &caller, &server, &parts.headers).await,
            Method::DELETE => delete(hub, &caller, &server, parts.headers.clone()).await,
            _ => Ok(wrong_method()),
        }
    };
    served.await.unwrap_or_else(IntoResponse::into_response)
}

fn wrong_method() -> Response {
    let problem = Problem::wrong_method("the method is not supported here, or not without a session");
    ([(ALLOW, HeaderValue::from_static("POST"))], problem).into_response()
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The headers that the server receives.
fn forwarded(headers: &HeaderMap) -> Vec<(String, String)> {
    let value = |name: &&str| Some(((*name).to_owned(), header(headers, name)?.to_owned()));
    FORWARDED.iter().filter_map(value).collect()
}

/// The headers with arguments, without the start of their names.
fn params(headers: &HeaderMap) -> Vec<(String, String)> {
    let params = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(PARAM)?;
        // A value that is no text agrees with no argument.
        Some((name.to_owned(), value.to_str().unwrap_or("=?base64?!?=").to_owned()))
    });
    params.collect()
}

async fn post(
    (app, hub): (&App, &Arc<Hub>),
    caller: &Caller,
    server: &str,
    parts: &Parts,
    body: Body,
) -> HandlerResult<Response> {
    let headers = &parts.headers;
    let media = header(headers, CONTENT_TYPE.as_str()).and_then(|media| media.split(';').next());
    if !media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json")) {
        return Err(
            Problem::wrong_media("the body has to be JSON").help("send `Content-Type: application/json`")
        );
    }
    let twice = headers.keys().find(|name| {
        let is_ours = name.as_str().starts_with("mcp-") || name.as_str() == LAST_EVENT_ID;
        is_ours && headers.get_all(*name).iter().nth(1).is_some()
    });
    if let Some(name) = twice {
        return Err(Problem::malformed(format!("the header `{name}` is sent twice")));
    }
    let body = read_body(app, headers, body).await?;
    let invalid = |error: String| with_status(400, with_type("application/json", error));
    let message = match PostedMessage::read(&body) {
        Ok(message) => message,
        Err(error) => return Ok(invalid(error)),
    };
    let (params, is_modern) = (params(headers), message.is_modern(header(headers, PROTOCOL_VERSION)));
    if is_modern && let Some(error) = message.mismatch(|name| header(headers, name), &params) {
        return Ok(invalid(error));
    }
    let kind = message.kind();
    let is_new = !is_modern && kind == MessageKind::Initialize;
    let conversation = match header(headers, SESSION_ID) {
        Some(id) if !is_modern && !is_new => hub.session(caller, server, id)?,
        _ => hub.start(app, caller, server, is_new)?,
    };
    let posted = Arc::new(Posted { message, headers: forwarded(headers), params });
    let permit = permit(app)?;
    let (stream, mut pieces) = conversation.open(Some(posted.clone()));
    let (running, id) = (conversation.clone(), posted.message.id());
    let run = move || running.run(stream, &posted);
    spawn(&conversation, stream, run)?;
    let first = pieces.recv().await;
    if first.is_none() && kind != MessageKind::OneWay {
        let why = "it was cancelled, or has the id of another request without an answer";
        return Ok(invalid(error(&id, -32_600, why)));
    }
    let is_started = matches!(&first, Some(Piece::Head(Head::Answer(200..=299, _) | Head::Events)));
    let keep = || hub.keep(caller, server, conversation.clone());
    let session = (is_new && is_started).then(keep).transpose()?;
    let mut response = respond(first, pieces, (permit, conversation));
    if let Some(id) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
        response.headers_mut().insert(HeaderName::from_static(SESSION_ID), id);
    }
    Ok(response)
}

async fn listen(
    (app, hub): (&App, &Arc<Hub>),
    caller: &Caller,
    server: &str,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let Some(id) = session_id(headers) else { return Ok(wrong_method()) };
    if !header(headers, ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream")) {
        return Ok(StatusCode::NOT_ACCEPTABLE.into_response());
    }
    let conversation = hub.session(caller, server, id)?;
    let permit = permit(app)?;
    let (stream, mut pieces) = conversation.open(None);
    let (listening, headers) = (conversation.clone(), forwarded(headers));
    spawn(&conversation, stream, move || listening.listen(stream, headers))?;
    let first = pieces.recv().await;
    Ok(respond(first, pieces, (permit, conversation)))
}

async fn delete(
    hub: &Arc<Hub>,
    caller: &Caller,
    server: &str,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let Some(id) = session_id(&headers) else { return Ok(wrong_method()) };
    let conversation = hub.session(caller, server, id)?;
    let (hub, id, headers) = (hub.clone(), id.to_owned(), forwarded(&headers));
    crate::blocking::blocking(move || {
        let status = conversation.delete(&headers);
        if (200..300).contains(&status) {
            hub.remove(&id);
        }
        Ok(with_status(status, ().into_response()))
    })
    .await
}

/// The session of a request. The era without `initialize` has none.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    header(headers, SESSION_ID).filter(|_| !header(headers, PROTOCOL_VERSION).is_some_and(is_modern))
}

fn permit(app: &App) -> HandlerResult<OwnedSemaphorePermit> {
    let permit = app.streams.clone().try_acquire_owned();
    permit.map_err(|_| Problem::unavailable("too many streams are open").retry_after(1))
}

/// Runs a stream on a thread of its own, because it may last long. The permit limits their number.
fn spawn(
    conversation: &Arc<Conversation>,
    stream: midrail_adapters::relay::Stream,
    run: impl FnOnce() + Send + 'static,
) -> HandlerResult<()> {
    thread::Builder::new().name("midrail-mcp-stream".to_owned()).spawn(run).map(drop).map_err(|error| {
        conversation.close(stream);
        Problem::unavailable(error.to_string())
    })
}

fn with_status(status: u16, mut response: Response) -> Response {
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response
}

/// The response of a stream. `held` is kept until it was sent.
fn respond<T: Send + Unpin + 'static>(first: Option<Piece>, pieces: Receiver<Piece>, held: T) -> Response {
    match first {
        Some(Piece::Head(Head::Answer(status, line))) => {
            with_status(status, with_type("application/json", line))
        }
        Some(Piece::Head(Head::Empty(status))) => with_status(status, ().into_response()),
        Some(Piece::Head(Head::Events)) => {
            let events = unfold(pieces, |mut pieces| async move {
                loop {
                    match pieces.recv().await? {
                        Piece::Event(event) => return Some((Ok::<_, std::io::Error>(event), pieces)),
                        Piece::Head(_) => {}
                    }
                }
            });
            let body = body_with(Body::from_stream(events), held);
            let mut response = with_type("text/event-stream", body);
            let headers = response.headers_mut();
            headers.insert("cache-control", HeaderValue::from_static("no-cache, no-transform"));
            // Proxies would hold events back.
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response
        }
        // The client is gone, or the service stops.
        Some(Piece::Event(_)) | None => with_status(204, ().into_response()),
    }
}
