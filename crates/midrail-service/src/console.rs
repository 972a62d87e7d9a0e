//! The console: pages for people, rendered here and updated with htmx. Nothing is loaded from other hosts.

mod approvals;
mod assets;
mod audit;
mod charts;
mod context;
mod filter;
mod guardrails;
mod layout;
mod live;
mod login;
mod markdown;
mod mcp;
mod overview;
mod policy;
mod record_view;
mod resources;
mod sessions;
mod stats;
#[cfg(test)]
mod tests;
mod unasked;
mod widgets;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, get, on};

use self::layout::View;
use crate::access::{Caller, Right, Surface, guard};
use crate::api::input::{Input, Read};
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};

/// Pages. They show what belongs to all agents of a project.
struct Pages {
    app: App,
    router: Router<App>,
}

impl Pages {
    /// Adds a page.
    fn get<I: Input, O: IntoResponse + 'static>(
        self,
        path: &str,
        handler: fn(&View, I) -> HandlerResult<O>,
    ) -> Self {
        self.add(path, false, handled(MethodFilter::GET, handler))
    }

    /// Adds a page or an action. Callers without the right are redirected to the login page, or see an error page.
    fn add(mut self, path: &str, is_long: bool, method: MethodRouter<App>) -> Self {
        let app = self.app.clone();
        let method = method
            .layer(from_fn(move |request: Request, next: Next| {
                let app = app.clone();
                async move { guard(&app, Right::ReadAll, (Surface::Page, is_long), request, next).await }
            }))
            .layer(from_fn(render_problems));
        self.router = self.router.route(path, method);
        self
    }
}

/// The handler of a page for axum. It runs on a thread that may block.
fn handled<I: Input, O: IntoResponse + 'static>(
    method: MethodFilter,
    handler: fn(&View, I) -> HandlerResult<O>,
) -> MethodRouter<App> {
    on(method, move |State(app): State<App>, caller: Caller, Read(input): Read<I>| {
        blocking(move || Ok(handler(&View::new(app, caller), input)?.into_response()))
    })
}

/// All pages.
pub(crate) fn routes(app: &App) -> Router<App> {
    let pages = Pages { app: app.clone(), router: Router::new() }
        .get("/", overview::page)
        .get("/overview", overview::part)
        .get("/live", live::page)
        .add("/live/stream", true, get(live::stream))
        .get("/sessions", sessions::list)
        .get("/sessions/{session}", sessions::show)
        .get("/approvals", approvals::list)
        .get("/approvals/queue", approvals::part)
        .get("/approvals/waiting", approvals::waiting)
        .get("/approvals/{id}", approvals::show)
        .get("/guardrails", guardrails::list)
        .add("/guardrails/try", false, handled(MethodFilter::POST, guardrails::try_event))
        .get("/guardrails/{id}", guardrails::show)
        .get("/policy", policy::page)
        .get("/policy/shadow", policy::shadow)
        .get("/policy/{revision}", policy::revision)
        .get("/audit", audit::list)
        .add("/audit/verify", true, handled(MethodFilter::POST, audit::verify))
        .get("/audit/{seq}", audit::show)
        .get("/audit/{seq}/part", audit::part)
        .get("/mcp", mcp::list)
        .get("/mcp/pins/{key}", mcp::show)
        .get("/locks", resources::locks)
        .get("/keys", resources::keys);
    // These are open to callers that have not logged in.
    let open = Router::new().route("/login", get(login::page)).route("/assets/{name}", get(assets::serve));
    pages.router.merge(open.layer(from_fn(render_problems)))
}

/// Renders problems as a page, or as the requested part of a page.
pub(crate) async fn render_problems(request: Request, next: Next) -> Response {
    let is_part = request.headers().contains_key("hx-request");
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let takes_html = accept.is_some_and(|accept| accept.contains("text/html"));
    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Problem>();
    let Some(problem) = problem.filter(|_| is_part || takes_html) else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    let page = if is_part { layout::problem_part(&problem) } else { layout::problem_page(&problem) };
    (parts.status, parts.headers, page).into_response()
}
