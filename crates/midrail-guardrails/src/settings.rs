//! Types that several settings share: glob patterns and folders, which are checked when a pack is read.

use midrail_core::glob;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// An error in the settings of a guardrail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    /// Its place, as a JSON pointer into the settings.
    pub at: String,
    /// The error message of serde.
    pub message: String,
}

/// A valid glob pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pattern = String::deserialize(deserializer)?;
        match glob::check(&pattern) {
            Ok(()) => Ok(Pattern(pattern)),
            Err(why) => Err(D::Error::custom(format!("the pattern `{pattern}` {why}"))),
        }
    }
}

impl Pattern {
    /// Whether a name matches.
    pub fn matches_name(&self, name: &str) -> bool {
        glob::name_matches(&self.0, name)
    }
}

/// Patterns from texts that are known to be valid.
pub(crate) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern((*text).to_owned())).collect()
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Folder(pub String);

impl<'de> Deserialize<'de> for Folder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let folder = String::deserialize(deserializer)?;
        if folder.split('/').any(|part| !matches!(part, "" | "." | ".." | "~")) {
            Ok(Folder(folder.trim_end_matches('/').to_owned()))
        } else {
            Err(D::Error::custom(format!("`{folder}` does not name a folder")))
        }
    }
}

/// Deserializes a number from 1 on.
pub(crate) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("`0` is not a number from 1 on")),
        count => Ok(count),
    }
}
