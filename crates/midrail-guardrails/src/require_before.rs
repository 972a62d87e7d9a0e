//! require_before: several ordering rules under one name. The first denial counts.

pub(crate) mod prerequisites;

use std::sync::Arc;

use midrail_core::Tools;

use crate::builtin::PackKey;
use crate::prelude::*;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Rules,
    ..Builtin::without_settings::<RuleSet>(
        "require_before",
        Category::Compliance,
        61,
        &[EventKind::BeforeTool],
    )
    .aliases(&["sequential_dependency", "keyed_dependency"])
};

/// A policy of several rules, each with its own state.
#[derive(Clone, Default)]
pub struct RuleSet {
    /// The rules, in order.
    pub rules: Vec<Arc<dyn Guardrail>>,
}

impl Guardrail for RuleSet {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let mut strongest = Verdict::allow();
        let mut fault = None;
        for (number, rule) in self.rules.iter().enumerate() {
            match rule.check(&context.part(&number.to_string())) {
                Ok(verdict) if verdict.effect > strongest.effect => strongest = verdict,
                Ok(_) => {}
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        // A denial counts even if other rules are unknown.
        match fault {
            Some(fault) if strongest.effect == Effect::Allow => Err(fault),
            _ => Ok(strongest),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let observe = |(number, rule): (usize, &Arc<dyn Guardrail>)| {
            rule.observe(&context.part(&number.to_string()), effect, changes)
        };
        let outcomes: Vec<_> = self.rules.iter().enumerate().map(observe).collect();
        outcomes.into_iter().collect()
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        let mut names = Vec::new();
        for rule in &self.rules {
            match rule.tools() {
                Tools::All => return Tools::All,
                Tools::Only(more) => names.extend(more),
            }
        }
        Tools::Only(names)
    }

    fn max_effect(&self) -> Effect {
        self.rules.iter().map(|rule| rule.max_effect()).max().unwrap_or_default()
    }

    fn summary(&self) -> Option<String> {
        let rules: Vec<String> = self.rules.iter().filter_map(|rule| rule.summary()).collect();
        (!rules.is_empty()).then(|| rules.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prerequisites;
    use crate::tests::Run;
    use serde_json::json;

    #[test]
    fn first_denial_counts() {
        let rules: Vec<Arc<dyn Guardrail>> = vec![
            Arc::new(Prerequisites::new("deploy", ["build"])),
            Arc::new(Prerequisites::new("deploy", ["test"])),
        ];
        let mut run = Run::of(RuleSet { rules });
        assert!(run.before("deploy", json!({})).reason.ends_with("build"));
        run.succeed("build", json!({}));
        assert!(run.before("deploy", json!({})).reason.ends_with("test"));
        run.succeed("test", json!({}));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Allow);
    }
}
