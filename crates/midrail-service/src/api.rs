//! The HTTP API, version 1. A route is said once: its place, the right that it takes, its handler and what the OpenAPI
//! document tells of it.

pub(crate) mod alerts;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod decide;
mod docs;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod login;
mod openapi;
pub(crate) mod people;
pub(crate) mod policy;
pub(crate) mod projects;
pub(crate) mod sessions;
pub(crate) mod standing;
pub(crate) mod stats;
pub(crate) mod stream;

use std::path::PathBuf;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::MethodRouter;
use midrail::Load;
use serde_json::Value;

use crate::access::{Face, Right, guard, place};
use crate::app::App;
use crate::config::{At, Config, FilesAt, Limits, StoreAt};
use crate::observe::{self, meter::measure};
use crate::problem::Problem;
use crate::project::OpenError;

pub(crate) use openapi::{Content, Document, Operation, Place};

/// How long a request lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// As long as the work takes: it holds one of the places, and its time is limited.
    Briefly,
    /// Until somebody answers or goes: it holds no place.
    Long,
}

/// Routes and the document that tells of them.
pub(crate) struct Api {
    app: App,
    router: Router<App>,
    document: Document,
}

impl Api {
    pub(crate) fn new(app: &App) -> Self {
        Api { app: app.clone(), router: Router::new(), document: Document::default() }
    }

    /// Adds a route. Its handler is reached by callers who have the right, and by nobody else.
    pub(crate) fn route(
        mut self,
        operation: Operation,
        right: Right,
        lasts: Lasts,
        method: MethodRouter<App>,
    ) -> Self {
        let (app, word, path) = (self.app.clone(), operation.method, operation.path);
        let method = method.layer(from_fn(move |request: Request, next: Next| {
            let app = app.clone();
            async move {
                let handler = |request| async {
                    match lasts {
                        Lasts::Briefly => place(&app, next.run(request)).await,
                        Lasts::Long => next.run(request).await,
                    }
                };
                measure(&app, word, path, guard(&app, right, Face::Api, request, handler)).await
            }
        }));
        self.router = self.router.route(operation.path, method);
        self.document.add(operation, right, lasts);
        self
    }
}

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
    let api = keys::routes(api);
    let api = people::routes(api);
    let api = sessions::routes(api);
    let api = approvals::routes(api);
    let api = audit::routes(api);
    let api = stats::routes(api);
    let api = alerts::routes(api);
    let api = standing::routes(api);
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
