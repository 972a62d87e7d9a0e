//! command: runs a command of the pack and blocks unless it exits with 0.

use crate::prelude::*;
use crate::shared::durations::Timeout;
use crate::shared::required_command::RequiredCommand;
use crate::shared::settings::{CommandLine, Pattern};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<CommandCheck>("command", Category::Compliance, 95, &[EventKind::BeforeTool])
        .supports(EventKind::ALL);

/// The settings of command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandCheck {
    /// The command line.
    pub run: CommandLine,
    /// The time limit.
    #[serde(default = "Timeout::seconds::<30>")]
    pub timeout: Timeout,
    /// Relevant files. The command runs if one of them changed since the last run; empty: every time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Pattern>,
}

impl CommandCheck {
    fn required(&self) -> RequiredCommand<'_> {
        RequiredCommand {
            run: &self.run,
            timeout: self.timeout,
            files: &self.files,
            tries_again: false,
            effect: Effect::Block,
            wrong: "A check of this project failed",
            advice: format!("Make `{}` succeed, then try again.", self.run.0),
        }
    }
}

impl Guardrail for CommandCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        self.required().verdict(context)
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.required().observe(context, changes)
    }

    fn observes(&self) -> &[EventKind] {
        if self.files.is_empty() { &[] } else { EventKind::ALL }
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(format!("This check must succeed: `{}`.", self.run.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::json;

    fn run_of(settings: serde_json::Value) -> Run {
        Run::of(serde_json::from_value::<CommandCheck>(settings).unwrap())
    }

    #[test]
    fn exit_code_decides_every_time() {
        let mut run = run_of(json!({"run": "./ok"}));
        run.ends("./ok", 0, "ignored");
        let decision = run.before("t", json!({}));
        assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Allow, ""));
        run.ends("./ok", 7, "why");
        let decision = run.before("t", json!({}));
        assert_eq!(decision.effect, Effect::Block);
        assert!(decision.reason.contains("`./ok` exited with code 7") && decision.reason.ends_with("why"));
    }

    #[test]
    fn runs_only_when_files_changed() {
        let mut run = run_of(json!({"run": "./ok", "files": ["src/**"]}));
        run.ends("./ok", 0, "");
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
        run.ends("./ok", 1, "");
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
        run.tree("1");
        assert_eq!(run.before("t", json!({})).effect, Effect::Block);
    }

    #[test]
    fn timeout_fails_closed() {
        assert_eq!(
            run_of(json!({"run": "sleep 9", "timeout": "50ms"})).before("t", json!({})).effect,
            Effect::Block
        );
    }
}
