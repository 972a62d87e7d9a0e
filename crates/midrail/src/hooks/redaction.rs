//! Removes secrets from what scripts return: texts get tags in their place, and variables are sealed. Tags in variables
//! would change the state of a script.

use std::sync::Arc;

use midrail_core::{HookAnswer, HookOutcome};
use midrail_guardrails::MODULE_STATE;
use midrail_scan::secrets;
use serde_json::Value;

use super::HookContext;
use crate::error::Unavailable;
use crate::seal;

/// The prefix of sealed variables. Unsealed ones are JSON, which starts with a brace.
const SEALED: &str = "sealed:";

/// The most characters of a text of a script.
const MAX_SHOWN: usize = 4_000;

impl HookContext<'_> {
    /// A text of a script without secrets. It is shortened last, because half a secret is not recognized.
    pub(super) fn shown(&self, text: &str) -> String {
        let text = self.engine.masked_text(self.mask.text(text).trim());
        match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
            None => text,
        }
    }

    /// The outcome of a hook without secrets. Variables that were sealed stay so.
    pub(super) fn redact(
        &self,
        script: &Arc<str>,
        mut end: HookOutcome,
        is_sealed: bool,
    ) -> Result<HookOutcome, Unavailable> {
        if let HookAnswer::Refuse { message, suggestion, request } = &mut end.answer {
            *message = self.shown(message);
            *suggestion = suggestion.take().map(|text| self.shown(&text));
            if let Some(request) = request {
                request.reason = self.shown(&request.reason);
            }
        }
        for checksum in end.snapshot.values_mut().flatten() {
            *checksum = self.shown(checksum);
        }
        if let Some(state) = &end.state
            && (is_sealed || !self.mask.is_empty() || self.holds_secrets(state))
        {
            match self.sealed(script, state) {
                Ok(sealed) => end.state = Some(sealed),
                Err(why) if end.answer == HookAnswer::Pass => return Err(why),
                Err(why) => {
                    end = HookOutcome {
                        answer: end.answer,
                        failure: Some(why.to_string()),
                        ..HookOutcome::pass()
                    }
                }
            }
        }
        end.failure = end.failure.map(|why| self.shown(&why));
        Ok(end)
    }

    fn holds_secrets(&self, state: &Value) -> bool {
        !secrets::scan_json(state, self.engine.fingerprint_key()).is_empty()
    }

    fn sealed(&self, script: &Arc<str>, state: &Value) -> Result<Value, Unavailable> {
        let text = state.as_str().map_or_else(|| state.to_string(), str::to_owned);
        let sealed = seal::seal(self.engine.fingerprint_key(), &place(script), text.as_bytes());
        sealed.map(|sealed| Value::from(SEALED.to_owned() + &sealed)).ok_or_else(|| {
            format!("the variables of `{script}` hold a secret and could not be sealed, so they are not kept")
                .into()
        })
    }

    /// The variables of a script, and whether they were sealed.
    pub(super) fn opened(&self, script: &Arc<str>, slice: Value) -> Result<(String, bool), Unavailable> {
        let text = match slice {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let Some(sealed) = text.strip_prefix(SEALED) else { return Ok((text, false)) };
        let opened = seal::open(self.engine.fingerprint_key(), &place(script), sealed);
        let opened = opened.and_then(|bytes| String::from_utf8(bytes).ok());
        opened.map(|text| (text, true)).ok_or_else(|| {
            format!("the variables of `{script}` were sealed with another key than that of this store").into()
        })
    }
}

/// The place that variables are sealed for.
fn place(script: &Arc<str>) -> String {
    [&**script, "/", MODULE_STATE].concat()
}
