//! The commands that an event runs: those of its line, and those of the scripts that it runs.

use std::collections::BTreeSet;

use midrail_core::{Action, CommandCall};
use midrail_shell::command::{CommandPattern, Fit};

use crate::prelude::*;
use crate::shared::file_access::{agent_scripts_and, known_actions, project_scripts};
use crate::shared::text::shorten;

/// How much of a command a message shows.
const MAX_SHOWN: usize = 60;

/// The commands of an event.
struct RunCommands<'a> {
    /// What its line does, and the scripts that the agent wrote: what is not known in them counts.
    of_agent: Vec<&'a Action>,
    /// What scripts do that were in the project before the session. The user wrote or chose them: a program in them that is not
    /// known does not count, and neither does a script that cannot be read.
    of_project: Option<&'a Action>,
}

impl<'a> RunCommands<'a> {
    fn from_context(context: &Context<'a>) -> Result<Self, Missing> {
        let action = context.action()?;
        let mut of_agent: Vec<&Action> =
            known_actions(context)?.into_iter().map(|(_, action)| action).collect();
        // Hooks of git that the agent wrote.
        if !action.hooks.is_empty() {
            match agent_scripts_and(context, action, &action.hooks) {
                Err(missing) if context.has_pending_needs() => return Err(missing),
                found => of_agent.extend(found.into_iter().flatten().map(|(_, does)| does)),
            }
        }
        let of_project = match project_scripts(context, action) {
            Err(missing) if context.has_pending_needs() => return Err(missing),
            found => found.ok().flatten().map(|(_, does)| does),
        };
        Ok(RunCommands { of_agent, of_project })
    }

    fn calls(&self) -> impl Iterator<Item = &'a CommandCall> {
        let of_project = self.of_project.into_iter().flat_map(|action| &action.commands);
        let of_agent = self.of_agent.iter().flat_map(|action| &action.commands);
        of_agent.chain(of_project.filter(|call| !call.program.is_empty()))
    }

    /// Why there may be further commands.
    fn unknown(&self) -> Option<Missing> {
        let any = |is_it: fn(&Action) -> bool| self.of_agent.iter().any(|action| is_it(action));
        let why = if any(|action| action.has_more_commands) {
            "the command line has more commands than Midrail compares"
        } else if any(|action| action.has_unknown_programs) {
            "the command line starts a program that is not known"
        } else {
            return None;
        };
        Some(Missing(why.to_owned()))
    }
}

/// The names of all programs that the event starts. Missing: it may start others.
pub fn started_programs(context: &Context<'_>) -> Result<BTreeSet<String>, Missing> {
    let commands = RunCommands::from_context(context)?;
    let unknown = || Missing("a program is not known".to_owned());
    let mut names = BTreeSet::new();
    for action in &commands.of_agent {
        names.extend(action.started_programs().ok_or_else(unknown)?);
    }
    names.extend(commands.of_project.into_iter().flat_map(Action::known_programs));
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Whether the event's call runs a command that matches one of these patterns.
pub(crate) fn runs_any(context: &Context<'_>, patterns: &[CommandPattern]) -> Result<bool, Missing> {
    runs_any_except(context, patterns, &[])
}

/// The same without commands that certainly match one of other patterns.
pub fn runs_any_except(
    context: &Context<'_>,
    patterns: &[CommandPattern],
    except: &[CommandPattern],
) -> Result<bool, Missing> {
    let commands = RunCommands::from_context(context)?;
    let mut unknown = None;
    for call in commands.calls().filter(|call| !except.iter().any(|pattern| pattern.fits_certainly(call))) {
        for pattern in patterns {
            match pattern.fit(call) {
                Fit::Yes => return Ok(true),
                Fit::Unknown => unknown = unknown.or(Some((call, pattern))),
                Fit::No => {}
            }
        }
    }
    match unknown {
        Some((call, pattern)) if !call.program.is_empty() => {
            Err(Missing(format!("`{}` may be `{pattern}`", shown(call))))
        }
        Some((call, _)) => {
            let name = call.path.as_deref().unwrap_or_default();
            let name = shorten(name.strip_prefix("./").unwrap_or(name), MAX_SHOWN);
            Err(Missing(format!("the program `{name}` is not known")))
        }
        None => commands.unknown().map_or(Ok(false), Err),
    }
}

/// A command for a message.
fn shown(call: &CommandCall) -> String {
    let words: Vec<&str> =
        std::iter::once(call.program.as_str()).chain(call.args.iter().map(String::as_str)).collect();
    shorten(&words.join(" "), MAX_SHOWN)
}
