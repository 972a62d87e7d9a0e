//! Sets of calls that packs speak of: tools by name, commands, and changes of files.

use midrail_core::path::Place;
use midrail_core::{Action, CommandCall, Tools, glob};
use midrail_shell::command::{CommandPattern, Fit, may_change_any_file, named_folders};

use crate::prelude::*;
use crate::shared::file_access::known_actions;
use crate::shared::objections::all;
use crate::shared::run_commands::runs_any;

/// A set of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calls {
    /// Calls of a tool: a name or glob pattern.
    Tool(String),
    /// Calls that run one of these commands.
    Commands(Vec<CommandPattern>),
    /// Calls that create, change or remove files that match one of these path patterns.
    Changes(Vec<String>),
}

impl Calls {
    /// Whether the event's call belongs to it. Missing: that depends on something that is not known.
    pub fn contain(&self, context: &Context<'_>) -> Result<bool, Missing> {
        match self {
            Calls::Tool(pattern) => {
                Ok(context.event.tool_name().is_some_and(|tool| glob::name_matches(pattern, tool)))
            }
            Calls::Commands(patterns) => runs_any(context, patterns),
            Calls::Changes(patterns) => changes_any(context, patterns),
        }
    }

    /// The same for a set whose calls are events of the past: what is not known counts as one of them.
    pub(crate) fn may_contain(&self, context: &Context<'_>) -> Result<bool, Missing> {
        match self.contain(context) {
            Err(missing) if context.has_pending_needs() => Err(missing),
            found => Ok(found.unwrap_or(true)),
        }
    }

    /// Whether the success of the event's call proves that one of these calls succeeded: a tool did, a command of the project did on
    /// which the status of the whole line depends, or files were changed.
    pub(crate) fn are_proven(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let Calls::Commands(patterns) = self else { return self.contain(context) };
        let action = context.action()?;
        // `ln -sf /bin/true ~/bin/cargo; cargo test`
        let is_replaced = |call: &CommandCall| {
            action.writes.iter().any(|file| file.rsplit('/').next() == Some(call.program.as_str()))
        };
        let proven = action.commands.iter().filter(|call| !is_replaced(call)).flat_map(|call| {
            patterns.iter().filter(|pattern| pattern.is_proven_by(call)).map(move |pattern| (pattern, call))
        });
        let proven: Vec<bool> = all(proven.map(|(pattern, call)| runs_in_project(context, pattern, call)))?;
        Ok(proven.contains(&true))
    }

    /// Whether the line of the event's call contains one of these calls before one of `gate`. What is not known counts.
    pub(crate) fn precede(&self, gate: &Calls, context: &Context<'_>) -> Result<bool, Missing> {
        let Calls::Commands(gates) = gate else { return Ok(false) };
        if matches!(self, Calls::Tool(_)) || !self.may_contain(context)? {
            return Ok(false);
        }
        let actions = known_actions(context)?;
        let [(_, action)] = actions.as_slice() else { return Ok(true) };
        let may_be = |patterns: &[CommandPattern], call: &CommandCall| {
            patterns.iter().any(|pattern| pattern.fit(call) > Fit::No)
        };
        let is_gate = |call: &CommandCall| may_be(gates, call);
        Ok(match self {
            Calls::Commands(patterns) => {
                let last = action.commands.iter().rposition(is_gate).unwrap_or(0);
                action.commands.iter().take(last).any(|call| !call.wraps && may_be(patterns, call))
            }
            // `deploy x > log`: what the line changes is the output of the gate.
            _ => {
                !(starts_line(action)
                    && action.commands.iter().filter(|call| is_gate(call)).count() == 1
                    && action.commands.first().is_some_and(is_gate))
            }
        })
    }

    /// Their name in messages and state: `deploy`, `cargo test or npm test`, `a change of src/**`.
    pub fn name(&self) -> String {
        match self {
            Calls::Tool(pattern) => pattern.clone(),
            Calls::Commands(patterns) => {
                patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" or ")
            }
            Calls::Changes(patterns) => format!("a change of {}", patterns.join(" or ")),
        }
    }

    /// The tools that such calls use.
    pub(crate) fn tools<'c>(sets: impl IntoIterator<Item = &'c Calls>) -> Tools {
        let mut names = Vec::new();
        for calls in sets {
            match calls {
                Calls::Tool(name) => names.push(name.clone()),
                Calls::Commands(_) | Calls::Changes(_) => return Tools::All,
            }
        }
        Tools::Only(names)
    }
}

impl<S: Into<String>> From<S> for Calls {
    fn from(tool: S) -> Self {
        Calls::Tool(tool.into())
    }
}

/// Whether the first word of a line is the first program that it starts.
fn starts_line(action: &Action) -> bool {
    let first = action.command.as_deref().and_then(|line| line.split_whitespace().next());
    let name = first.and_then(|word| word.rsplit('/').next());
    name.is_some() && name == action.commands.first().map(|call| call.program.as_str())
}

/// Whether a command runs in the session's folder or below it, and works on a project there.
fn runs_in_project(
    context: &Context<'_>,
    pattern: &CommandPattern,
    call: &CommandCall,
) -> Result<bool, Missing> {
    let (Some(folder), Some(named)) = (call.folder.as_deref(), named_folders(call)) else { return Ok(false) };
    let folder = if folder.is_empty() { "." } else { folder };
    let below = |path: &str| {
        if path.starts_with(['/', '~']) { path.to_owned() } else { format!("{folder}/{path}") }
    };
    let paths: Vec<String> = std::iter::once(folder.to_owned()).chain(named.into_iter().map(below)).collect();
    let places: Vec<Place> = all(paths.iter().map(|path| context.real_place(path, None)))?;
    let is_root = places.first().is_some_and(|place| matches!(place.key.as_str(), "" | "."));
    Ok(places.iter().all(|place| place.inside)
        && !paths.iter().any(|path| is_outside(context, path))
        && (is_root || !pattern.has_path()))
}

/// Whether a path of a command line is outside of the session's folder by its spelling. A host that names no folder may see the root
/// as `/`; a command line does not.
fn is_outside(context: &Context<'_>, path: &str) -> bool {
    let is_absolute = context.event.cwd.is_none() && path.starts_with('/');
    (is_absolute && !context.root().is_some_and(|root| path.starts_with(root)))
        || !context.place(path, None).inside
}

/// Programs that change folders with all that they contain.
const FOLDER_PROGRAMS: &[&str] =
    &["cp", "git", "install", "ln", "mv", "rm", "rmdir", "rsync", "trash", "wget"];

/// Whether the event's call changes a file that matches one of these patterns. Files that are not known may be any.
fn changes_any(context: &Context<'_>, patterns: &[String]) -> Result<bool, Missing> {
    let actions = known_actions(context)?;
    if actions.iter().any(|(_, action)| !action.sweeps.is_empty()) {
        return Ok(true);
    }
    let is_elsewhere = |call: &CommandCall| {
        call.folder.as_deref().is_some_and(|folder| !folder.is_empty() && is_outside(context, folder))
            && named_folders(call).is_some_and(|named| named.is_empty())
            && !patterns.iter().any(|pattern| pattern.starts_with(['/', '~']))
    };
    let mut commands = actions.iter().flat_map(|(_, action)| &action.commands);
    if commands.any(|call| may_change_any_file(call) && !is_elsewhere(call)) {
        return Ok(true);
    }
    let written = actions.iter().flat_map(|(_, action)| {
        let copied = action.copies.iter().map(|copy| &copy.to).filter(|to| to.ends_with('/'));
        let files = action.writes.iter().chain(&action.fetched).chain(copied);
        files.map(|file| (file, may_be_folder(action, file)))
    });
    let places: Vec<Vec<String>> = all(written.map(|(file, is_folder)| {
        let mut places = context.places(file)?;
        if is_folder {
            let inside =
                |place: &String| if place.is_empty() { "**".to_owned() } else { format!("{place}/**") };
            let content: Vec<String> = places.iter().map(inside).collect();
            places.extend(content);
        }
        Ok(places)
    }))?;
    let fits: Vec<Option<bool>> = all(places
        .iter()
        .flatten()
        .flat_map(|place| patterns.iter().map(move |pattern| fits_inside(context, pattern, place))))?;
    // A path with wildcards or variables may be any.
    let is_parent = |place: &String| {
        let below = |pattern: &String| {
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            pattern.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        !place.is_empty() && patterns.iter().any(below)
    };
    Ok(fits.iter().any(|fit| fit.unwrap_or(true)) || places.iter().flatten().any(is_parent))
}

/// Whether a changed file matches a pattern. A relative pattern is about the project: `**` is no file outside of the root.
fn fits_inside(context: &Context<'_>, pattern: &str, place: &str) -> Result<Option<bool>, Missing> {
    let is_absolute = |path: &str| path.starts_with(['/', '~']) || path.starts_with("../");
    if is_absolute(place) && !is_absolute(pattern) && !may_contain_root(context, place) {
        return Ok(Some(false));
    }
    context.path_fits_any_case(pattern, place)
}

/// Whether a place outside of the root, or what is in it, may be the root: `/*/shop`, `/work/**` for `/work/shop`.
fn may_contain_root(context: &Context<'_>, place: &str) -> bool {
    let (folder, is_content) = place.strip_suffix("/**").map_or((place, false), |folder| (folder, true));
    let is_above = |root: &str| {
        !folder.starts_with('/')
            || root.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let root = context.root().or(context.event.cwd.as_deref());
    folder.contains(['$', '`', '*', '?', '[']) || (is_content && root.is_none_or(is_above))
}

/// Whether a path that an action writes may be a folder: `rm -r src`.
fn may_be_folder(action: &Action, path: &String) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let has_programs = || action.commands.iter().any(|call| FOLDER_PROGRAMS.contains(&call.program.as_str()));
    name.is_empty()
        || matches!(name, "." | "..")
        || action.folders.contains(path)
        || (!name.contains('.') && has_programs())
}
