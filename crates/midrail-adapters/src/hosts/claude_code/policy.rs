//! Permission rules of Claude Code: `permissions` in its settings files.
//!
//! Deny decides before ask, and ask before allow; a more specific rule has no precedence.

use jsonc_parser::ast::{Object, ObjectProp};

use crate::policy::format::PolicyFormat;
use crate::policy::json;
use crate::policy::ordered::strictest_first;
use crate::policy::pattern::{operator, plain_braces, unescaped};
use crate::policy::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleResult, RuleSource, Subject, Verdict,
    dead, left_out,
};
use crate::policy::translate::{path_rules, text_rule, tool_and_part};
use crate::policy::writer::{Written, exact_hosts};

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "claude-code",
    title: "Claude Code",
    user_folder: None,
    files: &[
        (FileScope::Managed, "claude-code/managed-settings.json"),
        (FileScope::Managed, "claude-code/managed-settings.d/*.json"),
        (FileScope::Local, ".claude/settings.local.json"),
        (FileScope::Project, ".claude/settings.json"),
        (FileScope::User, "settings.json"),
    ],
    read,
    order: strictest_first,
    export_file: ".claude/settings.json",
    write: |rules, writer| writer.lists(&LISTS, &rules, texts),
};

/// The lists, in the order in which Claude Code evaluates them.
const LISTS: [(&str, Verdict); 3] =
    [("deny", Verdict::Deny), ("ask", Verdict::Ask), ("allow", Verdict::Allow)];

/// Why rules of a file with a mistake have no effect.
const IGNORED: &str = "Claude Code ignores the whole file because of a mistake in it";

const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/// Tools whose path rules Claude Code accepts and never evaluates.
const UNEVALUATED: [(&str, &str); 4] =
    [("Write", "Edit"), ("MultiEdit", "Edit"), ("NotebookEdit", "Edit"), ("Glob", "Read")];

const EDITING_TOOLS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    for file in files {
        json::with_object(file, policy, |policy, top| {
            let Some(property) = json::property(top, "permissions") else { return };
            match property.value.as_object() {
                Some(permissions) => read_permissions(file, permissions, policy),
                None => {
                    let source = json::source(file, property, "permissions");
                    policy.leave_out(&source, "`permissions` is not an object");
                }
            }
        });
    }
}

/// Why Claude Code ignores a whole file, and the key at which the mistake is. One mistake is enough.
fn mistake(file: &PolicyFile, permissions: &Object<'_>) -> Option<(&'static str, String)> {
    if !json::is_strict(file) {
        return Some(("permissions", "its JSON has comments or a comma after the last value".to_owned()));
    }
    for property in &permissions.properties {
        let is_list = property.value.as_array().is_some();
        let list = ["deny", "ask", "allow", "additionalDirectories"].into_iter();
        if let Some(key) = list.into_iter().find(|key| property.name.as_str() == *key && !is_list) {
            return Some((key, format!("`{key}` is not a list")));
        }
        if property.name.as_str() == "defaultMode" && !json::text(&property.value).is_some_and(is_mode) {
            return Some((
                "defaultMode",
                format!("there is no such mode; the modes are {}", MODES.join(", ")),
            ));
        }
    }
    None
}

fn is_mode(name: &str) -> bool {
    MODES.contains(&name)
}

fn read_permissions(file: &PolicyFile, permissions: &Object<'_>, policy: &mut HostPolicy) {
    let mistake = mistake(file, permissions);
    if let Some((key, reason)) = &mistake
        && let Some(property) = permissions.properties.first()
    {
        let property = json::property(permissions, key).unwrap_or(property);
        let source = json::source(file, property, shown(key, property));
        policy.is_dead(&source, format!("{IGNORED}: {reason}"));
    }
    for (list, verdict) in LISTS {
        for source in json::texts(file, policy, permissions, list) {
            let rules = match rules(verdict, &source, file.scope, policy) {
                // The rules are imported as they were meant, as far as that is stricter.
                Ok(_) if mistake.is_some() && verdict == Verdict::Allow => Err(dead(IGNORED)),
                Ok(rules) => {
                    Ok(rules.into_iter().map(|rule| rule.stricter_if(mistake.is_some(), IGNORED)).collect())
                }
                Err(problem) => Err(problem),
            };
            policy.add(&source, rules);
        }
    }
    for property in &permissions.properties {
        let key = json::name(property);
        if LISTS.iter().any(|(list, _)| *list == key) {
            continue;
        }
        let value = json::text(&property.value).unwrap_or_default();
        let source = json::source(file, property, shown(&key, property));
        let reason = match key.as_str() {
            // Reported with the whole file.
            "defaultMode" if value == "default" || !is_mode(value) => continue,
            "defaultMode" => "the mode of the host stays with the host",
            "additionalDirectories" => "a pack has no folders of a host; `sandbox-boundary` limits folders",
            "disableBypassPermissionsMode" | "disableAutoMode" => {
                "it is about modes of the host, which Midrail does not have"
            }
            _ => "Midrail does not know this key",
        };
        policy.leave_out(&source, reason);
    }
}

/// A key and its text, as reports show them.
fn shown(key: &str, property: &ObjectProp<'_>) -> String {
    json::text(&property.value).map_or_else(|| key.to_owned(), |value| format!("{key}: {value}"))
}

/// The rules of one text.
fn rules(verdict: Verdict, source: &RuleSource, scope: FileScope, policy: &mut HostPolicy) -> RuleResult {
    let (tool, part) = tool_and_part(&source.rule)?;
    let brackets = source.rule.split_once('(').map(|(_, brackets)| brackets.trim());
    if brackets == Some(")") {
        return Err(dead("nothing is in the brackets, so it matches no call"));
    }
    let is_name = |c: char| c.is_alphanumeric() || "_-*.:".contains(c);
    if tool.is_empty() || !tool.chars().all(is_name) {
        return Err(dead("this is not the name of a tool"));
    }
    let Some(part) = part else { return whole_tool(verdict, tool) };
    match tool {
        "Bash" | "PowerShell" => command(verdict, part),
        "Read" => path(verdict, part, Subject::Read, scope, source, policy),
        "Edit" => path(verdict, part, Subject::Edit, scope, source, policy),
        "WebFetch" | "WebSearch" => match part.strip_prefix("domain:") {
            Some(domain) => {
                let rule = PolicyRule::new(verdict, Subject::Host(domain.trim().to_lowercase()));
                let is_one = !domain.contains('*');
                Ok(vec![rule.stricter_if(is_one, "Midrail applies it to subdomains and to commands too")])
            }
            None => Err(dead(format!("`{tool}` takes `domain:HOST` only"))),
        },
        _ if tool.starts_with("mcp__") => Err(dead("rules for MCP tools have no part in brackets")),
        _ => match UNEVALUATED.iter().find(|(name, _)| *name == tool) {
            Some((_, instead)) => {
                Err(dead(format!("Claude Code never evaluates paths of `{tool}`; write `{instead}({part})`")))
            }
            None => argument(verdict, tool, part),
        },
    }
}

/// A rule for a tool with any arguments.
fn whole_tool(verdict: Verdict, tool: &str) -> RuleResult {
    let is_allow = verdict == Verdict::Allow;
    let subject = match tool {
        "Bash" | "PowerShell" => Subject::every_command(),
        "Read" if is_allow => Subject::Read("**".to_owned()),
        _ if is_allow && EDITING_TOOLS.contains(&tool) => Subject::Edit("**".to_owned()),
        "WebFetch" if is_allow => Subject::Host("*".to_owned()),
        "Edit" => {
            let tools = EDITING_TOOLS.iter().map(|tool| Subject::Tool((*tool).to_owned()));
            return Ok(tools.map(|tool| PolicyRule::new(verdict, tool)).collect());
        }
        "*" if is_allow => return Err(dead("Claude Code accepts no pattern for all tools in `allow`")),
        _ if is_allow && tool.starts_with("mcp__*") => {
            return Err(dead("Claude Code needs the name of the server in `allow`: `mcp__SERVER__*`"));
        }
        _ => match tool.strip_prefix("mcp__") {
            // A server stands for all of its tools.
            Some(server) if !server.contains("__") && !server.ends_with('*') => Subject::mcp(server, "*"),
            _ => Subject::Tool(tool.to_owned()),
        },
    };
    Ok(vec![PolicyRule::new(verdict, subject)])
}

/// Why a rule with `:*` in the middle is not what its author meant.
const INNER_PREFIX: &str =
    "`:*` is a prefix only at the end of a rule; elsewhere it stands for `:` and any text";

/// A rule for commands.
fn command(verdict: Verdict, pattern: &str) -> RuleResult {
    if pattern.starts_with("command:") {
        return Err(dead("Claude Code never evaluates `command:`; write the command itself"));
    }
    // Claude Code compares some patterns with the whole line, which it splits for the others.
    if verdict == Verdict::Allow && operator(pattern).is_some() {
        return Err(left_out("`vouch` compares the commands of a line one by one"));
    }
    let pattern = match pattern.strip_suffix(":*") {
        Some(prefix) => format!("{} *", prefix.trim_end()),
        None => pattern.to_owned(),
    };
    let is_inner = pattern.contains(":*");
    if is_inner && verdict == Verdict::Allow {
        return Err(dead(INNER_PREFIX));
    }
    Ok(vec![text_rule(verdict, &pattern).stricter_if(is_inner, INNER_PREFIX)])
}

/// A rule for files: patterns as in `.gitignore`.
fn path(
    verdict: Verdict,
    pattern: &str,
    subject: fn(String) -> Subject,
    scope: FileScope,
    source: &RuleSource,
    policy: &mut HostPolicy,
) -> RuleResult {
    if pattern.starts_with('!') {
        return Err(left_out("a pack has no negated path patterns"));
    }
    let is_root = pattern.starts_with("//");
    let is_relative = pattern.starts_with('/') && !is_root;
    let place = match scope {
        _ if is_root => format!("/{}", pattern.trim_start_matches('/')),
        FileScope::User if is_relative => {
            let reason =
                format!("it means `~/.claude{pattern}`; write `/{pattern}` for the root of the file system");
            policy.is_dead(source, reason);
            format!("~/.claude{pattern}")
        }
        FileScope::Managed if is_relative => {
            let reason = "it is relative to the folder of the managed settings; write `//` for the root";
            return Err(left_out(reason));
        }
        _ => pattern.trim_start_matches("./").trim_start_matches('/').to_owned(),
    };
    if place.is_empty() {
        return Err(dead("the path is empty"));
    }
    let is_anchored = pattern.starts_with('/') || pattern.starts_with("./");
    let is_everywhere = is_anchored && !place.contains('/');
    // Braces have no meaning for Claude Code.
    let place = place.replace('{', "\\{").replace('}', "\\}");
    let rules = path_rules(verdict, &place, subject).into_iter();
    Ok(rules.map(|rule| rule.stricter_if(is_everywhere, "Midrail applies it in every folder")).collect())
}

/// A rule for one argument of a tool.
fn argument(verdict: Verdict, tool: &str, part: &str) -> RuleResult {
    let (argument, value) = match (tool, part.split_once(':')) {
        ("Agent" | "Task", None) => ("subagent_type", part),
        ("Skill", None) => ("skill", part),
        (_, Some((argument, value))) if is_argument(argument) && !value.is_empty() => (argument, value),
        _ => return Err(dead(format!("`{tool}` takes `ARGUMENT:VALUE` only"))),
    };
    if verdict == Verdict::Allow {
        return Err(left_out("`vouch` has no arguments of tools"));
    }
    let (tool, argument, value) = (tool.to_owned(), argument.to_owned(), value.trim().to_owned());
    let has_wildcard = value.contains('*');
    let rule = PolicyRule::new(verdict, Subject::ToolArgument { tool, argument, value });
    Ok(vec![
        rule.stricter_if(verdict == Verdict::Ask, "Claude Code asks for whole tools only")
            .stricter_if(has_wildcard, "Midrail reads `*` as a wildcard"),
    ])
}

/// Whether an expression can name the argument.
fn is_argument(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A rule in the format of Claude Code.
fn texts(rule: &PolicyRule) -> Written {
    let path = |path: &str| {
        let path = plain_braces(path);
        if path.starts_with('/') { format!("/{path}") } else { path }
    };
    let is_allow = rule.verdict == Verdict::Allow;
    Ok(vec![match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => "Bash".to_owned(),
        Subject::Command(CommandPattern { words, is_exact }) if *is_exact || words.ends_with('*') => {
            format!("Bash({words})")
        }
        Subject::Command(CommandPattern { words, .. }) if words.contains('*') => format!("Bash({words} *)"),
        Subject::Command(CommandPattern { words, .. }) => format!("Bash({words}:*)"),
        Subject::CommandText(glob) => {
            let text = unescaped(glob).ok_or("Claude Code has only `*` in patterns")?;
            format!("Bash({text})")
        }
        // A protected file may be neither read nor written.
        Subject::Read(place) if !is_allow => {
            return Ok(vec![format!("Read({})", path(place)), format!("Edit({})", path(place))]);
        }
        Subject::Read(place) if place == "**" => "Read".to_owned(),
        Subject::Edit(place) if place == "**" && is_allow => "Edit".to_owned(),
        Subject::Read(place) => format!("Read({})", path(place)),
        Subject::Edit(place) => format!("Edit({})", path(place)),
        Subject::Host(host) if host == "*" => "WebFetch".to_owned(),
        Subject::Host(host) => {
            let hosts = exact_hosts(host, rule.verdict).into_iter();
            return Ok(hosts.map(|host| format!("WebFetch(domain:{host})")).collect());
        }
        Subject::Tool(tool) if is_allow && (tool == "*" || tool.starts_with("mcp__*")) => {
            return Err("Claude Code needs the name of a tool or of a server in `allow`");
        }
        Subject::Tool(tool) => tool.clone(),
        Subject::ToolArgument { tool, argument, value } => match (tool.as_str(), argument.as_str()) {
            ("Agent" | "Task", "subagent_type") | ("Skill", "skill") => format!("{tool}({value})"),
            _ => format!("{tool}({argument}:{value})"),
        },
    }])
}
