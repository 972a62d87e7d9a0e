//! Patterns that can never match, path patterns on other texts, and misspelt names of tools.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{EventKind, Tools, glob};
use midrail_guardrails::{RedactMatch, danger_rules, known_tools};

use crate::compile::UNLISTED;
use crate::diagnostic::{excerpt, nearest};
use crate::expr::MatchedText;
use crate::issue::{Issue, pointer_key};
use crate::lint::linter::{Findings, Found, Packs, quoted_span};
use crate::lint::traps::foreign_pattern;
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
                } else if let Some((why, help)) = foreign_pattern(matched.text)
                    .or_else(|| dotted(&matched))
                    .filter(|_| matched.is_pattern && !matched.name.is_path())
                {
                    let message = format!("`{}`: {why}", excerpt(matched.text));
                    let issue = Issue::new(at, message).help(help);
                    out.warn("foreign-pattern", found.document, Issue { span, ..issue });
                } else if matched.is_pattern && is_whole_text(&matched) {
                    let text = excerpt(matched.text);
                    let message = format!("`{text}` has no `*`, so it matches only exactly this text");
                    let help = format!("write `'*{text}*'` or use `contains`; use `==` if this is intended");
                    let issue = Issue::new(at, message).help(help);
                    out.warn("pattern-without-wildcard", found.document, Issue { span, ..issue });
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

/// Names whose values contain no `*`.
const WITHOUT_STARS: &[&str] = &[
    "git.branch",
    "git.remote",
    "kube.context",
    "host.name",
    "tool.name",
    "agent.id",
    "agent.role",
    "task.id",
];

/// Patterns after operators that compare whole texts: `git.branch == 'feature/*'`.
pub(super) fn misplaced(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        for (key, source, expression) in found.expressions() {
            let is_wrong =
                |text: &MatchedText<'_>| text.text.contains('*') && WITHOUT_STARS.contains(&text.name.term());
            let mut by_name: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for compared in expression.compared_texts().into_iter().filter(is_wrong) {
                by_name.entry(compared.name.to_string()).or_default().push(compared.text);
            }
            for (name, texts) in by_name {
                let quoted: Vec<String> = texts.iter().map(|text| format!("'{}'", excerpt(text))).collect();
                let pattern = match quoted.as_slice() {
                    [one] => one.clone(),
                    several => format!("[{}]", several.join(", ")),
                };
                let message = format!("`{name}` never contains `*`, which is only special after `matches`");
                let issue = Issue::new(found.at(key), message);
                let issue = issue.help(format!("write `{name} matches {pattern}`, or `not` in front of it"));
                let span = texts.first().and_then(|text| quoted_span(source, text));
                out.warn("misplaced-pattern", found.document, Issue { span, ..issue });
            }
        }
    }
}

/// Texts of `redact` that are written in another language of patterns.
pub(super) fn redacted(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        for (i, rule) in found.guard.guard.redact.iter().flat_map(|redact| redact.0.iter().enumerate()) {
            let text = rule.matches.to_string();
            if let Some(kind) = misspelt_kind(&rule.matches) {
                let message = format!("`{text}` is a word of a text, and no detector has this name");
                let issue = Issue::new(found.at(&format!("redact/{i}/match")), message);
                out.warn("misspelt-detector", found.document, issue.help(format!("did you mean `{kind}`?")));
                continue;
            }
            let Some((why, help)) = foreign_pattern(&text) else { continue };
            let issue =
                Issue::new(found.at(&format!("redact/{i}/match")), format!("`{}`: {why}", excerpt(&text)));
            out.warn("foreign-pattern", found.document, issue.help(help));
        }
    }
}

/// Detectors that people mean with other words.
const DETECTORS: &[&str] = &[
    "email",
    "secrets",
    "personal-data",
    "phone",
    "person-name",
    "credit-card",
    "ip-address",
    "aws-access-key",
];

/// What people call them.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (&["pii", "personal", "personal-information", "gdpr"], "personal-data"),
    (&["mail", "e-mail", "email-address", "mails"], "email"),
    (&["phone-number", "telephone", "mobile"], "phone"),
    (&["card", "card-number", "creditcard", "credit_card", "pan"], "credit-card"),
    (&["ip", "ip-addresses", "ipv4"], "ip-address"),
    (
        &[
            "api-key",
            "api-keys",
            "api_key",
            "apikey",
            "credential",
            "credentials",
            "password",
            "passwords",
            "token",
            "tokens",
        ],
        "secrets",
    ),
    (&["ssn", "social-security-number"], "us-ssn"),
];

/// The detector that a pattern without wildcards is nearly the name of: `emails`, `secret`.
fn misspelt_kind(matches: &RedactMatch) -> Option<&'static str> {
    let RedactMatch::Pattern(pattern) = matches else { return None };
    let text = pattern.to_string();
    let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'));
    if let Some((_, kind)) = OTHER_WORDS.iter().find(|(words, _)| words.contains(&text.as_str())) {
        return Some(kind);
    }
    nearest(&text, DETECTORS.iter().copied()).filter(|_| is_word)
}

/// Whether a pattern without a wildcard is matched with a long text.
fn is_whole_text(matched: &MatchedText<'_>) -> bool {
    let is_long = ["action.command", "text", "result.content", "last_assistant", "error.message"];
    is_long.contains(&matched.name.term()) && !glob::is_pattern(matched.text)
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
        "action.hosts" if has_port(text) => {
            Some(("a host has no port", "write the host alone: `github.com`".to_owned()))
        }
        "action.hosts" if has_upper(text) => {
            Some(("hosts are in lower case", format!("write `{}`", text.to_lowercase())))
        }
        "action.hosts"
        | "action.programs"
        | "action.dangers"
        | "action.reads"
        | "action.writes"
        | "action.target_files"
            if !is_pattern && glob::is_pattern(text) =>
        {
            Some(("`contains` compares whole values", format!("write `{name} any match ['{text}']`")))
        }
        "action.programs" if SYSTEM_FOLDERS.iter().any(|folder| text.starts_with(folder)) => {
            let base = text.rsplit('/').next().unwrap_or(text);
            Some(("programs of the system have no folder", format!("write `{base}`")))
        }
        "action.programs" if text.contains(' ') => {
            Some(("programs have no arguments", "match `action.command`, or the program alone".to_owned()))
        }
        "action.dangers" => {
            let rules = danger_rules();
            if rules.iter().any(|rule| glob::name_matches(text, rule)) {
                return None;
            }
            let help = nearest(text, rules).map(|near| format!("did you mean `{near}`?"));
            let all = "`midrail check` shows the rules of a command".to_owned();
            Some(("no rule has this name", help.unwrap_or(all)))
        }
        "git.branch" | "git.remote" | "kube.context" | "host.name" if is_pattern && text.contains('|') => {
            let texts: Vec<String> = text.split('|').map(|text| format!("'{text}'")).collect();
            Some(("its value contains no `|`", format!("write a list: `matches [{}]`", texts.join(", "))))
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

/// `prod.*`, where a dot after a letter is rare.
fn dotted(matched: &MatchedText<'_>) -> Option<(&'static str, String)> {
    let (before, _) = matched.text.split_once(".*")?;
    let is_rare = ["git.branch", "kube.context"].contains(&matched.name.term());
    let help = format!("write `{}`; for a dot, write `[.]*`", matched.text.replace(".*", "*"));
    (is_rare && before.ends_with(char::is_alphabetic))
        .then_some(("it looks like a regular expression, and patterns are globs", help))
}

/// Folders whose programs are known by their names alone.
const SYSTEM_FOLDERS: &[&str] = &["/bin/", "/sbin/", "/usr/"];

/// Whether a host has a port. An IPv6 address has several colons.
fn has_port(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit() || c == '*'))
}

/// Tools that a guardrail applies to and that are misspelt, or that it never checks.
pub(super) fn tools(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let known: BTreeSet<&str> = known_tools().collect();
    let tested: BTreeSet<&str> =
        packs.iter().flat_map(|(_, document)| &document.pack.tests).flat_map(|case| case.tools()).collect();
    for found in &packs.guards {
        for (i, tool) in found.guard.guard.tools.iter().enumerate() {
            let issue = tool_issue(&found.at(&format!("tools/{i}")), tool, &known, &tested);
            if let Some((code, issue)) = issue {
                out.warn(code, found.document, issue);
            }
        }
        if let Some((tools, governed)) = separate_tools(found) {
            let message =
                format!("`{}` never applies: it is about {governed}, and `tools` is {tools}", found.id());
            let issue = Issue::new(found.at("tools"), message).help("leave `tools` out");
            out.warn("never-applies", found.document, issue);
        }
    }
    for (at, document) in packs.iter() {
        for tool in document.pack.tool_risks.keys().filter(|tool| *tool != UNLISTED) {
            let place = format!("/tool_risks/{}", pointer_key(tool));
            if let Some((code, issue)) = tool_issue(&place, tool, &known, &tested) {
                out.warn(code, at, issue);
            }
        }
    }
}

/// Why a name or pattern of tools matches none.
fn tool_issue(
    at: &str,
    tool: &str,
    known: &BTreeSet<&str>,
    tested: &BTreeSet<&str>,
) -> Option<(&'static str, Issue)> {
    if known.contains(tool) || tested.contains(tool) {
        return None;
    }
    if outside_groups(tool).contains(['|', ',', '(', ')', ' ']) {
        let message =
            format!("`{}` never matches: the name of a tool has no `|`, `,`, `(` or blank", excerpt(tool));
        let help = tool_help(tool);
        return Some(("impossible-pattern", Issue::new(at, message).help(help)));
    }
    if let Some((why, help)) = foreign_pattern(tool) {
        let message = format!("`{}` never matches: {why}", excerpt(tool));
        return Some(("impossible-pattern", Issue::new(at, message).help(help)));
    }
    if glob::is_pattern(tool) {
        return None;
    }
    let near = nearest(tool, known.iter().copied())?;
    let help = format!("did you mean `{near}`? If not, name it in a case under `tests:`");
    Some(("misspelt-tool", Issue::new(at, format!("no known tool is named `{tool}`")).help(help)))
}

/// How to write tools in one text, the permission rule of a coding agent, or a command.
fn tool_help(tool: &str) -> String {
    let permission = tool.strip_suffix(')').and_then(|rule| rule.split_once('('));
    match permission {
        Some((name, command)) if name == "Bash" || name == "Shell" => {
            let command = excerpt(command.trim_end_matches(":*").trim_end_matches('*').trim_end());
            format!("write `command: {command}`")
        }
        Some((name, path)) => {
            format!(
                "write `tools: {}`, and `when: action.target_file matches '{}'`",
                excerpt(name),
                excerpt(path)
            )
        }
        None if tool.contains(['|', ',']) => {
            let names: Vec<String> = tool.split(['|', ',']).map(|name| excerpt(name.trim())).collect();
            format!("write a list: `[{}]`", names.join(", "))
        }
        None => {
            let command = excerpt(tool.trim_end_matches('*').trim_end());
            format!("for a command, write `command: {command}`")
        }
    }
}

/// A pattern without its groups of alternatives.
fn outside_groups(pattern: &str) -> String {
    let mut depth = 0_u32;
    let is_outside = |c: &char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    pattern.chars().filter(is_outside).collect()
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
