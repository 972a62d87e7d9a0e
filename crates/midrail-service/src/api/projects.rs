//! The projects that a caller may enter.

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Caller, Identity, Right};
use crate::api::input::Page;
use crate::api::openapi::{Lifetime, Operation};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::HandlerResult;

/// A project.
#[derive(Serialize, JsonSchema)]
struct ProjectView {
    /// Its name, with the tenant before a `/`.
    name: String,
    /// Whether it is the one that the request is in.
    current: bool,
}

pub(super) fn routes(api: Api) -> Api {
    let list = Operation::new(
        "get",
        "/v1/projects",
        "projects",
        "projects",
        "The projects that the caller may enter",
    )
    .gives::<Page<ProjectView>>("The projects");
    api.route(list, Right::Read, Lifetime::Short, get(all))
}

async fn all(State(app): State<App>, caller: Caller) -> HandlerResult<Json<Page<ProjectView>>> {
    blocking(move || {
        let may_enter = |name: &String| match caller.identity() {
            Identity::Anyone => true,
            Identity::Program(key) => key.is_for_project(name),
            Identity::Person(signed_in) => signed_in.may_enter(name),
        };
        let names = app.projects.names()?.into_iter().filter(may_enter);
        let items = names.map(|name| ProjectView { current: name == caller.project().name(), name });
        Ok(Json(Page { items: items.collect(), next: None }))
    })
    .await
}
