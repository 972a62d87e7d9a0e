//! rehearsal: fails on purpose, so that people can see the effect of a failing guardrail.

use crate::prelude::*;

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<Rehearsal>("rehearsal", Category::Quality, 99, &[EventKind::BeforeTool])
        .supports(EventKind::ALL);

/// The settings of rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rehearsal {
    /// The kind of failure.
    pub fail: FailureMode,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailureMode {
    /// It returns an error.
    #[default]
    Error,
    /// It panics.
    Panic,
    /// It lacks a required fact.
    Missing,
}

impl Guardrail for Rehearsal {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        match self.fail {
            FailureMode::Error => Err(Fault::Failed("this is a rehearsal".to_owned())),
            FailureMode::Missing => Err(Missing("this is a rehearsal".to_owned()).into()),
            // A panic that does not run the panic hook.
            FailureMode::Panic => std::panic::resume_unwind(Box::new("this is a rehearsal")),
        }
    }

    fn max_effect(&self) -> Effect {
        Effect::Allow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::json;

    #[test]
    fn every_failure_blocks_with_its_reason() {
        for (fail, part) in [
            ("error", "`under-test` failed: this is a rehearsal"),
            ("panic", "it panicked: this is a rehearsal"),
            ("missing", "could not be checked: this is a rehearsal"),
        ] {
            let guardrail: Rehearsal = serde_json::from_value(json!({"fail": fail})).unwrap();
            let decision = Run::of(guardrail).before("t", json!({}));
            assert_eq!(decision.effect, Effect::Block);
            assert!(decision.reason.contains(part), "{}", decision.reason);
        }
        assert!(serde_json::from_value::<Rehearsal>(json!({"fail": "unknown"})).is_err());
    }
}
