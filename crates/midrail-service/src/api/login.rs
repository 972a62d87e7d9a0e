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
    log::info!(person:% = ticket.name, project:% = ticket.project, from:%; "a person has logged in");
    Ok(([(SET_COOKIE, cookie)], Json(me)).into_response())
}

/// Checks a person's key. What comes back is their ticket, its cookie, and who they are. A right key is let in whatever
/// others show from the same place; wrong ones are slowed down.
async fn signed_in(app: &App, from: &str, login: Login) -> Outcome<(Ticket, String, Me)> {
    let looking = app.doorkeeper.look_at_key().await?;
    let of = app.clone();
    let secure = app.config.tls.is_some() || app.config.behind_proxy;
    let checked = blocking(move || {
        let name = login.project.unwrap_or_else(|| HOME.to_owned());
        // Which projects there are is told to nobody who has not logged in.
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
            csrf: Some(csrf_token(&key, &ticket.id)),
        };
        let cookie = ticket.cookie(&key, secure);
        Ok(Ok((ticket, cookie, me)))
    })
    .await?;
    drop(looking);
    match checked {
        Ok(found) => Ok(found),
        Err(project) => Err(wrong_key(app, from, project).await),
    }
}

/// What somebody is told who has shown a wrong key. Beyond some of them nothing is written down any more: whoever tries
/// many fills no log and no store.
async fn wrong_key(app: &App, from: &str, project: String) -> Problem {
    if let Err(problem) = app.doorkeeper.wrong_key(&format!("login {from}")) {
        app.doorkeeper.slow_down().await;
        return problem.help("the right key is let in all the same");
    }
    log::warn!(from; "a wrong approver key was shown");
    let of = app.clone();
    let counted =
        blocking(move || Ok(of.projects.get(&project)?.store().count("wrong_approver_keys", 1)?)).await;
    counted
        .err()
        .unwrap_or_else(|| Problem::unauthenticated("there is no approver of this name with this key"))
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
