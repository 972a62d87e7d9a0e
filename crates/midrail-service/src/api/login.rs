//! Login over HTTP: a person proves who they are with an approver key, and gets a cookie.

use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Identity, Peer, Right, Ticket, clear_cookie, csrf_token};
use crate::api::input::{Body, Read};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;

/// The credentials of a person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The approver's name.
    pub(crate) name: String,
    /// Their key.
    pub(crate) key: String,
    /// The project whose approver they are.
    #[serde(default)]
    pub(crate) project: Option<String>,
}

/// The caller.
#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    /// Their name.
    name: String,
    /// `anyone`, `program` or `person`.
    kind: &'static str,
    /// Their roles, if it is a person.
    roles: Vec<String>,
    /// The project of the request.
    project: String,
    /// The value of the header `x-csrf-token` in requests that change something, if it is a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

pub(super) fn routes(api: Api) -> Api {
    api.group("people")
        .post("/v1/login", "login", "Log in with the key of an approver. The answer sets a cookie")
        .takes::<Body<Login>>()
        .answers(200, "The person is logged in", Some(Content::json::<Me>()))
        .fails(&[401, 429, 503])
        .handler(Right::Open, post(log_in))
        .post("/v1/logout", "logout", "End the session of a person")
        .answers(204, "The cookie is not valid any more", None)
        .handler(Right::Known, post(log_out))
        .get("/v1/me", "me", "Show the caller")
        .json(Right::Known, me)
}

async fn log_in(
    State(app): State<App>,
    Peer(from): Peer,
    Read(Body(login)): Read<Body<Login>>,
) -> HandlerResult<Response> {
    // Wrong keys from the same address do not delay a right one.
    let permit = app.authenticator.key_check_permit().await?;
    let of = app.clone();
    let secure = app.config.tls.is_some() || app.config.behind_proxy;
    let checked = blocking(move || {
        let name = login.project.unwrap_or_else(|| HOME.to_owned());
        // Callers that have not logged in do not learn which projects exist.
        if !of.projects.knows(&name)? {
            return Ok(Err(HOME.to_owned()));
        }
        let project = of.projects.get(&name)?;
        let Some(approver) = project.store().check_key(&login.name, login.key.trim())? else {
            return Ok(Err(name));
        };
        let key = project.store().fingerprint_key()?;
        let ticket = Ticket::new(&approver, &name, project.engine().now())?;
        let me = Me {
            name: approver.name.clone(),
            kind: "person",
            roles: approver.roles.clone(),
            project: name,
            csrf: Some(csrf_token(&key, &ticket.id)?),
        };
        Ok(Ok((ticket.cookie(&key, secure)?, me)))
    })
    .await?;
    drop(permit);
    match checked {
        Ok((cookie, me)) => {
            log::info!(person:% = me.name, project:% = me.project, from:%; "a person has logged in");
            Ok(([(SET_COOKIE, cookie)], Json(me)).into_response())
        }
        Err(project) => Err(wrong_key(&app, &from, project).await),
    }
}

/// The problem of a wrong key. After too many, wrong keys are not logged or counted any more.
async fn wrong_key(app: &App, from: &str, project: String) -> Problem {
    if let Err(problem) = app.authenticator.wrong_key(&format!("login {from}")) {
        app.authenticator.delay().await;
        return problem.help("the right key is still accepted");
    }
    log::warn!(from; "a wrong approver key was given");
    let of = app.clone();
    let counted = blocking(move || {
        Ok(of.projects.get(&project)?.store().increment_counter("wrong_approver_keys", 1)?)
    })
    .await;
    counted
        .err()
        .unwrap_or_else(|| Problem::unauthenticated("there is no approver of this name with this key"))
}

async fn log_out(State(app): State<App>, caller: Caller) -> HandlerResult<Response> {
    if let Identity::Person(signed_in) = caller.identity.clone() {
        blocking(move || {
            let project = app.projects.get(&signed_in.belongs)?;
            Ok(project.engine().admin().sign_out(&signed_in.person, &signed_in.ticket.id)?)
        })
        .await?;
    }
    Ok(([(SET_COOKIE, clear_cookie())], axum::http::StatusCode::NO_CONTENT).into_response())
}

fn me(caller: &Caller, (): ()) -> HandlerResult<Me> {
    let (name, project) = (caller.identity.name(), caller.project.name().to_owned());
    let kind = match &caller.identity {
        Identity::Anyone => "anyone",
        Identity::Program(_) => "program",
        Identity::Person(_) => "person",
    };
    let person = caller.signed_in();
    let roles = person.map(|signed_in| signed_in.person.roles().to_vec()).unwrap_or_default();
    Ok(Me { name, kind, roles, project, csrf: person.map(|signed_in| signed_in.csrf.clone()) })
}
