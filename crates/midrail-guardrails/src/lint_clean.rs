//! lint-clean (quality-004): warns if the linter does not pass.

use crate::prelude::*;
use crate::shared::required_command::{CommandPurpose, CommandRequirement};

pub(crate) const BUILTIN: Builtin = QUALITY
    .builtin::<LintClean>("quality-004", &[EventKind::BeforeHandoff, EventKind::BeforeStop])
    .supports(EventKind::ALL);

/// The settings of lint-clean.
pub(crate) type LintClean = CommandRequirement<LintCommand>;

/// A command that runs the linter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LintCommand;

impl CommandPurpose for LintCommand {
    const EFFECT: Effect = Effect::Warn;
    const WRONG: &'static str = "The linter failed";
    const UNKNOWN: &'static str = "No lint command is configured, so the result is unknown.";
    const ADVICE: (&'static str, &'static str) = ("Fix the problems that ", " reports.");
    const SUMMARY: &'static str = "The linter must pass";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::json;

    #[test]
    fn lint_errors_warn_until_the_files_change() {
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
