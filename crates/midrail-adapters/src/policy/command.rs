//! Commands in rules: text patterns of hosts as patterns of Midrail, and which subject includes another.

use super::pattern::{MARKS, literal, pattern_covers};
use super::rule::{CommandPattern, PolicyRule, RuleSource, Subject, Verdict};

/// Why every imported deny of a command is stricter than in its host.
pub(super) const PARSED: &str = "Midrail parses the command, so other spellings and wrappers count too (`/bin/rm`, `env rm`, `sh -c 'rm …'`)";

/// Why an exact deny is stricter.
const LONGER: &str = "Midrail also blocks the command with further arguments";

/// Why a deny with an inner `*` is stricter.
const TEXT: &str = "Midrail compares the text of the whole line, so a line that contains it counts too";

/// A rule on the text of a command: `*` matches anything, a trailing ` *` also nothing.
pub(super) fn text_rule(verdict: Verdict, pattern: &str, source: RuleSource) -> PolicyRule {
    let pattern = collapse(pattern);
    let inner = pattern.strip_suffix('*').unwrap_or(&pattern);
    let stem = inner.strip_suffix(' ').unwrap_or(inner);
    let rule = |subject| PolicyRule::new(verdict, subject, source.clone());
    let parsed = (verdict != Verdict::Allow).then_some(PARSED);
    if stem.is_empty() {
        return rule(Subject::Command(CommandPattern::prefix("*")));
    }
    let is_open = inner.len() < pattern.len();
    // A pattern that the words of a command cannot express.
    if stem.contains('*') || stem.starts_with('-') || stem.contains(MARKS) {
        if verdict == Verdict::Allow {
            return rule(Subject::Command(CommandPattern::exact(pattern)));
        }
        return rule(Subject::CommandText(contained(&pattern))).stricter(Some(TEXT));
    }
    if !is_open {
        let longer = (verdict != Verdict::Allow).then_some(LONGER);
        return rule(Subject::Command(CommandPattern::exact(pattern))).stricter(parsed).stricter(longer);
    }
    let words = if stem.len() < inner.len() { stem.to_owned() } else { pattern };
    rule(Subject::Command(CommandPattern::prefix(words))).stricter(parsed)
}

/// A rule on the leading words of a command, without wildcards.
pub(super) fn words_rule(verdict: Verdict, words: &str, source: RuleSource) -> PolicyRule {
    text_rule(verdict, &format!("{} *", words.trim()), source)
}

/// A text with single spaces.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A glob pattern for lines that contain a text pattern. Every character but `*` is literal.
fn contained(pattern: &str) -> String {
    let inner = literal(pattern.trim_matches('*'));
    format!("*{}*", inner.trim())
}

impl CommandPattern {
    /// The text patterns that it stands for.
    fn texts(&self) -> Vec<String> {
        if self.is_exact || self.is_every() {
            return vec![self.words.clone()];
        }
        let mut texts = vec![self.words.clone(), format!("{} *", self.words)];
        if self.words.ends_with('*') {
            texts.truncate(1);
        }
        texts
    }

    fn covers(&self, other: &CommandPattern) -> bool {
        let own = self.texts();
        other.texts().iter().all(|text| own.iter().any(|pattern| pattern_covers(pattern, text)))
    }

    /// The glob patterns of the texts to which it applies.
    pub(super) fn globs(&self) -> Vec<String> {
        self.texts().iter().map(|text| literal(text)).collect()
    }
}

/// Whether a path pattern includes another.
fn path_covers(general: &str, specific: &str) -> bool {
    let below = general.strip_suffix("**");
    general == specific
        || below.is_some_and(|folder| specific.starts_with(folder) && !specific.starts_with("../"))
}

impl Subject {
    /// Whether everything that the other is about is included.
    pub(super) fn covers(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::Tool(general), _) if general == "*" => true,
            (Subject::Command(general), Subject::Command(specific)) => general.covers(specific),
            (Subject::Command(general), Subject::CommandText(_)) => general.is_every(),
            (Subject::Read(general), Subject::Read(specific))
            | (Subject::Edit(general), Subject::Edit(specific)) => path_covers(general, specific),
            (Subject::Host(general), Subject::Host(specific))
            | (Subject::Tool(general), Subject::Tool(specific)) => pattern_covers(general, specific),
            (Subject::Tool(general), Subject::ToolArgument { tool, .. }) => pattern_covers(general, tool),
            (general, specific) => general == specific,
        }
    }

    /// Whether both may be about the same call. Only a clear difference counts as "no".
    pub(super) fn may_overlap(&self, other: &Subject) -> bool {
        let first = |words: &str| words.split(' ').next().unwrap_or_default().to_owned();
        match (self, other) {
            (Subject::Tool(pattern), _) | (_, Subject::Tool(pattern)) if pattern == "*" => true,
            (Subject::Command(left), Subject::Command(right)) => {
                let (left, right) = (first(&left.words), first(&right.words));
                left == right || left.contains(['*', '?']) || right.contains(['*', '?'])
            }
            (
                Subject::Command(_) | Subject::CommandText(_),
                Subject::Command(_) | Subject::CommandText(_),
            )
            | (Subject::Read(_), Subject::Read(_))
            | (Subject::Edit(_), Subject::Edit(_)) => true,
            (Subject::Host(left), Subject::Host(right)) | (Subject::Tool(left), Subject::Tool(right)) => {
                pattern_covers(left, right) || pattern_covers(right, left)
            }
            (left, right) => left == right,
        }
    }

    /// Whether it includes everything of its kind.
    pub(super) fn is_everything(&self) -> bool {
        match self {
            Subject::Command(pattern) => pattern.is_every(),
            Subject::Read(pattern) | Subject::Edit(pattern) => pattern == "**",
            Subject::Host(pattern) | Subject::Tool(pattern) => pattern == "*",
            Subject::CommandText(_) | Subject::ToolArgument { .. } => false,
        }
    }
}
