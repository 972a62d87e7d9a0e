//! Permissions of OpenCode: `permission` in `opencode.json`. The last matching rule decides.

use jsonc_parser::ast::{Object, ObjectProp};

use crate::policy::format::PolicyFormat;
use crate::policy::json;
use crate::policy::ordered::first_match;
use crate::policy::pattern::{plain_braces, unescaped};
use crate::policy::precedence::by_precedence;
use crate::policy::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleResult, Subject, Verdict,
    VerdictWords, dead, left_out,
};
use crate::policy::translate::{character_rule, path_rules, text_rule};
use crate::policy::writer::{Writer, exact_hosts, json_text, mcp};

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "opencode",
    title: "OpenCode",
    user_folder: None,
    files: &[
        (FileScope::Project, "opencode.json"),
        (FileScope::Project, "opencode.jsonc"),
        (FileScope::User, "opencode.json"),
        (FileScope::User, "opencode.jsonc"),
    ],
    read,
    order: first_match,
    export_file: "opencode.json",
    write,
};

/// Keys that are about the host itself.
const HOST_ONLY: [(&str, &str); 3] = [
    ("external_directory", "the guardrail `sandbox-boundary` limits folders"),
    ("doom_loop", "feedback with `repeated_calls` reports loops"),
    ("question", "it is about questions of the host"),
];

/// Tools that OpenCode asks for under the name `edit`.
const EDITING: [&str; 4] = ["edit", "write", "patch", "multiedit"];

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    // The settings of a project come after those of a user, and those of an administrator last.
    let mut files: Vec<&PolicyFile> = files.iter().collect();
    files.sort_by_key(|file| match file.scope {
        FileScope::User => 0,
        FileScope::Project => 1,
        FileScope::Local => 2,
        FileScope::Managed => 3,
    });
    for file in files {
        json::with_object(file, policy, |policy, top| {
            if let Some(permission) = json::property(top, "permission") {
                read_permission(file, permission, policy);
            }
            for key in ["agent", "mode"] {
                report_agents(file, top, key, policy);
            }
        });
    }
    policy.rules.reverse();
}

/// Permissions of single agents have no part in the policy of all agents.
fn report_agents(file: &PolicyFile, top: &Object<'_>, key: &str, policy: &mut HostPolicy) {
    for agent in json::object(top, key).into_iter().flat_map(|agents| &agents.properties) {
        let permission = agent.value.as_object().and_then(|agent| json::property(agent, "permission"));
        if let Some(permission) = permission {
            let name = format!("{key}.{}.permission", json::name(agent));
            let source = json::source(file, permission, name);
            policy.leave_out(&source, "it is for one agent of the host; write a guardrail with `agents:`");
        }
    }
}

fn read_permission(file: &PolicyFile, permission: &ObjectProp<'_>, policy: &mut HostPolicy) {
    let Some(tools) = permission.value.as_object() else {
        return read_entry(file, "*", None, permission, policy);
    };
    let all = json::property(tools, "*").and_then(|all| json::text(&all.value));
    for tool in &tools.properties {
        let name = json::name(tool);
        // Exceptions of a deny for all tools.
        if all == Some("deny") && json::text(&tool.value) == Some("allow") && name != "*" {
            let names = if name == "edit" { EDITING.to_vec() } else { vec![name.as_str()] };
            let subjects = names.into_iter().map(|name| Subject::Tool(name.to_owned()));
            let rules = subjects.map(|subject| PolicyRule::new(Verdict::Allow, subject)).collect();
            policy.add(&json::source(file, tool, format!("{name}: allow")), Ok(rules));
        }
        match tool.value.as_object() {
            Some(patterns) => {
                for pattern in &patterns.properties {
                    read_entry(file, &name, Some(&json::name(pattern)), pattern, policy);
                }
            }
            None => read_entry(file, &name, None, tool, policy),
        }
    }
}

/// One word for a tool, or for a pattern of a tool.
fn read_entry(
    file: &PolicyFile,
    tool: &str,
    pattern: Option<&str>,
    property: &ObjectProp<'_>,
    policy: &mut HostPolicy,
) {
    let word = json::text(&property.value).unwrap_or_default();
    let name = pattern.map(|pattern| format!(" {pattern:?}")).unwrap_or_default();
    let source = json::source(file, property, format!("{tool}{name}: {word}"));
    let rules = match VerdictWords::NAMES.verdict(word) {
        Some(verdict) => rules(verdict, tool, pattern.unwrap_or("*")),
        None => Err(dead("OpenCode rejects the file: the words are allow, ask and deny")),
    };
    policy.add(&source, rules);
}

fn rules(verdict: Verdict, tool: &str, pattern: &str) -> RuleResult {
    if let Some((_, reason)) = HOST_ONLY.iter().find(|(name, _)| *name == tool) {
        return Err(left_out(*reason));
    }
    let is_allow = verdict == Verdict::Allow;
    let path = || crossing(pattern.trim_start_matches("./"), verdict);
    let subjects = match tool {
        "bash" if pattern.contains('?') && !is_allow => return Ok(vec![character_rule(verdict, pattern)]),
        "bash" => return Ok(vec![text_rule(verdict, pattern)]),
        "read" => return Ok(path_rules(verdict, &path(), Subject::Read)),
        _ if EDITING.contains(&tool) => return Ok(path_rules(verdict, &path(), Subject::Edit)),
        "webfetch" if pattern != "*" || is_allow => {
            let whole = host(pattern);
            // A deny of a part of a site is one of the whole site. An ask would replace a deny of another part.
            let site = || if verdict == Verdict::Deny { host(&site(pattern)) } else { None };
            let is_part = whole.is_none();
            let host = whole.or_else(site);
            let host = host.ok_or_else(|| left_out("a pack has hosts, and no other parts of URLs"))?;
            let rule = PolicyRule::new(verdict, Subject::Host(host));
            return Ok(vec![
                rule.stricter_if(pattern != "*", "Midrail applies it to subdomains and to commands too")
                    .stricter_if(is_part, "Midrail applies it to the whole host"),
            ]);
        }
        // One word for all tools.
        "*" if is_allow => vec![
            Subject::Tool("*".to_owned()),
            Subject::every_command(),
            Subject::Read("**".to_owned()),
            Subject::Edit("**".to_owned()),
        ],
        _ if tool == "*" || pattern == "*" => vec![Subject::Tool(tool.to_owned())],
        "task" | "skill" if !is_allow => {
            let argument = if tool == "task" { "subagent_type" } else { "name" }.to_owned();
            vec![Subject::ToolArgument { tool: tool.to_owned(), argument, value: pattern.to_owned() }]
        }
        _ => {
            return Err(left_out(format!("Midrail does not know what the patterns of `{tool}` compare")));
        }
    };
    Ok(subjects.into_iter().map(|subject| PolicyRule::new(verdict, subject)).collect())
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

/// A URL pattern without its path.
fn site(pattern: &str) -> String {
    let start = pattern.find("://").map_or(0, |at| at + 3);
    let end = pattern.get(start..).and_then(|rest| rest.find('/')).map_or(pattern.len(), |at| start + at);
    pattern.get(..end).unwrap_or_default().to_owned()
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

fn write(rules: Vec<PolicyRule>, writer: &mut Writer) -> String {
    let mut tools: Vec<(String, Vec<(String, &'static str)>)> = Vec::new();
    // The last rule decides.
    for (_, rule) in by_precedence(rules, writer).into_iter().rev() {
        let entries = entries(&rule).unwrap_or_else(|reason| {
            writer.leave_out(&rule.source, reason);
            Vec::new()
        });
        for (tool, pattern) in entries {
            writer.rules += 1;
            let entry = (pattern, rule.verdict.name());
            match tools.iter_mut().find(|(name, _)| *name == tool) {
                Some((_, patterns)) => {
                    patterns.retain(|(pattern, _)| *pattern != entry.0);
                    patterns.push(entry);
                }
                None => tools.push((tool, vec![entry])),
            }
        }
    }
    // A rule for all tools comes before those for one.
    tools.sort_by_key(|(tool, _)| tool != "*");
    let tools: Vec<String> = tools
        .iter()
        .map(|(tool, patterns)| match patterns.as_slice() {
            [(pattern, word)] if pattern == "*" => format!("    {}: \"{word}\"", json_text(tool)),
            _ => {
                let patterns = patterns
                    .iter()
                    .map(|(pattern, word)| format!("      {}: \"{word}\"", json_text(pattern)));
                format!("    {}: {{\n{}\n    }}", json_text(tool), patterns.collect::<Vec<_>>().join(",\n"))
            }
        })
        .collect();
    let body = if tools.is_empty() { String::new() } else { format!("\n{}\n  ", tools.join(",\n")) };
    format!("{{\n  \"permission\": {{{body}}}\n}}\n")
}

/// The tools and patterns of a rule in the format of OpenCode.
fn entries(rule: &PolicyRule) -> Result<Vec<(String, String)>, &'static str> {
    let one = |tool: &str, pattern: &str| vec![(tool.to_owned(), pattern.to_owned())];
    let place = |path: &str| if path == "**" { "*".to_owned() } else { plain_braces(path) };
    Ok(match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => one("bash", "*"),
        Subject::Command(CommandPattern { words, is_exact }) => {
            let more = if *is_exact || words.ends_with('*') { "" } else { " *" };
            one("bash", &format!("{words}{more}"))
        }
        Subject::CommandText(glob) => {
            // `?` has the same meaning in both.
            let text = unescaped(&glob.replace("\\?", "\0").replace('?', "\0"));
            one("bash", &text.ok_or("OpenCode has only `*` and `?` in patterns")?.replace('\0', "?"))
        }
        Subject::Read(path) if rule.verdict == Verdict::Allow => one("read", &place(path)),
        Subject::Read(path) => vec![("read".to_owned(), place(path)), ("edit".to_owned(), place(path))],
        Subject::Edit(path) => one("edit", &place(path)),
        Subject::Host(host) if host == "*" => one("webfetch", "*"),
        Subject::Host(host) => {
            let hosts = exact_hosts(host, rule.verdict).into_iter().rev();
            hosts.map(|host| ("webfetch".to_owned(), format!("*://{host}/*"))).collect()
        }
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => one(&format!("{server}_{tool}"), "*"),
            None => one(tool, "*"),
        },
        Subject::ToolArgument { tool, argument, value } => match (tool.as_str(), argument.as_str()) {
            ("task", "subagent_type") | ("skill", "name") => one(tool, value),
            _ => return Err("OpenCode has no rules for single arguments"),
        },
    })
}
