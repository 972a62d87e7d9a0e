//! The state of an analysis of code in another language.

use std::collections::BTreeMap;

use super::model::{Snippet, Start};
use super::value::Value;

/// No more findings of one sort than this.
pub(super) const MOST: usize = 256;

/// What is known while a snippet is followed.
#[derive(Default)]
pub(super) struct SnippetState {
    pub(super) snippet: Snippet,
    /// How it is started.
    pub(super) start: Start,
    /// Variables, each with the size of its value.
    pub(super) variables: BTreeMap<String, (Value, usize)>,
    /// Modules whose names are all imported: `from os import *`.
    pub(super) stars: Vec<String>,
    pub(super) is_connected: bool,
    pub(super) hands_over: bool,
    pub(super) starts_shell: bool,
    pub(super) has_fetched: bool,
    pub(super) runs_unknown_code: bool,
    /// Folders whose content it hands to a function of its own, one after the other.
    pub(super) searched: Vec<String>,
    /// It goes through all that lies below some folder.
    pub(super) walks: bool,
    /// Its database is in memory or temporary.
    pub(super) is_database_temporary: bool,
    /// How many loops inside of expressions can still be read ahead of what they repeat.
    pub(super) loops: usize,
    /// How many bytes may still be copied from variables: doubling a text again and again must end.
    pub(super) budget: usize,
    pub(super) depth: usize,
}
