//! A permission rule, independent of the host that it was written for.

use midrail::core::glob;
use serde::Serialize;

use super::pattern::literal;

/// The answer of a rule, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The host does not ask.
    Allow,
    /// The host asks the user.
    Ask,
    /// The host denies the call.
    Deny,
}

impl Verdict {
    /// Its name in ids of imported guardrails.
    pub(crate) fn name(self) -> &'static str {
        VerdictWords::NAMES.word(self)
    }
}

/// The words of a host for the verdicts.
pub(crate) struct VerdictWords {
    pub(crate) allow: &'static str,
    pub(crate) ask: &'static str,
    pub(crate) deny: &'static str,
}

impl VerdictWords {
    pub(crate) const NAMES: VerdictWords = VerdictWords { allow: "allow", ask: "ask", deny: "deny" };

    /// The word for a verdict.
    pub(crate) fn word(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Allow => self.allow,
            Verdict::Ask => self.ask,
            Verdict::Deny => self.deny,
        }
    }

    /// The verdict that a word stands for.
    pub(crate) fn verdict(&self, word: &str) -> Option<Verdict> {
        [Verdict::Allow, Verdict::Ask, Verdict::Deny].into_iter().find(|verdict| self.word(*verdict) == word)
    }
}

/// A command in a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommandPattern {
    /// The program and its leading words, with `*` as a wildcard. `*` alone: every command.
    pub(crate) words: String,
    /// Nothing may follow the words.
    pub(crate) is_exact: bool,
}

impl CommandPattern {
    /// The program and its leading words; anything may follow.
    pub(crate) fn prefix(words: impl Into<String>) -> Self {
        CommandPattern { words: words.into(), is_exact: false }
    }

    /// The whole command.
    pub(crate) fn exact(words: impl Into<String>) -> Self {
        CommandPattern { words: words.into(), is_exact: true }
    }

    /// Whether it matches every command.
    pub(crate) fn is_every(&self) -> bool {
        self.words == "*"
    }
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
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
    /// Every command.
    pub(crate) fn every_command() -> Self {
        Subject::Command(CommandPattern::prefix("*"))
    }

    /// A tool of an MCP server.
    pub(crate) fn mcp(server: &str, tool: &str) -> Self {
        Subject::Tool(format!("mcp__{server}__{tool}"))
    }

    /// Whether it is about an option, which hosts find only at its place: `git push --force`.
    pub(super) fn has_option(&self) -> bool {
        matches!(self, Subject::Command(pattern) if pattern.words.split(' ').any(|word| word.starts_with('-')))
    }

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

/// Adds an item to a list that does not contain it.
pub(crate) fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
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
    pub(crate) fn new(file: &PolicyFile, line: usize, rule: impl Into<String>) -> Self {
        RuleSource { file: file.name.clone(), line, rule: rule.into() }
    }

    pub(crate) fn finding(&self, reason: impl Into<String>) -> Finding {
        Finding { source: self.clone(), reason: reason.into() }
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyRule {
    /// The answer.
    pub(crate) verdict: Verdict,
    /// What it is about.
    pub(crate) subject: Subject,
    /// The reason that the host shows.
    pub(crate) reason: Option<String>,
    /// Subjects to which it does not apply, because a rule with precedence allows them.
    pub(crate) exceptions: Vec<Subject>,
    /// Where it was read.
    pub(crate) source: RuleSource,
    /// Why Midrail is stricter than the host, if it is.
    pub(crate) stricter: Option<String>,
}

impl PolicyRule {
    /// A rule without a source.
    pub(crate) fn new(verdict: Verdict, subject: Subject) -> Self {
        let source = RuleSource::default();
        PolicyRule { verdict, subject, reason: None, exceptions: Vec::new(), source, stricter: None }
    }

    pub(crate) fn because(mut self, reason: Option<String>) -> Self {
        self.reason = reason.filter(|reason| !reason.trim().is_empty());
        self
    }

    /// Adds a reason why Midrail is stricter. An allow never is.
    pub(crate) fn stricter(mut self, why: impl Into<String>) -> Self {
        if self.verdict != Verdict::Allow {
            let why = why.into();
            self.stricter = Some(match self.stricter.take() {
                Some(before) if before != why => format!("{before}; {why}"),
                _ => why,
            });
        }
        self
    }

    pub(crate) fn stricter_if(self, is_stricter: bool, why: impl Into<String>) -> Self {
        if is_stricter { self.stricter(why) } else { self }
    }
}

/// Why a rule is not imported.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It has no effect in the host itself.
    Dead(String),
    /// A pack cannot express it.
    LeftOut(String),
}

/// The rules that one rule of a host stands for.
pub(crate) type RuleResult = Result<Vec<PolicyRule>, Problem>;

pub(crate) fn dead(reason: impl Into<String>) -> Problem {
    Problem::Dead(reason.into())
}

pub(crate) fn left_out(reason: impl Into<String>) -> Problem {
    Problem::LeftOut(reason.into())
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    /// The command line.
    pub(crate) command: String,
    /// The answer. `None`: no rule matches.
    pub(crate) verdict: Option<Verdict>,
}

/// The rules of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HostPolicy {
    /// The rules that can be expressed in a pack.
    pub(crate) rules: Vec<PolicyRule>,
    /// Rules that cannot be expressed.
    pub(crate) left_out: Vec<Finding>,
    /// Rules without effect in the host itself.
    pub(crate) dead: Vec<Finding>,
    /// Examples.
    pub(crate) examples: Vec<Example>,
    /// Whether a deny or an ask for commands could not be expressed. It may apply to any command.
    pub(crate) has_lost_commands: bool,
}

impl HostPolicy {
    /// Adds the rules from a source, or reports why there are none.
    pub(crate) fn add(&mut self, source: &RuleSource, rules: RuleResult) {
        match rules {
            Ok(rules) => {
                let rules = rules.into_iter().map(|rule| PolicyRule { source: source.clone(), ..rule });
                self.rules.extend(rules);
            }
            Err(Problem::Dead(reason)) => self.is_dead(source, reason),
            Err(Problem::LeftOut(reason)) => self.leave_out(source, reason),
        }
    }

    pub(crate) fn leave_out(&mut self, source: &RuleSource, reason: impl Into<String>) {
        self.left_out.push(source.finding(reason));
    }

    /// Removes allowed commands to which a rule that could not be expressed may apply: Midrail must not vouch for them.
    pub(crate) fn limit_allowed_commands(&mut self) {
        if !self.has_lost_commands {
            return;
        }
        for rule in std::mem::take(&mut self.rules) {
            if rule.verdict == Verdict::Allow && matches!(rule.subject, Subject::Command(_)) {
                let finding =
                    rule.source.finding("a rule that is left out may deny it, or require an approval");
                push_new(&mut self.left_out, finding);
            } else {
                self.rules.push(rule);
            }
        }
    }

    /// Makes every pattern a valid glob pattern. Hosts take brackets that are not closed literally.
    pub(crate) fn check_patterns(&mut self) {
        for mut rule in std::mem::take(&mut self.rules) {
            if rule.subject.escape_invalid() {
                rule.exceptions.retain_mut(Subject::escape_invalid);
                self.rules.push(rule);
            } else {
                self.leave_out(&rule.source, "it cannot be written as a glob pattern");
            }
        }
    }

    pub(crate) fn is_dead(&mut self, source: &RuleSource, reason: impl Into<String>) {
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
