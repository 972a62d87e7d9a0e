//! Results that are too long for a model are shown by their beginning. The whole of them is on record.

use midrail_core::{Context, Effect, Fault, Guardrail, Redaction, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultLimit {
    /// Characters that a result may have.
    #[schemars(range(min = 1))]
    pub max_chars: usize,
    /// Characters that are shown of a longer one.
    pub preview_chars: usize,
}

impl Default for ResultLimit {
    fn default() -> Self {
        ResultLimit { max_chars: 50_000, preview_chars: 500 }
    }
}

impl Guardrail for ResultLimit {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let content = context.event.result.as_ref().and_then(|result| result.content.as_ref());
        let text = match content {
            None | Some(Value::Null) => return Ok(Verdict::allow()),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        // Bytes are never fewer than characters, and quicker to count.
        if text.len() <= self.max_chars {
            return Ok(Verdict::allow());
        }
        let length = text.chars().count();
        if length <= self.max_chars {
            return Ok(Verdict::allow());
        }
        let shown = self.preview_chars.min(self.max_chars);
        let start = text.char_indices().nth(shown).map_or(text.len(), |(at, _)| at);
        let more = length.saturating_sub(shown);
        let reason = format!("the result has {length} characters, and {} are the limit", self.max_chars);
        let replacement = format!(
            "\n[{more} more characters are withheld. The whole result is on record. Ask for less: a part of the \
             file, a narrower search.]"
        );
        // A part that is taken out, so that a secret across the cut is taken out whole.
        let redactions = vec![Redaction { start, end: text.len(), replacement }];
        Ok(Verdict { redactions, ..Verdict::new(Effect::Redact, reason) })
    }

    fn ceiling(&self) -> Effect {
        Effect::Redact
    }

    fn summary(&self) -> Option<String> {
        Some(format!("Results of more than {} characters are cut short.", self.max_chars))
    }
}
