//! result-limit: shortens results that are too long for a model.

use midrail_core::Redaction;
use serde_json::Value;

use crate::prelude::*;
use crate::shared::text::plain_text;

pub(crate) const BUILTIN: Builtin = Builtin {
    redacts: true,
    ..Builtin::new::<ResultLimit>("result-limit", Category::Quality, 60, &[EventKind::AfterTool])
        .aliases(&["observation_clamp"])
};

/// The settings of result-limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResultLimit {
    /// Maximum length of a result.
    #[schemars(range(min = 1))]
    pub max_chars: usize,
    /// Characters shown of a longer result.
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
            Some(content) => plain_text(content),
        };
        // The byte length is an upper bound and cheaper than counting characters.
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
        let reason = format!("the result has {length} characters, and the limit is {}", self.max_chars);
        let replacement = format!(
            "\n[{more} more characters were withheld. The audit record has the whole result. Request less: a part of the \
             file, or a narrower search.]"
        );
        // A redaction, so that a secret across the cut is removed completely.
        let redactions = vec![Redaction::new(start, text.len(), replacement)];
        Ok(Verdict { redactions, ..Verdict::new(Effect::Redact, reason) })
    }

    fn max_effect(&self) -> Effect {
        Effect::Redact
    }

    fn summary(&self) -> Option<String> {
        Some(format!("Results with more than {} characters are shortened.", self.max_chars))
    }
}
