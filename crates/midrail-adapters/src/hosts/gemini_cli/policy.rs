//! Policies of Gemini CLI: TOML files with `[[rule]]`. The tier decides first, then the highest priority.

use std::cmp::Reverse;

use toml_edit::{Document, Item, Table, Value};

use crate::policy::format::PolicyFormat;
use crate::policy::json::line_at;
use crate::policy::ordered::first_match;
use crate::policy::precedence::{Precedence, by_precedence};
use crate::policy::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, Problem, RuleResult, RuleSource, Subject,
    Verdict, VerdictWords, dead, left_out,
};
use crate::policy::translate::{expression_rule, words_rule};
use crate::policy::writer::{Writer, json_text, mcp};

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "gemini",
    title: "Gemini CLI",
    user_folder: None,
    files: &[
        (FileScope::Managed, "gemini-cli/policies/*.toml"),
        (FileScope::Project, ".gemini/policies/*.toml"),
        (FileScope::User, "policies/*.toml"),
    ],
    read,
    order: first_match,
    export_file: ".gemini/policies/midrail.toml",
    write,
};

const SHELL: &str = "run_shell_command";

/// Tools that write and read files.
const EDITING: [&str; 2] = ["write_file", "replace"];
const READING: [&str; 2] = ["read_file", "read_many_files"];

const WORDS: VerdictWords = VerdictWords { allow: "allow", ask: "ask_user", deny: "deny" };

/// The keys of a rule that reports show.
const SHOWN: [&str; 7] =
    ["toolName", "mcpName", "commandPrefix", "commandRegex", "argsPattern", "decision", "priority"];

/// Further keys of a rule that are no conditions, or are read.
const OTHER_KEYS: [&str; 5] = ["modes", "denyMessage", "deny_message", "name", "description"];

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    let mut priorities: Vec<(FileScope, i64)> = Vec::new();
    for file in files {
        match Document::parse(file.text.as_str()) {
            Ok(document) => read_document(file, document.as_table(), policy, &mut priorities),
            Err(error) => {
                let reason = format!("the file is not valid TOML: {}", error.message());
                policy.leave_out(&source(file, error.span(), ""), reason);
            }
        }
    }
    let mut rules: Vec<_> = priorities.into_iter().zip(std::mem::take(&mut policy.rules)).collect();
    // A stable sort: among equals, the order of the files.
    rules.sort_by_key(|((scope, priority), _)| (tier(*scope), Reverse(*priority)));
    policy.rules = rules.into_iter().map(|(_, rule)| rule).collect();
}

/// The tier of a file, the one that decides first lowest.
fn tier(scope: FileScope) -> u8 {
    match scope {
        FileScope::Managed => 0,
        FileScope::User => 1,
        FileScope::Local | FileScope::Project => 2,
    }
}

fn source(file: &PolicyFile, span: Option<std::ops::Range<usize>>, rule: impl Into<String>) -> RuleSource {
    RuleSource::new(file, span.map_or(0, |span| line_at(&file.text, span.start)), rule)
}

/// Adds the rules of a file, and the scope and priority of each.
fn read_document(
    file: &PolicyFile,
    top: &Table,
    policy: &mut HostPolicy,
    priorities: &mut Vec<(FileScope, i64)>,
) {
    for (key, item) in top {
        let reason = match item {
            Item::ArrayOfTables(_) if key == "rule" => continue,
            _ if key == "rule" => "`rule` is not a list of tables",
            _ => "Midrail imports only `[[rule]]`",
        };
        policy.leave_out(&source(file, item.span(), key), reason);
    }
    let tables = top.get("rule").and_then(Item::as_array_of_tables);
    for table in tables.into_iter().flatten() {
        let source = source(file, table.span(), summary(table));
        let (priority, rules) = match read_rule(table, &source, policy) {
            Ok((priority, rules)) => (priority, Ok(rules)),
            Err(problem) => (0, Err(problem)),
        };
        let is_lost =
            matches!(rules, Err(Problem::LeftOut(_))) && text(table, "decision") != Some(WORDS.allow);
        let is_shell =
            texts(table, "toolName").ok().flatten().is_none_or(|tools| tools.iter().any(|it| it == SHELL));
        policy.has_lost_commands |= is_lost && is_shell;
        policy.add(&source, rules);
        priorities.resize(policy.rules.len(), (file.scope, priority));
    }
}

/// A rule on one line.
fn summary(table: &Table) -> String {
    let parts = SHOWN.iter().filter_map(|key| {
        let value = table.get(key)?.as_value()?;
        Some(format!("{key} = {}", value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn rejected(reason: &str) -> Problem {
    dead(format!("Gemini CLI rejects the file: {reason}"))
}

/// The texts of a key: one or a list.
fn texts(table: &Table, key: &str) -> Result<Option<Vec<String>>, Problem> {
    let Some(item) = table.get(key) else { return Ok(None) };
    let texts = match item.as_value() {
        Some(Value::String(text)) => Some(vec![text.value().clone()]),
        Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let invalid = || rejected(&format!("`{key}` is not a text or a list of texts"));
    texts.map(Some).ok_or_else(invalid)
}

fn text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    table.get(key)?.as_str()
}

/// The priority and the rules of a table.
fn read_rule(
    table: &Table,
    source: &RuleSource,
    policy: &mut HostPolicy,
) -> Result<(i64, Vec<PolicyRule>), Problem> {
    let verdict = text(table, "decision").and_then(|word| WORDS.verdict(word));
    let verdict = verdict.ok_or_else(|| rejected("`decision` is allow, deny or ask_user"))?;
    let priority = table.get("priority").map_or(Some(0), Item::as_integer);
    let priority = priority.filter(|priority| (0..=999).contains(priority));
    let priority = priority.ok_or_else(|| rejected("`priority` is a number from 0 to 999"))?;
    let has_modes = texts(table, "modes")?.is_some();
    if has_modes && verdict == Verdict::Allow {
        return Err(left_out("`vouch` has no modes of a host"));
    }
    let is_known = |key: &str| SHOWN.contains(&key) || OTHER_KEYS.contains(&key);
    if let Some(key) = table.iter().map(|(key, _)| key).find(|key| !is_known(key)) {
        if verdict == Verdict::Allow {
            return Err(left_out(format!("Midrail does not know the condition `{key}`")));
        }
        policy.leave_out(source, format!("the condition `{key}` is ignored, so the rule always applies"));
    }
    let tools = texts(table, "toolName")?.unwrap_or_else(|| vec!["*".to_owned()]);
    let is_shell = tools.iter().any(|tool| tool == SHELL);
    let rules = if table.contains_key("commandPrefix") || table.contains_key("commandRegex") {
        if !is_shell {
            let reason = format!("`commandPrefix` and `commandRegex` need `toolName = \"{SHELL}\"`");
            return Err(dead(reason));
        }
        command_rules(table, verdict)?
    } else if let Some(pattern) = text(table, "argsPattern") {
        // Only the start of a command can be expressed.
        let heads = ["\"command\":\"", "\\\"command\\\":\\\""];
        let command = heads.iter().find_map(|head| pattern.strip_prefix(head)).filter(|_| is_shell);
        let command = command.ok_or_else(|| {
            left_out("`argsPattern` compares the JSON of all arguments, which a pack cannot")
        })?;
        vec![expression_rule(verdict, command)?]
    } else {
        let subjects = tools.iter().map(|tool| tool_subject(tool, text(table, "mcpName"), verdict));
        subjects.map(|subject| PolicyRule::new(verdict, subject)).collect()
    };
    let reason = text(table, "denyMessage").or_else(|| text(table, "deny_message")).map(str::to_owned);
    let rules = rules
        .into_iter()
        .map(|rule| rule.because(reason.clone()).stricter_if(has_modes, "Midrail applies it in every mode"));
    Ok((priority, rules.collect()))
}

/// Rules for commands by prefix or expression.
fn command_rules(table: &Table, verdict: Verdict) -> RuleResult {
    let mut rules = Vec::new();
    for prefix in texts(table, "commandPrefix")?.unwrap_or_default() {
        if prefix.contains('*') && verdict == Verdict::Allow {
            return Err(left_out("`vouch` would read the `*` as a wildcard"));
        }
        // The host compares a `*` itself, so Midrail blocks more.
        rules.push(words_rule(verdict, &prefix));
    }
    if let Some(expression) = text(table, "commandRegex") {
        rules.push(expression_rule(verdict, expression)?);
    }
    Ok(rules)
}

/// The subject of a tool.
fn tool_subject(tool: &str, server: Option<&str>, verdict: Verdict) -> Subject {
    let is_allow = verdict == Verdict::Allow;
    let tool = tool.trim();
    if let Some(server) = server {
        return Subject::mcp(server, tool.strip_prefix(&format!("{server}__")).unwrap_or(tool));
    }
    if let Some(rest) = tool.strip_prefix("mcp_").filter(|rest| !rest.starts_with('_')) {
        // The adapter names a tool `mcp__SERVER__TOOL`.
        let rest = rest.replacen('_', "__", usize::from(!rest.starts_with('*')));
        return Subject::Tool(format!("mcp__{rest}"));
    }
    match tool {
        SHELL => Subject::every_command(),
        "web_fetch" if is_allow => Subject::Host("*".to_owned()),
        _ if is_allow && EDITING.contains(&tool) => Subject::Edit("**".to_owned()),
        _ if is_allow && READING.contains(&tool) => Subject::Read("**".to_owned()),
        _ => match tool.split_once("__") {
            Some((server, name)) if !server.is_empty() && server != "mcp" => Subject::mcp(server, name),
            _ => Subject::Tool(tool.to_owned()),
        },
    }
}

fn write(rules: Vec<PolicyRule>, writer: &mut Writer) -> String {
    let mut text = String::new();
    for (precedence, rule) in by_precedence(rules, writer) {
        match conditions(&rule) {
            Ok(conditions) => {
                let reason =
                    rule.reason.as_ref().map(|reason| format!("denyMessage = {}\n", json_text(reason)));
                text.push_str(&format!(
                    "[[rule]]\n{conditions}decision = \"{}\"\npriority = {}\n{}\n",
                    WORDS.word(rule.verdict),
                    priority(precedence),
                    reason.unwrap_or_default()
                ));
                writer.rules += 1;
            }
            Err(reason) => writer.leave_out(&rule.source, reason),
        }
    }
    text
}

fn priority(precedence: Precedence) -> u32 {
    match precedence {
        Precedence::Deny => 900,
        Precedence::Ask => 800,
        Precedence::Exception => 700,
        Precedence::DenyWithExceptions => 600,
        Precedence::AskWithExceptions => 500,
        Precedence::Allow => 100,
    }
}

/// The conditions of a rule in the format of Gemini CLI.
fn conditions(rule: &PolicyRule) -> Result<String, &'static str> {
    let is_allow = rule.verdict == Verdict::Allow;
    let shell = format!("toolName = \"{SHELL}\"\n");
    Ok(match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => shell,
        Subject::Command(CommandPattern { words, is_exact: false }) if !words.contains('*') => {
            format!("{shell}commandPrefix = {}\n", json_text(words))
        }
        Subject::Command(_) if is_allow => {
            return Err("Gemini CLI allows commands by their first words only");
        }
        Subject::Command(CommandPattern { words: glob, .. }) | Subject::CommandText(glob) => {
            format!("{shell}commandRegex = {}\n", json_text(&expression(glob)))
        }
        Subject::Read(path) if is_allow && path == "**" => format!("toolName = {READING:?}\n"),
        Subject::Edit(path) if is_allow && path == "**" => format!("toolName = {EDITING:?}\n"),
        Subject::Read(_) | Subject::Edit(_) => return Err("Gemini CLI has no rules for single files"),
        Subject::Host(host) if is_allow && host == "*" => "toolName = \"web_fetch\"\n".to_owned(),
        Subject::Host(_) => return Err("Gemini CLI has no rules for single hosts"),
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => {
                format!("toolName = {}\nmcpName = {}\n", json_text(tool), json_text(server))
            }
            None => format!("toolName = {}\n", json_text(tool)),
        },
        Subject::ToolArgument { .. } => return Err("Gemini CLI has no rules for single arguments"),
    })
}

/// A glob pattern as a regular expression.
fn expression(glob: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    let mut chars = glob.trim_matches('*').chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '{' => {
                depth += 1;
                out.push('(');
            }
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            ',' if depth > 0 => out.push('|'),
            '[' => {
                out.push('[');
                for (at, c) in chars.by_ref().enumerate() {
                    out.push(if at == 0 && c == '!' { '^' } else { c });
                    if c == ']' {
                        break;
                    }
                }
            }
            '\\' => out.extend(chars.next().into_iter().flat_map(|c| ['\\', c])),
            '.' | '+' | '(' | ')' | '|' | '^' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
