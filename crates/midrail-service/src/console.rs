//! The console: pages for people, made here and enlivened by htmx. Nothing is fetched from elsewhere.

mod approvals;
mod assets;
mod audit;
mod charts;
mod context;
mod figures;
mod guardrails;
mod layout;
mod live;
mod login;
mod look;
mod markdown;
mod overview;
mod policy;
mod sessions;
mod telling;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Deserialize;

use crate::access::{self, Face, Right, guard};
use crate::app::App;

/// The longest problem that is told on a page.
const LONGEST_PROBLEM: usize = 64 << 10;

/// Pages, each with the right that it takes.
struct Pages {
    app: App,
    router: Router<App>,
}

impl Pages {
    /// Adds a page. Who lacks the right is led to where they log in, or told so on a page.
    fn page(self, path: &str, right: Right, method: MethodRouter<App>) -> Self {
        let app = self.app.clone();
        let place = move |request: Request, next: Next| {
            let app = app.clone();
            async move { access::place(&app, next.run(request)).await }
        };
        self.long(path, right, method.layer(from_fn(place)))
    }

    /// The same for what lasts until somebody goes: it holds no place.
    fn long(mut self, path: &str, right: Right, method: MethodRouter<App>) -> Self {
        let app = self.app.clone();
        let method = method
            .layer(from_fn(move |request: Request, next: Next| {
                let app = app.clone();
                async move { guard(&app, right, Face::Page, request, |request| next.run(request)).await }
            }))
            .layer(from_fn(told_on_a_page));
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
    // Whoever cannot be known yet has to get here.
    let open = Router::new().route("/login", get(login::page)).route("/assets/{name}", get(assets::serve));
    pages.router.merge(open.layer(from_fn(told_on_a_page)))
}

/// A problem as it is told to programs.
#[derive(Deserialize)]
struct Told {
    title: String,
    status: u16,
    detail: String,
    help: Option<String>,
}

/// Tells problems on a page, or in the part of a page that was asked for.
pub(crate) async fn told_on_a_page(request: Request, next: Next) -> Response {
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
    let Ok(Told { title, status, detail, help }) = serde_json::from_slice(&bytes) else {
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
