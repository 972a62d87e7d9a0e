//! compliance-001: of several agents, only the one that has a file's lock writes the file.

use std::collections::BTreeSet;

use midrail_core::{
    Action, ActionType, Changes, Context, Effect, EventKind, Fault, FileState, Guardrail, Missing, Verdict,
    glob, lock_key,
};
use midrail_detect::action::{bare_name, is_known};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::handoff::sender;
use crate::lock_list::LockList;
use crate::locks::{Lock, absolute};
use crate::places::{fits, is_nobodys, is_temporary};
use crate::seconds::Seconds;
use crate::settings::Pattern;
use crate::sweeps::{self, SOME_OF_IT};
use crate::touched::scripts;

/// The settings of compliance-001.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileOwnership {
    /// How an agent gets a lock.
    pub acquire: Acquire,
    /// How long a lock lasts after the last write.
    pub expires: Seconds,
    /// The files that have locks. A pattern without `/` speaks of files of that name in every folder. Empty: all.
    pub files: Vec<Pattern>,
    /// Tools that lock the files that they are given.
    pub lock_tools: Vec<Pattern>,
    /// Tools that release them.
    pub unlock_tools: Vec<Pattern>,
    /// Whether a change of branch is held against the locks inside the work tree.
    pub branch_changes: bool,
}

/// How an agent gets a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Acquire {
    /// By writing a file that nobody else has.
    #[default]
    OnWrite,
    /// By a tool that locks, or from the orchestrator.
    Explicit,
}

impl Default for FileOwnership {
    fn default() -> Self {
        let tools = |names: &[&str]| names.iter().map(|name| Pattern((*name).to_owned())).collect();
        FileOwnership {
            acquire: Acquire::OnWrite,
            expires: Seconds(30.0 * 60.0),
            files: Vec::new(),
            lock_tools: tools(&["lock_file", "acquire_lock", "mcp__*__lock_file", "mcp__*__acquire_lock"]),
            unlock_tools: tools(&[
                "unlock_file",
                "release_lock",
                "mcp__*__unlock_file",
                "mcp__*__release_lock",
            ]),
            branch_changes: true,
        }
    }
}

/// How many locks of one session are kept in mind, to be released when it ends. Others run out by themselves.
const MAX_HELD: usize = 1_000;

/// How many files of one action are looked at.
const MAX_FILES: usize = 1_000;

/// The slice of the session that says which locks it holds, and who in it.
const HELD: &str = "held";

/// A file that an action wants to write.
struct Wanted<'a> {
    file: &'a str,
    path: String,
    /// It is a folder or a pattern: it stands for files, and is none.
    is_many: bool,
}

impl FileOwnership {
    fn is_one_of(patterns: &[Pattern], context: &Context<'_>) -> bool {
        let tool = context.event.tool_name().unwrap_or_default();
        patterns.iter().any(|pattern| pattern.fits_name(tool))
    }

    /// The files that need a lock for this action, and whether it asks for locks itself.
    fn wanted<'a>(&self, context: &Context<'a>) -> Result<(Vec<Wanted<'a>>, bool), Missing> {
        let action = context.action()?;
        let locks = Self::is_one_of(&self.lock_tools, context);
        let named = if locks { action.target_files.as_deref() } else { written(context, action)? };
        let Some(named) = named else {
            let tool = context.event.tool_name().unwrap_or_default();
            return Err(Missing(format!("which files `{tool}` writes is not known")));
        };
        let mut files: Vec<&'a str> = named.iter().map(String::as_str).collect();
        let mut folders: BTreeSet<&str> = action.folders.iter().map(String::as_str).collect();
        for (_, does) in scripts(context, action)? {
            if does.is_partial {
                return Err(Missing("a script is more than is looked into".to_owned()));
            }
            files.extend(does.writes.iter().map(String::as_str));
            folders.extend(does.folders.iter().map(String::as_str));
        }
        if files.len() > MAX_FILES {
            return Err(Missing("more files are written than are looked at".to_owned()));
        }
        // All are asked about before giving up, so that they are looked up in one go.
        let places: Vec<_> = files.into_iter().map(|file| (file, absolute(context, file))).collect();
        let mut known = BTreeSet::new();
        let mut wanted = Vec::new();
        for (file, place) in places {
            let (place, path) = place?;
            let is_free = is_nobodys(&place) || is_temporary(&place);
            let is_ours = self.files.is_empty() || self.files.iter().any(|it| fits(&it.0, &place));
            if is_ours && !is_free && known.insert(path.clone()) {
                let is_many = folders.contains(file) || stands_for_many(file);
                wanted.push(Wanted { file, path, is_many });
            }
        }
        Ok((wanted, locks))
    }

    fn objection(
        &self,
        context: &Context<'_>,
        wanted: &Wanted<'_>,
        locks: bool,
    ) -> Result<Option<Verdict>, Missing> {
        let file = wanted.file;
        Ok(match Lock::of(context, &wanted.path)? {
            Some(lock) if lock.is_own(context) => None,
            Some(lock) => Some(
                Verdict::block(format!("File '{file}' is locked by {}.", lock.holder()))
                    .advise("Work on something else until then, or ask its holder to hand it over.")
                    .with("path", file)
                    .with("holder", lock.text("actor"))
                    .with("session", lock.text("session"))
                    .with("since", lock.text("since"))
                    .with("until", lock.text("until")),
            ),
            None if self.acquire == Acquire::OnWrite || locks => None,
            None => {
                let tools: Vec<&str> = self.lock_tools.iter().map(|it| it.0.as_str()).collect();
                let how = match tools.iter().find(|tool| !tool.contains(['*', '?', '[', '{'])) {
                    Some(tool) => {
                        format!("Lock it first with `{tool}`, or ask the orchestrator to lock it for you.")
                    }
                    None => "Ask the orchestrator to lock it for you.".to_owned(),
                };
                Some(
                    Verdict::block(format!(
                        "File '{file}' is written only under a lock, and you hold none on it."
                    ))
                    .advise(how)
                    .with("path", file),
                )
            }
        })
    }

    /// Takes and renews locks for a call that goes on.
    fn take(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
        let (wanted, locks) = self.wanted(context)?;
        let takes = self.acquire == Acquire::OnWrite || locks;
        if wanted.is_empty() {
            return Ok(());
        }
        let is_command = context.action()?.command.is_some();
        let found: Vec<_> = wanted
            .iter()
            .filter(|it| !it.is_many)
            .map(|it| {
                let lock = Lock::of(context, &it.path);
                // A command may be given a folder, whatever its name looks like.
                let is_new = takes && is_command && matches!(lock, Ok(None));
                let is_folder = if is_new { is_folder(context, it.file) } else { Ok(false) };
                (it, lock, is_folder)
            })
            .collect();
        let list = context.slice(LockList::KEY).map(LockList::of);
        let mut held = held(context)?;
        let before = held.clone();
        let mut list = list?;
        let known = list.clone();
        let now = context.now()?;
        for (wanted, lock, is_folder) in found {
            let lock = lock?;
            if is_folder? {
                continue;
            }
            // Where someone let it pass all the same, the lock stays with its holder.
            if !lock.map_or(takes, |lock| lock.is_own(context)) {
                continue;
            }
            let taken = Lock::taken(context, lock, self.expires)?;
            let (holder, session) = (Lock::new(&taken).text("actor"), Lock::new(&taken).text("session"));
            list.add(&wanted.path, holder, Some(self.expires.after(now)), now);
            if session == context.session() && (held.len() < MAX_HELD || held.contains_key(&wanted.path)) {
                held.insert(wanted.path.clone(), holder.into());
            }
            changes.set(lock_key(&wanted.path), taken);
        }
        if held != before {
            changes.set(context.key(HELD), held);
        }
        if list != known {
            keep(list, changes);
        }
        Ok(())
    }

    /// Releases the files that a tool was given, once it has done so.
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
        let places: Vec<_> = files.iter().map(|file| absolute(context, file)).collect();
        let mut paths = BTreeSet::new();
        for place in places {
            paths.insert(place?.1);
        }
        self.release(context, changes, |path, _| paths.contains(path))
    }

    /// Releases the locks of this session that fit. Those that ran out and that others took since are theirs.
    fn release(
        &self,
        context: &Context<'_>,
        changes: &mut Changes,
        fits: impl Fn(&str, &str) -> bool,
    ) -> Result<(), Missing> {
        let held = held(context)?;
        let is_given = |(path, actor): &(&String, &Value)| fits(path, actor.as_str().unwrap_or_default());
        let (given, kept): (Vec<_>, Vec<_>) = held.iter().partition(is_given);
        let locks: Vec<_> = given.iter().map(|(path, _)| (path, context.slice(&lock_key(path)))).collect();
        let mut list = LockList::of(context.slice(LockList::KEY)?);
        let known = list.clone();
        for (path, lock) in locks {
            if lock?.map(Lock::new).is_some_and(|lock| lock.text("session") == context.session()) {
                changes.remove(lock_key(path));
                list.remove(path);
            }
        }
        if list != known {
            keep(list, changes);
        }
        match (given.is_empty(), kept.is_empty()) {
            (true, _) => {}
            (false, true) => changes.remove(context.key(HELD)),
            (false, false) => {
                let kept: Map<String, Value> =
                    kept.into_iter().map(|(path, actor)| (path.clone(), actor.clone())).collect();
                changes.set(context.key(HELD), kept);
            }
        }
        Ok(())
    }
}

/// Whether what a command line names are files by a pattern: a wildcard, one of git's forms that begin with a colon, or
/// some of what is in a folder.
fn stands_for_many(file: &str) -> bool {
    glob::is_pattern(file) || file.split('/').any(|part| part.starts_with(':') || part == SOME_OF_IT)
}

/// Whether a place is a folder, or something else that is no file. Where nothing is known of it, it is taken for a file.
fn is_folder(context: &Context<'_>, file: &str) -> Result<bool, Missing> {
    let place = context.real_place(file, None)?;
    match context.file(&place) {
        Ok(state) => Ok(*state == FileState::Special),
        Err(missing) if context.awaits() => Err(missing),
        Err(_) => Ok(false),
    }
}

/// Keeps the list of what is locked.
fn keep(list: LockList, changes: &mut Changes) {
    match list.into_value() {
        Some(list) => changes.set(LockList::KEY, list),
        None => changes.remove(LockList::KEY),
    }
}

/// Releases what somebody locked for an agent that hands over, by its name.
fn release_taken_for(context: &Context<'_>, actor: &str, changes: &mut Changes) -> Result<(), Missing> {
    let before = match changes.0.get(LockList::KEY) {
        Some(changed) => LockList::of(changed.as_ref()),
        None => LockList::of(context.slice(LockList::KEY)?),
    };
    let paths: Vec<&str> = before.of_actor(actor).collect();
    let locks: Vec<_> = paths.into_iter().map(|path| (path, context.slice(&lock_key(path)))).collect();
    let mut list = before.clone();
    for (path, lock) in locks {
        let Some(lock) = lock?.map(Lock::new) else { continue };
        if lock.text("actor") == actor && ["", context.session()].contains(&lock.text("session")) {
            changes.remove(lock_key(path));
            list.remove(path);
        }
    }
    if list != before {
        keep(list, changes);
    }
    Ok(())
}

fn held(context: &Context<'_>) -> Result<Map<String, Value>, Missing> {
    Ok(context.state(HELD)?.and_then(Value::as_object).cloned().unwrap_or_default())
}

/// The files that an action itself writes. `None`: some, and which is not known.
fn written<'a>(context: &Context<'a>, action: &'a Action) -> Result<Option<&'a [String]>, Missing> {
    let tool = context.event.tool_name().unwrap_or_default();
    // A server may well mean files elsewhere, in a repository or a bucket.
    if tool.starts_with("mcp__") && !is_known(bare_name(tool)) {
        return Ok(Some(&[]));
    }
    if action.is_partial {
        return Err(Missing("the command line is more than is looked into".to_owned()));
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
        let mut outcomes: Vec<_> = wanted.iter().map(|it| self.objection(context, it, locks)).collect();
        if !locks {
            let named = wanted.iter().map(|it| (it.file, it.path.as_str()));
            outcomes.push(sweeps::objection(context, named, self.branch_changes));
        }
        let mut fault = None;
        for outcome in outcomes {
            match outcome {
                Ok(Some(verdict)) => return Ok(verdict),
                Ok(None) => {}
                Err(missing) => fault = Some(missing),
            }
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
    }

    /// A lock is taken before the call, so that of two agents that race for a file one is told to wait.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let kind = context.event.kind;
        let has_tool = context.event.tool_name().is_some_and(|name| !name.is_empty());
        if kind == EventKind::BeforeTool && has_tool && effect.goes_on() {
            self.take(context, changes)?;
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

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool, EventKind::AfterHandoff, EventKind::SessionEnd]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(match self.acquire {
            Acquire::OnWrite => "Leave files alone that another agent has locked by writing them.".to_owned(),
            Acquire::Explicit => "Lock a file before you write it.".to_owned(),
        })
    }
}

#[cfg(test)]
#[path = "file_ownership_tests.rs"]
mod tests;
