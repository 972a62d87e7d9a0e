//! What goes wrong with a script: the message, and where in the script it was.

use std::fmt;

/// A script that cannot be loaded, or a call of it that did not end with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptError {
    /// What is wrong.
    pub(crate) message: String,
    /// The file as people know it: the script's folder and what is in it.
    pub(crate) file: String,
    /// Line and column in it, where they are known.
    pub(crate) at: Option<(u32, u32)>,
    /// How the script got there, one line a function. For authors, not for agents.
    pub(crate) stack: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScriptError {}

impl ScriptError {
    /// The message where memory ran out.
    pub(super) const OUT_OF_MEMORY: &str = "InternalError: out of memory";

    /// The message where nothing was thrown, as it is where memory ran out so far that no error could be made.
    pub(super) const THREW_NULL: &str = "it threw null, or ran out of memory";

    /// Whether memory ran out, or may have.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.message == Self::OUT_OF_MEMORY || self.message == Self::THREW_NULL
    }

    /// An error of a script as a whole.
    pub(super) fn of(file: &str, message: impl Into<String>) -> Self {
        ScriptError { message: message.into(), file: file.to_owned(), at: None, stack: String::new() }
    }

    /// An error that was thrown, with the place in the script's own files where that happened.
    pub(super) fn thrown(main: &str, folder: &str, message: &str, stack: &str) -> Self {
        let own: Vec<(Frame<'_>, &str)> =
            stack.lines().filter_map(|line| Some((frame(line, folder)?, line.trim()))).collect();
        let mut error = ScriptError::of(main, message);
        if let Some((frame, _)) = own.first() {
            error.file = frame.file.to_owned();
            error.at = Some((frame.line, frame.column));
        }
        error.stack = own.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
        error
    }
}

struct Frame<'s> {
    file: &'s str,
    line: u32,
    column: u32,
}

/// One line of a stack, `    at input (.midrail/guardrails.js:3:11)`, if it is in the script's folder.
fn frame<'s>(line: &'s str, folder: &str) -> Option<Frame<'s>> {
    let place = line.trim().strip_prefix("at ")?;
    let place = place.rsplit_once('(').map_or(place, |(_, place)| place).trim_end_matches(')');
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let inside = file.strip_prefix(folder)?.strip_prefix('/')?;
    (!inside.is_empty()).then_some(Frame { file, line: line.parse().ok()?, column: column.parse().ok()? })
}
