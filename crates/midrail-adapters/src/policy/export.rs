//! The rules of a pack in the formats of hosts.

mod flags;
mod lists;
mod ordered;

use serde::Serialize;
use serde_json::Value;

use super::rule::{Finding, PolicyRule, RuleSource, Subject, Verdict};
use super::unpack::Unpacked;

pub(super) use flags::{codex, copilot};
pub(super) use lists::{claude_code, cursor};
pub(super) use ordered::{gemini, opencode};

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
struct Writer {
    rules: usize,
    stricter: Vec<Finding>,
    left_out: Vec<Finding>,
}

impl Writer {
    fn leave_out(&mut self, source: &RuleSource, reason: impl Into<String>) {
        let finding = source.finding(reason);
        if !self.left_out.contains(&finding) {
            self.left_out.push(finding);
        }
    }

    fn is_stricter(&mut self, source: &RuleSource, reason: impl Into<String>) {
        let finding = source.finding(reason);
        if !self.stricter.contains(&finding) {
            self.stricter.push(finding);
        }
    }

    fn finish(self, text: String, file: &'static str) -> Exported {
        Exported { text, file, rules: self.rules, stricter: self.stricter, left_out: self.left_out }
    }
}

/// The rules to write, the strictest first, without those that another one includes.
fn start(unpacked: Unpacked) -> (Vec<PolicyRule>, Writer) {
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
fn without_exceptions(rule: &PolicyRule, writer: &mut Writer) {
    if !rule.exceptions.is_empty() && rule.verdict != Verdict::Allow {
        writer.is_stricter(&rule.source, "the host has no exceptions, so the rule applies to them too");
    }
}

/// The server and the tool of an MCP tool.
fn mcp(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?
        .split_once("__")
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// A text as in JSON.
fn json_text(text: &str) -> String {
    Value::from(text).to_string()
}
