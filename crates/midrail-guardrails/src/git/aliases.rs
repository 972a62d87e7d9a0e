//! Names for commands that a repository's own configuration gives: what they stand for.

use midrail_core::{Missing, RepositoryCall};

use super::{Branch, Reader, What};

/// Commands of git's own that leave branches as they are.
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

/// Commands of git's own that change them. Git takes its own commands before names for them.
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

/// Commands of git's own that change files or the index, and branches only where others do.
const OF_FILES: &[&str] =
    &["checkout-index", "ls-files", "mergetool", "read-tree", "update-index", "write-tree"];

/// Whether a command is one of git's own.
pub(super) fn is_own(command: &str) -> bool {
    [HARMLESS, OWN, OF_FILES].iter().any(|list| list.contains(&command))
}

impl Reader<'_, '_> {
    /// A command that git does not know may be a name of the repository's own.
    pub(super) fn named_by_the_repository(
        &mut self,
        call: &RepositoryCall,
        command: &str,
    ) -> Result<(), Missing> {
        if OF_FILES.contains(&command) {
            return Ok(());
        }
        let Some(git) = self.context.git()? else { return Ok(()) };
        let alias = |name: &str| git.aliases.get(&name.to_ascii_lowercase());
        let Some(body) = alias(command) else { return Ok(()) };
        let first = body.split_whitespace().next().unwrap_or_default();
        match body.strip_prefix('!') {
            Some("") => return Ok(()),
            // What it does beside is not told, nor in which order.
            None if is_own(first) || alias(first).is_none() => {}
            _ => {
                self.add(call, What::Unknown, Branch::Unknown, None);
                return Ok(());
            }
        }
        let mut spelled = call.clone();
        spelled.args.splice(0..0, ["-c".to_owned(), format!("alias.{command}={body}")]);
        spelled.unknown.iter_mut().for_each(|at| *at += 2);
        self.read(&spelled)
    }
}
