//! The alert rules of packs.

use std::collections::BTreeSet;

use midrail_pack::{AlertCondition, AlertRule, PolicySource};

/// An alert rule of a pack with its parsed condition.
#[derive(Debug, Clone)]
pub(crate) struct AlertWatch {
    pub(crate) rule: AlertRule,
    pub(crate) condition: AlertCondition,
}

impl AlertWatch {
    /// The alerts of all packs. Of two with the same name, the one of the higher layer counts.
    pub(crate) fn from_packs(source: &PolicySource) -> Vec<AlertWatch> {
        let mut names = BTreeSet::new();
        let rules = source.0.iter().flat_map(|layered| &layered.pack.alerts);
        rules
            .filter(|rule| names.insert(rule.name.as_str()))
            .filter_map(|rule| {
                Some(AlertWatch { rule: rule.clone(), condition: AlertCondition::parse(&rule.condition)? })
            })
            .collect()
    }
}
