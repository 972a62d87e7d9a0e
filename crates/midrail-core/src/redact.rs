//! Replaces parts of a text. Overlapping parts are merged, so that nothing between them leaks.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::inputs::Inputs;
use crate::json_pointer;
use crate::verdict::Redaction;

/// The text with all redactions applied. Spans past the end, reversed, or inside a character are widened to whole characters:
/// more is redacted, never less.
pub fn apply(text: &str, redactions: &[Redaction]) -> String {
    let mut parts: Vec<(usize, usize, &str)> = widened(text, redactions).collect();
    parts.sort_by_key(|&(start, end, _)| (start, std::cmp::Reverse(end)));

    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, replacement) in parts {
        if start < done {
            // It overlaps the part before, whose replacement covers both.
            done = done.max(end);
            continue;
        }
        out.push_str(text.get(done..start).unwrap_or_default());
        out.push_str(replacement);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// The redaction of the whole text of an event, for a guardrail that redacts and names no part. `None`: the event has no
/// text, or a script already replaced it.
pub(crate) fn whole_text(inputs: &Inputs<'_>, guardrail: &str) -> Option<Redaction> {
    if inputs.rewrites.borrow().iter().any(|(_, is_rewritten)| *is_rewritten) {
        return None;
    }
    let event = inputs.event;
    let content = event.result.as_ref().and_then(|result| result.content.as_ref());
    let end = match (content.filter(|content| !content.is_null()), &event.text) {
        (Some(Value::String(content)), _) => content.len(),
        (Some(content), _) => content.to_string().len(),
        (None, text) => text.as_ref()?.len(),
    };
    Some(Redaction::new(0, end, format!("[redacted:{guardrail}]")))
}

/// Another text in which every occurrence of the text that is redacted in `own` is redacted, too.
pub fn apply_elsewhere(own: &str, redactions: &[Redaction], other: &str) -> String {
    let texts = widened(own, redactions)
        .filter_map(|(start, end, replacement)| Some((own.get(start..end)?, replacement)));
    let mut hidden: Vec<(&str, &str)> = texts.collect();
    // The longest first, so that no part of it remains.
    hidden.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    let parts: Vec<Redaction> = hidden
        .iter()
        .flat_map(|(text, replacement)| {
            occurrences(other, text).map(|start| Redaction::new(start, start + text.len(), *replacement))
        })
        .collect();
    apply(other, &parts)
}

/// Replaces parts of the texts inside a value, also of names of members. `base` is the pointer to the value that the pointers of
/// redactions begin with. A redaction of a text that is not there replaces the whole value.
pub(crate) fn apply_inside(value: &mut Value, base: &str, redactions: &[Redaction]) {
    let mut by_text: BTreeMap<&str, Vec<Redaction>> = BTreeMap::new();
    for part in redactions {
        let Some(pointer) = part.at.as_deref().and_then(|at| at.strip_prefix(base)) else {
            *value = Value::String(part.replacement.clone());
            return;
        };
        by_text.entry(pointer).or_default().push(part.clone());
    }
    // Names come last, and deeper ones first, so that the other pointers stay valid.
    let mut texts: Vec<(&str, Vec<Redaction>)> = by_text.into_iter().collect();
    let depth = |pointer: &str| pointer.matches('/').count();
    texts.sort_by_key(|(pointer, _)| {
        (pointer.ends_with(json_pointer::KEY), std::cmp::Reverse(depth(pointer)))
    });
    for (pointer, parts) in texts {
        let Some(text) = json_pointer::text_at(value, pointer).map(|text| apply(&text, &parts)) else {
            *value = Value::String(parts.first().map(|part| part.replacement.clone()).unwrap_or_default());
            return;
        };
        match pointer.strip_suffix(json_pointer::KEY) {
            Some(member) => drop(json_pointer::rename(value, member, &text)),
            None => value.pointer_mut(pointer).into_iter().for_each(|it| *it = Value::String(text.clone())),
        }
    }
}

/// All occurrences of a part in a text, including overlapping ones.
fn occurrences<'t>(text: &'t str, part: &'t str) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find(part)?;
        from = start + text.get(start..)?.chars().next()?.len_utf8();
        Some(start)
    })
}

/// The parts as whole characters within the text, without empty ones.
fn widened<'r>(text: &str, redactions: &'r [Redaction]) -> impl Iterator<Item = (usize, usize, &'r str)> {
    redactions
        .iter()
        .map(|part| {
            let (start, end) = (part.start.min(part.end), part.start.max(part.end));
            (text.floor_char_boundary(start), text.ceil_char_boundary(end), part.replacement.as_str())
        })
        .filter(|(start, end, _)| start < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: usize, end: usize, replacement: &str) -> Redaction {
        Redaction::new(start, end, replacement)
    }

    #[test]
    fn separate_parts_are_replaced_in_any_order() {
        let parts = [part(4, 7, "[b]"), part(0, 3, "[a]")];
        assert_eq!(apply("one two three", &parts), "[a] [b] three");
    }

    #[test]
    fn overlapping_parts_leave_no_middle() {
        let parts = [part(0, 5, "[a]"), part(3, 9, "[b]"), part(8, 11, "[c]")];
        assert_eq!(apply("0123456789abc", &parts), "[a]bc");
    }

    #[test]
    fn texts_inside_a_value_are_replaced() {
        let mut value = serde_json::json!({"a": ["one two"], "key": {"b": "x"}});
        let parts = [
            part(0, 3, "[1]").at("/result/a/0"),
            part(2, 5, "[2]").at("/result/a/0"),
            part(0, 1, "[x]").at("/result/key/b"),
            part(0, 3, "[name]").at("/result/key~key"),
        ];
        apply_inside(&mut value, "/result", &parts);
        assert_eq!(value, serde_json::json!({"a": ["[1]wo"], "[name]": {"b": "[x]"}}));
        let mut nested = serde_json::json!({"one": {"two": "x"}});
        let names = [part(0, 3, "[1]").at("/one~key"), part(0, 3, "[2]").at("/one/two~key")];
        apply_inside(&mut nested, "", &names);
        assert_eq!(nested, serde_json::json!({"[1]": {"[2]": "x"}}));
        apply_inside(&mut value, "/result", &[part(0, 1, "[gone]").at("/result/none")]);
        assert_eq!(value, "[gone]");
    }

    #[test]
    fn a_span_inside_a_character_hides_the_whole_character() {
        assert_eq!(apply("aéb", &[part(2, 3, "*")]), "a*b");
        assert_eq!(apply("ab", &[part(1, 99, "*")]), "a*");
        assert_eq!(apply("ab", &[part(2, 1, "*")]), "a*");
    }
}
