//! Braces in messages that are meant as placeholders and are none: `{amount}`, `${tool.args.amount}`.

use crate::diagnostic::excerpt;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::template::{Part, parts};

/// Placeholders that are shown as they are written.
pub(super) fn not_replaced(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let guard = found.guard.guard;
        for (key, text) in [("reason", &guard.reason), ("advice", &guard.advice)] {
            let Some((written, help)) = text.as_deref().and_then(mistake) else { continue };
            let message = format!("`{}` is shown as it is written", excerpt(&written));
            out.warn("no-placeholder", found.document, Issue::new(found.at(key), message).help(help));
        }
    }
}

/// A text in braces that is no name, and what to write.
fn mistake(text: &str) -> Option<(String, String)> {
    let pieces = parts(text);
    let is_name = |part: &Part<'_>| matches!(part, Part::Name(_));
    for pair in pieces.windows(2) {
        let [Part::Text(before), Part::Name(name)] = pair else { continue };
        if let Some(sign) = ['$', '{'].into_iter().find(|sign| before.ends_with(*sign)) {
            let help = format!("write `{{{name}}}`, with one pair of braces and no `$`");
            return Some((format!("{sign}{{{name}"), help));
        }
    }
    for part in pieces.iter().filter(|part| !is_name(part)) {
        let Part::Text(text) = part else { continue };
        for inside in text.split('{').skip(1) {
            let (inner, is_closed) =
                inside.split_once('}').map_or((inside, false), |(inner, _)| (inner, true));
            let inner = inner.trim();
            let word: String =
                inner.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')).collect();
            if ["tool.args.", "tool.name", "git.", "kube.", "env.", "agent.", "action."]
                .iter()
                .any(|name| word.starts_with(name))
            {
                let help = format!("a placeholder has one name and nothing else: write `{{{word}}}`");
                return Some((format!("{{{inner}{}", if is_closed { "}" } else { "" }), help));
            }
            let is_argument = is_closed
                && word == inner
                && word.len() > 1
                && word.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
            if is_argument {
                return Some((
                    format!("{{{inner}}}"),
                    format!("an argument of the call is `{{tool.args.{inner}}}`"),
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_names() {
        for (text, help) in [
            ("Amount {amount}", "an argument of the call is `{tool.args.amount}`"),
            ("Amount ${tool.args.amount}", "write `{tool.args.amount}`, with one pair of braces and no `$`"),
            ("Amount {{tool.args.amount}}", "write `{tool.args.amount}`, with one pair of braces and no `$`"),
            (
                "Amount {tool.args.amount * 2}",
                "a placeholder has one name and nothing else: write `{tool.args.amount}`",
            ),
            (
                "Amount {tool.args.amount is",
                "a placeholder has one name and nothing else: write `{tool.args.amount}`",
            ),
        ] {
            assert_eq!(mistake(text).unwrap().1, help, "{text}");
        }
        for text in ["Amount {tool.args.amount}", "write {\"a\": 1}", "a {A} b", "{}", "{a,b}", "100 { 3"] {
            assert!(mistake(text).is_none(), "{text}");
        }
    }
}
