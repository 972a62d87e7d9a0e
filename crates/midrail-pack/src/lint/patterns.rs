//! Patterns that can never match, path patterns on other texts, and misspelt names of tools.

use std::collections::BTreeSet;

use midrail_core::{EventKind, Tools, glob};
use midrail_guardrails::known_tools;

use crate::diagnostic::{excerpt, nearest};
use crate::expr::MatchedText;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Found, Packs, quoted_span};
use crate::lint::values::closed_sets;
use crate::pattern::could_meet;

/// Patterns in expressions that match no value of their name.
pub(super) fn impossible(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        for (key, source, expression) in found.expressions() {
            for matched in expression.matched_texts() {
                let span = quoted_span(source, matched.text);
                let at = found.at(key);
                if let Some((why, help)) = never(&matched) {
                    let text = excerpt(matched.text);
                    let message = format!("`{}` never matches `{text}`: {why}", matched.name);
                    let issue = Issue::new(at, message).help(help);
                    out.warn("impossible-pattern", found.document, Issue { span, ..issue });
                } else if matched.is_pattern && matched.text.contains("**") && !matched.name.is_path() {
                    let message =
                        format!("`{}` is not a path: `**` has no special meaning here", matched.name);
                    let issue = Issue::new(at, message).help("use `*`, which matches any text, also `/`");
                    out.warn("path-pattern-on-text", found.document, Issue { span, ..issue });
                }
            }
        }
    }
}

/// Why a text or pattern matches no value of its name, and what to do about it.
fn never(matched: &MatchedText<'_>) -> Option<(&'static str, String)> {
    let MatchedText { name, is_lower, text, is_pattern } = *matched;
    let has_upper = |text: &str| text.chars().any(char::is_uppercase);
    if text.is_empty() {
        return Some(("it is empty", "use `*` for any text".to_owned()));
    }
    if is_lower && has_upper(text) {
        return Some(("the value is in lower case", format!("write `{}`", text.to_lowercase())));
    }
    match name.term() {
        "action.hosts" if text.contains("://") || text.contains(['/', '@', ' ']) => {
            Some(("a host has no scheme, user or path", "write the host alone: `github.com`".to_owned()))
        }
        "action.hosts" if has_upper(text) => {
            Some(("hosts are in lower case", format!("write `{}`", text.to_lowercase())))
        }
        "action.programs" if text.contains('/') => {
            let base = text.rsplit('/').next().unwrap_or(text);
            Some(("programs have no folder", format!("write `{base}`")))
        }
        "action.programs" if text.contains(' ') => {
            Some(("programs have no arguments", "match `action.command`, or the program alone".to_owned()))
        }
        "action.target_file" | "action.target_files" | "action.reads" | "action.writes"
            if is_pattern && is_not_normal(text) =>
        {
            let help = "write the path as it is after `.`, `..` and `//` are resolved: `src/**`";
            Some(("paths are normalised", help.to_owned()))
        }
        term => {
            let (_, values) = closed_sets().into_iter().find(|(name, _)| *name == term)?;
            if values.iter().any(|value| glob::name_matches(text, value)) {
                return None;
            }
            Some(("it has other values", format!("it is one of {}", values.join(", "))))
        }
    }
}

/// Whether a pattern has parts that no normalised path has.
fn is_not_normal(pattern: &str) -> bool {
    let mut parts = pattern.split('/').peekable();
    // A leading `/` makes an absolute path.
    if pattern.starts_with('/') {
        parts.next();
    }
    parts.any(|part| matches!(part, "" | "." | ".."))
}

/// Tools that a guardrail applies to and that are misspelt, or that it never checks.
pub(super) fn tools(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let known: BTreeSet<&str> = known_tools().collect();
    let tested: BTreeSet<&str> =
        packs.iter().flat_map(|(_, document)| &document.pack.tests).flat_map(|case| case.tools()).collect();
    for found in &packs.guards {
        for (i, tool) in found.guard.guard.tools.iter().enumerate() {
            if glob::is_pattern(tool) || known.contains(tool.as_str()) || tested.contains(tool.as_str()) {
                continue;
            }
            let Some(near) = nearest(tool, known.iter().copied()) else { continue };
            let issue =
                Issue::new(found.at(&format!("tools/{i}")), format!("no known tool is named `{tool}`"));
            let help = format!("did you mean `{near}`? If not, name it in a case under `tests:`");
            out.warn("misspelt-tool", found.document, issue.help(help));
        }
        if let Some((tools, governed)) = separate_tools(found) {
            let message =
                format!("`{}` never applies: it is about {governed}, and `tools` is {tools}", found.id());
            let issue = Issue::new(found.at("tools"), message).help("leave `tools` out");
            out.warn("never-applies", found.document, issue);
        }
    }
}

/// The tools that a guardrail is limited to and those that it checks, if they have none in common.
fn separate_tools(found: &Found<'_>) -> Option<(String, String)> {
    let entry = &found.guard.entry;
    let (Tools::Only(tools), Tools::Only(governed)) = (&entry.spec.tools, entry.guardrail.tools()) else {
        return None;
    };
    let is_call = |kind: &EventKind| matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
    let meets = tools.iter().any(|tool| governed.iter().any(|other| could_meet(tool, other)));
    (!meets && entry.spec.on.iter().all(is_call)).then(|| (tools.join(", "), governed.join(", ")))
}
