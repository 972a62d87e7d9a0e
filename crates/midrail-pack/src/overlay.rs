//! Overlays by environment: a deep merge of trees.
//!
//! Maps are merged key by key. Lists of maps with an `id` are merged by that id, and new ones are added at the end.
//! Every other list, and every scalar, is replaced.

use crate::yaml::{Node, NodeValue};

/// The environments that a pack has overlays for.
pub(crate) fn names(pack: &Node) -> Vec<String> {
    let overlays = pack.get("env").and_then(Node::as_map).unwrap_or_default();
    overlays.iter().map(|(key, _)| key.text.clone()).collect()
}

/// The pack with the overlay of an environment merged in. Without one, the pack as it is.
pub(crate) fn apply(pack: &Node, env: &str) -> Node {
    match pack.get("env").and_then(|overlays| overlays.get(env)) {
        Some(overlay) => merged(pack, overlay),
        None => pack.clone(),
    }
}

/// What comes of both has the place of the base, so that what the base lacks is told there; what the overlay says has
/// its own.
fn merged(base: &Node, overlay: &Node) -> Node {
    let value = match (&base.value, &overlay.value) {
        (NodeValue::Map(base), NodeValue::Map(overlay)) => {
            let mut map = base.clone();
            for (key, value) in overlay {
                match map.iter_mut().find(|(known, _)| known.text == key.text) {
                    Some((_, known)) => *known = merged(known, value),
                    None => map.push((key.clone(), value.clone())),
                }
            }
            NodeValue::Map(map)
        }
        (NodeValue::List(base), NodeValue::List(overlay))
            if !overlay.is_empty() && overlay.iter().all(has_id) =>
        {
            let mut list = base.clone();
            for item in overlay {
                match list.iter_mut().find(|known| id(known) == id(item)) {
                    Some(known) => *known = merged(known, item),
                    None => list.push(item.clone()),
                }
            }
            NodeValue::List(list)
        }
        _ => return overlay.clone(),
    };
    Node { span: base.span.clone(), value }
}

fn has_id(item: &Node) -> bool {
    item.as_map().is_some() && id(item).is_some()
}

/// The id of a list's item: its `id`, or the built-in that it uses, or itself where it is a bare name.
fn id(item: &Node) -> Option<&str> {
    item.get("id").or_else(|| item.get("use")).unwrap_or(item).as_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Limits, parse, to_json};
    use serde_json::json;

    #[test]
    fn maps_merge_lists_with_ids_merge_and_other_lists_are_replaced() {
        let source = "pack: p\nguardrails:\n  - {id: a, effect: warn}\n  - {id: b, tools: [x, y]}\nenv:\n  prod:\n    guardrails:\n      - {id: b, tools: [z]}\n      - {id: c}\n    mode: enforce\n";
        let node = parse(source, &Limits::default()).unwrap().remove(0);
        let value = to_json(&apply(&node, "prod"));
        assert_eq!(
            value["guardrails"],
            json!([{"id": "a", "effect": "warn"}, {"id": "b", "tools": ["z"]}, {"id": "c"}])
        );
        assert_eq!(value["mode"], json!("enforce"));
        assert_eq!(to_json(&apply(&node, "dev"))["mode"], json!(null));
    }
}
