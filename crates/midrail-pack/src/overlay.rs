//! Overlays by environment: a deep merge of trees.
//!
//! Maps are merged key by key. Lists of maps with an `id` are merged by that id, and new items are added at the end; so are
//! guardrails and rules, by their default id if they have none. Every other list, and every scalar, is replaced.

use midrail_guardrails::{FEEDBACK_TITLES as TITLES, guardrail_id};

use crate::compile::to_id;
use crate::yaml::{Node, NodeValue};

/// The environments with overlays.
pub(crate) fn names(pack: &Node) -> Vec<String> {
    let overlays = pack.get("env").and_then(Node::as_map).unwrap_or_default();
    overlays.iter().map(|(key, _)| key.text.clone()).collect()
}

/// The pack with the overlay of an environment, if it has one.
pub(crate) fn apply(pack: &Node, env: &str) -> Node {
    match pack.get("env").and_then(|overlays| overlays.get(env)) {
        Some(overlay) => merged(pack, overlay),
        None => pack.clone(),
    }
}

/// A merged node has the place of the base, so that missing keys are reported there; the values of the overlay have their
/// own place.
fn merged(base: &Node, overlay: &Node) -> Node {
    let value = match (&base.value, &overlay.value) {
        (NodeValue::Map(base), NodeValue::Map(overlay)) => {
            let mut map = base.clone();
            for (key, value) in overlay {
                match map.iter_mut().find(|(known, _)| known.text == key.text) {
                    Some((_, known)) => *known = merged_under(&key.text, known, value),
                    None => map.push((key.clone(), value.clone())),
                }
            }
            NodeValue::Map(map)
        }
        _ => return overlay.clone(),
    };
    Node { span: base.span.clone(), value }
}

fn merged_under(key: &str, base: &Node, overlay: &Node) -> Node {
    let (NodeValue::List(known), NodeValue::List(new)) = (&base.value, &overlay.value) else {
        return merged(base, overlay);
    };
    // A bare name is an item only in a list of guardrails.
    let has_id = |item: &Node| id(item).is_some() && (item.as_map().is_some() || key == "guardrails");
    if new.is_empty() || !new.iter().all(has_id) {
        return overlay.clone();
    }
    let mut list = known.clone();
    for item in new {
        match list.iter_mut().find(|known| id(known) == id(item)) {
            // A bare name does not change an existing guardrail.
            Some(_) if item.as_text().is_some() => {}
            Some(known) => *known = merged(known, item),
            None => list.push(item.clone()),
        }
    }
    Node { span: base.span.clone(), value: NodeValue::List(list) }
}

/// The id of an item: its `id`, its built-in, the bare name, or the kind of rule (as in `compile`).
fn id(item: &Node) -> Option<String> {
    if let Some(id) = item.get("id").or_else(|| item.get("use")).unwrap_or(item).as_text() {
        return Some(guardrail_id(id));
    }
    if let Some(rule) = item.get("require_before") {
        let texts = |name: &str| match rule.get(name) {
            Some(node) => match node.as_list() {
                Some(items) => items.iter().filter_map(Node::as_text).map(str::to_owned).collect(),
                None => node.as_text().map(str::to_owned).into_iter().collect(),
            },
            None => Vec::new(),
        };
        let commands = texts("command").iter().map(|text| to_id(text)).collect::<Vec<String>>();
        let names = [texts("tool"), commands].concat();
        return (!names.is_empty()).then(|| format!("require_before:{}", names.join("+")));
    }
    if let Some(feedback) = item.get("feedback").filter(|feedback| feedback.as_map().is_some()) {
        let name = feedback.get("name").or_else(|| item.get("name")).and_then(Node::as_text);
        let source = || TITLES.iter().find(|(key, _)| feedback.get(key).is_some());
        return name.map(str::to_owned).or_else(|| Some(format!("feedback:{}", source()?.0)));
    }
    let kinds = ["read_before_write", "sequential", "keyed", "completion"];
    kinds.iter().find(|kind| item.get(kind).is_some()).map(|kind| (*kind).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{parse, to_json};
    use serde_json::json;

    #[test]
    fn maps_merge_lists_with_ids_merge_and_other_lists_are_replaced() {
        let source = "pack: p\nguardrails:\n  - {id: a, effect: warn}\n  - {id: b, tools: [x, y]}\nenv:\n  prod:\n    guardrails:\n      - {id: b, tools: [z]}\n      - {id: c}\n    mode: enforce\n";
        let node = parse(source).unwrap().remove(0);
        let value = to_json(&apply(&node, "prod"));
        assert_eq!(
            value["guardrails"],
            json!([{"id": "a", "effect": "warn"}, {"id": "b", "tools": ["z"]}, {"id": "c"}])
        );
        assert_eq!(value["mode"], json!("enforce"));
        assert_eq!(to_json(&apply(&node, "dev"))["mode"], json!(null));
    }

    #[test]
    fn guardrails_without_an_id_are_merged_by_their_default_id() {
        let source = "guardrails:\n  - read_before_write\n  - {use: secret-redaction, mode: shadow}\n  - require_before: {tool: deploy, requires: test}\nenv:\n  prod:\n    guardrails:\n      - read_before_write: {new_files: require_read}\n      - secret-redaction\n      - {require_before: {tool: deploy, requires: [test, build]}}\n      - injection-patterns\n";
        let node = parse(source).unwrap().remove(0);
        assert_eq!(
            to_json(&apply(&node, "prod"))["guardrails"],
            json!([
                {"read_before_write": {"new_files": "require_read"}},
                {"use": "secret-redaction", "mode": "shadow"},
                {"require_before": {"tool": "deploy", "requires": ["test", "build"]}},
                "injection-patterns",
            ])
        );
    }

    #[test]
    fn both_spellings_name_the_same_guardrail() {
        let source = "guardrails:\n  - {use: safety-001, mode: shadow}\nenv:\n  prod:\n    guardrails:\n      - {use: destructive-command, mode: enforce}\n";
        let node = parse(source).unwrap().remove(0);
        assert_eq!(
            to_json(&apply(&node, "prod"))["guardrails"],
            json!([{"use": "destructive-command", "mode": "enforce"}])
        );
    }
}
