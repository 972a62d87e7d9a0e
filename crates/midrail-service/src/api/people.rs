//! The people of a project: those who answer requests, look at it, or set it up. Who may say so is the engine's rule: an
//! administrator who is no authority of the project cannot make one.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Page, within};

use crate::api::{Api, Content, Lasts, Operation, Place};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::project::short;
use crate::work::blocking;

/// Roles that one person may have.
const MOST_ROLES: usize = 32;

/// A person of the project.
#[derive(Serialize, JsonSchema)]
struct PersonView {
    /// Their name.
    name: String,
    /// Their roles.
    roles: Vec<String>,
    /// Since when.
    #[schemars(with = "String")]
    created: Timestamp,
    /// Since when not any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    revoked: Option<Timestamp>,
}

/// A person to be.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewPerson {
    /// Their name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// Their roles: `admin`, `viewer`, or those that the packs know.
    #[schemars(length(min = 1, max = 32))]
    roles: Vec<String>,
}

/// A person who was added.
#[derive(Serialize, JsonSchema)]
struct AddedPerson {
    /// Their name.
    name: String,
    /// Their roles.
    roles: Vec<String>,
    /// The key that they log in with. It is told this once and kept nowhere.
    key: String,
}

pub(super) fn routes(api: Api) -> Api {
    let list = Operation::new("get", "/v1/people", "people", "people", "The people of the project")
        .gives::<Page<PersonView>>("The people");
    let add = Operation::new("post", "/v1/people", "add_person", "people", "Adds a person to the project")
        .takes::<NewPerson>()
        .answers(201, "The person, with the key that they log in with", Some(Content::json::<AddedPerson>()))
        .fails(&[409]);
    let revoke = Operation::new(
        "post",
        "/v1/people/{name}/revoke",
        "revoke_person",
        "people",
        "Takes from a person the right to answer, to look and to set up",
    )
    .with::<String>(Place::Path, "name", "Their name")
    .answers(204, "They are nobody here any more", None)
    .fails(&[409]);
    api.route(list, Right::Administer, Lasts::Briefly, get(all))
        .route(add, Right::Administer, Lasts::Briefly, post(added))
        .route(revoke, Right::Administer, Lasts::Briefly, post(revoked))
}

async fn all(caller: Caller) -> Outcome<Json<Page<PersonView>>> {
    blocking(move || {
        let people = caller.project().store().approvers()?.into_iter();
        let items = people.map(|approver| PersonView {
            name: approver.name,
            roles: approver.roles,
            created: approver.created,
            revoked: approver.revoked,
        });
        Ok(Json(Page { items: items.collect(), next: None }))
    })
    .await
}

async fn added(
    State(app): State<App>,
    caller: Caller,
    Body(NewPerson { name, roles }): Body<NewPerson>,
) -> Outcome<(StatusCode, Json<AddedPerson>)> {
    within("name", &name, 100)?;
    let is_odd = |text: &str| text.trim() != text || text.is_empty() || text.chars().any(char::is_control);
    if is_odd(&name) || roles.iter().any(|role| is_odd(role) || role.len() > 100) || roles.len() > MOST_ROLES
    {
        return Err(Problem::invalid("names and roles are short texts without spaces around them"));
    }
    blocking(move || {
        let key = caller.project().engine().add_approver(&name, &roles, Some(caller.person()?))?;
        app.doorkeeper.forget();
        log::info!(by:% = caller.who().name(), person:% = name, project = caller.project().name(); "a person was added");
        Ok((StatusCode::CREATED, Json(AddedPerson { name, roles, key })))
    })
    .await
}

async fn revoked(State(app): State<App>, caller: Caller, Named(name): Named<String>) -> Outcome<StatusCode> {
    blocking(move || {
        if caller.project().store().approver(&name)?.is_none() {
            return Err(Problem::not_found(format!("there is nobody called `{}` here", short(&name))));
        }
        let taken_back = caller.project().engine().revoke_approver(&name, Some(caller.person()?))?;
        app.doorkeeper.forget();
        let (by, project) = (caller.who().name(), caller.project().name());
        log::info!(by:%, person:% = name, project, taken_back; "a person was revoked");
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
