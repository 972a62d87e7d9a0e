//! Permissions of OpenCode: `permission` in `opencode.json`. The last matching rule decides.

use jsonc_parser::ast::{Object, ObjectProp};

use super::claude_code::folder_patterns;
use super::command::text_rule;
use super::json;
use super::ordered::first_match;
use super::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict,
};

/// Keys that are about the host itself.
const HOST_ONLY: [(&str, &str); 3] = [
    ("external_directory", "the guardrail `sandbox-boundary` limits folders"),
    ("doom_loop", "feedback with `repeated_calls` reports loops"),
    ("question", "it is about questions of the host"),
];

/// Tools that OpenCode asks for under the name `edit`.
const EDITING: [&str; 4] = ["edit", "write", "patch", "multiedit"];

/// Why an imported deny of a file is stricter.
const ALL_TOOLS: &str = "Midrail applies it to every tool and to commands, and ignores case";

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let mut rules = Vec::new();
    // The settings of a project come after those of a user, and those of an administrator last.
    let mut files: Vec<&PolicyFile> = files.iter().collect();
    files.sort_by_key(|file| match file.scope {
        FileScope::User => 0,
        FileScope::Project => 1,
        FileScope::Local => 2,
        FileScope::Managed => 3,
    });
    for file in files {
        json::with_object(file, &mut policy, |policy, top| {
            if let Some(permission) = json::property(top, "permission") {
                permissions(file, permission, policy, &mut rules);
            }
            for key in ["agent", "mode"] {
                agents(file, top, key, policy);
            }
        });
    }
    rules.reverse();
    first_match(rules, &mut policy);
    policy
}

/// Permissions of single agents have no part in the policy of all agents.
fn agents(file: &PolicyFile, top: &Object<'_>, key: &str, policy: &mut HostPolicy) {
    for agent in json::object(top, key).into_iter().flat_map(|agents| &agents.properties) {
        let permission = agent.value.as_object().and_then(|agent| json::property(agent, "permission"));
        if let Some(permission) = permission {
            let name = format!("{key}.{}.permission", json::name(agent));
            let source = RuleSource::new(file, json::line(file, permission), name);
            policy.leave_out(&source, "it is for one agent of the host; write a guardrail with `agents:`");
        }
    }
}

fn verdict(word: &str) -> Option<Verdict> {
    match word {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => None,
    }
}

fn permissions(
    file: &PolicyFile,
    permission: &ObjectProp<'_>,
    policy: &mut HostPolicy,
    rules: &mut Vec<PolicyRule>,
) {
    if let Some(tools) = permission.value.as_object() {
        let all = json::property(tools, "*").and_then(|all| json::text(&all.value));
        for tool in &tools.properties {
            let name = json::name(tool);
            // Exceptions of a deny for all tools.
            if all == Some("deny") && json::text(&tool.value) == Some("allow") && name != "*" {
                let source = RuleSource::new(file, json::line(file, tool), format!("{name}: allow"));
                let names = if name == "edit" { EDITING.to_vec() } else { vec![name.as_str()] };
                let subjects = names.into_iter().map(|name| Subject::Tool(name.to_owned()));
                rules
                    .extend(subjects.map(|subject| PolicyRule::new(Verdict::Allow, subject, source.clone())));
            }
            match tool.value.as_object() {
                Some(patterns) => {
                    for pattern in &patterns.properties {
                        entry(file, (&name, Some(&json::name(pattern))), pattern, policy, rules);
                    }
                }
                None => entry(file, (&name, None), tool, policy, rules),
            }
        }
        return;
    }
    entry(file, ("*", None), permission, policy, rules);
}

/// One word for a tool, or for a pattern of a tool.
fn entry(
    file: &PolicyFile,
    (tool, pattern): (&str, Option<&str>),
    property: &ObjectProp<'_>,
    policy: &mut HostPolicy,
    rules: &mut Vec<PolicyRule>,
) {
    let word = json::text(&property.value).unwrap_or_default();
    let name = pattern.map(|pattern| format!(" {pattern:?}")).unwrap_or_default();
    let source = RuleSource::new(file, json::line(file, property), format!("{tool}{name}: {word}"));
    let Some(verdict) = verdict(word) else {
        policy.is_dead(&source, "OpenCode rejects the file: the words are allow, ask and deny");
        return;
    };
    if let Some((_, why)) = HOST_ONLY.iter().find(|(name, _)| *name == tool) {
        policy.leave_out(&source, *why);
        return;
    }
    let pattern = pattern.unwrap_or("*");
    let rule = |subject| PolicyRule::new(verdict, subject, source.clone());
    let is_strict = verdict != Verdict::Allow;
    let path = |pattern: &str| match pattern {
        "*" | "**" => vec!["**".to_owned()],
        // `*` crosses folders in OpenCode.
        _ => folder_patterns(&crossing(pattern.trim_start_matches("./"), verdict), verdict),
    };
    match tool {
        "bash" => rules.push(text_rule(verdict, pattern, source)),
        "read" => {
            let paths = path(pattern).into_iter().map(Subject::Read);
            rules.extend(paths.map(|path| rule(path).stricter(is_strict.then_some(ALL_TOOLS))));
        }
        _ if EDITING.contains(&tool) => {
            let paths = path(pattern).into_iter().map(Subject::Edit);
            rules.extend(paths.map(|path| rule(path).stricter(is_strict.then_some(ALL_TOOLS))));
        }
        "webfetch" if pattern == "*" && is_strict => rules.push(rule(Subject::Tool("webfetch".to_owned()))),
        "webfetch" => match host(pattern) {
            Some(host) => rules.push(rule(Subject::Host(host))),
            None => policy.leave_out(&source, "a pack has hosts, and no other parts of URLs"),
        },
        // One word for all tools.
        "*" if is_strict => {
            rules.push(rule(Subject::Tool("*".to_owned())));
        }
        "*" => {
            rules.push(rule(Subject::Tool("*".to_owned())));
            rules.push(rule(Subject::Command(CommandPattern::prefix("*"))));
            rules.push(rule(Subject::Read("**".to_owned())));
            rules.push(rule(Subject::Edit("**".to_owned())));
        }
        _ if pattern == "*" => rules.push(rule(Subject::Tool(tool.to_owned()))),
        "task" | "skill" if is_strict => {
            let argument = if tool == "task" { "subagent_type" } else { "name" }.to_owned();
            let value = pattern.to_owned();
            rules.push(rule(Subject::ToolArgument { tool: tool.to_owned(), argument, value }));
        }
        _ => {
            policy.leave_out(&source, format!("Midrail does not know what the patterns of `{tool}` compare"))
        }
    }
}

/// A path pattern of OpenCode, in which `*` crosses folders. That of a deny matches at least the same paths.
fn crossing(pattern: &str, verdict: Verdict) -> String {
    if verdict == Verdict::Allow {
        return pattern.to_owned();
    }
    let mut out: Vec<String> = Vec::new();
    let count = pattern.split('/').count();
    for (at, part) in pattern.split('/').enumerate() {
        let is_last = at + 1 == count;
        match part.find('*') {
            None => out.push(part.to_owned()),
            Some(0) => {
                let rest = part.trim_start_matches('*');
                if count > 1 || rest.is_empty() {
                    out.push("**".to_owned());
                }
                match rest.find('*') {
                    _ if rest.is_empty() => {}
                    None => out.push(format!("*{rest}")),
                    // Anything may follow a further wildcard.
                    Some(end) => {
                        out.push(format!("*{}*", rest.get(..end).unwrap_or_default()));
                        break;
                    }
                }
            }
            Some(end) => {
                out.push(format!("{}*", part.get(..end).unwrap_or_default()));
                if !is_last || end + 1 < part.len() {
                    break;
                }
            }
        }
    }
    out.dedup_by(|next, before| next == "**" && before == "**");
    out.join("/")
}

/// The host of a URL pattern.
fn host(pattern: &str) -> Option<String> {
    let rest =
        ["https://", "http://", "*://"].iter().find_map(|head| pattern.strip_prefix(head)).unwrap_or(pattern);
    let (host, path) = rest.split_once('/').unwrap_or((rest, "*"));
    let host = host.strip_suffix(":*").unwrap_or(host);
    (matches!(path, "*" | "**") && !host.is_empty() && !host.contains([' ', ':']))
        .then(|| host.to_lowercase())
}
