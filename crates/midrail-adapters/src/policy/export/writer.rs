//! Rules in the format of a host, and the report about them.

use serde::Serialize;
use serde_json::Value;

use super::super::rule::{Finding, PolicyRule, RuleSource, Subject, Verdict};
use super::super::unpack::Unpacked;

/// Rules in the format of a host.
#[derive(Debug, Clone, Serialize)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// The file of a project that it belongs into.
    pub file: &'static str,
    /// How many rules it has.
    pub rules: usize,
    /// Guardrails that are stricter in the host, and why.
    pub stricter: Vec<Finding>,
    /// Guardrails that the host cannot express, and why.
    pub left_out: Vec<Finding>,
}

/// The rules of a host so far.
pub(super) struct Writer {
    pub(super) rules: usize,
    stricter: Vec<Finding>,
    left_out: Vec<Finding>,
}

impl Writer {
    pub(super) fn leave_out(&mut self, source: &RuleSource, reason: impl Into<String>) {
        let finding = source.finding(reason);
        if !self.left_out.contains(&finding) {
            self.left_out.push(finding);
        }
    }

    pub(super) fn is_stricter(&mut self, source: &RuleSource, reason: impl Into<String>) {
        let finding = source.finding(reason);
        if !self.stricter.contains(&finding) {
            self.stricter.push(finding);
        }
    }

    pub(super) fn finish(self, text: String, file: &'static str) -> Exported {
        Exported { text, file, rules: self.rules, stricter: self.stricter, left_out: self.left_out }
    }
}

/// The rules to write, the strictest first, without those that another one includes.
pub(super) fn start(unpacked: Unpacked) -> (Vec<PolicyRule>, Writer) {
    let Unpacked { rules, left_out } = unpacked;
    let all = rules.clone();
    let is_below = |rule: &PolicyRule| {
        let folder = |path: &String| {
            let folder = path.strip_suffix("/**")?;
            Some(
                folder
                    .strip_prefix("**/")
                    .filter(|folder| !folder.contains('/'))
                    .unwrap_or(folder)
                    .to_owned(),
            )
        };
        let (Subject::Read(path) | Subject::Edit(path)) = &rule.subject else { return false };
        let Some(folder) = folder(path) else { return false };
        let whole = if matches!(rule.subject, Subject::Read(_)) {
            Subject::Read(folder)
        } else {
            Subject::Edit(folder)
        };
        all.iter().any(|other| other.verdict == rule.verdict && other.subject == whole)
    };
    let mut rules: Vec<PolicyRule> = rules.into_iter().filter(|rule| !is_below(rule)).collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.verdict));
    (rules, Writer { rules: 0, stricter: Vec::new(), left_out })
}

/// Reports exceptions, for hosts whose rules have none.
pub(super) fn without_exceptions(rule: &PolicyRule, writer: &mut Writer) {
    if !rule.exceptions.is_empty() && rule.verdict != Verdict::Allow {
        writer.is_stricter(&rule.source, "the host has no exceptions, so the rule applies to them too");
    }
}

/// The server and the tool of an MCP tool.
pub(super) fn mcp(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?
        .split_once("__")
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// A text as in JSON.
pub(super) fn json_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// The rules without those that allow what another rule asks for.
pub(super) fn without_asked(rules: Vec<PolicyRule>, writer: &mut Writer) -> Vec<PolicyRule> {
    let asks: Vec<PolicyRule> = rules.iter().filter(|rule| rule.verdict == Verdict::Ask).cloned().collect();
    let mut kept = Vec::new();
    for rule in rules.into_iter().filter(|rule| rule.verdict != Verdict::Ask) {
        let asked = asks.iter().find(|ask| ask.subject.may_overlap(&rule.subject));
        match asked.filter(|_| rule.verdict == Verdict::Allow) {
            Some(ask) => {
                let reason =
                    format!("`{}` requires an approval, which an allow would take away", ask.source.rule);
                writer.leave_out(&rule.source, reason);
            }
            None => kept.push(rule),
        }
    }
    kept
}
