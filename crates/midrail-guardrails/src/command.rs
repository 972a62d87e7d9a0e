//! command: a command of the pack's own decides. Exit code 0 lets pass, any other objects.

use midrail_core::{Changes, Context, Effect, EventKind, Fault, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ran::{CommandLine, Required, Timeout};
use crate::settings::Pattern;

/// The settings of command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandCheck {
    /// The command.
    pub run: CommandLine,
    /// How long it may take.
    #[serde(default = "thirty_seconds")]
    pub timeout: Timeout,
    /// Files that matter to it. It runs when one of them changed since it last ran; empty: every time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Pattern>,
}

fn thirty_seconds() -> Timeout {
    Timeout::seconds(30)
}

impl CommandCheck {
    fn required(&self) -> Required<'_> {
        Required {
            run: &self.run,
            timeout: self.timeout,
            files: &self.files,
            tries_again: false,
            effect: Effect::Block,
            wrong: "A check of this project objects",
            advice: format!("See to it that `{}` ends well, then try again.", self.run.0),
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

    fn watches(&self) -> &[EventKind] {
        if self.files.is_empty() { &[] } else { EventKind::ALL }
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(format!("A check of this project has to end well: `{}`.", self.run.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use serde_json::json;

    fn run_of(settings: serde_json::Value) -> Run {
        Run::of(serde_json::from_value::<CommandCheck>(settings).unwrap())
    }

    #[test]
    fn the_exit_code_decides_every_time() {
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
    fn with_files_it_runs_when_they_changed() {
        let mut run = run_of(json!({"run": "./ok", "files": ["src/**"]}));
        run.ends("./ok", 0, "");
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
        run.ends("./ok", 1, "");
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
        run.tree("1");
        assert_eq!(run.before("t", json!({})).effect, Effect::Block);
    }

    #[test]
    fn a_run_out_of_time_fails_closed() {
        assert_eq!(
            run_of(json!({"run": "sleep 9", "timeout": "50ms"})).before("t", json!({})).effect,
            Effect::Block
        );
    }
}
