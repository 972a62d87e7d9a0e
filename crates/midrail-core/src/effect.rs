//! The effects that a guardrail can request, weakest first.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An effect. A decision has the highest effect that any guardrail requested.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Allow the action. May carry a note for the log or feedback for the agent.
    #[default]
    Allow,
    /// Allow the action with a warning to the agent. Counted per guardrail and task.
    Warn,
    /// Allow the action with parts of the text replaced.
    Redact,
    /// Allow the call in a sandbox that the operating system enforces.
    Contain,
    /// Reject the action: the agent gets guidance and retries.
    Retry,
    /// Hold the action until an approver decides.
    Escalate,
    /// Block the action.
    Block,
    /// End the run with a message for the user.
    Halt,
}

impl Effect {
    /// All effects, weakest first.
    pub const LADDER: [Effect; 8] = [
        Effect::Allow,
        Effect::Warn,
        Effect::Redact,
        Effect::Contain,
        Effect::Retry,
        Effect::Escalate,
        Effect::Block,
        Effect::Halt,
    ];

    /// The name in packs and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Warn => "warn",
            Effect::Redact => "redact",
            Effect::Contain => "contain",
            Effect::Retry => "retry",
            Effect::Escalate => "escalate",
            Effect::Block => "block",
            Effect::Halt => "halt",
        }
    }

    /// Whether the action is allowed, possibly with its text changed or in a sandbox.
    pub fn allows(self) -> bool {
        self <= Effect::Contain
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The name of an unknown effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown effect `{0}`")]
pub struct UnknownEffect(pub String);

impl FromStr for Effect {
    type Err = UnknownEffect;

    /// Accepts the names of effects and those of every dialect (`deny`, `STOP`, `PAUSE`, `pass`, `log`).
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.to_ascii_lowercase().as_str() {
            "allow" | "pass" | "log" => Ok(Effect::Allow),
            "warn" => Ok(Effect::Warn),
            "redact" => Ok(Effect::Redact),
            "contain" => Ok(Effect::Contain),
            "retry" => Ok(Effect::Retry),
            "escalate" | "pause" => Ok(Effect::Escalate),
            "block" | "deny" => Ok(Effect::Block),
            "halt" | "stop" => Ok(Effect::Halt),
            _ => Err(UnknownEffect(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladder_is_ascending_and_every_word_reads_back() {
        assert!(Effect::LADDER.is_sorted());
        for effect in Effect::LADDER {
            assert_eq!(effect.as_str().parse(), Ok(effect));
        }
    }

    #[test]
    fn dialect_words_map_to_the_ladder() {
        assert_eq!("STOP".parse(), Ok(Effect::Halt));
        assert_eq!("PAUSE".parse(), Ok(Effect::Escalate));
        assert_eq!("deny".parse(), Ok(Effect::Block));
        assert_eq!("explode".parse::<Effect>(), Err(UnknownEffect("explode".into())));
    }
}
