//! The address of a client.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use crate::problem::Problem;

/// The address that a request comes from.
#[derive(Debug, Clone)]
pub(crate) struct Peer(pub(crate) String);

/// The address of a request, for the log and for rate limits.
pub(crate) fn peer(request: &Parts) -> String {
    let info = request.extensions.get::<ConnectInfo<Peer>>();
    info.map_or_else(|| "unknown".to_owned(), |ConnectInfo(Peer(address))| address.clone())
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Peer(peer(parts)))
    }
}
