//! A question to any endpoint that takes and answers JSON.

use midrail_guardrails::HttpSettings;
use serde_json::Value;

use super::client::{self, Filled};
use super::question::DeepError;
use super::wire::Call;

/// Sends what was filled in, and gives the answer as it comes.
pub(super) fn ask(call: &Call<'_>, http: &HttpSettings, body: &Value) -> Result<Value, DeepError> {
    let filled = Filled::of(&http.headers, call.lookup)?;
    call.tries(http.retries, || client::send(call, &http.url, http.method, &filled, body))
}
