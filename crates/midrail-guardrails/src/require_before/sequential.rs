//! Requires all prerequisites of a tool to have succeeded before it is called.

use std::collections::BTreeMap;

use midrail_core::{Tools, glob};
use serde_json::json;

use crate::prelude::*;

/// The prerequisites of tools. Both sides are names or glob patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequentialDependency {
    /// Maps a restricted tool to its prerequisites, all of which are needed.
    pub dependencies: BTreeMap<String, Vec<String>>,
}

impl SequentialDependency {
    /// A rule for one tool.
    pub fn new<S: Into<String>>(tool: impl Into<String>, requires: impl IntoIterator<Item = S>) -> Self {
        let requires = requires.into_iter().map(Into::into).collect();
        SequentialDependency { dependencies: BTreeMap::from([(tool.into(), requires)]) }
    }

    fn prerequisites(&self) -> impl Iterator<Item = &String> {
        self.dependencies.values().flatten()
    }
}

impl Guardrail for SequentialDependency {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let tool = context.tool()?;
        let required = self
            .dependencies
            .iter()
            .filter(|(gated, _)| glob::name_matches(gated, tool))
            .flat_map(|(_, needs)| needs);
        let mut missing = Vec::new();
        let mut unknown = None;
        for prerequisite in required {
            // Request all slices before the first one is missing, so that they are loaded together.
            match done_key(context, prerequisite).exists(context) {
                Ok(true) => {}
                Ok(false) => missing.push(prerequisite.as_str()),
                Err(error) => unknown = Some(error),
            }
        }
        if let Some(error) = unknown {
            return Err(error.into());
        }
        if missing.is_empty() {
            return Ok(Verdict::allow());
        }
        missing.sort_unstable();
        missing.dedup();
        let list = missing.join(", ");
        Ok(Verdict::block(format!("Tool '{tool}' requires prior invocation of: {list}"))
            .advise(format!("Call {list} first, then call {tool} again."))
            .with("tool", tool)
            .with("missing", json!(missing)))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(tool) = context.event.tool_name() else { return Ok(()) };
        if context.succeeded(effect)? {
            for prerequisite in self.prerequisites().filter(|pattern| glob::name_matches(pattern, tool)) {
                done_key(context, prerequisite).write(changes, &true)?;
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        Tools::only(self.dependencies.keys().chain(self.prerequisites()).cloned())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let rules: Vec<String> = self
            .dependencies
            .iter()
            .map(|(tool, requires)| {
                format!("Before you call {tool}, these must have succeeded: {}.", requires.join(", "))
            })
            .collect();
        Some(rules.join(" "))
    }
}

/// The slice that records that a prerequisite succeeded.
fn done_key(context: &Context<'_>, prerequisite: &str) -> Key<bool> {
    Key::own(context, &format!("ok/{prerequisite}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;

    fn run() -> Run {
        let dependencies = BTreeMap::from([
            ("deploy".to_owned(), vec!["test".to_owned(), "build".to_owned()]),
            ("build".to_owned(), vec!["lint".to_owned()]),
        ]);
        Run::of(SequentialDependency { dependencies })
    }

    #[test]
    fn all_prerequisites_are_needed() {
        let mut run = run();
        let decision = run.before("deploy", json!({}));
        assert_eq!(decision.effect, Effect::Block);
        assert_eq!(decision.reason, "Tool 'deploy' requires prior invocation of: build, test");
        run.succeed("lint", json!({}));
        assert_eq!(run.before("build", json!({})).effect, Effect::Allow);
        run.succeed("build", json!({}));
        assert_eq!(run.before("deploy", json!({})).metadata["missing"], json!(["test"]));
        run.succeed("test", json!({}));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Allow);
    }

    #[test]
    fn failed_and_denied_calls_never_count() {
        let mut run = run();
        run.fail("lint", json!({}));
        assert_eq!(run.before("build", json!({})).effect, Effect::Block);
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Block);
    }

    #[test]
    fn other_tools_are_allowed() {
        assert_eq!(run().before("unrelated_tool", json!({})).effect, Effect::Allow);
    }

    #[test]
    fn patterns_are_allowed_on_both_sides() {
        let mut run = Run::of(SequentialDependency::new("deploy_*", ["test_*"]));
        assert_eq!(run.before("deploy_prod", json!({})).effect, Effect::Block);
        run.succeed("test_unit", json!({}));
        assert_eq!(run.before("deploy_prod", json!({})).effect, Effect::Allow);
    }
}
