//! file-ownership (compliance-001): allows only the agent that holds the lock of a file to write it.

mod folder_locks;

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Action, ActionType, FileState, glob};
use midrail_shell::action::{bare_name, is_local_file_tool};

use crate::prelude::*;
use crate::shared::data::TOOLS;
use crate::shared::durations::Seconds;
use crate::shared::file_access::known_actions;
use crate::shared::file_paths::{is_device, is_temporary, path_fits};
use crate::shared::handoff::sender;
use crate::shared::lock_list::LockList;
use crate::shared::locks::{Lock, absolute, lock_slice};
use crate::shared::objections::{all, first_verdict};
use crate::shared::settings::{Pattern, any_matches, patterns};

pub(crate) const BUILTIN: Builtin = COMPLIANCE
    .builtin::<FileOwnership>("compliance-001", &[EventKind::BeforeTool])
    .aliases(&["file_ownership_check"]);

/// The settings of file-ownership.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileOwnership {
    /// How an agent acquires a lock.
    pub acquire: LockAcquisition,
    /// The lifetime of a lock after the last write.
    pub expires: Seconds,
    /// Files that have locks. A pattern without `/` matches in every folder. Empty: all.
    pub files: Vec<Pattern>,
    /// Tools that lock the files in their arguments.
    pub lock_tools: Vec<Pattern>,
    /// Tools that unlock them.
    pub unlock_tools: Vec<Pattern>,
    /// Whether changes of branch are checked against the locks in the work tree.
    pub branch_changes: bool,
}

/// How an agent acquires a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LockAcquisition {
    /// By writing a file that no other agent has locked.
    #[default]
    OnWrite,
    /// By a lock tool, or through the orchestrator.
    Explicit,
}

impl Default for FileOwnership {
    fn default() -> Self {
        FileOwnership {
            acquire: LockAcquisition::OnWrite,
            expires: Seconds(30.0 * 60.0),
            files: Vec::new(),
            lock_tools: patterns(TOOLS.list("lock tools")),
            unlock_tools: patterns(TOOLS.list("unlock tools")),
            branch_changes: true,
        }
    }
}

/// Maximum number of locks that are released at the end of a session. Others expire.
const MAX_HELD: usize = 1_000;

/// Maximum number of files per action.
const MAX_FILES: usize = 1_000;

/// The slice with the locks of the session, by path, and their holders.
fn held_key(context: &Context<'_>) -> Key<BTreeMap<String, String>> {
    Key::own(context, "held")
}

/// A file that an action would write.
struct WantedFile<'a> {
    file: &'a str,
    path: String,
    /// Whether it is a folder or a pattern, which means several files.
    is_many: bool,
}

impl FileOwnership {
    fn is_one_of(patterns: &[Pattern], context: &Context<'_>) -> bool {
        let tool = context.event.tool_name().unwrap_or_default();
        any_matches(patterns, tool)
    }

    /// The files that need a lock for this action, and whether the action is a lock request.
    fn wanted<'a>(&self, context: &Context<'a>) -> Result<(Vec<WantedFile<'a>>, bool), Missing> {
        let action = context.action()?;
        let locks = Self::is_one_of(&self.lock_tools, context);
        let named = if locks { action.target_files.as_deref() } else { written(context, action)? };
        let Some(named) = named else {
            let tool = context.event.tool_name().unwrap_or_default();
            return Err(Missing(format!("the files that `{tool}` writes are unknown")));
        };
        let mut files: Vec<&'a str> = named.iter().map(String::as_str).collect();
        let mut folders: BTreeSet<&str> = action.folders.iter().map(String::as_str).collect();
        for (script, does) in known_actions(context)? {
            if script.is_some() {
                files.extend(does.writes.iter().map(String::as_str));
                folders.extend(does.folders.iter().map(String::as_str));
            }
        }
        if files.len() > MAX_FILES {
            return Err(Missing("the action writes too many files".to_owned()));
        }
        let places: Vec<_> = all(files.into_iter().map(|file| Ok((file, absolute(context, file)?))))?;
        let mut known = BTreeSet::new();
        let mut wanted = Vec::new();
        for (file, (place, path)) in places {
            let is_free = is_device(&place) || is_temporary(&place);
            let is_ours = self.files.is_empty() || self.files.iter().any(|it| path_fits(&it.0, &place));
            if is_ours && !is_free && known.insert(path.clone()) {
                let is_many = folders.contains(file) || is_multiple(file);
                wanted.push(WantedFile { file, path, is_many });
            }
        }
        Ok((wanted, locks))
    }

    fn objection(
        &self,
        context: &Context<'_>,
        wanted: &WantedFile<'_>,
        locks: bool,
    ) -> Result<Option<Verdict>, Missing> {
        let file = wanted.file;
        Ok(match Lock::for_path(context, &wanted.path)? {
            Some(lock) if lock.is_own(context) => None,
            Some(lock) => Some(
                lock.describe_fully(
                    Verdict::block(format!("File '{file}' is locked by {}.", lock.holder()))
                        .advise("Work on other files until then, or ask the holder to release it.")
                        .with("path", file),
                ),
            ),
            None if self.acquire == LockAcquisition::OnWrite || locks => None,
            None => {
                let how = match self.lock_tools.iter().find(|tool| !glob::is_pattern(&tool.0)) {
                    Some(Pattern(tool, _)) => {
                        format!("Lock it first with `{tool}`, or ask the orchestrator to lock it for you.")
                    }
                    None => "Ask the orchestrator to lock it for you.".to_owned(),
                };
                Some(
                    Verdict::block(format!(
                        "File '{file}' can be written only under a lock, which you do not hold."
                    ))
                    .advise(how)
                    .with("path", file),
                )
            }
        })
    }

    /// Acquires and renews locks for an allowed call.
    fn acquire_locks(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
        let (wanted, locks) = self.wanted(context)?;
        let takes = self.acquire == LockAcquisition::OnWrite || locks;
        if wanted.is_empty() {
            return Ok(());
        }
        let is_command = context.action()?.command.is_some();
        let found: Vec<_> = wanted
            .iter()
            .filter(|it| !it.is_many)
            .map(|it| {
                let lock = Lock::for_path(context, &it.path);
                // The target of a command may be a folder.
                let is_new = takes && is_command && matches!(lock, Ok(None));
                let is_folder = if is_new { is_folder(context, it.file) } else { Ok(false) };
                (it, lock, is_folder)
            })
            .collect();
        let list = LockList::key().read(context);
        let before = held_key(context).read(context)?.unwrap_or_default();
        let known = list?.unwrap_or_default();
        let (mut held, mut list) = (before.clone(), known.clone());
        let now = context.now()?;
        for (wanted, lock, is_folder) in found {
            let lock = lock?;
            // If the call was allowed nevertheless, the lock stays with its holder.
            if is_folder? || !lock.as_ref().map_or(takes, |lock| lock.is_own(context)) {
                continue;
            }
            let acquired = Lock::acquire(context, lock, self.expires)?;
            list.add(&wanted.path, &acquired.actor, Some(self.expires.after(now)), now);
            let is_known = held.contains_key(&wanted.path);
            if acquired.session == context.session() && (held.len() < MAX_HELD || is_known) {
                held.insert(wanted.path.clone(), acquired.actor.clone());
            }
            lock_slice(&wanted.path).write(changes, &acquired)?;
        }
        if held != before {
            held_key(context).write(changes, &held)?;
        }
        list.store(&known, changes)
    }

    /// Releases the files in the arguments of an unlock tool, once it has succeeded.
    fn release_named(
        &self,
        context: &Context<'_>,
        effect: Effect,
        changes: &mut Changes,
    ) -> Result<(), Missing> {
        if !context.succeeded(effect)? {
            return Ok(());
        }
        let files = context.action()?.target_files.as_deref().unwrap_or_default();
        let paths: BTreeSet<String> = all(files.iter().map(|file| Ok(absolute(context, file)?.1)))?;
        self.release(context, changes, |path, _| paths.contains(path))
    }

    /// Releases the matching locks of this session, except those that expired and were acquired by others.
    fn release(
        &self,
        context: &Context<'_>,
        changes: &mut Changes,
        fits: impl Fn(&str, &str) -> bool,
    ) -> Result<(), Missing> {
        let held = held_key(context).read(context)?.unwrap_or_default();
        let (given, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            held.into_iter().partition(|(path, actor)| fits(path, actor));
        let known = LockList::key().read(context).map(Option::unwrap_or_default);
        let paths = given.keys().map(String::as_str);
        remove_locks(context, changes, known, paths, |lock| lock.session == context.session())?;
        if !given.is_empty() && kept.is_empty() {
            held_key(context).remove(changes);
        } else if !given.is_empty() {
            held_key(context).write(changes, &kept)?;
        }
        Ok(())
    }
}

/// Whether a name of a command line means several files: a wildcard, a git pathspec with a colon, or
/// a part of a folder.
fn is_multiple(file: &str) -> bool {
    glob::is_pattern(file)
        || file.split('/').any(|part| part.starts_with(':') || part == folder_locks::SOME_OF_IT)
}

/// Whether a place is a folder or another special file. Unknown places count as files.
fn is_folder(context: &Context<'_>, file: &str) -> Result<bool, Missing> {
    let place = context.real_place(file, None)?;
    match context.file(&place) {
        Ok(state) => Ok(*state == FileState::Special),
        Err(missing) if context.has_pending_needs() => Err(missing),
        Err(_) => Ok(false),
    }
}

/// Releases the locks that were taken for an agent by name, when it hands over.
fn release_taken_for(context: &Context<'_>, actor: &str, changes: &mut Changes) -> Result<(), Missing> {
    let before = LockList::key().read_changed(context, changes)?.unwrap_or_default();
    remove_locks(context, changes, Ok(before.clone()), before.held_by(actor), |lock| {
        lock.actor == actor && ["", context.session()].contains(&lock.session.as_str())
    })
}

/// Removes the locks of some files that meet a condition, also from the list of locked files.
fn remove_locks<'p>(
    context: &Context<'_>,
    changes: &mut Changes,
    known: Result<LockList, Missing>,
    paths: impl Iterator<Item = &'p str>,
    is_removed: impl Fn(&Lock) -> bool,
) -> Result<(), Missing> {
    let locks = all(paths.map(|path| Ok((path, lock_slice(path).read(context)?))));
    let (known, locks): (LockList, Vec<_>) = (known?, locks?);
    let mut list = known.clone();
    for (path, _) in locks.iter().filter(|(_, lock)| lock.as_ref().is_some_and(&is_removed)) {
        lock_slice(path).remove(changes);
        list.remove(path);
    }
    list.store(&known, changes)
}

/// The files that an action itself writes. `None`: unknown files.
fn written<'a>(context: &Context<'a>, action: &'a Action) -> Result<Option<&'a [String]>, Missing> {
    let tool = context.event.tool_name().unwrap_or_default();
    // A server may work on remote files, in a repository or a bucket.
    if tool.starts_with("mcp__") && !is_local_file_tool(bare_name(tool)) {
        return Ok(Some(&[]));
    }
    if action.is_partial {
        return Err(Missing("the command line is too long to analyse".to_owned()));
    }
    Ok(match (action.kind, &action.target_files) {
        (ActionType::FileWrite, None) => None,
        _ => Some(&action.writes),
    })
}

impl Guardrail for FileOwnership {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let (wanted, locks) = self.wanted(context)?;
        let named: Vec<(&str, &str)> = wanted.iter().map(|it| (it.file, it.path.as_str())).collect();
        let folders = (!locks).then(|| folder_locks::objection(context, &named, self.branch_changes));
        first_verdict(wanted.iter().map(|it| self.objection(context, it, locks)).chain(folders))
    }

    /// Acquires locks before the call, so that only one of two racing agents gets a file.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let kind = context.event.kind;
        let has_tool = context.event.tool_name().is_some_and(|name| !name.is_empty());
        if kind == EventKind::BeforeTool && has_tool && effect.allows() {
            self.acquire_locks(context, changes)?;
        } else if kind == EventKind::AfterTool && Self::is_one_of(&self.unlock_tools, context) {
            self.release_named(context, effect, changes)?;
        } else if kind == EventKind::AfterHandoff {
            let sender = sender(context);
            self.release(context, changes, |_, actor| actor == sender)?;
            release_taken_for(context, &sender, changes)?;
        } else if kind == EventKind::SessionEnd {
            self.release(context, changes, |_, _| true)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool, EventKind::AfterHandoff, EventKind::SessionEnd]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(match self.acquire {
            LockAcquisition::OnWrite => "Do not write files that another agent has locked.".to_owned(),
            LockAcquisition::Explicit => "Lock a file before you write it.".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
