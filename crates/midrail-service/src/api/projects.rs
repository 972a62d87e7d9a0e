//! The projects that a caller may access.

use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Caller, Right};
use crate::api::input::Page;
use crate::api::router::Api;
use crate::app::App;
use crate::problem::HandlerResult;

pub(super) fn routes(api: Api) -> Api {
    api.group("projects")
        .get("/v1/projects", "projects", "List the projects that the caller may access")
        .json(Right::Read, list)
}

/// A project.
#[derive(Serialize, JsonSchema)]
struct ProjectView {
    /// Its name, with the tenant before a `/`.
    name: String,
    /// Whether it is the project of the request.
    current: bool,
}

fn list(caller: &Caller, app: App) -> HandlerResult<Page<ProjectView>> {
    let names = app.projects.names()?.into_iter().filter(|name| caller.identity.may_enter(name));
    let items = names.map(|name| ProjectView { current: name == caller.project.name(), name });
    Ok(Page { items: items.collect(), next: None })
}
