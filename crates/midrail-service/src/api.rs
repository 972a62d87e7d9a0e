//! The HTTP API, version 1.

pub(crate) mod admin;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod decide;
mod docs;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod live;
pub(crate) mod login;
mod mcp;
pub(crate) mod openapi;
pub(crate) mod policy;
pub(crate) mod projects;
pub(crate) mod router;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod stream;

use std::path::PathBuf;

use axum::Router;
use midrail::Load;
use serde_json::Value;

use crate::api::router::Api;
use crate::app::App;
use crate::config::{At, Config};
use crate::gateways;
use crate::observe;
use crate::problem::Problem;
use crate::project::OpenError;

/// All routes of the API.
pub(crate) fn routes(app: &App) -> Router<App> {
    let Api { router, document, .. } = all(app);
    openapi::serve(router, document)
}

fn all(app: &App) -> Api {
    let groups = [
        health::routes,
        observe::routes,
        login::routes,
        decide::routes,
        stream::routes,
        gateways::routes,
        policy::routes,
        sessions::routes,
        approvals::routes,
        audit::routes,
        stats::routes,
        admin::routes,
        mcp::routes,
        live::routes,
        projects::routes,
    ];
    groups.into_iter().fold(Api::new(app), |api, routes| routes(api))
}

/// The OpenAPI document of the API.
pub fn openapi() -> Result<Value, OpenError> {
    let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
    let mut document = all(&App::open(Config::new(At::Socket(PathBuf::new()), load))?).document;
    Ok(document.build())
}

/// The answer to a method that a path does not support.
pub(crate) async fn wrong_method() -> Problem {
    Problem::wrong_method("the method is not supported here")
        .help("GET /v1/openapi.json lists the operations")
}
