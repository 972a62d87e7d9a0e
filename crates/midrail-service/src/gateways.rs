//! Gateways that teams already run: their guardrail calls are answered with the decisions of the engine.
//!
//! Each contract is one file that translates bytes into events and outcomes into bytes. `judge` decides the events. Whatever is not
//! understood, and whatever is not decided in time, is blocked.

mod agentgateway;
mod answers;
mod chat;
#[cfg(feature = "grpc")]
pub(crate) mod envoy;
mod exchange;
#[cfg(feature = "grpc")]
mod grpc;
mod judge;
mod litellm;
mod portkey;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::{MethodRouter, post};
use midrail_adapters::wire;
use schemars::JsonSchema;
use serde_json::Value;
use tokio::time::Instant;

use self::answers::{GrowingAnswers, IDLE};
use self::exchange::{Contract, Outcome};
use self::litellm::LiteLlm;
use self::portkey::Portkey;
use crate::access::{Caller, Right, read_body};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::problem::HandlerResult;
use crate::stream_body::with_type;

/// The path that LiteLLM appends to the address that it is configured with.
macro_rules! appended {
    ($base:literal) => {
        concat!($base, "/beta/litellm_basic_guardrail_api")
    };
}

/// A message in the format of the gateway, which its own documentation describes.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes the body; each contract reads its own")]
struct GatewayMessage {
    #[serde(flatten)]
    fields: BTreeMap<String, Value>,
}

/// How often answers that do not grow any more are looked for.
const SWEEP: Duration = Duration::from_secs(10);

pub(crate) fn routes(api: Api) -> Api {
    let answers = Arc::new(GrowingAnswers::default());
    let litellm = || route::<LiteLlm>(&answers);
    let request = || route::<agentgateway::Request>(&answers);
    let response = || route::<agentgateway::Response>(&answers);
    let api = api.group("gateways");
    let summary = "Answer the generic guardrail API of LiteLLM";
    let api = add(api, "/v1/gateways/litellm", "litellm", summary, litellm());
    let api = add(api, appended!("/v1/gateways/litellm"), "litellm_below", summary, litellm());
    let api = add(api, appended!(""), "litellm_fixed", summary, litellm());
    let summary = "Answer the webhook of agentgateway before a model is called";
    let api = add(api, "/v1/gateways/agentgateway/request", "agentgateway_request", summary, request());
    let api = add(api, "/request", "agentgateway_request_fixed", summary, request());
    let summary = "Answer the webhook of agentgateway after a model has answered";
    let api = add(api, "/v1/gateways/agentgateway/response", "agentgateway_response", summary, response());
    let api = add(api, "/response", "agentgateway_response_fixed", summary, response());
    let summary = "Answer the webhook guardrail of Portkey";
    add(api, "/v1/gateways/portkey", "portkey", summary, route::<Portkey>(&answers))
}

fn add(
    api: Api,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: MethodRouter<App>,
) -> Api {
    api.post(path, id, summary)
        .long()
        .takes_key_header()
        .takes_body::<GatewayMessage>("application/json")
        .answers(200, "The answer in the format of the gateway", Some(Content::json::<GatewayMessage>()))
        .handler(Right::Decide, handler)
}

fn route<C: Contract>(answers: &Arc<GrowingAnswers>) -> MethodRouter<App> {
    let answers = answers.clone();
    post(move |State(app): State<App>, caller: Caller, headers: HeaderMap, body: Body| async move {
        let decided = serve::<C>(&app, caller, answers, &headers, body).await;
        let answer = decided.unwrap_or_else(|problem| {
            let help = problem.help.map(|help| format!("; {help}")).unwrap_or_default();
            C::refusal(&format!("Midrail blocked this: {}{help}", problem.detail))
        });
        with_type("application/json", answer.to_string())
    })
}

/// The answer to one call of a gateway. A problem is a block, too.
async fn serve<C: Contract>(
    app: &App,
    caller: Caller,
    answers: Arc<GrowingAnswers>,
    headers: &HeaderMap,
    body: Body,
) -> HandlerResult<Value> {
    let until = Instant::now() + C::LIMIT.min(app.config.limits.gateway);
    let bytes = read_body(app, headers, body).await?;
    let read = || {
        let body = wire::value(&bytes).map_err(|error| error.to_string())?;
        let (contract, exchange) = C::read(&body, headers)?;
        Ok::<_, String>((body, contract, exchange))
    };
    let (body, contract, exchange) = match read() {
        Ok(read) => read,
        Err(why) => {
            return Ok(C::refusal(&format!("Midrail blocked this, because it cannot read it: {why}")));
        }
    };
    sweep(app, &answers);
    let outcome = judge::judge(app, caller, answers, (exchange, C::NAME), until).await?;
    if matches!(outcome, Outcome::Blocked(_)) {
        log::info!(gateway = C::NAME; "a gateway was answered with a block");
    }
    Ok(contract.answer(&body, &outcome))
}

/// Starts the task that ends answers, once.
fn sweep(app: &App, answers: &Arc<GrowingAnswers>) {
    if std::mem::replace(&mut *answers.is_swept.lock(), true) {
        return;
    }
    let (app, answers) = (app.clone(), answers.clone());
    let unrecorded = app.delay_end();
    tokio::spawn(async move {
        let _unrecorded = unrecorded;
        loop {
            let idle = tokio::select! {
                () = app.closed() => Duration::ZERO,
                () = tokio::time::sleep(SWEEP) => IDLE,
            };
            let ending = answers.clone();
            let ended = tokio::task::spawn_blocking(move || ending.finish_idle(idle)).await;
            if idle.is_zero() || ended.is_err() {
                return;
            }
        }
    });
}
