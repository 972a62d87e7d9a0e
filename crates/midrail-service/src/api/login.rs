//! People log in with their approver key, and get a cookie.

use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right, Ticket, Who, clear_cookie, csrf_token};
use crate::api::input::Body;
use crate::api::{Api, Lasts, Operation};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::project::HOME;
use crate::server::Peer;
use crate::work::blocking;

/// Who logs in.
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

/// Who is calling.
#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    /// Their name.
    name: String,
    /// `anyone`, `program` or `person`.
    kind: &'static str,
    /// Their roles, where it is a person.
    roles: Vec<String>,
    /// The project that they are in.
    project: String,
    /// What requests that change something carry in the header `x-csrf-token`, where it is a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

pub(super) fn routes(api: Api) -> Api {
    let login =
        Operation::new("post", "/v1/login", "login", "people", "Logs a person in with their approver key")
            .takes::<Login>()
            .gives::<Me>("They are logged in; the answer sets a cookie")
            .fails(&[401, 429, 503]);
    let logout = Operation::new("post", "/v1/logout", "logout", "people", "Ends the session of a person")
        .answers(204, "The cookie is good for nothing any more", None);
    let me = Operation::new("get", "/v1/me", "me", "people", "Tells who is calling").gives::<Me>("Who it is");
    api.route(login, Right::Open, Lasts::Briefly, post(log_in))
        .route(logout, Right::Known, Lasts::Briefly, post(log_out))
        .route(me, Right::Known, Lasts::Briefly, get(who))
}

async fn log_in(State(app): State<App>, Peer(from): Peer, Body(login): Body<Login>) -> Outcome<Response> {
    let (ticket, cookie, me) = signed_in(&app, &from, login).await?;
    log::info!("{} has logged in to `{}` from {from}", ticket.name, ticket.project);
    Ok(([(SET_COOKIE, cookie)], Json(me)).into_response())
}

/// Checks a person's key. What comes back is their ticket, its cookie, and who they are.
async fn signed_in(app: &App, from: &str, login: Login) -> Outcome<(Ticket, String, Me)> {
    let place = format!("login {from}");
    app.doorkeeper.may_try(&place)?;
    let of = app.clone();
    let secure = app.config.tls.is_some() || app.config.behind_proxy;
    let checked = blocking(move || {
        let name = login.project.unwrap_or_else(|| HOME.to_owned());
        // Which projects there are is told to nobody who has not logged in.
        if !of.projects.knows(&name)? {
            return Ok(None);
        }
        let project = of.projects.get(&name)?;
        let Some(approver) = project.store().check_key(&login.name, login.key.trim())? else {
            project.store().count("wrong_approver_keys", 1)?;
            return Ok(None);
        };
        let key = project.store().fingerprint_key()?;
        let ticket = Ticket::new(&approver, &name, project.engine().now())?;
        let me = Me {
            name: approver.name.clone(),
            kind: "person",
            roles: approver.roles.clone(),
            project: name,
            csrf: Some(csrf_token(&key, &ticket.id)),
        };
        let cookie = ticket.cookie(&key, secure);
        Ok(Some((ticket, cookie, me)))
    })
    .await?;
    match checked {
        Some(found) => Ok(found),
        None => {
            log::warn!("a wrong approver key was shown from {from}");
            app.doorkeeper.wrong_key(&place)?;
            Err(Problem::unauthenticated("there is no approver of this name with this key"))
        }
    }
}

async fn log_out(State(app): State<App>, caller: Caller) -> Outcome<Response> {
    if let Who::Person(signed_in) = caller.who().clone() {
        blocking(move || {
            let project = app.projects.get(&signed_in.belongs)?;
            Ok(project.engine().sign_out(&signed_in.person, &signed_in.ticket.id)?)
        })
        .await?;
    }
    Ok(([(SET_COOKIE, clear_cookie())], axum::http::StatusCode::NO_CONTENT).into_response())
}

async fn who(caller: Caller) -> Json<Me> {
    let project = caller.project().name().to_owned();
    let name = caller.who().name();
    Json(match caller.who() {
        Who::Anyone => Me { name, kind: "anyone", roles: Vec::new(), project, csrf: None },
        Who::Program(_) => Me { name, kind: "program", roles: Vec::new(), project, csrf: None },
        Who::Person(signed_in) => Me {
            name,
            kind: "person",
            roles: signed_in.person.roles().to_vec(),
            project,
            csrf: Some(signed_in.csrf.clone()),
        },
    })
}

impl<S: Send + Sync> axum::extract::FromRequestParts<S> for Peer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Peer(crate::access::peer(parts)))
    }
}
