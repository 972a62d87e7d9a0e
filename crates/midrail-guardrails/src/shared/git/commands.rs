//! The commands that are built into git.

use crate::shared::data::GIT;

/// Whether a command does not change branches. A call without a command does nothing.
pub(super) fn is_harmless(command: &str) -> bool {
    command.is_empty() || GIT.has("harmless commands", command)
}

/// Whether a command changes files or the index only.
pub(super) fn changes_only_files(command: &str) -> bool {
    GIT.has("file commands", command)
}

/// Whether a command is built into git.
pub(super) fn is_builtin(command: &str) -> bool {
    is_harmless(command) || changes_only_files(command) || GIT.has("branch commands", command)
}
