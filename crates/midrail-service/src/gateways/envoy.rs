//! The contract of Envoy's external authorization over gRPC (`ext_authz`), for MCP servers behind Envoy: a call of a tool, a read of a
//! resource and a prompt are allowed or denied. Envoy cannot replace anything in them.

mod messages;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::post;
use midrail::Event;
use midrail_adapters::wire;
use prost::Message;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::messages::{CheckRequest, CheckResponse, HttpRequest};
use super::answers::GrowingAnswers;
use super::exchange::{AGENT, Exchange, Item, Outcome, SESSION, digest, session_name};
use super::{grpc, judge};
use crate::access::{Caller, Right, Surface, guard, read_body, use_key_header};
use crate::app::App;
use crate::observe::meter::measure;
use crate::problem::HandlerResult;

const PATH: &str = "/envoy.service.auth.v3.Authorization/Check";

const NAME: &str = "envoy";

/// How long an answer may take if Envoy does not name its timeout.
const LIMIT: Duration = Duration::from_secs(9);

/// The extension of a route's configuration with the name of its MCP server.
const SERVER: &str = "mcp_server";

/// The methods that are decided. Others carry no text of the model, or belong to the protocol.
const DECIDED: &[&str] = &["prompts/get", "resources/read", "resources/subscribe", "completion/complete"];

/// The call of Envoy.
pub(crate) fn routes(app: &App) -> Router<App> {
    let app = app.clone();
    let checked = from_fn(move |mut request: Request, next: Next| {
        let app = app.clone();
        use_key_header(request.headers_mut());
        async move {
            let answer = guard(&app, Right::Decide, (Surface::Api, true), request, next);
            measure(&app.meter, "post", PATH, answer).await
        }
    });
    Router::new().route(PATH, post(check).layer(checked))
}

async fn check(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Body) -> Response {
    let response = match decide(&app, caller, &headers, body).await {
        Ok(response) => response,
        Err(problem) => CheckResponse::denied(&format!("Midrail blocked this: {}", problem.detail), None),
    };
    grpc::response(&response.encode_to_vec())
}

async fn decide(app: &App, caller: Caller, headers: &HeaderMap, body: Body) -> HandlerResult<CheckResponse> {
    let limit = grpc::timeout(headers).unwrap_or(LIMIT).min(LIMIT).min(app.config.limits.gateway);
    let until = Instant::now() + limit;
    let bytes = read_body(app, headers, body).await?;
    let Some((request, server)) = request(headers, &bytes) else {
        return Ok(unreadable("it is not a call of `Check`", None));
    };
    let (items, id) = match read(&request, &server) {
        Ok(read) => read,
        Err(why) => return Ok(unreadable(&why, None)),
    };
    let exchange = Exchange {
        session: Some(session(&request)),
        agent: request.header(AGENT).map(str::to_owned),
        call: None,
        is_growing: false,
        items: items.into_iter().map(|item| item.answer().behind(NAME)).collect(),
    };
    let answers = Arc::new(GrowingAnswers::default());
    Ok(match judge::judge(app, caller, answers, (exchange, NAME), until).await? {
        Outcome::Passed(changed) if changed.is_nothing() => CheckResponse::allowed(),
        Outcome::Passed(_) => unreadable("Envoy cannot replace its arguments", id),
        Outcome::Blocked(reason) => CheckResponse::denied(&reason, id),
    })
}

fn unreadable(why: &str, id: Option<Value>) -> CheckResponse {
    CheckResponse::denied(&format!("Midrail blocked this, because it cannot check it: {why}"), id)
}

/// The request of the client, and the name of its MCP server.
fn request(headers: &HeaderMap, body: &[u8]) -> Option<(HttpRequest, String)> {
    let attributes = CheckRequest::decode(grpc::message(headers, body)?).ok()?.attributes?;
    let server = attributes.context_extensions.get(SERVER).filter(|name| !name.is_empty());
    let server = server.map_or("server", String::as_str).to_owned();
    Some((attributes.request?.http?, server))
}

/// The session: of MCP, of a header that the configuration sets, or of the client's credential.
fn session(request: &HttpRequest) -> String {
    let named = request.header("mcp-session-id").or_else(|| request.header(SESSION));
    let credential =
        || request.header("authorization").map(|it| digest(&[it]).get(..16).unwrap_or_default().to_owned());
    match named.map(str::to_owned).or_else(credential) {
        Some(name) => session_name(NAME, &name, None),
        None => NAME.to_owned(),
    }
}

/// The events of a request, and the id of its message.
fn read(request: &HttpRequest, server: &str) -> Result<(Vec<Item>, Option<Value>), String> {
    let body = request.content();
    match request.method.as_str() {
        "POST" => {}
        // A client opens or ends a stream of the server.
        "GET" | "DELETE" | "HEAD" | "OPTIONS" if body.is_empty() => return Ok((Vec::new(), None)),
        method => return Err(format!("a message of MCP does not come with `{method}`")),
    }
    if body.is_empty() {
        return Err("the body is missing: set `with_request_body` in the filter".to_owned());
    }
    let message = wire::value(body).map_err(|error| error.to_string())?;
    let id = message.get("id").cloned();
    let messages = match &message {
        Value::Array(messages) => messages.iter().collect(),
        _ => vec![&message],
    };
    let mut items = Vec::new();
    for message in messages {
        items.extend(event(message, server)?.map(|event| Item::message(event, None)));
    }
    Ok((items, id))
}

/// The event of one message. `None`: it is no action of the model.
fn event(message: &Value, server: &str) -> Result<Option<Event>, String> {
    if !message.is_object() {
        return Err("the message is not JSON-RPC".to_owned());
    }
    let method = match message.get("method") {
        Some(Value::String(method)) => method.as_str(),
        // A response to a request of the server.
        None if message.get("result").is_some() || message.get("error").is_some() => return Ok(None),
        _ => return Err("the message is not JSON-RPC".to_owned()),
    };
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    if method == "tools/call" {
        let name = params.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or("the call has no name")?;
        let args = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        if !args.is_object() {
            return Err(format!("the arguments of the call of `{name}` are not a JSON object"));
        }
        return Ok(Some(Event::before_tool(format!("mcp__{server}__{name}"), args)));
    }
    let is_decided = DECIDED.contains(&method);
    Ok(is_decided.then(|| Event::before_tool(format!("mcp__{server}__{method}"), params)))
}
