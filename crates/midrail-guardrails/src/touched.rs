//! The files that an action touches, by its tool, its command line, and the scripts of the agent's own that it runs.

use std::collections::BTreeSet;

use midrail_core::{Action, Context, Missing, written_key};

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
    let touched = |file| Touched {
        file,
        is_write: writes.contains(file) || !reads.contains(file),
        is_named: named.contains(file),
        script,
    };
    Ok(files.map(touched).collect())
}

/// How many scripts of one action are followed, through scripts that run scripts.
const MAX_SCRIPTS: usize = 16;

/// The scripts that an action runs and that the agent wrote in this session, and what they do.
pub(crate) fn scripts<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Vec<(&'a str, &'a Action)>, Missing> {
    let mut found: Vec<(&str, &Action)> = Vec::new();
    let mut pending: Vec<&'a String> = action.scripts.iter().collect();
    let mut known = BTreeSet::new();
    while let Some(script) = pending.pop() {
        let place = context.real_place(script, None)?;
        if !known.insert(place.key.clone()) || context.slice(&written_key(&place.key))?.is_none() {
            continue;
        }
        if found.len() >= MAX_SCRIPTS {
            return Err(Missing("more scripts are run than are looked into".to_owned()));
        }
        let does = context.script(&place)?;
        found.push((script, does));
        pending.extend(&does.scripts);
    }
    Ok(found)
}
