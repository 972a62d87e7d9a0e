//! The files whose content is known to an analysis.

/// A file of which it is known what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As command lines spell it, seen from the folder that they start in.
    pub path: String,
    /// Its text. None: it came from the network and was not reviewed.
    pub text: Option<String>,
}
