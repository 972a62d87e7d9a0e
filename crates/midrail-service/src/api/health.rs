//! Whether the service lives, and whether it can decide.

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Right;
use crate::api::openapi::{Lifetime, Operation};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;

/// How the service is.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of the program.
    version: &'static str,
}

pub(super) fn routes(api: Api) -> Api {
    let lives = Operation::new("get", "/healthz", "health", "health", "Whether the process lives");
    let ready = Operation::new(
        "get",
        "/readyz",
        "ready",
        "health",
        "Whether it can decide: the store can be reached",
    );
    api.route(lives.gives::<Health>("It lives"), Right::Open, Lifetime::Long, get(healthz)).route(
        ready.gives::<Health>("It can decide").fails(&[503]),
        Right::Open,
        Lifetime::Long,
        get(readyz),
    )
}

async fn healthz() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

async fn readyz(State(app): State<App>) -> HandlerResult<Json<Health>> {
    if app.is_closing() {
        return Err(Problem::unavailable("the service is being stopped"));
    }
    blocking(move || {
        app.projects.get(HOME)?.store().head()?;
        Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
    })
    .await
}
