//! Which subject of a rule includes another, and which may be about the same call.

use super::pattern::{literal, pattern_covers};
use super::rule::{CommandPattern, Subject};

impl CommandPattern {
    /// The text patterns that it stands for.
    fn texts(&self) -> Vec<String> {
        if self.is_exact || self.words.ends_with('*') {
            return vec![self.words.clone()];
        }
        vec![self.words.clone(), format!("{} *", self.words)]
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
    pub(crate) fn may_overlap(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::Tool(pattern), _) | (_, Subject::Tool(pattern)) if pattern == "*" => true,
            (Subject::Command(left), Subject::Command(right)) => {
                // The first words that differ, up to an option or a wildcard.
                let is_open = |word: &str| word.starts_with('-') || word.contains(['*', '?']);
                let mut words = left.words.split(' ').zip(right.words.split(' '));
                words
                    .find(|(one, other)| one != other || is_open(one))
                    .is_none_or(|(one, other)| is_open(one) || is_open(other))
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
