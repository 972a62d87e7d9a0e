//! Carries a plan out: writes a backup of each file, then replaces it atomically.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::change::{Backup, FileChange};
use super::environment::Environment;
use super::files::{self, SettingsError, SettingsResult};
use super::plan::Plan;
use super::registry;

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct ApplyReport {
    /// Files that were written.
    pub written: Vec<PathBuf>,
    /// Files that were removed.
    pub removed: Vec<PathBuf>,
    /// Backups of what they were.
    pub backups: Vec<PathBuf>,
    /// Files that could not be changed.
    pub errors: Vec<SettingsError>,
}

/// Carries a plan out. An error in one file does not prevent the others.
pub fn apply(plan: &Plan, env: &Environment, now: Timestamp) -> ApplyReport {
    let mut report = ApplyReport::default();
    for change in &plan.changes {
        match apply_change(change, env, now) {
            Ok(backup) => {
                let list = if change.after.is_some() { &mut report.written } else { &mut report.removed };
                list.push(change.path.clone());
                report.backups.extend(backup);
            }
            Err(error) => report.errors.push(error),
        }
    }
    let removed = plan.changes.iter().filter(|change| report.removed.contains(&change.path));
    let mut folders: Vec<&PathBuf> = removed.flat_map(|change| &change.created_folders).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // A folder that is not empty stays.
        drop(fs::remove_dir(folder));
    }
    let has_failed =
        |path: &PathBuf, report: &ApplyReport| report.errors.iter().any(|error| error.path == *path);
    for (host, scope, path, program) in &plan.registered {
        if !has_failed(path, &report)
            && let Err(error) = registry::note(host, *scope, path, program, env)
        {
            report.errors.push(error);
        }
    }
    for path in &plan.uninstalled {
        if has_failed(path, &report) {
            continue;
        }
        // The backup is the only copy of a file that was removed.
        if path.exists() || Backup::last(path, env).is_none_or(|backup| backup.before.is_none()) {
            Backup::remove_all(path, env);
        }
        report.errors.extend(registry::forget(path).err());
    }
    if plan.purge && report.errors.is_empty() {
        let folder = env.project.join(midrail::paths::PROJECT_FOLDER);
        drop(fs::remove_dir_all(folder.join("backup")));
        drop(fs::remove_dir(&folder));
    }
    report.backups.retain(|backup| backup.exists());
    report
}

fn apply_change(change: &FileChange, env: &Environment, now: Timestamp) -> SettingsResult<Option<PathBuf>> {
    if files::read(&change.path)? != change.before {
        return Err(SettingsError::new("was changed by another program in the meantime")
            .help("run this command again, and check what it shows")
            .in_file(&change.path));
    }
    let mut backup = None;
    // Midrail's own files need no backup: `midrail init` writes them again.
    if change.host.is_some() {
        let mut created_folders = change.created_folders.clone();
        created_folders.extend(missing_folders(&change.path));
        let record = Backup {
            path: change.path.clone(),
            time: now,
            before: change.original.clone(),
            after: change.after.clone(),
            created_folders,
        };
        backup = Some(record.write(env)?);
    }
    match &change.after {
        Some(text) => files::write(&change.path, text, None)?,
        None => files::remove(&change.path)?,
    }
    Ok(backup.filter(|_| change.before.is_some()))
}

/// The folders above a file that do not exist, the topmost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1);
    let mut missing: Vec<PathBuf> =
        folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
