//! A permission rule, independent of the host that it was written for.

use midrail::core::glob;
use serde::Serialize;

use super::pattern::literal;

/// The answer of a rule, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The host does not ask.
    Allow,
    /// The host asks the user.
    Ask,
    /// The host denies the call.
    Deny,
}

impl Verdict {
    /// Its name in ids of imported guardrails.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

/// A command in a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CommandPattern {
    /// The program and its leading words, with `*` as a wildcard. `*` alone: every command.
    pub words: String,
    /// Nothing may follow the words.
    pub is_exact: bool,
}

impl CommandPattern {
    /// The program and its leading words; anything may follow.
    pub fn prefix(words: impl Into<String>) -> Self {
        CommandPattern { words: words.into(), is_exact: false }
    }

    /// The whole command.
    pub fn exact(words: impl Into<String>) -> Self {
        CommandPattern { words: words.into(), is_exact: true }
    }

    /// Whether it matches every command.
    pub fn is_every(&self) -> bool {
        self.words == "*"
    }
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A command on its parsed form.
    Command(CommandPattern),
    /// A command line by its text: a glob pattern. Only for rules that cannot be expressed on the parsed form.
    CommandText(String),
    /// A file that is read: a path pattern of Midrail.
    Read(String),
    /// A file that is changed: a path pattern of Midrail.
    Edit(String),
    /// A host that is called: a name or a glob pattern.
    Host(String),
    /// A tool: a name or a glob pattern.
    Tool(String),
    /// A tool with a value of one of its arguments.
    ToolArgument {
        /// The name of the tool.
        tool: String,
        /// The name of the argument.
        argument: String,
        /// Its value: a text or a glob pattern.
        value: String,
    },
}

impl Subject {
    /// Escapes the special characters of an invalid glob pattern. False: it cannot be written as one.
    fn escape_invalid(&mut self) -> bool {
        let pattern = match self {
            Subject::CommandText(pattern)
            | Subject::Read(pattern)
            | Subject::Edit(pattern)
            | Subject::Host(pattern)
            | Subject::Tool(pattern) => pattern,
            Subject::Command(_) | Subject::ToolArgument { .. } => return true,
        };
        if glob::check(pattern).is_err() {
            *pattern = literal(pattern);
        }
        glob::check(pattern).is_ok() && !pattern.trim().is_empty()
    }
}

/// Where a rule was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RuleSource {
    /// The file.
    pub file: String,
    /// The line, from 1. 0: unknown.
    pub line: usize,
    /// The rule as it is written.
    pub rule: String,
}

impl RuleSource {
    pub(super) fn new(file: &PolicyFile, line: usize, rule: impl Into<String>) -> Self {
        RuleSource { file: file.name.clone(), line, rule: rule.into() }
    }

    pub(super) fn finding(&self, reason: impl Into<String>) -> Finding {
        Finding { source: self.clone(), reason: reason.into() }
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyRule {
    /// The answer.
    pub verdict: Verdict,
    /// What it is about.
    pub subject: Subject,
    /// The reason that the host shows.
    pub reason: Option<String>,
    /// Subjects to which it does not apply, because a rule with precedence allows them.
    pub exceptions: Vec<Subject>,
    /// Where it was read.
    pub source: RuleSource,
    /// Why Midrail is stricter than the host, if it is.
    pub stricter: Option<String>,
}

impl PolicyRule {
    pub(super) fn new(verdict: Verdict, subject: Subject, source: RuleSource) -> Self {
        PolicyRule { verdict, subject, reason: None, exceptions: Vec::new(), source, stricter: None }
    }

    pub(super) fn because(mut self, reason: Option<String>) -> Self {
        self.reason = reason.filter(|reason| !reason.trim().is_empty());
        self
    }

    /// Adds a reason why Midrail is stricter.
    pub(super) fn stricter(mut self, why: Option<impl Into<String>>) -> Self {
        if let Some(why) = why.map(Into::into) {
            self.stricter = Some(match self.stricter.take() {
                Some(before) if before != why => format!("{before}; {why}"),
                _ => why,
            });
        }
        self
    }
}

/// A rule that was not imported as it is written, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    #[serde(flatten)]
    pub source: RuleSource,
    /// Why.
    pub reason: String,
}

/// An example of a rule: a command, and the answer that all rules together give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The command line.
    pub command: String,
    /// The answer. `None`: no rule matches.
    pub verdict: Option<Verdict>,
}

/// The rules of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostPolicy {
    /// The rules that can be expressed in a pack.
    pub rules: Vec<PolicyRule>,
    /// Rules that cannot be expressed.
    pub left_out: Vec<Finding>,
    /// Rules without effect in the host itself.
    pub dead: Vec<Finding>,
    /// Examples.
    pub examples: Vec<Example>,
}

impl HostPolicy {
    pub(super) fn leave_out(&mut self, source: &RuleSource, reason: impl Into<String>) {
        self.left_out.push(source.finding(reason));
    }

    /// Makes every pattern a valid glob pattern. Hosts take brackets that are not closed literally.
    pub(super) fn check_patterns(&mut self) {
        for mut rule in std::mem::take(&mut self.rules) {
            if rule.subject.escape_invalid() {
                rule.exceptions.retain_mut(Subject::escape_invalid);
                self.rules.push(rule);
            } else {
                self.leave_out(&rule.source, "it cannot be written as a glob pattern");
            }
        }
    }

    pub(super) fn is_dead(&mut self, source: &RuleSource, reason: impl Into<String>) {
        self.dead.push(source.finding(reason));
    }
}

/// Whose settings a file contains, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileScope {
    /// Those of an administrator.
    Managed,
    /// Those of one user for one project.
    Local,
    /// Those of a project.
    Project,
    /// Those of a user.
    User,
}

/// A file with rules of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// Its name in reports.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Whose settings it contains.
    pub scope: FileScope,
}

impl PolicyFile {
    /// A file of a project.
    pub fn of_project(name: impl Into<String>, text: impl Into<String>) -> Self {
        PolicyFile { name: name.into(), text: text.into(), scope: FileScope::Project }
    }
}
