//! Policies of Gemini CLI: TOML files with `[[rule]]`. The tier decides first, then the highest priority.

use toml_edit::{Document, Item, Table, Value};

use super::command::{text_rule, words_rule};
use super::json::line_at;
use super::ordered::first_match;
use super::regex;
use super::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict,
};

pub(super) const SHELL: &str = "run_shell_command";

/// Tools that write and read files.
const EDITING: [&str; 2] = ["write_file", "replace"];
const READING: [&str; 2] = ["read_file", "read_many_files"];

/// Why an imported rule for some modes is stricter.
const MODES: &str = "Midrail applies it in every mode";

/// Keys of a rule that have no part in a pack or are read elsewhere.
const KEYS: [&str; 12] = [
    "toolName",
    "commandPrefix",
    "commandRegex",
    "argsPattern",
    "mcpName",
    "decision",
    "priority",
    "modes",
    "denyMessage",
    "deny_message",
    "name",
    "description",
];

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let mut rules: Vec<(FileScope, i64, PolicyRule)> = Vec::new();
    for file in files {
        match Document::parse(file.text.as_str()) {
            Ok(document) => read_document(file, document.as_table(), &mut policy, &mut rules),
            Err(error) => {
                let line = error.span().map_or(0, |span| line_at(&file.text, span.start));
                let reason = format!("the file is not valid TOML: {}", error.message());
                policy.leave_out(&RuleSource::new(file, line, ""), reason);
            }
        }
    }
    // A stable sort: among equals, the order of the files.
    rules.sort_by_key(|(scope, priority, _)| (tier(*scope), std::cmp::Reverse(*priority)));
    first_match(rules.into_iter().map(|(_, _, rule)| rule).collect(), &mut policy);
    policy
}

/// The tier of a file, the one that decides first lowest.
fn tier(scope: FileScope) -> u8 {
    match scope {
        FileScope::Managed => 0,
        FileScope::User => 1,
        FileScope::Local | FileScope::Project => 2,
    }
}

fn read_document(
    file: &PolicyFile,
    top: &Table,
    policy: &mut HostPolicy,
    rules: &mut Vec<(FileScope, i64, PolicyRule)>,
) {
    for (key, item) in top.iter().filter(|(key, _)| *key != "rule") {
        let line = item.span().map_or(0, |span| line_at(&file.text, span.start));
        policy.leave_out(&RuleSource::new(file, line, key), "Midrail imports only `[[rule]]`");
    }
    let tables: Vec<&Table> = match top.get("rule") {
        Some(Item::ArrayOfTables(tables)) => tables.iter().collect(),
        Some(item) => {
            let line = item.span().map_or(0, |span| line_at(&file.text, span.start));
            policy.leave_out(&RuleSource::new(file, line, "rule"), "`rule` is not a list of tables");
            return;
        }
        None => return,
    };
    for table in tables {
        let line = table.span().map_or(0, |span| line_at(&file.text, span.start));
        let mut source = RuleSource::new(file, line, "");
        source.rule = summary(table);
        match read_rule(table, &source, policy) {
            Ok((priority, found)) => rules.extend(found.into_iter().map(|rule| (file.scope, priority, rule))),
            Err(Problem::Dead(reason)) => policy.is_dead(&source, reason),
            Err(Problem::LeftOut(reason)) => policy.leave_out(&source, reason),
        }
    }
}

enum Problem {
    Dead(String),
    LeftOut(String),
}

/// A rule on one line.
fn summary(table: &Table) -> String {
    let keys =
        ["toolName", "mcpName", "commandPrefix", "commandRegex", "argsPattern", "decision", "priority"];
    let parts = keys.iter().filter_map(|key| {
        let value = table.get(key)?.as_value()?;
        Some(format!("{key} = {}", value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The texts of a key: one or a list.
fn texts(table: &Table, key: &str) -> Result<Option<Vec<String>>, Problem> {
    let invalid =
        || Problem::Dead(format!("Gemini CLI rejects the file: `{key}` is not a text or a list of texts"));
    match table.get(key).map(Item::as_value) {
        None => Ok(None),
        Some(Some(Value::String(text))) => Ok(Some(vec![text.value().clone()])),
        Some(Some(Value::Array(items))) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            items.map(Some).ok_or_else(invalid)
        }
        _ => Err(invalid()),
    }
}

fn text(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn read_rule(
    table: &Table,
    source: &RuleSource,
    policy: &mut HostPolicy,
) -> Result<(i64, Vec<PolicyRule>), Problem> {
    let verdict = match text(table, "decision").as_deref() {
        Some("allow") => Verdict::Allow,
        Some("ask_user") => Verdict::Ask,
        Some("deny") => Verdict::Deny,
        _ => {
            return Err(Problem::Dead(
                "Gemini CLI rejects the file: `decision` is allow, deny or ask_user".into(),
            ));
        }
    };
    let priority = match table.get("priority").map(Item::as_integer) {
        Some(Some(priority)) if (0..=999).contains(&priority) => priority,
        None => 0,
        _ => {
            return Err(Problem::Dead(
                "Gemini CLI rejects the file: `priority` is a number from 0 to 999".into(),
            ));
        }
    };
    let has_modes = texts(table, "modes")?.is_some();
    if has_modes && verdict == Verdict::Allow {
        return Err(Problem::LeftOut("`vouch` has no modes of a host".into()));
    }
    if let Some(key) = table.iter().map(|(key, _)| key).find(|key| !KEYS.contains(key)) {
        if verdict == Verdict::Allow {
            return Err(Problem::LeftOut(format!("Midrail does not know the condition `{key}`")));
        }
        policy.leave_out(source, format!("the condition `{key}` is ignored, so the rule always applies"));
    }
    let tools = texts(table, "toolName")?.unwrap_or_else(|| vec!["*".to_owned()]);
    let subjects = if table.contains_key("commandPrefix") || table.contains_key("commandRegex") {
        commands(table, verdict, &tools, source)?
    } else if let Some(pattern) = text(table, "argsPattern") {
        arguments(&pattern, verdict, &tools, source)?
    } else {
        let server = text(table, "mcpName");
        let found = tools.iter().flat_map(|tool| tool_subjects(tool, server.as_deref(), verdict));
        found.map(|subject| PolicyRule::new(verdict, subject, source.clone())).collect()
    };
    let reason = text(table, "denyMessage").or_else(|| text(table, "deny_message"));
    let subjects = subjects.into_iter().map(|rule| {
        let rule = rule.because(reason.clone());
        rule.stricter((has_modes && verdict != Verdict::Allow).then_some(MODES))
    });
    Ok((priority, subjects.collect()))
}

/// Rules for commands by prefix or expression.
fn commands(
    table: &Table,
    verdict: Verdict,
    tools: &[String],
    source: &RuleSource,
) -> Result<Vec<PolicyRule>, Problem> {
    if !tools.iter().any(|tool| tool == SHELL) {
        let reason = format!("`commandPrefix` and `commandRegex` need `toolName = \"{SHELL}\"`");
        return Err(Problem::Dead(reason));
    }
    let mut rules = Vec::new();
    for prefix in texts(table, "commandPrefix")?.unwrap_or_default() {
        let prefix = prefix.trim();
        if prefix.contains('*') && verdict == Verdict::Allow {
            return Err(Problem::LeftOut("`vouch` would read the `*` as a wildcard".into()));
        }
        if prefix.contains('*') {
            // The host compares the character itself, so Midrail blocks more.
            rules.push(text_rule(verdict, &format!("{prefix} *"), source.clone()));
        } else if !prefix.is_empty() {
            rules.push(words_rule(verdict, prefix, source.clone()));
        } else {
            rules.push(PolicyRule::new(
                verdict,
                Subject::Command(CommandPattern::prefix("*")),
                source.clone(),
            ));
        }
    }
    if let Some(expression) = text(table, "commandRegex") {
        rules.push(expression_rule(verdict, &expression, source)?);
    }
    Ok(rules)
}

/// A rule for commands by a regular expression.
fn expression_rule(verdict: Verdict, expression: &str, source: &RuleSource) -> Result<PolicyRule, Problem> {
    if verdict == Verdict::Allow {
        return Err(Problem::LeftOut("`vouch` has no regular expressions".into()));
    }
    let glob = regex::to_glob(expression).ok_or_else(|| {
        Problem::LeftOut("the regular expression cannot be written as a glob pattern".into())
    })?;
    let rule = PolicyRule::new(verdict, Subject::CommandText(glob), source.clone());
    Ok(rule.stricter(Some("Midrail compares the text of the whole line with a glob pattern")))
}

/// Rules for arguments by a regular expression on their JSON. Only the start of a command can be expressed.
fn arguments(
    pattern: &str,
    verdict: Verdict,
    tools: &[String],
    source: &RuleSource,
) -> Result<Vec<PolicyRule>, Problem> {
    let command =
        ["\"command\":\"", "\\\"command\\\":\\\""].iter().find_map(|head| pattern.strip_prefix(head));
    match command {
        Some(command) if tools.iter().any(|tool| tool == SHELL) => {
            Ok(vec![expression_rule(verdict, command, source)?])
        }
        _ => Err(Problem::LeftOut(
            "`argsPattern` compares the JSON of all arguments, which a pack cannot".into(),
        )),
    }
}

/// The subjects of a tool.
fn tool_subjects(tool: &str, server: Option<&str>, verdict: Verdict) -> Vec<Subject> {
    let is_allow = verdict == Verdict::Allow;
    let tool = tool.trim();
    if let Some(server) = server {
        let tool = tool.strip_prefix(&format!("{server}__")).unwrap_or(tool);
        return vec![Subject::Tool(format!("mcp__{server}__{tool}"))];
    }
    if let Some(rest) = tool.strip_prefix("mcp_").filter(|rest| !rest.starts_with('_')) {
        // The adapter names a tool `mcp__SERVER__TOOL`.
        let rest = rest.replacen('_', "__", usize::from(!rest.starts_with('*')));
        return vec![Subject::Tool(format!("mcp__{rest}"))];
    }
    match tool {
        SHELL => vec![Subject::Command(CommandPattern::prefix("*"))],
        "web_fetch" if is_allow => vec![Subject::Host("*".to_owned())],
        _ if is_allow && EDITING.contains(&tool) => vec![Subject::Edit("**".to_owned())],
        _ if is_allow && READING.contains(&tool) => vec![Subject::Read("**".to_owned())],
        _ => match tool.split_once("__") {
            Some((server, name)) if !server.is_empty() && server != "mcp" => {
                vec![Subject::Tool(format!("mcp__{server}__{name}"))]
            }
            _ => vec![Subject::Tool(tool.to_owned())],
        },
    }
}
