//! Replaces the HTTP client in builds without the Cargo feature `external`: no request is sent. The engine rejects
//! policies that need one.

use std::time::Duration;

use midrail_guardrails::{EndpointUrl, HttpMethod};
use serde_json::Value;

use super::wire::{Call, RequestError, RequestHeaders};
use crate::error::Available;

const NO_CLIENT: &str = "this build lacks the Cargo feature `external`";

/// The connections of a worker: none.
#[derive(Default)]
pub(super) struct Connections;

impl Connections {
    pub(super) fn close(self) {}
}

pub(super) fn send(
    _: &Call<'_>,
    _: &EndpointUrl,
    _: HttpMethod,
    _: &RequestHeaders,
    _: &Value,
) -> Result<Value, RequestError> {
    Err(NO_CLIENT.to_owned().into())
}

pub(crate) fn post(_: &str, _: &str, _: Duration) -> Available<u16> {
    Err(NO_CLIENT.into())
}
