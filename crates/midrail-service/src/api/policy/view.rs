//! The API's view of a guardrail, and the differences between two policies.

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

/// The differences between two policies.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The first revision.
    pub(crate) from: String,
    /// The second revision.
    pub(crate) to: String,
    /// Guardrails of the second policy only.
    pub(crate) added: Vec<GuardrailView>,
    /// Guardrails of the first policy only.
    pub(crate) removed: Vec<GuardrailView>,
    /// Guardrails that differ.
    pub(crate) changed: Vec<Changed>,
}

/// A guardrail that differs.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Changed {
    /// Its id.
    pub(crate) id: String,
    /// The fields that differ.
    pub(crate) fields: BTreeMap<String, FromTo>,
}

/// A value before and after.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FromTo {
    /// In the first policy.
    pub(crate) from: Value,
    /// In the second policy.
    pub(crate) to: Value,
}

/// Compares two policies, each with its revision.
pub(crate) fn difference(
    (from, before): (String, Vec<GuardrailView>),
    (to, after): (String, Vec<GuardrailView>),
) -> Difference {
    let by_id = |views: Vec<GuardrailView>| -> BTreeMap<String, GuardrailView> {
        views.into_iter().map(|view| (view.id.clone(), view)).collect()
    };
    let (mut before, after) = (by_id(before), by_id(after));
    let mut difference = Difference { from, to, added: Vec::new(), removed: Vec::new(), changed: Vec::new() };
    for (id, new) in after {
        match before.remove(&id) {
            None => difference.added.push(new),
            Some(old) if old == new => {}
            Some(old) => {
                let fields = fields(&old, &new);
                if !fields.is_empty() {
                    difference.changed.push(Changed { id, fields });
                }
            }
        }
    }
    difference.removed.extend(before.into_values());
    difference
}

fn fields(old: &GuardrailView, new: &GuardrailView) -> BTreeMap<String, FromTo> {
    let (mut old, mut new) = (flat(old), flat(new));
    // The location of the pack is not part of its content.
    old.remove("pack");
    new.remove("pack");
    let names: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    let mut fields = BTreeMap::new();
    for name in names {
        let (from, to) = (old.get(&name).cloned(), new.get(&name).cloned());
        if from != to {
            fields.insert(name, FromTo { from: from.unwrap_or_default(), to: to.unwrap_or_default() });
        }
    }
    fields
}

/// The fields, with each setting as a separate field.
fn flat(view: &GuardrailView) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(view) else { return Map::new() };
    if let Some(Value::Object(settings)) = fields.remove("settings") {
        fields.extend(settings.into_iter().map(|(name, value)| (format!("settings.{name}"), value)));
    }
    fields
}

#[cfg(test)]
mod tests {
    use midrail::Load;
    use serde_json::json;

    use super::*;

    fn views(text: &str) -> Vec<GuardrailView> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.yaml");
        std::fs::write(&path, text).unwrap();
        let loaded = Load { packs: vec![path], ..Load::default() }.load().unwrap();
        guardrails(&loaded.policy, &loaded.source)
    }

    #[test]
    fn policies_are_compared_by_guardrail() {
        let one = views(
            "pack: p\nguardrails:\n  - {id: a, tools: x}\n  - {id: b, tools: y, when: \"true\"}\n  - {id: same, tools: z}\n",
        );
        let other = views(
            "pack: p\nguardrails:\n  - {id: b, tools: y, effect: warn, when: \"false\"}\n  - {id: c, tools: x}\n  - {id: same, tools: z}\n",
        );
        let found = difference(("1".to_owned(), one), ("2".to_owned(), other));
        let ids = |views: &[GuardrailView]| views.iter().map(|view| view.id.clone()).collect::<Vec<_>>();
        assert_eq!((ids(&found.added), ids(&found.removed)), (vec!["c".to_owned()], vec!["a".to_owned()]));
        assert_eq!(found.changed.len(), 1);
        let fields = &found.changed[0].fields;
        assert_eq!(fields["effect"], FromTo { from: json!("block"), to: json!("warn") });
        assert_eq!(fields["settings.when"], FromTo { from: json!("true"), to: json!("false") });
        assert_eq!(fields.len(), 2, "{fields:?}");
    }
}
