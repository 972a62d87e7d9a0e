//! Stands in for the HTTP client in builds without the Cargo feature `external`: no request is sent. The engine rejects
//! policies that need one.

use std::time::Duration;

use midrail_guardrails::{EndpointUrl, EnvVariable, Headers, HttpMethod};
use serde_json::Value;

use super::wire::{Again, Call, Lookup, Trouble};
use crate::error::Unavailable;

const NO_CLIENT: &str = "this build lacks the Cargo feature `external`";

/// The connections of a worker: none.
#[derive(Default)]
pub(super) struct Connections;

impl Connections {
    pub(super) fn close(self) {}
}

/// Headers with the values of their variables: none.
pub(super) struct Filled;

impl Filled {
    pub(super) fn of(_: &Headers, _: Lookup) -> Result<Self, Unavailable> {
        Err(NO_CLIENT.into())
    }

    pub(super) fn key(
        &mut self,
        _: &str,
        _: &str,
        _: Option<&EnvVariable>,
        _: Lookup,
    ) -> Result<(), Unavailable> {
        Err(NO_CLIENT.into())
    }

    pub(super) fn add(&mut self, _: &str, _: &str) {}
}

pub(super) fn send(
    _: &Call<'_>,
    _: &EndpointUrl,
    _: HttpMethod,
    _: &Filled,
    _: &Value,
) -> Result<Value, Trouble> {
    Err(Trouble::new(NO_CLIENT, Again::Never))
}

pub(crate) fn post(_: &str, _: &str, _: Duration) -> Result<u16, Unavailable> {
    Err(NO_CLIENT.into())
}
