//! Rules in the format of a host, and the report about them.

use serde::Serialize;
use serde_json::Value;

use super::pattern::alternatives;
use super::rule::{Finding, PolicyRule, RuleSource, Subject, Verdict, push_new};
use super::unpack::Unpacked;

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

/// The report about the rules of a host so far.
pub(crate) struct Writer {
    pub(crate) rules: usize,
    stricter: Vec<Finding>,
    left_out: Vec<Finding>,
}

impl Writer {
    /// The rules to write, the strictest first, without those that another one includes.
    pub(super) fn start(unpacked: Unpacked) -> (Vec<PolicyRule>, Writer) {
        let Unpacked { rules, left_out, .. } = unpacked;
        let rules: Vec<PolicyRule> = rules.into_iter().flat_map(without_groups).collect();
        let is_below = |rule: &PolicyRule| {
            rules.iter().any(|other| match (&other.subject, &rule.subject) {
                (Subject::Read(whole), Subject::Read(path)) | (Subject::Edit(whole), Subject::Edit(path)) => {
                    other.verdict == rule.verdict && folder(path) == Some(whole)
                }
                _ => false,
            })
        };
        let mut kept: Vec<PolicyRule> = rules.iter().filter(|rule| !is_below(rule)).cloned().collect();
        kept.sort_by_key(|rule| std::cmp::Reverse(rule.verdict));
        (kept, Writer { rules: 0, stricter: Vec::new(), left_out })
    }

    pub(super) fn finish(self, text: String, file: &'static str) -> Exported {
        Exported { text, file, rules: self.rules, stricter: self.stricter, left_out: self.left_out }
    }

    pub(crate) fn leave_out(&mut self, source: &RuleSource, reason: impl Into<String>) {
        push_new(&mut self.left_out, source.finding(reason));
    }

    pub(crate) fn is_stricter(&mut self, source: &RuleSource, reason: impl Into<String>) {
        push_new(&mut self.stricter, source.finding(reason));
    }

    /// The texts of rules, each once, for a host whose rules have no exceptions.
    pub(crate) fn texts<'r>(
        &mut self,
        rules: impl IntoIterator<Item = &'r PolicyRule>,
        write: impl Fn(&PolicyRule) -> Written,
    ) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for rule in rules {
            match write(rule) {
                Ok(texts) => {
                    if !rule.exceptions.is_empty() && rule.verdict != Verdict::Allow {
                        let reason = "the host has no exceptions, so the rule applies to them too";
                        self.is_stricter(&rule.source, reason);
                    }
                    texts.into_iter().for_each(|text| push_new(&mut all, text));
                }
                Err(reason) => self.leave_out(&rule.source, reason),
            }
        }
        self.rules += all.len();
        all
    }

    /// Settings with a list of rules per verdict.
    pub(crate) fn lists(
        &mut self,
        lists: &[(&str, Verdict)],
        rules: &[PolicyRule],
        write: fn(&PolicyRule) -> Written,
    ) -> String {
        let mut parts = Vec::new();
        for (name, verdict) in lists {
            let texts = self.texts(rules.iter().filter(|rule| rule.verdict == *verdict), write);
            if !texts.is_empty() {
                let texts: Vec<String> = texts.iter().map(|text| json_text(text)).collect();
                parts.push(format!("    \"{name}\": [\n      {}\n    ]", texts.join(",\n      ")));
            }
        }
        let body = if parts.is_empty() { String::new() } else { format!("\n{}\n  ", parts.join(",\n")) };
        format!("{{\n  \"permissions\": {{{body}}}\n}}\n")
    }

    /// The rules of a host that cannot ask, without those that ask.
    pub(crate) fn without_asking(&mut self, mut rules: Vec<PolicyRule>, reason: &str) -> Vec<PolicyRule> {
        for ask in rules.extract_if(.., |rule| rule.verdict == Verdict::Ask) {
            self.leave_out(&ask.source, reason);
        }
        rules
    }
}

/// The rules of a host that stand for one rule of a pack, or why there are none.
pub(crate) type Written = Result<Vec<String>, &'static str>;

/// A rule with alternatives in its path as one rule for each, because few hosts know groups such as `{a,b}`.
fn without_groups(rule: PolicyRule) -> Vec<PolicyRule> {
    let expand = |subject: &Subject| match subject {
        Subject::Read(path) => alternatives(path).into_iter().map(Subject::Read).collect(),
        Subject::Edit(path) => alternatives(path).into_iter().map(Subject::Edit).collect(),
        other => vec![other.clone()],
    };
    let exceptions: Vec<Subject> = rule.exceptions.iter().flat_map(expand).collect();
    let one = |subject| PolicyRule { subject, exceptions: exceptions.clone(), ..rule.clone() };
    expand(&rule.subject).into_iter().map(one).collect()
}

/// The folder whose content a path pattern matches.
fn folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/**")?;
    Some(folder.strip_prefix("**/").filter(|name| !name.contains('/')).unwrap_or(folder))
}

/// The hosts of a rule for hosts that compare names exactly. A deny of a pack includes subdomains.
pub(crate) fn exact_hosts(host: &str, verdict: Verdict) -> Vec<String> {
    let below = (verdict != Verdict::Allow && !host.starts_with('*')).then(|| format!("*.{host}"));
    std::iter::once(host.to_owned()).chain(below).collect()
}

/// The server and the tool of an MCP tool.
pub(crate) fn mcp(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?
        .split_once("__")
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// A text as in JSON.
pub(crate) fn json_text(text: &str) -> String {
    Value::from(text).to_string()
}
