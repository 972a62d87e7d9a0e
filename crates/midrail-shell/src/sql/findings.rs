//! What was found in a text of SQL so far.

use midrail_core::Hit;

/// What was found so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Findings {
    pub(super) hits: Vec<Hit>,
    /// The command lines that it hands to a shell.
    pub(super) commands: Vec<String>,
    /// Strings that were given to variables: they count when something runs them.
    pub(super) remembered: Vec<(String, usize, usize)>,
    /// Temporary tables that the text itself creates.
    pub(super) temporary: Vec<String>,
    /// Functions that the text itself defines: their names and their bodies.
    pub(super) defined: Vec<(String, String)>,
    /// Where everything lies that is found in a string that is run.
    pub(super) span: Option<(usize, usize)>,
    /// How many bytes of strings can still be analysed.
    pub(super) budget: usize,
    pub(super) depth: usize,
}
