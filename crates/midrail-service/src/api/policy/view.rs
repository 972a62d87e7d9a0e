//! The API's view of a guardrail.

use std::collections::BTreeMap;

use midrail::core::Category;
use midrail::pack::raw::Guard;
use midrail::{Effect, EventKind, Mode, Policy, PolicyEntry, PolicySource, Tools};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A guardrail of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct GuardrailView {
    /// Its id.
    pub(crate) id: String,
    /// What it protects against.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// Lower runs first.
    pub(crate) priority: u32,
    /// Breaks ties of priority.
    pub(crate) category: Category,
    /// Its strongest effect.
    pub(crate) effect: Effect,
    /// `shadow`: it is not enforced.
    pub(crate) mode: Mode,
    /// The kinds of event that it evaluates.
    pub(crate) on: Vec<EventKind>,
    /// The tools that it evaluates. Absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// The role that its escalations are addressed to.
    pub(crate) approver: String,
    /// It cannot be disabled.
    pub(crate) always_on: bool,
    /// The file of the pack that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pack: Option<String>,
    /// Its other settings in the pack.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) settings: Map<String, Value>,
}

/// The id under which a pack names a guardrail.
pub(crate) fn id(guard: &Guard) -> Option<String> {
    guard.id.clone().or_else(|| guard.uses.clone())
}

/// The guardrails of a policy, in the order of the chain.
pub(crate) fn guardrails(policy: &Policy, source: &PolicySource) -> Vec<GuardrailView> {
    // If several packs declare a guardrail, the lowest layer is the last.
    let mut declared: BTreeMap<String, (String, &Guard)> = BTreeMap::new();
    for layered in &source.0 {
        for guard in &layered.pack.guardrails {
            if let Some(id) = id(guard) {
                let id = midrail::guardrails::builtin(&id).map_or(id, |page| page.id.to_owned());
                declared.insert(id, (layered.path.clone(), guard));
            }
        }
    }
    policy.entries().iter().map(|entry| view(entry, declared.get(&*entry.spec.id))).collect()
}

fn view(
    PolicyEntry { spec, guardrail, .. }: &PolicyEntry,
    declared: Option<&(String, &Guard)>,
) -> GuardrailView {
    let tools = match (&spec.tools, guardrail.tools()) {
        (Tools::Only(names), _) => Some(names.clone()),
        (Tools::All, Tools::Only(names)) => Some(names),
        (Tools::All, Tools::All) => None,
    };
    GuardrailView {
        id: spec.id.to_string(),
        description: spec.description.clone(),
        priority: spec.priority,
        category: spec.category,
        effect: spec.effect.unwrap_or_else(|| guardrail.default_effect()),
        mode: spec.mode,
        on: spec.on.clone(),
        tools,
        approver: spec.approver.clone(),
        always_on: spec.always_on,
        pack: declared.map(|(path, _)| path.clone()),
        settings: declared.map(|(_, guard)| settings(guard)).unwrap_or_default(),
    }
}

fn settings(guard: &Guard) -> Map<String, Value> {
    let Ok(Value::Object(mut settings)) = serde_json::to_value(guard) else { return Map::new() };
    for name in ["id", "description", "priority", "category", "effect", "mode", "on", "tools", "approver"] {
        settings.remove(name);
    }
    settings
}
