//! Databases, containers and other things besides files that the agent created in this session. It may delete them.
//!
//! A thing counts as created once the command that creates it succeeded, which it does only if there was none of that name. It is
//! forgotten when it is deleted, and when its name may lead to something else. What `data/own_things.txt` does not know of a
//! command makes it create and delete nothing here.

mod words;

use std::slice;

use midrail_core::{Action, Changes, CommandCall, Context, Danger, EventKind, Key, Missing, glob};
use serde_json::Value;

use self::words::{Section, Step, Words, is_one_of};
use super::data::OWN_THINGS;
use super::file_access::agent_scripts;
use super::flow::available::available;
use super::outcome::CallOutcome;
use super::own_files::is_own;

/// The most things that are remembered. Further ones do not count as created.
const MAX_THINGS: usize = 200;

/// Beginnings of the names of variables that select a server.
const SERVER_VARIABLES: &[&str] =
    &["PG", "MYSQL", "MARIADB", "DOCKER_", "CONTAINER_", "KUBE", "GIT_", "GH_", "CLOUDSDK_", "HELM_", "TF_"];

/// Programs that run a command as another user, who has things of his own.
const USERS: &[&str] = &["sudo", "doas"];

/// Programs that run no statements.
const QUIET: &[&str] = &["cd", "echo", "true"];

/// Clients of databases that are one file each.
const FILE_DATABASES: &[&str] = &["sqlite3", "duckdb"];

fn things_key() -> Key<Vec<String>> {
    Key::new("own-things")
}

/// The things that a command creates or deletes. Empty: none, or it is not known which.
fn things(context: &Context<'_>, action: &Action, at: usize, step: Step) -> Vec<String> {
    let Some(call) = action.commands.get(at) else { return Vec::new() };
    let is_known =
        call.unknown.is_empty() && call.splits.is_empty() && !call.has_more_args && call.path.is_none();
    let (Some(folder), Some(user), true) = (call.folder.as_deref(), user(action, at), is_known) else {
        return Vec::new();
    };
    // Another tool may run its commands on another machine.
    let tool = context.event.tool_name().unwrap_or_default();
    let [rows, ..] = step.keys();
    let mut found = Vec::new();
    for section in Section::all() {
        let kind = section.rows("kind").next().unwrap_or_default();
        for row in section.rows(rows) {
            let row: Vec<&str> = row.split(' ').collect();
            let Some((program, row)) = row.split_first() else { continue };
            if !is_one_of(program, &call.program) {
                continue;
            }
            let is_named = step == Step::Make && section.contains("name");
            let most = if is_named { row.len() + 1 } else { usize::MAX };
            let Some(words) = Words::sort(&section, step, &call.args, most) else { continue };
            let names = if is_named && words.names.is_empty() { None } else { words.named(row, step) };
            let place = words.place.join(" ");
            let folder = if section.contains("folder") {
                format!("{}/{folder}", context.event.cwd.as_deref().unwrap_or_default())
            } else {
                String::new()
            };
            let names = names.unwrap_or_default();
            found.extend(
                names.iter().map(|name| format!("{kind}\n{tool}\n{user}\n{place}\n{folder}\n{name}")),
            );
        }
    }
    found
}

/// As whom a command runs. `None`: another program than `sudo` starts it, so it may run elsewhere.
fn user(action: &Action, at: usize) -> Option<String> {
    let call = action.commands.get(at)?;
    let Some(wrapper) =
        at.checked_sub(1).and_then(|before| action.commands.get(before)).filter(|it| it.wraps)
    else {
        return Some(String::new());
    };
    let inner = wrapper.args.len().checked_sub(call.args.len() + 1)?;
    let (own, rest) = wrapper.args.split_at_checked(inner)?;
    let is_inner =
        rest.split_first().is_some_and(|(program, args)| *program == call.program && args == call.args);
    let is_only =
        !at.checked_sub(2).and_then(|before| action.commands.get(before)).is_some_and(|it| it.wraps);
    (USERS.contains(&wrapper.program.as_str()) && is_inner && is_only && wrapper.unknown.is_empty())
        .then(|| format!("{} {}", wrapper.program, own.join(" ")))
}

/// Whether all that a line does is in its words.
fn is_plain(action: &Action) -> bool {
    !action.is_partial
        && !action.has_more_commands
        && !action.has_unknown_programs
        && action.sets.is_empty()
        && action.scripts.is_empty()
}

/// Whether a thing may be another one after a line, under the same name.
fn loses(action: &Action, thing: &str) -> bool {
    let kind = thing.split('\n').next().unwrap_or_default();
    may_lose(action)
        && (changes_settings(action) || action.commands.iter().any(|call| moves_names(call, kind)))
}

/// Whether any thing may be another one after a line.
fn may_lose(action: &Action) -> bool {
    changes_settings(action) || action.commands.iter().any(|call| moves_names(call, ""))
}

/// Whether a line changes the settings that say which server a name belongs to.
fn changes_settings(action: &Action) -> bool {
    let selects = |name: &String| SERVER_VARIABLES.iter().any(|start| name.starts_with(start));
    let is_place = |path: &String| OWN_THINGS.list("files of place").iter().any(|file| path.ends_with(file));
    action.sets.iter().any(selects) || action.writes.iter().any(is_place)
}

/// Whether names of a kind may lead elsewhere after a command. No kind: any.
fn moves_names(call: &CommandCall, kind: &str) -> bool {
    let is_given = |alternatives: &str| {
        alternatives.split('|').any(|word| call.args.iter().any(|arg| glob::name_matches(word, arg)))
    };
    let is_row = |row: &&str| {
        let Some(row) = row.strip_prefix(call.program.as_str()).and_then(|row| row.strip_prefix(": ")) else {
            return false;
        };
        let mut words = row.split(' ');
        words.next().is_some_and(|of| kind.is_empty() || of == "any" || kind.contains(of))
            && words.all(is_given)
    };
    OWN_THINGS.list("changes of place").iter().any(is_row)
        || call.args.iter().any(|arg| ["rename", "RENAME", "Rename"].iter().any(|word| arg.contains(word)))
}

/// Whether a danger destroys nothing but what the agent created in this session.
pub(crate) fn is_own_thing(context: &Context<'_>, action: &Action, danger: &Danger) -> Result<bool, Missing> {
    // What a script does is not what the line does, even if it is spelt alike.
    if !is_plain(action) || !action.dangers.contains(danger) {
        return Ok(false);
    }
    let statement = |text: &str| text.trim().trim_end_matches(';').trim_end().to_owned();
    let is_of = |call: &CommandCall| {
        danger.command == format!("{} {}", call.program, call.args.join(" "))
            || call.args.iter().any(|arg| statement(arg) == statement(&danger.command))
    };
    let places = action.commands.iter().enumerate().filter(|(_, call)| !call.wraps && is_of(call));
    let places: Vec<(usize, &CommandCall)> = places.collect();
    // The same statement may come to another client of the line by its input.
    let is_statement = places.iter().any(|(_, call)| !danger.command.starts_with(&call.program));
    let others = action.commands.iter().filter(|call| !call.wraps && !QUIET.contains(&call.program.as_str()));
    if is_statement && others.count() != places.len() {
        return Ok(false);
    }
    let mut deleted = Vec::new();
    for (at, call) in &places {
        if is_in_own_file(context, call)? {
            continue;
        }
        let things = things(context, action, *at, Step::Delete);
        if things.is_empty() || things.iter().any(|thing| loses(action, thing)) {
            return Ok(false);
        }
        deleted.extend(things);
    }
    if deleted.is_empty() {
        return Ok(!places.is_empty());
    }
    let own = things_key().read(context)?.unwrap_or_default();
    Ok(deleted.iter().all(|thing| own.contains(thing)))
}

/// Whether a command runs statements in a database that is a file of the agent's own.
fn is_in_own_file(context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
    let is_known = call.unknown.is_empty() && call.splits.is_empty() && !call.has_more_args;
    // Options can name other files.
    let Some((file, _)) = call.args.split_first().filter(|(file, _)| !file.starts_with('-')) else {
        return Ok(false);
    };
    // Statements can open other files, and commands of the client run programs.
    let is_elsewhere = |arg: &String| {
        let lower = arg.to_ascii_lowercase();
        lower.contains("attach") || lower.contains("writefile") || lower.trim_start().starts_with(['.', '-'])
    };
    if !FILE_DATABASES.contains(&call.program.as_str()) || !is_known || call.args.iter().any(is_elsewhere) {
        return Ok(false);
    }
    // A relative name is one of the folder that the call starts in.
    let is_here = call.folder.as_deref().is_some_and(|folder| folder.is_empty() || folder == ".");
    Ok((is_here || file.starts_with('/')) && call.folder.is_some() && is_own(context, file)?)
}

/// Whether the arguments of the call contain the words of a command that creates or deletes things. Results of other calls are not
/// worth an analysis.
fn mentions(context: &Context<'_>, step: Step) -> bool {
    let [rows, ..] = step.keys();
    let values = context.event.tool.iter().flat_map(|tool| tool.args.values());
    let texts = values.flat_map(|value| value.as_array().map_or(slice::from_ref(value), Vec::as_slice));
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    let contains = |word: &str| texts.iter().any(|text| text.contains(word));
    let has = |alternatives: &str| alternatives.split('|').any(contains);
    // Most texts name no such program.
    if !OWN_THINGS.list("programs").iter().any(|program| contains(program)) {
        return false;
    }
    Section::all().any(|section| {
        // The words of statements can be in any case.
        let count = if section.contains("statement") { 1 } else { usize::MAX };
        let has_name = || section.rows("name").all(|options| options.split(' ').any(contains));
        section.rows(rows).any(|row| row.split(' ').take(count).all(has))
            && (step == Step::Delete || has_name())
    })
}

/// Records what a call created, once it succeeded, and forgets what it deleted and what its names may no longer mean.
pub(crate) fn observe(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    if context.event.kind == EventKind::BeforeTool {
        forget_lost(context, changes)
    } else {
        observe_result(context, changes)
    }
}

fn forget_lost(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    let action = context.action()?;
    let key = things_key();
    if !may_lose(action) && action.scripts.is_empty() {
        return Ok(());
    }
    let own = key.read(context)?.unwrap_or_default();
    if own.is_empty() {
        return Ok(());
    }
    let scripts = available(context, agent_scripts(context, action))?.unwrap_or_default();
    let is_lost =
        |thing: &String| loses(action, thing) || scripts.iter().any(|(_, script)| loses(script, thing));
    let kept: Vec<String> = own.iter().filter(|thing| !is_lost(thing)).cloned().collect();
    if kept.len() < own.len() { key.write(changes, &kept) } else { Ok(()) }
}

fn observe_result(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    let (makes, deletes) = (mentions(context, Step::Make), mentions(context, Step::Delete));
    if !makes && !deletes {
        return Ok(());
    }
    let action = context.action()?;
    let calls = || action.commands.iter().enumerate().filter(|(_, call)| !call.wraps);
    let deleted: Vec<String> =
        calls().flat_map(|(at, _)| things(context, action, at, Step::Delete)).collect();
    let decides = calls().filter(|(_, call)| call.decides && makes && is_plain(action));
    let made = decides.flat_map(|(at, _)| things(context, action, at, Step::Make));
    let made: Vec<String> = made.filter(|thing| !loses(action, thing)).collect();
    if made.is_empty() && deleted.is_empty() {
        return Ok(());
    }
    let outcome = CallOutcome::from_context(context)?;
    let key = things_key();
    let before = key.read(context)?.unwrap_or_default();
    let mut own = before.clone();
    // A deletion that failed is the only one after which the thing is certainly still there.
    own.retain(|thing| outcome == CallOutcome::Failure || !deleted.contains(thing));
    for thing in made.into_iter().filter(|_| outcome == CallOutcome::Success) {
        if own.len() < MAX_THINGS && !own.contains(&thing) {
            own.push(thing);
        }
    }
    if own == before { Ok(()) } else { key.write(changes, &own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_all_rows_are_listed() {
        for key in ["make", "delete"] {
            for row in Section::all().flat_map(|section| section.rows(key).collect::<Vec<_>>()) {
                let program = row.split([' ', '|']).next().unwrap_or_default();
                assert!(OWN_THINGS.has("programs", program), "{program}");
            }
        }
    }
}
