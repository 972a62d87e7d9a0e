//! The HTTP API, version 1.

mod admin;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod decide;
mod docs;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod live;
pub(crate) mod login;
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
use crate::config::{At, Config, FilesAt, Limits, StoreAt};
use crate::observe;
use crate::problem::Problem;
use crate::project::OpenError;

/// All routes of the API.
pub(crate) fn routes(app: &App) -> Router<App> {
    let Api { router, document, .. } = all(app);
    openapi::serve(router, document)
}

fn all(app: &App) -> Api {
    let api = Api::new(app);
    let api = health::routes(api);
    let api = observe::routes(api);
    let api = login::routes(api);
    let api = decide::routes(api);
    let api = batch::routes(api);
    let api = stream::routes(api);
    let api = policy::routes(api);
    let api = sessions::routes(api);
    let api = approvals::routes(api);
    let api = audit::routes(api);
    let api = stats::routes(api);
    let api = admin::routes(api);
    let api = live::routes(api);
    projects::routes(api)
}

/// The OpenAPI document of the API.
pub fn openapi() -> Result<Value, OpenError> {
    let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
    let config = Config {
        listen: At::Socket(PathBuf::new()),
        store: StoreAt::Memory,
        load,
        projects: Vec::new(),
        files: FilesAt::Elsewhere,
        tls: None,
        behind_proxy: false,
        limits: Limits::default(),
        otlp: None,
    };
    let mut document = all(&App::open(config)?).document;
    Ok(document.told())
}

/// The answer to a method that a place does not know.
pub(crate) async fn wrong_method() -> Problem {
    Problem::wrong_method("this place does not know the method")
        .help("GET /v1/openapi.json tells what there is")
}
