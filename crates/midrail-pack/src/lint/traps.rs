//! Texts that YAML or a pattern reads in another way than they look.

use midrail_core::glob;

use crate::diagnostic::excerpt;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::names::alert_expression;
use crate::yaml::{Node, NodeValue, TextStyle};

/// Keys with a text for people, or an expression.
const TEXTS: &[&str] =
    &["reason", "advice", "description", "check", "when", "user_message", "corrective_message", "condition"];

/// Texts without quotes that end at a `#`, which starts a comment.
pub(super) fn comments(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        let mut found = Vec::new();
        visit(&document.node, String::new(), &mut |place, node| {
            let key = place.rsplit('/').next().unwrap_or_default();
            if !TEXTS.contains(&key) || !matches!(node.value, NodeValue::Text(_, TextStyle::Plain)) {
                return;
            }
            let rest = document.source.get(node.span.end..).and_then(|rest| rest.lines().next());
            let rest = rest.unwrap_or_default().trim_start();
            // A comment usually has a space after its `#`.
            if rest.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace())) {
                found.push((place.to_owned(), rest.to_owned()));
            }
        });
        for (place, rest) in found {
            let message = format!("this text ends before `{}`, which is a comment", excerpt(&rest));
            let help = "put the whole text in quotes, or write a space after the `#` of a comment";
            out.warn("cut-by-comment", at, Issue::new(place, message).help(help));
        }
    }
}

/// Calls `see` with every value and its place.
pub(super) fn visit(node: &Node, place: String, see: &mut dyn FnMut(&str, &Node)) {
    see(&place, node);
    match &node.value {
        NodeValue::List(items) => {
            for (i, item) in items.iter().enumerate() {
                visit(item, format!("{place}/{i}"), see);
            }
        }
        NodeValue::Map(fields) => {
            for (key, item) in fields {
                visit(item, format!("{place}/{}", crate::issue::pointer_key(&key.text)), see);
            }
        }
        _ => {}
    }
}

/// Why a text is a pattern of another language, and the glob pattern for it.
pub(super) fn foreign_pattern(text: &str) -> Option<(&'static str, String)> {
    let signs = ["\\d", "\\s", "\\w", "\\b", ".+", "(?", "]+"].iter().any(|part| text.contains(part));
    // `[0-9]{4}`: in a glob, braces contain alternatives.
    let is_count = |rest: &str| rest.split_once('}').is_some_and(|(count, _)| count.parse::<u32>().is_ok());
    let has_class = signs || text.split("]{").skip(1).any(is_count);
    // A set of characters is a glob, whatever it contains.
    let outside: String =
        text.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let has_choice = outside.contains('(') && outside.contains('|') && outside.contains(')');
    // `feature/.*`: a dot before a `*` that follows no name.
    let mut parts: Vec<&str> = text.split(".*").collect();
    parts.pop();
    let has_dot = parts.iter().any(|before| before.is_empty() || before.ends_with(['/', '-', '_', ':', ' ']));
    if has_dot || text.starts_with('^') || (text.ends_with('$') && text.len() > 1) || has_class || has_choice
    {
        let glob = text.trim_start_matches('^').trim_end_matches('$').replace(".*", "*").replace(".+", "*");
        let is_plain = !glob.contains(['\\', '(', '|', '[', '+']) && glob::check(&glob).is_ok();
        let help = if is_plain {
            format!("write `{glob}`")
        } else {
            "`*` matches any text, `?` one character, and `[0-9]` one digit".to_owned()
        };
        return Some(("it looks like a regular expression, and patterns are globs", help));
    }
    let inner = text.trim_matches('%');
    if inner.len() < text.len() && text.len() > 1 && (text.starts_with('%') || text.ends_with('%')) {
        return Some((
            "`%` has no special meaning in a pattern",
            format!("write `{}`", text.replace('%', "*")),
        ));
    }
    None
}

/// Shares in conditions of alerts that are larger than 1.
pub(super) fn shares(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        for (i, alert) in document.pack.alerts.iter().enumerate() {
            let Ok(expression) = alert_expression(&alert.condition) else { continue };
            let Some(condition) = expression.alert() else { continue };
            if condition.metric == "block_rate" && condition.threshold > 1.0 {
                let message = format!("`block_rate` is between 0 and 1, and never {}", condition.threshold);
                let help = format!("write a percentage: `{}%`", condition.threshold);
                let place = format!("/alerts/{i}/condition");
                out.warn("not-a-share", at, Issue::new(place, message).help(help));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_other_languages_are_known() {
        for (text, help) in [
            ("^mcp__.*$", "write `mcp__*`"),
            ("%rm -rf%", "write `*rm -rf*`"),
            ("feature/.*", "write `feature/*`"),
            (".*-prod", "write `*-prod`"),
            ("(rm|mv) .*", "`*` matches any text, `?` one character, and `[0-9]` one digit"),
        ] {
            assert_eq!(foreign_pattern(text).unwrap().1, help, "{text}");
        }
        for text in ["*rm -r*", "$HOME", "server.*", "a%b", "$", "%", "ls (x)", "mcp__[a-z]*"] {
            assert!(foreign_pattern(text).is_none(), "{text}");
        }
    }
}
