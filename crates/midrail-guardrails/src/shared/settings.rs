//! Types that several settings share: patterns, folders, command lines and numbers, which are checked when a pack is read.

use midrail_core::glob;
use midrail_scan::secrets;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::letter_pairs::LetterPairs;

/// An error in the settings of a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
#[error("{message}")]
pub struct SettingsProblem {
    /// Its place, as a JSON pointer into the settings.
    pub at: String,
    /// The error message.
    pub message: String,
    /// How to fix it. Empty: the message says it.
    pub help: String,
}

impl SettingsProblem {
    /// An error at the place of the value itself.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        SettingsProblem { message: message.into(), ..SettingsProblem::default() }
    }

    /// An error at a place, and how to fix it.
    pub(crate) fn with_help(
        at: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        SettingsProblem { at: at.into(), message: message.into(), help: help.into() }
    }
}

/// A valid glob pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(
    pub String,
    // Those of every path that it matches.
    #[serde(skip)] pub(crate) LetterPairs,
);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pattern = String::deserialize(deserializer)?;
        match glob::check(&pattern) {
            Ok(()) => Ok(Pattern::new(pattern)),
            Err(why) => Err(D::Error::custom(format!(
                "the pattern `{pattern}` {why}; write `\\` before a literal special character"
            ))),
        }
    }
}

impl Pattern {
    /// From a text that is known to be valid.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let pairs = LetterPairs::of_pattern(&text);
        Pattern(text, pairs)
    }

    /// Whether a name matches.
    pub fn matches_name(&self, name: &str) -> bool {
        glob::name_matches(&self.0, name)
    }
}

/// Patterns from texts that are known to be valid.
pub(crate) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(*text)).collect()
}

/// Whether a name matches any of the patterns.
pub(crate) fn any_matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches_name(name))
}

/// The texts of patterns, as a list for messages.
pub(crate) fn list(patterns: &[Pattern]) -> String {
    patterns.iter().map(|pattern| pattern.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// A folder that is neither empty nor the whole disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Folder(#[serde(deserialize_with = "folder")] pub String);

fn folder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let folder = String::deserialize(deserializer)?;
    if folder.split('/').any(|part| !matches!(part, "" | "." | ".." | "~")) {
        Ok(folder.trim_end_matches('/').to_owned())
    } else {
        Err(D::Error::custom(format!("`{folder}` does not name a folder")))
    }
}

/// Maximum length of a command line.
const MAX_LINE: usize = 8 << 10;

/// A valid command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CommandLine(#[serde(deserialize_with = "command_line")] pub String);

fn command_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let line = String::deserialize(deserializer)?;
    if line.trim().is_empty() {
        return Err(D::Error::custom("the command is empty"));
    }
    if line.contains('\0') || line.len() > MAX_LINE {
        let message = format!("a command has at most {MAX_LINE} bytes and contains no NUL byte");
        return Err(D::Error::custom(message));
    }
    // The line is shown to agents and stored in records.
    if !secrets::scan(&line).is_empty() {
        return Err(D::Error::custom(
            "the command contains a secret and would be shown to agents; read the secret from a file",
        ));
    }
    Ok(line)
}

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Money(#[serde(deserialize_with = "amount")] pub f64);

fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match f64::deserialize(deserializer)? {
        amount if (0.0..=1e12).contains(&amount) => Ok(amount),
        _ => Err(D::Error::custom("an amount of money is a number that is not negative")),
    }
}

/// Deserializes a number within limits.
pub(crate) fn within<'de, D: Deserializer<'de>, N: TryFrom<u64>, const MIN: u64, const MAX: u64>(
    deserializer: D,
) -> Result<N, D::Error> {
    let number = u64::deserialize(deserializer)?;
    let fits = (MIN..=MAX).contains(&number);
    N::try_from(number).ok().filter(|_| fits).ok_or_else(|| {
        let end = if MAX == u64::MAX { "on".to_owned() } else { format!("to {MAX}") };
        D::Error::custom(format!("`{number}` is not a number from {MIN} {end}"))
    })
}

/// Deserializes a number from 1 on.
pub(crate) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    within::<_, _, 1, { u64::MAX }>(deserializer)
}

/// A key without a value means the default settings: `read_before_write:`.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Some(Option::<T>::deserialize(deserializer)?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn invalid_commands_are_rejected() {
        for line in ["make test", "DB_PASSWORD=test npm run check", "TOKEN=$CI_TOKEN ./run.sh"] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_ok(), "{line}");
        }
        for line in ["KEY=AKIAABCDEFGHIJKLMNOP make", "", "  \n", "a\0b", &"x".repeat(MAX_LINE + 1)] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_err());
        }
    }
}
