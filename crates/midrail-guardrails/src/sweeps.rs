//! Checks files that an action changes without naming them, by a wildcard or with a whole folder, against locks.

use midrail_core::{Action, Context, Missing, Verdict, glob};

use crate::git::sweeps::{Swept, swept, takes_folders, top};
use crate::git::{self, calls};
use crate::lock_list::LockList;
use crate::locks::{Lock, absolute};
use crate::places::is_below;
use crate::touched::scripts;

/// Files that an action changes without naming them.
struct Sweep {
    /// The cause, for messages.
    who: String,
    path: String,
    /// Whether folders include their content.
    is_deep: bool,
    /// Whether a path that is a file counts itself. Named files are checked elsewhere.
    is_all: bool,
    is_branch: bool,
}

impl Sweep {
    fn takes(&self, path: &str) -> bool {
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

/// Programs that change folders with their content.
const SWEEPERS: &[&str] =
    &["rm", "mv", "rsync", "shred", "srm", "trash", "trash-put", "gio", "rmdir", "Remove-Item", "del", "rd"];

/// Programs that pass on the files that they find in folders.
const FINDERS: &[&str] = &["find", "gfind", "bfs", "fd", "fdfind", "xargs", "gxargs", "parallel"];

/// The last part of a path that means some of the files below a folder.
pub(crate) const SOME_OF_IT: &str = "…";

/// The files that this action changes by a wildcard, with their folder, or by a change of branch.
fn sweeps<'w>(
    context: &Context<'_>,
    named: impl Iterator<Item = (&'w str, &'w str)>,
    with_branches: bool,
) -> Result<Vec<Sweep>, Missing> {
    let action = context.action()?;
    let scripts = scripts(context, action)?;
    let actions = || scripts.iter().map(|(_, does)| *does).chain([action]);
    let is_deep = is_deep(action, &scripts);
    let mut sweeps: Vec<Sweep> = named
        .filter(|(file, _)| is_deep || glob::is_pattern(file))
        .map(|(file, path)| {
            let some =
                path.strip_suffix(SOME_OF_IT).filter(|folder| folder.is_empty() || folder.ends_with('/'));
            Sweep {
                who: format!("'{file}'"),
                path: some.map_or(path, |folder| folder.trim_end_matches('/')).to_owned(),
                is_deep,
                is_all: some.is_some(),
                is_branch: false,
            }
        })
        .collect();
    // Request all facts before the first one is missing, so that they are fetched together.
    let calls = calls(context)?;
    let swept: Vec<_> = calls.iter().map(|call| swept(context, call)).collect();
    let mut places = Vec::new();
    for found in actions().flat_map(|does| does.sweeps.iter()) {
        places.push((format!("'{found}'"), absolute(context, found).map(|(_, path)| path), false));
    }
    let mut missing = None;
    for swept in swept {
        match swept {
            Ok(swept) => {
                for swept in swept {
                    places.extend(match swept {
                        Swept::Path(path) => {
                            let place = absolute(context, &path).map(|(_, path)| path);
                            Some((format!("'{path}'"), place, false))
                        }
                        Swept::Tree(folder) => {
                            let who = if folder.is_empty() { "." } else { folder.as_str() };
                            Some((format!("'{who}'"), top(context, &folder), false))
                        }
                        Swept::Branch { folder, call } if with_branches => {
                            Some((format!("`{call}`"), top(context, &folder), true))
                        }
                        Swept::Branch { .. } => None,
                    });
                }
            }
            Err(why) => missing = Some(why),
        }
    }
    if let Some(missing) = missing {
        return Err(missing);
    }
    for (who, place, is_branch) in places {
        sweeps.push(Sweep { who, path: place?, is_deep: true, is_all: true, is_branch });
    }
    for sweep in &mut sweeps {
        let path = sweep.path.strip_suffix("/.").unwrap_or(&sweep.path).trim_end_matches('/');
        // The root itself.
        sweep.path = if path == "." { String::new() } else { path.to_owned() };
    }
    Ok(sweeps)
}

/// Whether folders that an action names include their content.
fn is_deep(action: &Action, scripts: &[(&str, &Action)]) -> bool {
    let is_one_of = |program: &String| [SWEEPERS, FINDERS].iter().any(|it| it.contains(&program.as_str()));
    action.command.is_none()
        || scripts
            .iter()
            .map(|(_, does)| *does)
            .chain([action])
            .any(|does| does.programs.iter().any(is_one_of) || takes_folders(&does.repository))
}

/// Whether an action may change files that it does not name, judged without further facts.
fn may_sweep(context: &Context<'_>, named: &[(&str, &str)]) -> Result<bool, Missing> {
    let action = context.action()?;
    let scripts = scripts(context, action)?;
    let mut actions = scripts.iter().map(|(_, does)| *does).chain([action]);
    let is_deep = is_deep(action, &scripts);
    Ok(named.iter().any(|(file, _)| is_deep || glob::is_pattern(file))
        || actions.any(|does| !does.sweeps.is_empty())
        || calls(context)?.iter().any(git::sweeps::may_sweep))
}

/// The objection to changing whole folders: a lock of another agent inside. A change of branch affects the whole
/// work tree, if it counts.
pub(crate) fn objection<'w>(
    context: &Context<'_>,
    named: impl Iterator<Item = (&'w str, &'w str)>,
    with_branches: bool,
) -> Result<Option<Verdict>, Missing> {
    let named: Vec<(&str, &str)> = named.collect();
    if !may_sweep(context, &named)? {
        return Ok(None);
    }
    let list = LockList::from_slice(context.slice(LockList::KEY)?);
    if list.is_partial() {
        return Err(Missing("the list of locked files is incomplete".to_owned()));
    }
    // Without locks no further facts are needed.
    if list.paths().next().is_none() {
        return Ok(None);
    }
    let sweeps = sweeps(context, named.into_iter(), with_branches)?;
    let mut hit: Vec<(&Sweep, &str)> = Vec::new();
    for path in list.paths() {
        hit.extend(sweeps.iter().find(|sweep| sweep.takes(path)).map(|sweep| (sweep, path)));
    }
    // Request all facts before the first one is missing, so that they are fetched together.
    let locks: Vec<_> =
        hit.into_iter().map(|(sweep, path)| (sweep, path, Lock::for_path(context, path))).collect();
    for (sweep, path, lock) in locks {
        let Some(lock) = lock?.filter(|lock| !lock.is_own(context)) else { continue };
        let file = context.root().and_then(|root| path.strip_prefix(root)?.strip_prefix('/')).unwrap_or(path);
        let (who, holder) = (&sweep.who, lock.holder());
        let (reason, advice) = match sweep.is_branch {
            true => (
                format!(
                    "{who} changes files of the work tree, in which file '{file}' is locked by {holder}."
                ),
                "Use your own work tree (`git worktree add`), or wait until the lock is released.",
            ),
            false => (
                format!("{who} includes file '{file}', which is locked by {holder}."),
                "Name your own files one by one, or wait until the lock is released.",
            ),
        };
        return Ok(Some(
            Verdict::block(reason)
                .advise(advice)
                .with("path", file)
                .with("holder", lock.text("actor"))
                .with("until", lock.text("until")),
        ));
    }
    Ok(None)
}
