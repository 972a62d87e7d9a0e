//! Keys of programs. They are kept in the home project, and its administrators alone see to them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use midrail::{ApiKey, KeyScope};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Caller, Right, Who};
use crate::api::input::{Body, Named, Page};

use crate::api::{Api, Content, Lasts, Operation, Place};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::project::HOME;
use crate::work::blocking;

/// A key that was made.
#[derive(Serialize, JsonSchema)]
struct MadeKey {
    /// The key itself. It is told this once and kept nowhere.
    key: String,
    /// What is kept of it.
    about: ApiKey,
}

pub(super) fn routes(api: Api) -> Api {
    let list =
        Operation::new("get", "/v1/keys", "keys", "keys", "All keys of programs, without what they are")
            .gives::<Page<ApiKey>>("The keys");
    let add = Operation::new("post", "/v1/keys", "add_key", "keys", "Makes a key for a program")
        .takes::<KeyScope>()
        .answers(201, "The key, told this once", Some(Content::json::<MadeKey>()))
        .fails(&[409]);
    let revoke =
        Operation::new("post", "/v1/keys/{id}/revoke", "revoke_key", "keys", "Makes a key good for nothing")
            .with::<String>(Place::Path, "id", "The key's name, which is its first part")
            .gives::<ApiKey>("What is kept of it")
            .fails(&[409]);
    api.route(list, Right::Administer, Lasts::Briefly, get(all))
        .route(add, Right::Administer, Lasts::Briefly, post(made))
        .route(revoke, Right::Administer, Lasts::Briefly, post(revoked))
}

/// Keys are good for all projects, so that an administrator of another one has no say in them.
fn at_home(caller: &Caller) -> Outcome<()> {
    let is_of_home = matches!(caller.who(), Who::Person(signed_in) if signed_in.belongs == HOME);
    match is_of_home && caller.project().name() == HOME {
        true => Ok(()),
        false => Err(Problem::forbidden("keys are seen to by administrators of the home project, in it")
            .help(format!("send `midrail-project: {HOME}`"))),
    }
}

async fn all(caller: Caller) -> Outcome<Json<Page<ApiKey>>> {
    at_home(&caller)?;
    blocking(move || Ok(Json(Page { items: caller.project().engine().api_keys()?, next: None }))).await
}

async fn made(
    State(app): State<App>,
    caller: Caller,
    Body(scope): Body<KeyScope>,
) -> Outcome<(StatusCode, Json<MadeKey>)> {
    at_home(&caller)?;
    blocking(move || {
        let engine = caller.project().engine();
        let key = engine.add_api_key(&scope, Some(caller.person()?))?;
        app.doorkeeper.forget();
        let about = engine.api_key(&key)?.ok_or_else(|| Problem::internal("the key was not kept"))?;
        log::info!(by:% = caller.who().name(), key:% = about.scope.name, id:% = about.id; "a key was made");
        Ok((StatusCode::CREATED, Json(MadeKey { key, about })))
    })
    .await
}

async fn revoked(State(app): State<App>, caller: Caller, Named(id): Named<String>) -> Outcome<Json<ApiKey>> {
    at_home(&caller)?;
    blocking(move || {
        let engine = caller.project().engine();
        if !engine.api_keys()?.iter().any(|key| key.id == id) {
            return Err(Problem::not_found(format!("there is no key `{}`", crate::project::short(&id))));
        }
        let key = engine.revoke_api_key(&id, Some(caller.person()?))?;
        app.doorkeeper.forget();
        log::info!(by:% = caller.who().name(), key:% = key.scope.name, id:% = key.id; "a key was revoked");
        Ok(Json(key))
    })
    .await
}
