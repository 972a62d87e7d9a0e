//! The checks before every handler: origin, identity, right, rate and project.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{self, HOST, ORIGIN, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::percent_decode_str;

use crate::access::body::read_body;
use crate::access::cookie::cookie;
use crate::access::identity::{Caller, Identity, Right};
use crate::access::peer::peer;
use crate::app::App;
use crate::blocking::blocking;
use crate::config::At;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;
use crate::text::{escape, form_value, short};

/// The most projects that programs may create by naming them. Each has a store and watches its packs.
const MOST_PROJECTS: usize = 1_000;

/// The header that names a project.
pub(crate) const PROJECT: &str = "midrail-project";

/// The cookie of the project that a person views. It grants nothing.
pub(crate) const PROJECT_COOKIE: &str = "midrail_project";

/// The header that requests of people carry, so that no other page can send them.
pub(crate) const CSRF: &str = "x-csrf-token";

/// How a rejected request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// With a problem as JSON.
    Api,
    /// With a redirect to the login page.
    Page,
}

/// Runs the handler of a request that has the right, with its [`Caller`]. A long request takes no slot and has no
/// timeout.
pub(crate) async fn guard(
    app: &App,
    right: Right,
    (surface, is_long): (Surface, bool),
    request: Request,
    next: Next,
) -> Response {
    let (mut request, body) = request.into_parts();
    match admit(app, right, &request).await {
        Ok(caller) => {
            request.extensions.insert(caller);
            if is_long {
                return next.run(Request::from_parts(request, body)).await;
            }
            match read_body(app, &request.headers, body).await {
                Ok(body) => place(app, next.run(Request::from_parts(request, body.into()))).await,
                Err(problem) => problem.into_response(),
            }
        }
        Err(problem) if surface == Surface::Page && problem.status == 401 => {
            let wanted = request.uri.path_and_query().map_or("/", |wanted| wanted.as_str());
            let is_htmx = request.headers.contains_key("hx-request");
            let page = format!("/login?next={}", escape(wanted).replace("%2F", "/"));
            // For a part of a page, htmx redirects the whole page.
            if is_htmx {
                ([(HeaderName::from_static("hx-redirect"), page)], problem.into_response()).into_response()
            } else {
                Redirect::to(&page).into_response()
            }
        }
        Err(problem) => problem.into_response(),
    }
}

async fn admit(app: &App, right: Right, request: &Parts) -> HandlerResult<Caller> {
    let headers = &request.headers;
    check_origin(app, &request.method, headers)?;
    let Some(who) = app.authenticator.identify(headers, right).await? else {
        if headers.contains_key(header::AUTHORIZATION) {
            let from = peer(request);
            app.authenticator.wrong_key(&from)?;
            log::warn!(from:%; "an unknown key was used");
            return Err(Problem::unauthenticated("the key is unknown or revoked"));
        }
        return Err(Problem::unauthenticated("this takes a key, or a person who has logged in")
            .help("send `Authorization: Bearer KEY`; `midrail key add NAME` creates one"));
    };
    if !who.may(right) {
        let refused =
            Problem::forbidden(format!("{} may not do this: it takes {}", who.name(), right.holders()));
        let is_limited = right == Right::ReadAll && who.may(Right::Read);
        let help = "this shows data of all agents, and the key is limited to some of them";
        return Err(if is_limited { refused.help(help) } else { refused });
    }
    if let Identity::Person(signed_in) = &who
        && !request.method.is_safe()
        && right != Right::Open
    {
        let token = headers.get(CSRF).map(HeaderValue::as_bytes).unwrap_or_default();
        if !signed_in.has_csrf(token) {
            return Err(Problem::forbidden("the request does not come from a page of this console")
                .help(format!("send the header `{CSRF}` with the token that the page holds")));
        }
    }
    app.authenticator.count(&who, 1)?;
    // Unknown callers learn nothing about projects, not even their names.
    let name = match (&who, right) {
        (Identity::Anyone, Right::Open) => HOME.to_owned(),
        _ => project_of(&who, request)?,
    };
    let project = match app.projects.open_already(&name) {
        Some(project) => project,
        None => {
            let app = app.clone();
            let is_program = matches!(who, Identity::Program(_)) && right == Right::Decide;
            blocking(move || {
                // Only a program with the right to decide creates a project.
                if !app.projects.knows(&name)? {
                    if !is_program {
                        return Err(Problem::not_found(format!("there is no project `{}`", short(&name))));
                    }
                    if app.projects.names()?.len() >= MOST_PROJECTS {
                        return Err(Problem::refused(format!("there are {MOST_PROJECTS} projects already"))
                            .help("name an existing one in `midrail-project`"));
                    }
                }
                Ok(app.projects.get(&name)?)
            })
            .await?
        }
    };
    Ok(Caller { identity: who, project })
}

/// The project of a request, if the caller may access it.
fn project_of(who: &Identity, request: &Parts) -> HandlerResult<String> {
    let named = match request.headers.get(PROJECT) {
        Some(name) => Some(name.to_str().unwrap_or_default().to_owned()),
        None => form_value(request.uri.query().unwrap_or_default().as_bytes(), "project"),
    };
    let refused = |name: &str| {
        Problem::forbidden(format!("{} may not access the project `{}`", who.name(), short(name)))
    };
    let name = match who {
        Identity::Anyone => named.unwrap_or_else(|| HOME.to_owned()),
        Identity::Program(key) => {
            let name =
                named.or_else(|| key.only_project().map(str::to_owned)).unwrap_or_else(|| HOME.to_owned());
            if !key.is_for_project(&name) {
                return Err(refused(&name));
            }
            name
        }
        Identity::Person(signed_in) => match named {
            Some(name) if !signed_in.may_enter(&name) => return Err(refused(&name)),
            Some(name) => name,
            // A cookie with a project that they may not access any more is ignored.
            None => {
                let looked_at = cookie_project(&request.headers).filter(|name| signed_in.may_enter(name));
                looked_at.unwrap_or_else(|| signed_in.belongs.clone())
            }
        },
    };
    Ok(name)
}

fn cookie_project(headers: &HeaderMap) -> Option<String> {
    Some(percent_decode_str(cookie(headers, PROJECT_COOKIE)?).decode_utf8_lossy().into_owned())
}

/// Rejects requests from pages of other sites, and requests to a local service under a foreign host name.
fn check_origin(app: &App, method: &Method, headers: &HeaderMap) -> HandlerResult<()> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST).unwrap_or_default();
    if app.config.is_private()
        && matches!(app.config.listen, At::Address(_))
        && !host.is_empty()
        && !is_loopback(host)
    {
        return Err(Problem::forbidden(format!("`{}` is not a local host name", short(host)))
            .help("use http://localhost or the address that was printed at the start"));
    }
    // A WebSocket starts with a GET, and browsers do not protect it from other sites.
    if method.is_safe() && !headers.contains_key(UPGRADE) {
        return Ok(());
    }
    let refused = || Err(Problem::forbidden("the request comes from a page of another site"));
    if matches!(text(HeaderName::from_static("sec-fetch-site")), Some("cross-site" | "same-site")) {
        return refused();
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let is_same = origin.split_once("://").is_some_and(|(scheme, own)| {
        own.eq_ignore_ascii_case(host) && (app.config.tls.is_none() || scheme.eq_ignore_ascii_case("https"))
    });
    if is_same { Ok(()) } else { refused() }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Holds one of the slots for concurrent requests while a request whose body was read is worked on, and ends the request at its timeout.
async fn place(app: &App, answer: impl Future<Output = Response>) -> Response {
    let Ok(_place) = app.places.try_acquire() else {
        return Problem::unavailable("too many concurrent requests").retry_after(1).into_response();
    };
    match tokio::time::timeout(app.config.limits.time, answer).await {
        Ok(response) => response,
        Err(_) => Problem::too_slow("the request timed out, and its outcome is unknown")
            .help("a missing decision is not a permission")
            .into_response(),
    }
}

/// The security headers of every response, unless the handler has set them.
static SECURITY_HEADERS: [(HeaderName, HeaderValue); 8] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             font-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Sets the security headers of a response.
pub(crate) fn set_security_headers(is_tls: bool, headers: &mut HeaderMap) {
    headers.reserve(SECURITY_HEADERS.len());
    for (name, value) in &SECURITY_HEADERS {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if is_tls {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(year);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_local() {
        for good in ["localhost", "LOCALHOST:7420", "127.0.0.1:80", "[::1]:7420", "127.9.9.9"] {
            assert!(is_loopback(good), "{good}");
        }
        for bad in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "[fe80::1]"]
        {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn escaped_values_are_decoded() {
        let text = "acme/web ü&=%";
        assert_eq!(form_value(format!("p={}", escape(text)).as_bytes(), "p"), Some(text.to_owned()));
        assert_eq!(form_value(b"a=b&project=acme%2Fweb", "project"), Some("acme/web".to_owned()));
        assert_eq!(form_value(b"p=%zz%4", "p"), Some("%zz%4".to_owned()));
    }
}
