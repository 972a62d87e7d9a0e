//! Tests of the text of a file that a pack names. A probe evaluates them, so that no record contains the text itself.

use serde::{Deserialize, Serialize};

use crate::glob;

/// A test of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextTest {
    /// The place of the file, relative to the root (see [`crate::path`]).
    pub place: String,
    /// The text that is searched for.
    #[serde(flatten)]
    pub wanted: WantedText,
}

/// The text that a file is searched for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedText {
    /// This text, anywhere in the file.
    Contains(String),
    /// A line that matches this text pattern.
    Matches(String),
}

impl WantedText {
    /// How often a text has what is wanted. A line of a pattern has no spaces or carriage return at its end, and the first line no
    /// byte order mark.
    pub fn count(&self, text: &str) -> u64 {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let count = match self {
            WantedText::Contains(wanted) => text.matches(wanted.as_str()).count(),
            WantedText::Matches(pattern) => {
                text.lines().filter(|line| glob::name_matches(pattern, line.trim_end())).count()
            }
        };
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lines_are_counted() {
        let text = "# Log\r\n## 1.2.0 \n- a\n## 1.3.0\n";
        let contains = |wanted: &str| WantedText::Contains(wanted.to_owned()).count(text);
        let matches = |pattern: &str| WantedText::Matches(pattern.to_owned()).count(text);
        assert_eq!([contains("## 1."), contains("1.2.0 \n- a"), contains("2.0")], [2, 1, 1]);
        assert_eq!([contains("Log"), contains("log"), contains("## *")], [1, 0, 0]);
        assert_eq!([matches("## *"), matches("# Log"), matches("## 1.2.0")], [2, 1, 1]);
        assert_eq!(WantedText::Matches("# Log".to_owned()).count("\u{feff}# Log"), 1);
        assert_eq!([matches("Log"), matches("*Log"), matches("## [0-9].3*")], [0, 1, 1]);
    }
}
