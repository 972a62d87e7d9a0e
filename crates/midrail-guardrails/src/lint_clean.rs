//! quality-004: what the agent changed passes the linter.

use midrail_core::Effect;

use crate::passes::{Passes, Purpose};

/// The settings of quality-004.
pub type LintClean = Passes<Linter>;

/// A command that runs the linter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linter;

impl Purpose for Linter {
    const EFFECT: Effect = Effect::Warn;
    const WRONG: &'static str = "The linter has complaints";
    const UNKNOWN: &'static str =
        "No command is named that checks the style of the code, so nobody knows whether it is clean.";
    const ADVICE: (&'static str, &'static str) = ("Put right what ", " complains about.");
    const SUMMARY: &'static str = "The linter has to be content";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use serde_json::json;

    #[test]
    fn complaints_warn_until_the_files_change() {
        let guardrail: LintClean =
            serde_json::from_value(json!({"run": "make lint", "timeout": "5s"})).unwrap();
        let mut run = Run::of(guardrail);
        run.ends("make lint", 1, "a.rs:1: too long");
        let decision = run.before("t", json!({}));
        assert_eq!(decision.effect, Effect::Warn);
        assert!(decision.reason.contains("a.rs:1: too long"), "{}", decision.reason);
        run.ends("make lint", 0, "");
        assert_eq!(run.before("t", json!({})).effect, Effect::Warn);
        run.tree("1");
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
    }
}
