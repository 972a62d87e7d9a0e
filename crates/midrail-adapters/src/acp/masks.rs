//! What was redacted in files that the agent read through the editor. An agent that edits such a file writes the whole file
//! back; without this, it would write marks instead of the redacted texts.

use std::collections::BTreeMap;

/// The most files of a session in memory.
const MAX_FILES: usize = 256;

/// How a mark starts.
const MARK: &str = "[redacted:";

/// The marks in the files of a session, with the redacted texts. `None`: these are ambiguous.
#[derive(Default)]
pub(super) struct Masks(BTreeMap<String, Option<Vec<(String, String)>>>);

/// A text that the agent writes.
pub(super) enum Written {
    /// It has no marks.
    Plain,
    /// The text with the redacted parts restored.
    Restored(String),
    /// It would destroy the redacted parts.
    Lost,
}

impl Masks {
    /// The agent read a file: `redacted` has its original and its redacted text. `None`: nothing was redacted.
    pub(super) fn read(&mut self, path: &str, redacted: Option<(&str, &str)>) {
        let Some((original, replaced)) = redacted else {
            self.0.remove(path);
            return;
        };
        if self.0.len() >= MAX_FILES && !self.0.contains_key(path) {
            self.0.pop_first();
        }
        self.0.insert(path.to_owned(), marks(original, replaced));
    }

    pub(super) fn written(&self, path: &str, content: &str) -> Written {
        match self.0.get(path) {
            None => Written::Plain,
            Some(None) => Written::Lost,
            Some(Some(marks)) => {
                let restored =
                    marks.iter().fold(content.to_owned(), |text, (mark, secret)| text.replace(mark, secret));
                if restored == content { Written::Plain } else { Written::Restored(restored) }
            }
        }
    }
}

/// The redacted text of each mark.
fn marks(original: &str, replaced: &str) -> Option<Vec<(String, String)>> {
    let (mut original, mut replaced) = (original, replaced);
    let mut marks: Vec<(String, String)> = Vec::new();
    while let Some(at) = replaced.find(MARK) {
        let (before, from) = replaced.split_at_checked(at)?;
        original = original.strip_prefix(before)?;
        let (mark, after) = from.split_at_checked(from.find(']')?.checked_add(1)?)?;
        let secret = match after.find(MARK) {
            None => original.strip_suffix(after)?,
            // It is unknown where the first of two adjacent texts ends.
            Some(0) => return None,
            Some(next) => original.split_once(after.get(..next)?)?.0,
        };
        if marks.iter().any(|(known, other)| known == mark && other != secret) {
            return None;
        }
        marks.push((mark.to_owned(), secret.to_owned()));
        original = original.strip_prefix(secret)?;
        replaced = after;
    }
    (original == replaced).then_some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(original: &str, replaced: &str, content: &str) -> Option<String> {
        let mut masks = Masks::default();
        masks.read("a", Some((original, replaced)));
        match masks.written("a", content) {
            Written::Plain => Some(content.to_owned()),
            Written::Restored(text) => Some(text),
            Written::Lost => None,
        }
    }

    #[test]
    fn redacted_texts_are_restored() {
        let (original, replaced) = ("k=AAA\nl=BBB\n", "k=[redacted:x#1]\nl=[redacted:y#2]\n");
        let edited = replaced.replace("l=", "L=");
        assert_eq!(written(original, replaced, &edited).unwrap(), "k=AAA\nL=BBB\n");
        assert_eq!(written(original, replaced, "new").unwrap(), "new");
        assert_eq!(written("a KEY", "a [redacted:x#1]", "[redacted:x#1]!").unwrap(), "KEY!");
    }

    #[test]
    fn ambiguous_marks_prevent_a_write() {
        assert_eq!(written("AAABBB", "[redacted:x#1][redacted:y#2]", "x"), None);
        assert_eq!(written("key", "***", "***"), None);
        assert_eq!(written("AAA BBB", "[redacted:x#1] [redacted:x#1]", "x"), None);
    }
}
