//! What an action takes without naming it, by a wildcard or with a whole folder, held against the locks on files.

use midrail_core::{Context, Missing, Verdict, glob};

use crate::git::sweeps::{swept, takes_folders};
use crate::lock_list::LockList;
use crate::locks::{Lock, absolute};
use crate::places::is_below;
use crate::touched::scripts;

/// Files that an action takes without naming them.
struct Sweep {
    /// As the caller spells it.
    file: String,
    path: String,
    /// Whether folders go with all that is in them.
    is_deep: bool,
}

impl Sweep {
    fn takes(&self, path: &str) -> bool {
        if !glob::is_pattern(&self.path) {
            let is_inside = match self.path.as_str() {
                "" => !path.starts_with('/'),
                folder => is_below(folder, path) && path != folder,
            };
            return self.is_deep && is_inside;
        }
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        glob::path_matches(&self.path, path)
            || (self.is_deep && above.into_iter().any(|folder| glob::path_matches(&self.path, folder)))
    }
}

/// Programs that take folders with all that is in them.
const SWEEPERS: &[&str] =
    &["rm", "mv", "rsync", "shred", "srm", "trash", "trash-put", "gio", "rmdir", "Remove-Item", "del", "rd"];

/// The files that this action takes by a wildcard or with their folder.
fn sweeps<'w>(
    context: &Context<'_>,
    named: impl Iterator<Item = (&'w str, &'w str)>,
) -> Result<Vec<Sweep>, Missing> {
    let action = context.action()?;
    let scripts = scripts(context, action)?;
    let actions = || scripts.iter().map(|(_, does)| *does).chain([action]);
    let is_deep = action.command.is_none()
        || actions().any(|does| {
            does.programs.iter().any(|program| SWEEPERS.contains(&program.as_str()))
                || takes_folders(&does.repository)
        });
    let mut sweeps: Vec<Sweep> = named
        .filter(|(file, _)| is_deep || glob::is_pattern(file))
        .map(|(file, path)| Sweep { file: file.to_owned(), path: path.to_owned(), is_deep })
        .collect();
    let swept: Vec<String> = actions().flat_map(|does| does.repository.iter().flat_map(swept)).collect();
    let places: Vec<_> = swept.into_iter().map(|file| (absolute(context, &file), file)).collect();
    for (place, file) in places {
        let (_, path) = place?;
        sweeps.push(Sweep { file, path, is_deep: true });
    }
    for sweep in &mut sweeps {
        let path = sweep.path.strip_suffix("/.").unwrap_or(&sweep.path).trim_end_matches('/');
        // The root itself, where it has no name.
        sweep.path = if path == "." { String::new() } else { path.to_owned() };
    }
    Ok(sweeps)
}

/// What stands against taking whole folders: a lock of another inside.
pub(crate) fn objection<'w>(
    context: &Context<'_>,
    named: impl Iterator<Item = (&'w str, &'w str)>,
) -> Result<Option<Verdict>, Missing> {
    let sweeps = sweeps(context, named)?;
    if sweeps.is_empty() {
        return Ok(None);
    }
    let list = LockList::of(context.slice(LockList::KEY)?);
    if list.is_partial() {
        return Err(Missing("more files are locked than are known by name".to_owned()));
    }
    let mut hit: Vec<(&Sweep, &str)> = Vec::new();
    for path in list.paths() {
        hit.extend(sweeps.iter().find(|sweep| sweep.takes(path)).map(|sweep| (sweep, path)));
    }
    // All are asked about before giving up, so that they are looked up in one go.
    let locks: Vec<_> = hit.into_iter().map(|(sweep, path)| (sweep, path, Lock::of(context, path))).collect();
    for (sweep, path, lock) in locks {
        let Some(lock) = lock?.filter(|lock| !lock.is_own(context)) else { continue };
        let file = context.root().and_then(|root| path.strip_prefix(root)?.strip_prefix('/')).unwrap_or(path);
        let reason = format!("'{}' takes file '{file}', which is locked by {}.", sweep.file, lock.holder());
        return Ok(Some(
            Verdict::block(reason)
                .advise("Name the files that are yours, one by one, or wait until the others are free.")
                .with("path", file)
                .with("holder", lock.text("actor"))
                .with("until", lock.text("until")),
        ));
    }
    Ok(None)
}
