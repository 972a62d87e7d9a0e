//! The commands that are built into git.

use crate::shared::data::{List, section};

pub(super) const GIT: &str = include_str!("../../../data/git.txt");

/// Git commands that do not change branches.
static HARMLESS: List = List::new(|| section(GIT, "harmless commands"));

/// Git commands that change branches. They take precedence over aliases.
static BRANCH_COMMANDS: List = List::new(|| section(GIT, "branch commands"));

/// Git commands that change files or the index only.
static FILE_COMMANDS: List = List::new(|| section(GIT, "file commands"));

/// Whether a command does not change branches. A call without a command does nothing.
pub(super) fn is_harmless(command: &str) -> bool {
    command.is_empty() || HARMLESS.contains(&command)
}

/// Whether a command changes files or the index only.
pub(super) fn changes_only_files(command: &str) -> bool {
    FILE_COMMANDS.contains(&command)
}

/// Whether a command is built into git.
pub(super) fn is_builtin(command: &str) -> bool {
    is_harmless(command) || changes_only_files(command) || BRANCH_COMMANDS.contains(&command)
}
