//! The files that an action accesses: by its tool, its command line, and scripts that the agent wrote.

use std::collections::BTreeSet;

use midrail_core::{Action, Context, FileState, Missing, ScriptSource, written_key};

use super::downloads::Downloads;
use super::objections::all;

/// Whether there is a file or folder at a path.
pub(crate) fn exists(context: &Context<'_>, path: &str) -> Result<bool, Missing> {
    Ok(*context.file(&context.real_place(path, None)?)? != FileState::Absent)
}

/// A file that an action accesses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileAccess<'a> {
    /// The path as the call spells it.
    pub(crate) file: &'a str,
    /// Whether it is created, changed or removed. An unknown tool may do anything to the files in its
    /// arguments.
    pub(crate) is_write: bool,
    /// Whether its content is neither shown nor changed: it is listed, or a program logs in with it.
    pub(crate) is_named: bool,
    /// Whether its whole content is replaced.
    pub(crate) is_replaced: bool,
    /// The script that accesses it.
    pub(crate) script: Option<&'a str>,
}

impl FileAccess<'_> {
    /// `File 'x'`, with its script.
    pub(crate) fn name(&self) -> String {
        match self.script {
            Some(script) => format!("File '{}', which `{script}` accesses,", self.file),
            None => format!("File '{}'", self.file),
        }
    }
}

/// The files that the event's action accesses. Missing if not all of them are known.
pub(crate) fn accessed_files<'a>(context: &Context<'a>) -> Result<Vec<FileAccess<'a>>, Missing> {
    let action = context.action()?;
    if action.target_files.is_none() {
        let tool = context.event.tool_name().unwrap_or_default();
        return Err(Missing(format!("the files that `{tool}` accesses are unknown")));
    }
    let mut all = Vec::new();
    for (script, action) in known_actions(context)? {
        all.extend(action_files(action, script)?);
    }
    Ok(all)
}

/// The event's action and, with their names, those of the scripts that the agent wrote and runs. Missing if one of
/// them is only partly known.
pub(crate) fn known_actions<'a>(
    context: &Context<'a>,
) -> Result<Vec<(Option<&'a str>, &'a Action)>, Missing> {
    let action = context.action()?;
    let scripts = agent_scripts(context, action)?.into_iter().map(|(script, does)| (Some(script), does));
    let actions: Vec<_> = [(None, action)].into_iter().chain(scripts).collect();
    match actions.iter().find(|(_, action)| action.is_partial) {
        Some((None, _)) => Err(Missing("the command line is too long to analyse".to_owned())),
        Some((Some(_), _)) => Err(Missing("a script is too long to analyse".to_owned())),
        None => Ok(actions),
    }
}

/// The files of one action.
pub(crate) fn action_files<'a>(
    action: &'a Action,
    script: Option<&'a str>,
) -> Result<Vec<FileAccess<'a>>, Missing> {
    if action.is_partial {
        return Err(Missing("the command line is too long to analyse".to_owned()));
    }
    let files = action.target_files.as_deref().unwrap_or_default().iter().map(String::as_str);
    let (reads, writes) = (FileSet::new(&action.reads), FileSet::new(&action.writes));
    let (named, replaced) = (FileSet::new(&action.named), FileSet::new(&action.overwrites));
    let access = |file| FileAccess {
        file,
        is_write: writes.contains(file) || !reads.contains(file),
        is_named: named.contains(file),
        is_replaced: replaced.contains(file),
        script,
    };
    Ok(files.map(access).collect())
}

/// A list of files that is searched often.
enum FileSet<'a> {
    Short(&'a [String]),
    Long(BTreeSet<&'a str>),
}

impl<'a> FileSet<'a> {
    fn new(files: &'a [String]) -> Self {
        if files.len() <= 8 {
            FileSet::Short(files)
        } else {
            FileSet::Long(files.iter().map(String::as_str).collect())
        }
    }

    fn contains(&self, file: &str) -> bool {
        match self {
            FileSet::Short(files) => files.iter().any(|other| other == file),
            FileSet::Long(files) => files.contains(file),
        }
    }
}

/// Maximum number of scripts per action, including scripts that run scripts.
const MAX_SCRIPTS: usize = 16;

/// The scripts that an action runs and that the agent wrote in this session, and the diffs that it applies, with their
/// actions. If there are several, their combined action comes last.
pub(crate) fn agent_scripts<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    agent_scripts_and(context, action, &[])
}

/// The same, with further files that the action runs, such as git hooks.
pub(crate) fn agent_scripts_and<'a>(
    context: &Context<'a>,
    action: &'a Action,
    hooks: &'a [String],
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    let own = own_files(context, action, hooks)?;
    let mut starts: Vec<Vec<(&'a str, ScriptSource)>> = own.iter().map(|file| vec![file.clone()]).collect();
    if own.len() > 1 {
        starts.push(own);
    }
    all(starts.into_iter().map(|files| follow(context, files)))
}

/// Maximum number of scripts of the project per action, including scripts that run scripts.
const MAX_PROJECT_SCRIPTS: usize = 6;

/// Folders with what was installed or built: not the project's own scripts.
const INSTALLED: &[&str] = &["node_modules", "site-packages", ".venv", "venv", "target"];

/// How often scripts of the project are followed to scripts that they run.
const MAX_FOLLOWED: usize = 3;

/// The action of the scripts, build files and packages that were in the project before the session and that an action runs, with
/// the name of the first. Those beyond the limits are not read.
pub(crate) fn project_scripts<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Option<(&'a str, &'a Action)>, Missing> {
    let mut held = project_files(context, action, &BTreeSet::new())?;
    let Some(name) = held.first().map(|(name, _)| *name) else { return Ok(None) };
    let mut does = action;
    for _ in 0..MAX_FOLLOWED {
        let files: Vec<ScriptSource> = held.iter().map(|(_, held)| held.clone()).collect();
        does = context.script(&files)?;
        let known: BTreeSet<String> = files.into_iter().map(|held| held.place).collect();
        let mut further = project_files(context, does, &known)?;
        further.extend(
            own_files(context, does, &[])?.into_iter().filter(|(_, own)| !known.contains(&own.place)),
        );
        if further.is_empty() || held.len() >= MAX_PROJECT_SCRIPTS {
            break;
        }
        held.extend(further);
        held.truncate(MAX_PROJECT_SCRIPTS);
    }
    Ok(Some((name, does)))
}

/// The scripts of an action that are in the project and were neither written nor downloaded in this session.
fn project_files<'a>(
    context: &Context<'a>,
    action: &'a Action,
    known: &BTreeSet<String>,
) -> Result<Vec<(&'a str, ScriptSource)>, Missing> {
    let is_named = |path: &&String| !path.contains(['$', '`', '*', '?']);
    let places: Vec<_> = action
        .scripts
        .iter()
        .filter(is_named)
        .take(MAX_PROJECT_SCRIPTS)
        .map(|path| (path, context.real_place(path, None)))
        .collect();
    let mut files = Vec::new();
    let mut states = Vec::new();
    for (path, place) in places {
        let place = place?;
        let is_installed = place.key.split('/').any(|part| INSTALLED.contains(&part));
        if place.inside && !known.contains(&place.key) && !is_installed {
            states.push((path, context.slice(&written_key(&place.key)), place));
        }
    }
    let downloads = if states.is_empty() { Downloads::default() } else { Downloads::from_context(context)? };
    for (path, written, place) in states {
        if written?.is_none()
            && !downloads.contains(&place.key)
            && let Some(file) = ScriptSource::new(path, &place, true, false)
        {
            files.push((path.as_str(), file.of_project()));
        }
    }
    Ok(files)
}

/// The action of some scripts, including the agent's scripts that they run in turn.
fn follow<'a>(
    context: &Context<'a>,
    files: Vec<(&'a str, ScriptSource)>,
) -> Result<(&'a str, &'a Action), Missing> {
    let name = files.first().map_or("", |(name, _)| *name);
    let mut held: Vec<ScriptSource> = files.into_iter().map(|(_, held)| held).collect();
    loop {
        let does = context.script(&held)?;
        let mut known: BTreeSet<String> = held.iter().map(|held| held.place.clone()).collect();
        let further = own_files(context, does, &[])?;
        let before = held.len();
        held.extend(
            further.into_iter().map(|(_, held)| held).filter(|held| known.insert(held.place.clone())),
        );
        if held.len() == before {
            return Ok((name, does));
        }
        if held.len() > MAX_SCRIPTS {
            return Err(Missing("the action runs too many scripts".to_owned()));
        }
    }
}

/// The scripts of an action that the agent wrote or downloaded, and the diffs that it applies.
fn own_files<'a>(
    context: &Context<'a>,
    action: &'a Action,
    hooks: &'a [String],
) -> Result<Vec<(&'a str, ScriptSource)>, Missing> {
    if hooks.is_empty() && context.is_without_own_files(action) {
        return Ok(Vec::new());
    }
    // A diff names the files that it changes, also if the agent did not write it.
    let diffs: BTreeSet<&str> = action.patches.iter().map(String::as_str).collect();
    let run = action.scripts.iter().chain(hooks).chain(&action.patches).map(|path| (path, true));
    let fed =
        action.feeds.iter().filter(|path| !path.contains(['$', '`', '*', '?'])).map(|path| (path, false));
    let mut candidates = Vec::new();
    for (path, is_run) in run.chain(fed) {
        let place = context.real_place(path, None);
        let written = place.as_ref().ok().map(|place| context.slice(&written_key(&place.key)));
        candidates.push((path, is_run, place, written));
    }
    let downloads =
        if candidates.is_empty() { Downloads::default() } else { Downloads::from_context(context)? };
    let mut own: Vec<(&str, ScriptSource)> = Vec::new();
    let mut is_known = true;
    for (path, is_run, place, written) in candidates {
        // A file that is only read and has an unknown state is skipped.
        let (place, written) = match (place, written.transpose()) {
            (Ok(place), Ok(written)) => (place, written.flatten()),
            (Err(missing), _) | (_, Err(missing)) if is_run => return Err(missing),
            _ => {
                is_known = false;
                continue;
            }
        };
        let is_diff = diffs.contains(path.as_str());
        let is_downloaded = downloads.contains(&place.key) && !is_diff;
        if (written.is_none() && !is_downloaded && !is_diff)
            || own.iter().any(|(_, it)| it.place == place.key)
        {
            continue;
        }
        let unclear = || Missing(format!("the name `{path}` is not supported"));
        own.push((path, ScriptSource::new(path, &place, is_run, is_downloaded).ok_or_else(unclear)?));
        if own.len() > MAX_SCRIPTS {
            return Err(Missing("the action runs too many scripts".to_owned()));
        }
    }
    if is_known && own.is_empty() && hooks.is_empty() {
        context.note_without_own_files(action);
    }
    Ok(own)
}
