//! Carries a plan out: a copy of what was there is kept first, then files are written in one step each.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::backup::Record;
use super::files::{self, SettingsError};
use super::places::Environment;
use super::plan::{FileChange, Plan};

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct ApplyReport {
    /// Files that were written.
    pub written: Vec<PathBuf>,
    /// Files that were removed.
    pub removed: Vec<PathBuf>,
    /// Copies of what was there.
    pub backups: Vec<PathBuf>,
    /// Files that are as they were, and why.
    pub troubles: Vec<SettingsError>,
}

/// Carries a plan out. A file that fails leaves the others to be done.
pub fn apply(plan: &Plan, places: &Environment, now: Timestamp) -> ApplyReport {
    let mut done = ApplyReport::default();
    for change in &plan.changes {
        match carry_out(change, places, now) {
            Ok(backup) => {
                match change.after {
                    Some(_) => done.written.push(change.path.clone()),
                    None => done.removed.push(change.path.clone()),
                }
                done.backups.extend(backup);
            }
            Err(trouble) => done.troubles.push(trouble),
        }
    }
    let gone = plan.changes.iter().filter(|change| done.removed.contains(&change.path));
    let mut folders: Vec<&PathBuf> = gone.flat_map(|change| &change.made).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // One that holds anything stays.
        drop(fs::remove_dir(folder));
    }
    if plan.purge && done.troubles.is_empty() {
        let folder = places.project.join(midrail::paths::PROJECT_FOLDER);
        drop(fs::remove_dir_all(folder.join("backup")));
        drop(fs::remove_dir(&folder));
        done.backups.retain(|backup| backup.exists());
    }
    done
}

fn carry_out(
    change: &FileChange,
    places: &Environment,
    now: Timestamp,
) -> Result<Option<PathBuf>, SettingsError> {
    if files::read(&change.path)? != change.before {
        return Err(SettingsError::of(&change.path, "was changed by somebody else meanwhile")
            .help("run this again, and look at what it shows"));
    }
    // Files of our own need no copy: whoever wants them back runs `midrail init` again.
    let mut backup = None;
    if change.agent.is_some() {
        let mut made = change.made.clone();
        made.extend(missing(&change.path));
        let record = Record {
            path: change.path.clone(),
            time: now,
            before: change.original.clone(),
            after: change.after.clone(),
            made,
        };
        backup = Some(record.keep(places)?);
    }
    match &change.after {
        Some(text) => files::write(&change.path, text, None)?,
        None => files::remove(&change.path)?,
    }
    Ok(backup.filter(|_| change.before.is_some()))
}

/// The folders above a file that are not there yet, the topmost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<PathBuf> = above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
