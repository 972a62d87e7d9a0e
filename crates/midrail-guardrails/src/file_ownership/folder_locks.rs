//! Checks files that an action changes without naming them, by a wildcard or with a whole folder, against locks.

use midrail_core::{Action, Context, Missing, Verdict, glob};

use crate::shared::data::PROGRAMS;
use crate::shared::file_access::known_actions;
use crate::shared::file_paths::is_below;
use crate::shared::git::calls;
use crate::shared::git::overwrites::{Overwrite, may_overwrite, overwrites, takes_folders, work_tree};
use crate::shared::lock_list::LockList;
use crate::shared::locks::{Lock, absolute};

/// Files that an action changes without naming them.
struct Sweep {
    /// The cause, for messages.
    cause: String,
    path: String,
    /// Whether folders include their content.
    is_deep: bool,
    /// Whether a path that is a file counts itself. Named files are checked elsewhere.
    is_all: bool,
    is_branch: bool,
}

impl Sweep {
    fn includes(&self, path: &str) -> bool {
        if !glob::is_pattern(&self.path) {
            let is_inside = match self.path.as_str() {
                "" => !path.starts_with('/'),
                folder => is_below(folder, path) && (self.is_all || path != folder),
            };
            return self.is_deep && is_inside;
        }
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        glob::path_matches(&self.path, path)
            || (self.is_deep && above.into_iter().any(|folder| glob::path_matches(&self.path, folder)))
    }
}

/// The last part of a path that means some of the files below a folder.
pub(super) const SOME_OF_IT: &str = "…";

/// The files that this action changes by a wildcard, with their folder, or by a change of branch.
fn sweeps(
    context: &Context<'_>,
    actions: &[&Action],
    named: &[(&str, &str)],
    with_branches: bool,
) -> Result<Vec<Sweep>, Missing> {
    let is_deep = is_deep(actions);
    let named = named.iter().filter(|(file, _)| is_deep || glob::is_pattern(file)).map(|(file, path)| {
        let some = path.strip_suffix(SOME_OF_IT).filter(|folder| folder.is_empty() || folder.ends_with('/'));
        Sweep {
            cause: format!("'{file}'"),
            path: some.map_or(*path, |folder| folder.trim_end_matches('/')).to_owned(),
            is_deep,
            is_all: some.is_some(),
            is_branch: false,
        }
    });
    let mut sweeps: Vec<Sweep> = named.collect();
    // Request all facts before the first one is missing, so that they are fetched together.
    let overwrites: Vec<_> = calls(context)?.iter().map(|call| overwrites(context, call)).collect();
    let mut places = Vec::new();
    for found in actions.iter().flat_map(|does| &does.sweeps) {
        places.push((format!("'{found}'"), absolute(context, found).map(|(_, path)| path), false));
    }
    let mut missing = None;
    for found in overwrites {
        match found {
            Ok(found) => places.extend(found.into_iter().filter_map(|overwrite| match overwrite {
                Overwrite::Path(path) => {
                    let place = absolute(context, &path).map(|(_, path)| path);
                    Some((format!("'{path}'"), place, false))
                }
                Overwrite::Tree(folder) => {
                    let shown = if folder.is_empty() { "." } else { folder.as_str() };
                    Some((format!("'{shown}'"), work_tree(context, &folder), false))
                }
                Overwrite::Branch { folder, call } => {
                    with_branches.then(|| (format!("`{call}`"), work_tree(context, &folder), true))
                }
            })),
            Err(why) => missing = Some(why),
        }
    }
    if let Some(missing) = missing {
        return Err(missing);
    }
    for (cause, place, is_branch) in places {
        sweeps.push(Sweep { cause, path: place?, is_deep: true, is_all: true, is_branch });
    }
    for sweep in &mut sweeps {
        let path = sweep.path.strip_suffix("/.").unwrap_or(&sweep.path).trim_end_matches('/');
        // The root itself.
        sweep.path = if path == "." { String::new() } else { path.to_owned() };
    }
    Ok(sweeps)
}

/// Whether folders that an action names include their content. Its own action comes first.
fn is_deep(actions: &[&Action]) -> bool {
    let is_one_of =
        |program: &String| PROGRAMS.has("folder changers", program) || PROGRAMS.has("finders", program);
    actions.first().is_some_and(|action| action.command.is_none())
        || actions.iter().any(|does| does.programs.iter().any(is_one_of) || takes_folders(&does.commands))
}

/// The objection to changing whole folders: a lock of another agent inside. A change of branch affects the whole
/// work tree, if it counts.
pub(super) fn objection(
    context: &Context<'_>,
    named: &[(&str, &str)],
    with_branches: bool,
) -> Result<Option<Verdict>, Missing> {
    let actions: Vec<&Action> = known_actions(context)?.into_iter().map(|(_, action)| action).collect();
    let is_deep = is_deep(&actions);
    let may_sweep = named.iter().any(|(file, _)| is_deep || glob::is_pattern(file))
        || actions.iter().any(|does| !does.sweeps.is_empty())
        || calls(context)?.iter().any(may_overwrite);
    if !may_sweep {
        return Ok(None);
    }
    let list = LockList::key().read(context)?.unwrap_or_default();
    if list.is_partial() {
        return Err(Missing("the list of locked files is incomplete".to_owned()));
    }
    // Without locks no further facts are needed.
    if list.paths().next().is_none() {
        return Ok(None);
    }
    let sweeps = sweeps(context, &actions, named, with_branches)?;
    let hit = list.paths().filter_map(|path| Some((sweeps.iter().find(|sweep| sweep.includes(path))?, path)));
    // Request all facts before the first one is missing, so that they are fetched together.
    let locks: Vec<_> = hit.map(|(sweep, path)| (sweep, path, Lock::for_path(context, path))).collect();
    for (sweep, path, lock) in locks {
        let Some(lock) = lock?.filter(|lock| !lock.is_own(context)) else { continue };
        let file = context.root().and_then(|root| path.strip_prefix(root)?.strip_prefix('/')).unwrap_or(path);
        let (cause, holder) = (&sweep.cause, lock.holder());
        let (reason, advice) = if sweep.is_branch {
            (
                format!(
                    "{cause} changes files of the work tree, in which file '{file}' is locked by {holder}."
                ),
                "Use your own work tree (`git worktree add`), or wait until the lock is released.",
            )
        } else {
            (
                format!("{cause} includes file '{file}', which is locked by {holder}."),
                "Name your own files one by one, or wait until the lock is released.",
            )
        };
        return Ok(Some(lock.describe(Verdict::block(reason).advise(advice).with("path", file))));
    }
    Ok(None)
}
