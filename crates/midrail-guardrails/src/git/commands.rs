//! Tables of the commands that are built into git.

/// Git commands that do not change branches.
pub(super) const HARMLESS: &[&str] = &[
    "",
    "add",
    "apply",
    "archive",
    "bisect",
    "blame",
    "cat-file",
    "clean",
    "clone",
    "config",
    "describe",
    "diff",
    "difftool",
    "gc",
    "grep",
    "help",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mv",
    "notes",
    "prune",
    "reflog",
    "remote",
    "repack",
    "restore",
    "rev-list",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "submodule",
    "tag",
    "version",
];

/// Git commands that change branches. They take precedence over aliases.
const OWN: &[&str] = &[
    "am",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "fetch",
    "merge",
    "pull",
    "push",
    "rebase",
    "reset",
    "revert",
    "send-pack",
    "subtree",
    "switch",
    "symbolic-ref",
    "update-ref",
    "worktree",
];

/// Git commands that change files or the index only.
pub(super) const OF_FILES: &[&str] =
    &["checkout-index", "ls-files", "mergetool", "read-tree", "update-index", "write-tree"];

/// Whether a command is built into git.
pub(super) fn is_own(command: &str) -> bool {
    [HARMLESS, OWN, OF_FILES].iter().any(|list| list.contains(&command))
}
