//! Permissions of Cursor: `cli-config.json`, `cli.json` and `permissions.json`. Deny decides before allow.

use jsonc_parser::ast::Object;

use super::claude_code::folder_patterns;
use super::command::{text_rule, words_rule};
use super::json;
use super::ordered::strictest_first;
use super::pattern::operator;
use super::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict,
};

/// Why an imported deny of a file is stricter.
const ALL_TOOLS: &str = "Midrail applies it to every tool and to commands, and ignores case";

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let mut rules = Vec::new();
    // The list of the deepest file replaces the others.
    let deepest = files.iter().filter(|file| has_allow(file)).min_by_key(|file| file.scope);
    for file in files {
        let is_replaced = deepest.is_some_and(|deepest| deepest.scope < file.scope);
        json::with_object(file, &mut policy, |policy, top| {
            if let Some(permissions) = json::object(top, "permissions") {
                for (list, verdict) in [("deny", Verdict::Deny), ("allow", Verdict::Allow)] {
                    for (line, text) in json::texts(file, policy, permissions, list) {
                        let source = RuleSource::new(file, line, text.clone());
                        if is_replaced && verdict == Verdict::Allow {
                            let name = deepest.map(|file| file.name.as_str()).unwrap_or_default();
                            policy.is_dead(&source, format!("the list of {name} replaces this one"));
                            continue;
                        }
                        rules.extend(rule(verdict, &text, source, policy));
                    }
                }
            }
            editor(file, top, policy, &mut rules);
        });
    }
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.verdict));
    strictest_first(rules, &mut policy);
    policy
}

/// Whether a file has a list of allowed calls of the CLI.
fn has_allow(file: &PolicyFile) -> bool {
    let mut found = false;
    json::with_object(file, &mut HostPolicy::default(), |_, top| {
        let permissions = json::object(top, "permissions");
        found = permissions.is_some_and(|permissions| json::property(permissions, "allow").is_some());
    });
    found && file.scope != FileScope::Managed
}

/// The allow-lists of the editor.
fn editor(file: &PolicyFile, top: &Object<'_>, policy: &mut HostPolicy, rules: &mut Vec<PolicyRule>) {
    for (line, text) in json::texts(file, policy, top, "terminalAllowlist") {
        let source = RuleSource::new(file, line, text.clone());
        match operator(&text) {
            Some(operator) => {
                policy.is_dead(
                    &source,
                    format!("Cursor splits a line at `{operator}` first, so no command matches it"),
                );
            }
            None => rules.push(words_rule(Verdict::Allow, &text, source)),
        }
    }
    for (line, text) in json::texts(file, policy, top, "mcpAllowlist") {
        let source = RuleSource::new(file, line, text.clone());
        rules.push(PolicyRule::new(Verdict::Allow, Subject::Tool(mcp(&text)), source));
    }
    if let Some(auto_run) = json::property(top, "autoRun") {
        let source = RuleSource::new(file, json::line(file, auto_run), "autoRun");
        policy.leave_out(&source, "it is a mode of the host, and stays with the host");
    }
}

/// The name of an MCP tool: `server:tool`, each of which may be `*`.
fn mcp(text: &str) -> String {
    let (server, tool) = text.split_once(':').unwrap_or((text, "*"));
    format!("mcp__{}__{}", server.trim(), tool.trim())
}

fn rule(verdict: Verdict, text: &str, source: RuleSource, policy: &mut HostPolicy) -> Vec<PolicyRule> {
    let inner = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((tool, inner)) = inner else {
        policy.is_dead(&source, "a rule is `Shell(…)`, `Read(…)`, `Write(…)`, `WebFetch(…)` or `Mcp(…)`");
        return Vec::new();
    };
    let inner = inner.trim();
    let is_strict = verdict != Verdict::Allow;
    let rule = |subject| PolicyRule::new(verdict, subject, source.clone());
    let files = |subject: fn(String) -> Subject| {
        let paths = folder_patterns(inner.trim_start_matches("./"), verdict).into_iter();
        paths.map(|path| rule(subject(path)).stricter(is_strict.then_some(ALL_TOOLS))).collect()
    };
    if inner.is_empty() {
        policy.is_dead(&source, "nothing is in the brackets, so it matches no call");
        return Vec::new();
    }
    match tool.trim() {
        "Shell" => shell(verdict, inner, source, policy).into_iter().collect(),
        "Read" => files(Subject::Read),
        "Write" => files(Subject::Edit),
        "WebFetch" => vec![rule(Subject::Host(inner.to_lowercase()))],
        "Mcp" => vec![rule(Subject::Tool(mcp(inner)))],
        other => {
            policy.is_dead(&source, format!("Cursor has no rules for `{other}`"));
            Vec::new()
        }
    }
}

/// `Shell(program)`, or `Shell(program:arguments)`.
fn shell(verdict: Verdict, inner: &str, source: RuleSource, policy: &mut HostPolicy) -> Option<PolicyRule> {
    let (program, arguments) = inner.split_once(':').unwrap_or((inner, "*"));
    let (program, arguments) = (program.trim(), arguments.trim());
    if matches!(program, "*" | "**") && matches!(arguments, "*" | "**") {
        return Some(PolicyRule::new(verdict, Subject::Command(CommandPattern::prefix("*")), source));
    }
    if program.contains(' ') {
        let reason = "Cursor compares only the first word of a command with it";
        if verdict == Verdict::Allow {
            policy.is_dead(&source, reason);
            return None;
        }
        return Some(words_rule(verdict, program, source).stricter(Some(reason)));
    }
    let pattern = match arguments {
        "" => program.to_owned(),
        "*" | "**" => format!("{program} *"),
        _ => format!("{program} {arguments}"),
    };
    Some(text_rule(verdict, &pattern, source))
}
