//! Health checks over HTTP: whether the process lives, and whether it can decide.

use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Caller, Right};
use crate::api::router::Api;
use crate::app::App;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;

pub(super) fn routes(api: Api) -> Api {
    api.group("health")
        .get("/healthz", "health", "Check that the process lives")
        .long()
        .json(Right::Open, |_, (): ()| Ok(Health::OK))
        .get(
            "/readyz",
            "ready",
            "Check that the service can decide: its store is reachable, and it has room for another request",
        )
        .long()
        .fails(&[503])
        .json(Right::Open, ready)
}

/// The state of the service.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of the program.
    version: &'static str,
}

impl Health {
    const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };
}

fn ready(_: &Caller, app: App) -> HandlerResult<Health> {
    if app.is_closing() {
        return Err(Problem::unavailable("the service is being stopped"));
    }
    if app.places.available_permits() == 0 {
        return Err(
            Problem::unavailable("the service is working on as many requests as it can").retry_after(1)
        );
    }
    app.projects.get(HOME)?.store().head()?;
    Ok(Health::OK)
}
