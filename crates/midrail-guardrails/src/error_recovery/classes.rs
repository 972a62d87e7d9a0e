//! The built-in table of errors: their phrases, severity and recovery.

use std::sync::LazyLock;

use midrail_core::Recovery;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

use crate::shared::data::ERROR_CLASSES;

/// The severity of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorSeverity {
    /// A retry may succeed.
    Recoverable,
    /// A retry will not succeed.
    Fatal,
    /// Unclassified.
    Unknown,
}

impl ErrorSeverity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ErrorSeverity::Recoverable => "recoverable",
            ErrorSeverity::Fatal => "fatal",
            ErrorSeverity::Unknown => "unknown",
        }
    }
}

/// A common kind of error.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Phrases, one of which must occur as whole words.
    phrases: &'static [&'static str],
    pub(super) severity: ErrorSeverity,
    pub(super) next: Recovery,
}

impl Row {
    pub(super) fn fits(&self, kind: &str, message: &str) -> bool {
        self.phrases.iter().any(|words| contains_words(message, words) || contains_words(kind, words))
    }

    /// A row of the data file: `permission fatal escalate`, and its phrases.
    fn parse((title, phrases): (&'static str, &'static [&'static str])) -> Option<Self> {
        let [name, severity, next] = title.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let (severity, next) = (parse(severity)?, parse(next)?);
        Some(Row { name, phrases, severity, next })
    }
}

fn parse<T: DeserializeOwned>(word: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(word)).ok()
}

/// The built-in table. The first match wins.
pub(super) static DEFAULTS: LazyLock<Vec<Row>> =
    LazyLock::new(|| ERROR_CLASSES.iter().filter_map(Row::parse).collect());

/// Whether a text contains a phrase as whole words. Case is ignored.
pub(super) fn contains_words(text: &str, words: &str) -> bool {
    if words.is_empty() {
        return false;
    }
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    text.match_indices(&words).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> &'static str {
        DEFAULTS.iter().find(|row| row.fits("", message)).map_or("?", |row| row.name)
    }

    #[test]
    fn common_errors_are_classified() {
        for (message, name) in [
            ("request to https://x.example failed: ETIMEDOUT", "time"),
            ("HTTP 429: Too Many Requests", "rate"),
            ("read tcp 1.2.3.4: connection reset by peer", "network"),
            ("upstream answered status 503", "server"),
            ("bash: ./x: Permission denied", "permission"),
            ("write failed: No space left on device", "disk"),
            ("401 Unauthorized", "authentication"),
            ("JavaScript heap out of memory", "memory"),
            ("thread 'main' panicked at 'x'", "crash"),
            ("sqlite: database is locked", "busy"),
        ] {
            assert_eq!(kind(message), name, "{message}");
        }
    }

    #[test]
    fn numbers_and_parts_of_words_do_not_match() {
        for message in [
            "line 429: unexpected token",
            "error in timeouts.rs",
            "no method panicky",
            "a.c:1: fatal error: x.h: No such file",
            "port 5003 is odd",
            "file not found",
        ] {
            assert_eq!(kind(message), "?", "{message}");
        }
    }
}
