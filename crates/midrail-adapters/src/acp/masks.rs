//! What was replaced in a file that the agent read through the editor. An agent that edits such a file writes the whole
//! of it back: without this it would write our marks in the place of what they stand for.

use std::collections::BTreeMap;

/// The most files of a session that are kept in mind.
const MAX_FILES: usize = 256;

/// How a mark begins.
const MARK: &str = "[redacted:";

/// The marks of a session's files, and what they stand for. `None`: it cannot be told.
#[derive(Default)]
pub(super) struct Masks(BTreeMap<String, Option<Vec<(String, String)>>>);

/// What becomes of a text that the agent writes.
pub(super) enum Written {
    /// It holds no marks of ours.
    Plain,
    /// The same text, with all that the marks stand for.
    Restored(String),
    /// It would destroy what the marks stand for.
    Lost,
}

impl Masks {
    /// The agent was shown a text in place of another.
    pub(super) fn shown(&mut self, path: &str, original: &str, replaced: &str) {
        if self.0.len() >= MAX_FILES && !self.0.contains_key(path) {
            self.0.pop_first();
        }
        self.0.insert(path.to_owned(), marks(original, replaced));
    }

    /// The agent has seen the file as it is.
    pub(super) fn plain(&mut self, path: &str) {
        self.0.remove(path);
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

/// What each mark of a text stands for in the original.
fn marks(original: &str, replaced: &str) -> Option<Vec<(String, String)>> {
    let (mut original, mut replaced) = (original, replaced);
    let mut marks: Vec<(String, String)> = Vec::new();
    while let Some(at) = replaced.find(MARK) {
        let (before, from) = replaced.split_at_checked(at)?;
        original = original.strip_prefix(before)?;
        let (mark, after) = from.split_at_checked(from.find(']')?.checked_add(1)?)?;
        let secret = match after.find(MARK) {
            None => original.strip_suffix(after)?,
            // Two marks side by side: nobody knows where the one ends.
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
        masks.shown("a", original, replaced);
        match masks.written("a", content) {
            Written::Plain => Some(content.to_owned()),
            Written::Restored(text) => Some(text),
            Written::Lost => None,
        }
    }

    #[test]
    fn what_marks_stand_for_is_written_back() {
        let (original, replaced) = ("k=AAA\nl=BBB\n", "k=[redacted:x#1]\nl=[redacted:y#2]\n");
        let edited = replaced.replace("l=", "L=");
        assert_eq!(written(original, replaced, &edited).unwrap(), "k=AAA\nL=BBB\n");
        assert_eq!(written(original, replaced, "new").unwrap(), "new");
        assert_eq!(written("a KEY", "a [redacted:x#1]", "[redacted:x#1]!").unwrap(), "KEY!");
    }

    #[test]
    fn where_that_cannot_be_told_nothing_is_written() {
        assert_eq!(written("AAABBB", "[redacted:x#1][redacted:y#2]", "x"), None);
        assert_eq!(written("key", "***", "***"), None);
        assert_eq!(written("AAA BBB", "[redacted:x#1] [redacted:x#1]", "x"), None);
    }
}
