//! What was found in a text of SQL so far.

use midrail_core::Hit;

/// A command line that a text of SQL hands to a shell: `\! rm x`, `COPY t TO PROGRAM 'rm x'`, `.shell rm x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The command line.
    pub command: String,
    /// First byte of it in the text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// What was found so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Findings {
    pub(super) hits: Vec<Hit>,
    pub(super) commands: Vec<ShellCommand>,
    /// Strings that were given to variables: they count when something runs them.
    pub(super) remembered: Vec<(String, usize, usize)>,
    /// Temporary tables that the text itself creates.
    pub(super) temporary: Vec<String>,
    /// Functions that the text itself defines, by their names, with where their bodies lie.
    pub(super) defined: Vec<Defined>,
    /// Where everything lies that is found in a string that is run.
    pub(super) span: Option<(usize, usize)>,
    /// How many bytes of strings can still be analysed.
    pub(super) budget: usize,
    pub(super) depth: usize,
}

/// A function that a text defines.
#[derive(Debug, Clone)]
pub(super) struct Defined {
    pub(super) name: String,
    pub(super) body: String,
}
