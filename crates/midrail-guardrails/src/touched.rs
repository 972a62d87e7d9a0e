//! The files that an action touches, by its tool, its command line, and the scripts of the agent's own that it runs.

use std::collections::BTreeSet;

use midrail_core::{Action, Context, Held, Missing, written_key};

use crate::fetched::Fetched;

/// A file that an action touches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touched<'a> {
    /// As the caller spells it.
    pub(crate) file: &'a str,
    /// It is created, changed or removed, as far as is known. A tool that nobody knows might do anything to the files that
    /// it is given.
    pub(crate) is_write: bool,
    /// Its content is neither shown nor changed: it is listed, or a program logs in with it.
    pub(crate) is_named: bool,
    /// All that it held would be gone.
    pub(crate) is_replaced: bool,
    /// The script that touches it.
    pub(crate) script: Option<&'a str>,
}

impl Touched<'_> {
    /// `File 'x'`, and in which script.
    pub(crate) fn name(&self) -> String {
        match self.script {
            Some(script) => format!("File '{}', which `{script}` touches,", self.file),
            None => format!("File '{}'", self.file),
        }
    }
}

/// The files that the event's action touches. Missing where not all of them are known.
pub(crate) fn touched<'a>(context: &Context<'a>) -> Result<Vec<Touched<'a>>, Missing> {
    let action = context.action()?;
    if action.target_files.is_none() {
        let tool = context.event.tool_name().unwrap_or_default();
        return Err(Missing(format!("which files `{tool}` touches is not known")));
    }
    let mut all = of(action, None)?;
    for (script, action) in scripts(context, action)? {
        all.extend(of(action, Some(script))?);
    }
    Ok(all)
}

/// The files of one action.
pub(crate) fn of<'a>(action: &'a Action, script: Option<&'a str>) -> Result<Vec<Touched<'a>>, Missing> {
    if action.is_partial {
        return Err(Missing("the command line is more than is looked into".to_owned()));
    }
    let reads: BTreeSet<&str> = action.reads.iter().map(String::as_str).collect();
    let writes: BTreeSet<&str> = action.writes.iter().map(String::as_str).collect();
    let files = action.target_files.as_deref().unwrap_or_default().iter().map(String::as_str);
    let named: BTreeSet<&str> = action.named.iter().map(String::as_str).collect();
    let replaced: BTreeSet<&str> = action.overwrites.iter().map(String::as_str).collect();
    let touched = |file| Touched {
        file,
        is_write: writes.contains(file) || !reads.contains(file),
        is_named: named.contains(file),
        is_replaced: replaced.contains(file),
        script,
    };
    Ok(files.map(touched).collect())
}

/// How many files of one action are followed, through scripts that run scripts.
const MAX_SCRIPTS: usize = 16;

/// The files that an action runs or obeys and that the agent wrote in this session, and what they do. Where there are
/// several, what they do together comes last.
pub(crate) fn scripts<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    followed(context, own_files(context, action, &[])?)
}

/// The same with the hooks that it runs on the way.
pub(crate) fn scripts_and_hooks<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    followed(context, own_files(context, action, &action.hooks)?)
}

fn followed<'a>(
    context: &Context<'a>,
    own: Vec<(&'a str, Held)>,
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    let mut starts: Vec<Vec<(&'a str, Held)>> = own.iter().map(|file| vec![file.clone()]).collect();
    if own.len() > 1 {
        starts.push(own);
    }
    // All are asked for before giving up, so that what they need is fetched in one go.
    let told: Vec<_> = starts.into_iter().map(|files| follow(context, files)).collect();
    told.into_iter().collect()
}

/// What some files do, and the files of the agent's own that they run in turn.
fn follow<'a>(context: &Context<'a>, files: Vec<(&'a str, Held)>) -> Result<(&'a str, &'a Action), Missing> {
    let name = files.first().map_or("", |(name, _)| *name);
    let mut held: Vec<Held> = files.into_iter().map(|(_, held)| held).collect();
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
            return Err(Missing("more scripts are run than are looked into".to_owned()));
        }
    }
}

/// The files that an action runs or obeys and that the agent wrote.
fn own_files<'a>(
    context: &Context<'a>,
    action: &'a Action,
    hooks: &'a [String],
) -> Result<Vec<(&'a str, Held)>, Missing> {
    let run = action.scripts.iter().chain(hooks).map(|path| (path, true));
    let fed =
        action.feeds.iter().filter(|path| !path.contains(['$', '`', '*', '?'])).map(|path| (path, false));
    let mut asked = Vec::new();
    for (path, is_run) in run.chain(fed) {
        let place = context.real_place(path, None);
        let written = place.as_ref().ok().map(|place| context.slice(&written_key(&place.key)));
        asked.push((path, is_run, place, written));
    }
    let fetched = if asked.is_empty() { Fetched::default() } else { Fetched::of(context)? };
    let mut own: Vec<(&str, Held)> = Vec::new();
    for (path, is_run, place, written) in asked {
        // Of a file that is only read nothing is known where it cannot be looked at.
        let (place, written) = match (place, written.transpose()) {
            (Ok(place), Ok(written)) => (place, written.flatten()),
            (Err(missing), _) | (_, Err(missing)) if is_run => return Err(missing),
            _ => continue,
        };
        let is_fetched = fetched.holds(&place.key);
        if (written.is_none() && !is_fetched) || own.iter().any(|(_, it)| it.place == place.key) {
            continue;
        }
        let unclear = || Missing(format!("`{path}` is a name that is not looked into"));
        own.push((path, Held::new(path, &place, is_run, is_fetched).ok_or_else(unclear)?));
        if own.len() > MAX_SCRIPTS {
            return Err(Missing("more scripts are run than are looked into".to_owned()));
        }
    }
    Ok(own)
}
