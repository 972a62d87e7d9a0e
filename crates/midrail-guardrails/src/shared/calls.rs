//! Sets of calls that packs speak of: tools by name, commands, and changes of files.

use midrail_core::{Tools, glob};
use midrail_shell::command::{CommandPattern, Fit, only_describes};

use crate::prelude::*;
use crate::shared::file_access::known_actions;
use crate::shared::objections::all;

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

    /// Whether the success of the event's call proves that one of these calls succeeded: a tool did, a command did on which the
    /// status of the whole line depends, or files were changed.
    pub(crate) fn are_proven(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let Calls::Commands(patterns) = self else { return self.contain(context) };
        let commands = &context.action()?.commands;
        Ok(commands.iter().any(|call| {
            call.decides
                && !only_describes(call)
                && patterns.iter().any(|pattern| pattern.fit(call) == Fit::Yes)
        }))
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

/// Whether the event's call runs a command that matches one of these patterns.
pub fn runs_any(context: &Context<'_>, patterns: &[CommandPattern]) -> Result<bool, Missing> {
    let actions = known_actions(context)?;
    let calls = actions.iter().flat_map(|(_, action)| &action.commands);
    let fits = calls.flat_map(|call| patterns.iter().map(|pattern| pattern.fit(call)));
    match fits.max() {
        Some(Fit::Yes) => Ok(true),
        Some(Fit::Unknown) => Err(Missing("a part of the command is not known".to_owned())),
        _ if actions.iter().any(|(_, action)| action.has_more_commands) => {
            Err(Missing("the command line has more commands than Midrail compares".to_owned()))
        }
        _ if actions.iter().any(|(_, action)| action.has_unknown_programs) => {
            Err(Missing("the command line starts a program that is not known".to_owned()))
        }
        _ => Ok(false),
    }
}

/// Whether the event's call changes a file that matches one of these patterns.
fn changes_any(context: &Context<'_>, patterns: &[String]) -> Result<bool, Missing> {
    let actions = known_actions(context)?;
    if actions.iter().any(|(_, action)| !action.sweeps.is_empty()) {
        return Ok(true);
    }
    let written = actions.iter().flat_map(|(_, action)| &action.writes);
    let places: Vec<Vec<String>> = all(written.map(|file| context.places(file)))?;
    let fits: Vec<Option<bool>> = all(places
        .iter()
        .flatten()
        .flat_map(|place| patterns.iter().map(move |pattern| context.path_fits_any_case(pattern, place))))?;
    // A path with wildcards or variables may be any.
    Ok(fits.iter().any(|fit| fit.unwrap_or(true)))
}
