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
mod overview;
mod policy;
mod record_view;
mod sessions;
mod stats;
#[cfg(test)]
mod tests;
mod widgets;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, get, on};
use serde::Deserialize;

use self::layout::View;
use crate::access::{self, Caller, Right, Surface, guard};
use crate::api::input::{Input, Read};
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::HandlerResult;

/// The longest problem that is rendered on a page.
const LONGEST_PROBLEM: usize = 64 << 10;

/// Pages, each with the right that it requires.
struct Pages {
    app: App,
    router: Router<App>,
}

impl Pages {
    /// Adds a page. Its handler runs on a thread that may block, within the timeout of a request.
    fn get<I: Input, O: IntoResponse + 'static>(
        self,
        path: &str,
        handler: fn(&View, I) -> HandlerResult<O>,
    ) -> Self {
        let method = self.within_timeout(handled(MethodFilter::GET, handler));
        self.add(path, Right::ReadAll, method)
    }

    /// Adds an action of a page.
    fn post<I: Input, O: IntoResponse + 'static>(
        self,
        path: &str,
        right: Right,
        handler: fn(&View, I) -> HandlerResult<O>,
    ) -> Self {
        let method = self.within_timeout(handled(MethodFilter::POST, handler));
        self.add(path, right, method)
    }

    fn within_timeout(&self, method: MethodRouter<App>) -> MethodRouter<App> {
        let app = self.app.clone();
        method.layer(from_fn(move |request: Request, next: Next| {
            let app = app.clone();
            async move { access::place(&app, next.run(request)).await }
        }))
    }

    /// Adds a page. Callers without the right are redirected to the login page, or see an error page.
    fn add(mut self, path: &str, right: Right, method: MethodRouter<App>) -> Self {
        let app = self.app.clone();
        let method = method
            .layer(from_fn(move |request: Request, next: Next| {
                let app = app.clone();
                async move { guard(&app, right, Surface::Page, request, |request| next.run(request)).await }
            }))
            .layer(from_fn(render_problems));
        self.router = self.router.route(path, method);
        self
    }
}

/// The handler of a page for axum.
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
        .add("/live/stream", Right::ReadAll, get(live::stream))
        .get("/sessions", sessions::list)
        .get("/sessions/{session}", sessions::show)
        .get("/approvals", approvals::list)
        .get("/approvals/queue", approvals::part)
        .get("/approvals/waiting", approvals::waiting)
        .get("/approvals/{id}", approvals::show)
        .post("/approvals/{id}/answer", Right::Answer, approvals::answer)
        .get("/guardrails", guardrails::list)
        .post("/guardrails/try", Right::ReadAll, guardrails::try_event)
        .get("/guardrails/{id}", guardrails::show)
        .get("/policy", policy::page)
        .get("/policy/shadow", policy::shadow)
        .get("/policy/{revision}", policy::revision)
        .get("/audit", audit::list)
        .add("/audit/verify", Right::ReadAll, handled(MethodFilter::POST, audit::verify))
        .get("/audit/{seq}", audit::show)
        .get("/audit/{seq}/part", audit::part);
    // These are open to callers that have not logged in.
    let open = Router::new().route("/login", get(login::page)).route("/assets/{name}", get(assets::serve));
    pages.router.merge(open.layer(from_fn(render_problems)))
}

/// A problem as the API returns it.
#[derive(Deserialize)]
struct ProblemBody {
    title: String,
    status: u16,
    detail: String,
    help: Option<String>,
}

/// Renders problems as a page, or as the requested part of a page.
pub(crate) async fn render_problems(request: Request, next: Next) -> Response {
    let is_part = request.headers().contains_key("hx-request");
    let takes_html = accepts_html(request.headers());
    let response = next.run(request).await;
    let is_problem =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/problem+json");
    if !is_problem || !(is_part || takes_html) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LONGEST_PROBLEM).await.unwrap_or_default();
    let Ok(ProblemBody { title, status, detail, help }) = serde_json::from_slice(&bytes) else {
        return (parts.status, parts.headers, bytes).into_response();
    };
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    let page = if is_part {
        layout::problem_part(&title, &detail, help.as_deref())
    } else {
        layout::problem_page(status, &title, &detail, help.as_deref())
    };
    let mut response = page.into_response();
    *response.status_mut() = parts.status;
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    response.headers_mut().extend(parts.headers);
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn accepts_html(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}
