//! A question to any endpoint that takes and answers JSON.

use midrail_guardrails::HttpQuestion;
use serde_json::Value;

use super::client::{self, Filled};
use super::wire::Call;

/// Sends what was filled in, and gives the answer as it comes.
pub(super) fn ask(call: &Call<'_>, http: &HttpQuestion, body: &Value) -> Result<Value, String> {
    let filled = Filled::of(&http.headers, call.lookup)?;
    call.tries(http.retries, || client::send(call, &http.url, http.method, &filled, body))
}
