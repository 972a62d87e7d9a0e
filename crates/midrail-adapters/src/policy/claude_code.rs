//! Permission rules of Claude Code: `permissions` in its settings files.
//!
//! Deny decides before ask, and ask before allow; a more specific rule has no precedence.

use jsonc_parser::ast::Object;

use super::command::text_rule;
use super::json;
use super::ordered::strictest_first;
use super::pattern::operator;
use super::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict,
};

/// The lists, in the order in which Claude Code evaluates them.
const LISTS: [(&str, Verdict); 3] =
    [("deny", Verdict::Deny), ("ask", Verdict::Ask), ("allow", Verdict::Allow)];

const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/// Tools whose path rules Claude Code accepts and never evaluates.
const UNEVALUATED: [(&str, &str); 4] =
    [("Write", "Edit"), ("MultiEdit", "Edit"), ("NotebookEdit", "Edit"), ("Glob", "Read")];

const EDITING_TOOLS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Why an imported deny of a file is stricter.
const ALL_TOOLS: &str = "Midrail applies it to every tool and to commands such as `cat`, and ignores case";

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let mut rules = Vec::new();
    for file in files {
        json::with_object(file, &mut policy, |policy, top| {
            let Some(property) = json::property(top, "permissions") else { return };
            match property.value.as_object() {
                Some(permissions) => permissions_of(file, permissions, policy, &mut rules),
                None => {
                    let source = RuleSource::new(file, json::line(file, property), "permissions");
                    policy.leave_out(&source, "`permissions` is not an object");
                }
            }
        });
    }
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.verdict));
    strictest_first(rules, &mut policy);
    policy
}

fn permissions_of(
    file: &PolicyFile,
    permissions: &Object<'_>,
    policy: &mut HostPolicy,
    rules: &mut Vec<PolicyRule>,
) {
    for (list, verdict) in LISTS {
        for (line, text) in json::texts(file, policy, permissions, list) {
            let source = RuleSource::new(file, line, text.clone());
            rules.extend(rule(verdict, &text, file.scope, source, policy));
        }
    }
    for property in &permissions.properties {
        let key = json::name(property);
        if LISTS.iter().any(|(list, _)| *list == key) {
            continue;
        }
        let value = json::text(&property.value).unwrap_or_default();
        let source = RuleSource::new(
            file,
            json::line(file, property),
            format!("{key}: {value}").trim_end_matches(": "),
        );
        match key.as_str() {
            "defaultMode" if !MODES.contains(&value) => {
                policy.is_dead(&source, format!("there is no such mode; the modes are {}", MODES.join(", ")));
            }
            "defaultMode" if value == "default" => {}
            "defaultMode" => policy.leave_out(&source, "the mode of the host stays with the host"),
            "additionalDirectories" => {
                policy
                    .leave_out(&source, "a pack has no folders of a host; `sandbox-boundary` limits folders");
            }
            "disableBypassPermissionsMode" | "disableAutoMode" => {
                policy.leave_out(&source, "it is about modes of the host, which Midrail does not have");
            }
            _ => policy.leave_out(&source, "Midrail does not know this key"),
        }
    }
}

/// The rules of one text.
fn rule(
    verdict: Verdict,
    text: &str,
    scope: FileScope,
    source: RuleSource,
    policy: &mut HostPolicy,
) -> Vec<PolicyRule> {
    let text = text.trim();
    let (tool, specifier) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(specifier) => (tool.trim(), Some(specifier.trim())),
            None => {
                policy.is_dead(&source, "the closing `)` is missing, so the rule matches no tool");
                return Vec::new();
            }
        },
    };
    let is_name = |c: char| c.is_alphanumeric() || "_-*.:".contains(c);
    if tool.is_empty() || !tool.chars().all(is_name) {
        policy.is_dead(&source, "this is not the name of a tool");
        return Vec::new();
    }
    let specifier = specifier.filter(|specifier| !specifier.is_empty() && *specifier != "*");
    let one = |subject| vec![PolicyRule::new(verdict, subject, source.clone())];
    let Some(specifier) = specifier else {
        return whole_tool(verdict, tool, source, policy);
    };
    match tool {
        "Bash" | "PowerShell" => command(verdict, specifier, source, policy).into_iter().collect(),
        "Read" | "Edit" => path(verdict, tool, specifier, scope, source, policy),
        "WebFetch" | "WebSearch" => match specifier.strip_prefix("domain:") {
            Some(domain) => one(Subject::Host(domain.trim().to_lowercase())),
            None => {
                policy.is_dead(&source, format!("`{tool}` takes `domain:HOST` only"));
                Vec::new()
            }
        },
        _ if tool.starts_with("mcp__") => {
            policy.is_dead(&source, "rules for MCP tools have no part in brackets");
            Vec::new()
        }
        _ => {
            if let Some((_, instead)) = UNEVALUATED.iter().find(|(name, _)| *name == tool) {
                let reason =
                    format!("Claude Code never evaluates paths of `{tool}`; write `{instead}({specifier})`");
                policy.is_dead(&source, reason);
                return Vec::new();
            }
            argument(verdict, tool, specifier, source, policy)
        }
    }
}

/// A rule for a tool with any arguments.
fn whole_tool(verdict: Verdict, tool: &str, source: RuleSource, policy: &mut HostPolicy) -> Vec<PolicyRule> {
    let rule = |subject| PolicyRule::new(verdict, subject, source.clone());
    let is_allow = verdict == Verdict::Allow;
    match tool {
        "Bash" | "PowerShell" => vec![rule(Subject::Command(CommandPattern::prefix("*")))],
        "Read" if is_allow => vec![rule(Subject::Read("**".to_owned()))],
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" if is_allow => {
            vec![rule(Subject::Edit("**".to_owned()))]
        }
        "WebFetch" if is_allow => vec![rule(Subject::Host("*".to_owned()))],
        "Edit" => EDITING_TOOLS.iter().map(|tool| rule(Subject::Tool((*tool).to_owned()))).collect(),
        "*" if is_allow => {
            policy.is_dead(&source, "Claude Code accepts no pattern for all tools in `allow`");
            Vec::new()
        }
        _ if is_allow && tool.starts_with("mcp__*") => {
            policy.is_dead(&source, "Claude Code needs the name of the server in `allow`: `mcp__SERVER__*`");
            Vec::new()
        }
        _ => match tool.strip_prefix("mcp__") {
            // A server stands for all of its tools.
            Some(server) if !server.contains("__") && !server.ends_with('*') => {
                vec![rule(Subject::Tool(format!("{tool}__*")))]
            }
            _ => vec![rule(Subject::Tool(tool.to_owned()))],
        },
    }
}

/// A rule for commands.
fn command(
    verdict: Verdict,
    pattern: &str,
    source: RuleSource,
    policy: &mut HostPolicy,
) -> Option<PolicyRule> {
    if pattern.starts_with("command:") {
        policy.is_dead(&source, "Claude Code never evaluates `command:`; write the command itself");
        return None;
    }
    if let Some(operator) = operator(pattern) {
        let reason = format!("Claude Code splits a line at `{operator}` first, so no command matches it");
        policy.is_dead(&source, reason);
        return None;
    }
    let pattern = match pattern.strip_suffix(":*") {
        Some(prefix) => format!("{} *", prefix.trim_end()),
        None if pattern.contains(":*") => {
            policy.is_dead(&source, "`:*` is a prefix only at the end of a rule");
            return None;
        }
        None => pattern.to_owned(),
    };
    Some(text_rule(verdict, &pattern, source))
}

/// A rule for files: patterns as in `.gitignore`.
fn path(
    verdict: Verdict,
    tool: &str,
    pattern: &str,
    scope: FileScope,
    source: RuleSource,
    policy: &mut HostPolicy,
) -> Vec<PolicyRule> {
    if pattern.starts_with('!') {
        policy.leave_out(&source, "a pack has no negated path patterns");
        return Vec::new();
    }
    let is_relative = pattern.starts_with('/') && !pattern.starts_with("//");
    if is_relative && scope == FileScope::User {
        let reason =
            format!("it means `~/.claude{pattern}`; write `/{pattern}` for the root of the file system");
        policy.is_dead(&source, reason);
    }
    let place = match pattern {
        _ if is_relative && scope == FileScope::User => format!("~/.claude{pattern}"),
        _ if is_relative && scope == FileScope::Managed => {
            let reason = "it is relative to the folder of the managed settings; write `//` for the root";
            policy.leave_out(&source, reason);
            return Vec::new();
        }
        _ if pattern.starts_with("//") => pattern.trim_start_matches('/').to_owned(),
        _ => pattern.trim_start_matches("./").trim_start_matches('/').to_owned(),
    };
    let place = if pattern.starts_with("//") { format!("/{place}") } else { place };
    if place.is_empty() {
        policy.is_dead(&source, "the path is empty");
        return Vec::new();
    }
    let is_anchored = (pattern.starts_with('/') || pattern.starts_with("./")) && !place.contains('/');
    let strict = verdict != Verdict::Allow;
    let everywhere = (strict && is_anchored).then_some("Midrail applies it in every folder");
    let subjects = folder_patterns(&place, verdict).into_iter();
    let subjects =
        subjects.map(|place| if tool == "Read" { Subject::Read(place) } else { Subject::Edit(place) });
    subjects
        .map(|subject| {
            let rule = PolicyRule::new(verdict, subject, source.clone());
            rule.stricter(strict.then_some(ALL_TOOLS)).stricter(everywhere)
        })
        .collect()
}

/// The patterns of a path that may be a folder. A pattern of `.gitignore` includes everything below a matching folder.
pub(super) fn folder_patterns(place: &str, verdict: Verdict) -> Vec<String> {
    if let Some(folder) = place.strip_suffix("/*") {
        return vec![if verdict == Verdict::Allow { place.to_owned() } else { format!("{folder}/**") }];
    }
    match place {
        "*" => vec!["**".to_owned()],
        _ if place.ends_with("**") => vec![place.to_owned()],
        _ => {
            let folder = place.trim_end_matches('/');
            // A pattern without `/` applies in every folder.
            let below = if folder.contains('/') { format!("{folder}/**") } else { format!("**/{folder}/**") };
            if place.ends_with('/') { vec![below] } else { vec![folder.to_owned(), below] }
        }
    }
}

/// A rule for one argument of a tool.
fn argument(
    verdict: Verdict,
    tool: &str,
    specifier: &str,
    source: RuleSource,
    policy: &mut HostPolicy,
) -> Vec<PolicyRule> {
    let (argument, value) = match (tool, specifier.split_once(':')) {
        ("Agent" | "Task", None) => ("subagent_type", specifier),
        ("Skill", None) => ("skill", specifier),
        (_, Some((argument, value))) if is_argument(argument) && !value.is_empty() => (argument, value),
        _ => {
            policy.is_dead(&source, format!("`{tool}` takes `ARGUMENT:VALUE` only"));
            return Vec::new();
        }
    };
    if verdict == Verdict::Allow {
        policy.leave_out(&source, "`vouch` has no arguments of tools");
        return Vec::new();
    }
    let (tool, argument, value) = (tool.to_owned(), argument.to_owned(), value.trim().to_owned());
    vec![PolicyRule::new(verdict, Subject::ToolArgument { tool, argument, value }, source)]
}

/// Whether an expression can name the argument.
fn is_argument(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
