//! What scripts say and keep, without anything secret in it: texts have tags in its place, and variables are sealed. To put
//! tags into variables would change what a script knows, and whoever chooses what counts as a secret could choose their names.

use std::sync::Arc;

use midrail_core::{HookAnswer, HookEnd};
use midrail_detect::secrets::{self, Mask};
use midrail_guardrails::MODULE;
use serde_json::Value;

use crate::engine::Engine;
use crate::seal;

/// What the text of variables begins with that are sealed. JSON of theirs begins with a brace.
const SEALED: &str = "sealed:";

/// Characters of a text that people and agents are told.
const MAX_TOLD: usize = 4_000;

/// What is known to be secret around a call.
pub(super) struct Discretion<'w> {
    pub(super) engine: &'w Engine,
    /// What was found in the event.
    pub(super) mask: &'w Mask,
}

impl Discretion<'_> {
    /// A text that a script made, of the event or of what it looked at. It is cut last: half a secret is not known for one.
    pub(super) fn told(&self, text: &str) -> String {
        let Ok(told) = self.engine.masked_text(&self.mask.text(text)) else {
            return "a text that could not be looked through for secrets".to_owned();
        };
        match told.char_indices().nth(MAX_TOLD) {
            Some((end, _)) => told.get(..end).unwrap_or_default().to_owned() + "…",
            None => told,
        }
    }

    /// The end of a hook, as others may know it. Variables that were sealed before stay so.
    pub(super) fn of(&self, script: &Arc<str>, mut end: HookEnd, is_sealed: bool) -> Result<HookEnd, String> {
        if let HookAnswer::Refuse { message, suggestion, request } = &mut end.answer {
            *message = self.told(message);
            *suggestion = suggestion.take().map(|text| self.told(&text));
            if let Some(request) = request {
                request.reason = self.told(&request.reason);
            }
        }
        for checksum in end.snapshot.values_mut().flatten() {
            *checksum = self.told(checksum);
        }
        if let Some(state) = &end.state
            && (is_sealed || !self.mask.is_empty() || self.holds_secrets(state))
        {
            match self.sealed(script, state) {
                Ok(sealed) => end.state = Some(sealed),
                Err(why) if end.answer == HookAnswer::Pass => return Err(why),
                Err(why) => end = HookEnd { answer: end.answer, failure: Some(why), ..HookEnd::pass() },
            }
        }
        end.failure = end.failure.map(|why| self.told(&why));
        Ok(end)
    }

    fn holds_secrets(&self, state: &Value) -> bool {
        !secrets::scan_json(state, self.engine.fingerprint_key()).is_empty()
    }

    fn sealed(&self, script: &Arc<str>, state: &Value) -> Result<Value, String> {
        let text = state.as_str().map_or_else(|| state.to_string(), str::to_owned);
        let sealed = seal::seal(self.engine.fingerprint_key(), &place(script), text.as_bytes());
        sealed.map(|sealed| Value::from(SEALED.to_owned() + &sealed)).ok_or_else(|| {
            format!("the variables of `{script}` hold a secret and could not be sealed, so they are not kept")
        })
    }

    /// The variables of a script as it left them, and whether they were sealed.
    pub(super) fn opened(&self, script: &Arc<str>, slice: Value) -> Result<(String, bool), String> {
        let text = match slice {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let Some(sealed) = text.strip_prefix(SEALED) else { return Ok((text, false)) };
        let opened = seal::open(self.engine.fingerprint_key(), &place(script), sealed);
        let opened = opened.and_then(|bytes| String::from_utf8(bytes).ok());
        opened.map(|text| (text, true)).ok_or_else(|| {
            format!("the variables of `{script}` were sealed with another key than that of this store")
        })
    }
}

/// What variables are sealed for.
fn place(script: &Arc<str>) -> String {
    [&**script, "/", MODULE].concat()
}
