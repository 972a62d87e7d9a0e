//! The console: pages for people, made here and enlivened by htmx. Nothing is fetched from elsewhere.

mod approvals;
mod assets;
mod audit;
mod charts;
mod context;
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
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Deserialize;

use crate::access::{self, Right, Surface, guard};
use crate::app::App;

/// The longest problem that is rendered on a page.
const LONGEST_PROBLEM: usize = 64 << 10;

/// Pages, each with the right that it takes.
struct Pages {
    app: App,
    router: Router<App>,
}

impl Pages {
    /// Adds a page. Callers without the right are redirected to the login page, or see an error page.
    fn page(self, path: &str, right: Right, method: MethodRouter<App>) -> Self {
        let app = self.app.clone();
        let place = move |request: Request, next: Next| {
            let app = app.clone();
            async move { access::place(&app, next.run(request)).await }
        };
        self.long(path, right, method.layer(from_fn(place)))
    }

    /// Adds a long-running page, which takes no slot.
    fn long(mut self, path: &str, right: Right, method: MethodRouter<App>) -> Self {
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

/// All pages.
pub(crate) fn routes(app: &App) -> Router<App> {
    let pages = Pages { app: app.clone(), router: Router::new() };
    let pages = pages
        .page("/", Right::ReadAll, get(overview::page))
        .page("/overview", Right::ReadAll, get(overview::part))
        .page("/live", Right::ReadAll, get(live::page))
        .long("/live/stream", Right::ReadAll, get(live::stream))
        .page("/sessions", Right::ReadAll, get(sessions::list))
        .page("/sessions/{session}", Right::ReadAll, get(sessions::show))
        .page("/approvals", Right::ReadAll, get(approvals::list))
        .page("/approvals/queue", Right::ReadAll, get(approvals::part))
        .page("/approvals/waiting", Right::ReadAll, get(approvals::waiting))
        .page("/approvals/{id}", Right::ReadAll, get(approvals::show))
        .page("/approvals/{id}/answer", Right::Answer, post(approvals::answer))
        .page("/guardrails", Right::ReadAll, get(guardrails::list))
        .page("/guardrails/try", Right::ReadAll, post(guardrails::try_event))
        .page("/guardrails/{id}", Right::ReadAll, get(guardrails::show))
        .page("/policy", Right::ReadAll, get(policy::page))
        .page("/policy/shadow", Right::ReadAll, get(policy::shadow))
        .page("/policy/{revision}", Right::ReadAll, get(policy::revision))
        .page("/audit", Right::ReadAll, get(audit::list))
        .long("/audit/verify", Right::ReadAll, post(audit::verify))
        .page("/audit/{seq}", Right::ReadAll, get(audit::show))
        .page("/audit/{seq}/part", Right::ReadAll, get(audit::part));
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
    let page = match is_part {
        true => layout::problem_part(&title, &detail, help.as_deref()),
        false => layout::problem_page(status, &title, &detail, help.as_deref()),
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
