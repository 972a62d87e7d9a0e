//! test-pass (quality-003): escalates if the tests do not pass.

use crate::prelude::*;
use crate::shared::required_command::{CommandPurpose, CommandRequirement};

pub(crate) const BUILTIN: Builtin = QUALITY
    .builtin::<TestPass>("quality-003", &[EventKind::BeforeHandoff, EventKind::BeforeStop])
    .aliases(&["test_pass_required"])
    .supports(EventKind::ALL);

/// The settings of test-pass.
pub(crate) type TestPass = CommandRequirement<TestCommand>;

/// A command that runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestCommand;

impl CommandPurpose for TestCommand {
    const EFFECT: Effect = Effect::Escalate;
    const WRONG: &'static str = "The tests do not pass";
    const UNKNOWN: &'static str = "No test command is configured, so the result is unknown.";
    const ADVICE: (&'static str, &'static str) = ("Make ", " pass, then try again.");
    const SUMMARY: &'static str = "The tests must pass";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::Event;
    use midrail_core::EventKind;
    use serde_json::json;
    use std::sync::Arc;

    fn run_of(settings: serde_json::Value) -> Run {
        let guardrail: TestPass = serde_json::from_value(settings).unwrap();
        Run::on(Arc::new(guardrail), vec![EventKind::BeforeStop])
    }

    fn stop() -> Event {
        Event::new(EventKind::BeforeStop)
    }

    #[test]
    fn failing_tests_escalate_with_the_end_of_their_output() {
        let mut run = run_of(json!({"run": "make test"}));
        run.ends("make test", 2, &format!("{}\nassertion failed\n", "noise\n".repeat(2_000)));
        let decision = run.decide(&stop());
        assert_eq!(decision.effect, Effect::Escalate);
        assert!(decision.reason.contains("`make test` exited with code 2"), "{}", decision.reason);
        assert!(decision.reason.ends_with("assertion failed"), "{}", decision.reason);
        assert!(decision.reason.len() < 2_300, "{}", decision.reason.len());
        assert_eq!(decision.metadata.get("exit_code"), Some(&json!(2)));
    }

    #[test]
    fn runs_again_only_when_files_changed() {
        let mut run = run_of(json!({"run": "make test"}));
        run.ends("make test", 0, "fine");
        assert_eq!(run.decide(&stop()).effect, Effect::Allow);
        // It would fail now, but does not run because nothing has changed.
        run.ends("make test", 1, "broken");
        assert_eq!(run.decide(&stop()).effect, Effect::Allow);
        run.tree("1");
        let decision = run.decide(&stop());
        assert_eq!(decision.effect, Effect::Escalate);
        assert!(!decision.reason.contains("have not changed"), "{}", decision.reason);
        // A failure is reported again without a run.
        run.ends("make test", 0, "fine");
        let decision = run.decide(&stop());
        assert_eq!(decision.effect, Effect::Escalate);
        assert!(decision.reason.contains("have not changed since") && decision.reason.contains("broken"));
        run.tree("2");
        assert_eq!(run.decide(&stop()).effect, Effect::Allow);
    }

    #[test]
    fn runs_every_time_without_files() {
        let mut run = run_of(json!({"run": "make test", "files": []}));
        run.ends("make test", 0, "");
        assert_eq!(run.decide(&stop()).effect, Effect::Allow);
        run.ends("make test", 1, "");
        assert_eq!(run.decide(&stop()).effect, Effect::Escalate);
    }

    #[test]
    fn timeout_is_not_stored_and_fails_closed() {
        let mut run = run_of(json!({"run": "make test"}));
        let decision = run.decide(&stop());
        assert_eq!(decision.effect, Effect::Block);
        assert!(decision.reason.contains("did not end in time"), "{}", decision.reason);
        run.ends("make test", 0, "");
        assert_eq!(run.decide(&stop()).effect, Effect::Allow);
    }

    #[test]
    fn signal_is_a_failure() {
        let outcome = midrail_core::CommandOutcome { exit_code: None, ..Default::default() };
        let mut run = run_of(json!({"run": "make test"}));
        run.ends_as("make test", outcome);
        let decision = run.decide(&stop());
        assert_eq!(decision.effect, Effect::Escalate);
        assert!(decision.reason.contains("was ended by a signal"), "{}", decision.reason);
    }

    #[test]
    fn missing_command_escalates() {
        let decision = run_of(json!({})).decide(&stop());
        assert_eq!(decision.effect, Effect::Escalate);
        assert!(decision.reason.starts_with("No test command is configured"), "{}", decision.reason);
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (settings, part) in [
            (json!({"run": " "}), "the command is empty"),
            (json!({"run": "x", "timeout": "never"}), "a duration such as"),
            (json!({"run": "x", "files": ["src/["]}), "the pattern `src/[`"),
            (json!({"run": "x", "file": []}), "unknown field `file`"),
        ] {
            let error = serde_json::from_value::<TestPass>(settings).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
