//! rehearsal: fails on purpose, so that people can see what a failing guardrail leads to.

use midrail_core::{Context, Effect, Fault, Guardrail, Missing, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rehearsal {
    /// How it fails.
    pub fail: Failing,
}

/// How a guardrail can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Failing {
    /// It says that it failed.
    #[default]
    Error,
    /// It crashes.
    Panic,
    /// It lacks something that it needs to know.
    Missing,
}

impl Guardrail for Rehearsal {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        match self.fail {
            Failing::Error => Err(Fault::Failed("this is a rehearsal".to_owned())),
            Failing::Missing => Err(Missing("this is a rehearsal".to_owned()).into()),
            // A crash like any other, but for the alarm of the program that it runs in.
            Failing::Panic => std::panic::resume_unwind(Box::new("this is a rehearsal")),
        }
    }

    fn ceiling(&self) -> Effect {
        Effect::Allow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use serde_json::json;

    #[test]
    fn every_failure_is_a_block_that_says_so() {
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
        assert!(serde_json::from_value::<Rehearsal>(json!({"fail": "quietly"})).is_err());
    }
}
