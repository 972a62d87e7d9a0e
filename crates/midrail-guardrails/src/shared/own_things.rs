//! Databases, containers and other things besides files that the agent created in this session. It may delete them.
//!
//! A thing counts as created once the command that creates it succeeded, which it does only if there was none of that name. What
//! `data/own_things.txt` does not know of a command makes it create and delete nothing here.

use std::slice;

use midrail_core::{Action, Changes, CommandCall, Context, Danger, EventKind, Key, Missing};
use serde_json::Value;

use super::data::OWN_THINGS;
use super::outcome::CallOutcome;
use super::own_files::is_own;

/// The most things that are remembered. Further ones do not count as created.
const MAX_THINGS: usize = 200;

/// Beginnings of the names of variables that select a server.
const SERVER_VARIABLES: &[&str] = &["PG", "MYSQL", "MARIADB", "DOCKER_", "CONTAINER_", "KUBE", "GIT_"];

/// Programs that run a command as another user, who has things of his own.
const USERS: &[&str] = &["sudo", "doas"];

/// Programs that run no statements.
const QUIET: &[&str] = &["cd", "echo", "true"];

/// Clients of databases that are one file each.
const FILE_DATABASES: &[&str] = &["sqlite3", "duckdb"];

fn things_key() -> Key<Vec<String>> {
    Key::new("own-things")
}

/// The rows of one program.
struct Section(&'static [&'static str]);

impl Section {
    fn all() -> impl Iterator<Item = Section> {
        OWN_THINGS.iter().filter(|(name, _)| *name != "changes of place").map(|(_, rows)| Section(rows))
    }

    /// The texts of the rows with a key.
    fn rows<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'static str> + 's {
        self.0.iter().filter_map(move |row| row.strip_prefix(key)?.strip_prefix(": "))
    }

    /// The words of these rows.
    fn words<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'static str> + 's {
        self.rows(key).flat_map(|row| row.split(' '))
    }

    fn has(&self, key: &str, option: &str) -> bool {
        self.words(key).any(|word| word == option)
    }

    /// The usual spelling of an option that is part of the place.
    fn place(&self, option: &str) -> Option<&'static str> {
        self.words("place").find(|names| names.split('|').any(|name| name == option))
    }
}

/// The words of a command, sorted by what they mean in a section.
#[derive(Default)]
struct Words {
    operands: Vec<String>,
    statements: Vec<String>,
    names: Vec<String>,
    place: Vec<String>,
}

impl Words {
    /// At most so many operands are read: what follows the image of `docker run` is a command. `None`: an option is not known.
    fn sort(section: &Section, args: &[String], most: usize) -> Option<Self> {
        let mut words = Words::default();
        let mut args = args.iter();
        while let Some(arg) = args.next().filter(|_| words.operands.len() < most) {
            if !arg.starts_with('-') || arg == "-" {
                words.operands.push(arg.clone());
                continue;
            }
            let (option, attached) = match arg.split_once('=') {
                Some((option, value)) if arg.starts_with("--") => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            let mut value = || attached.map(str::to_owned).or_else(|| args.next().cloned());
            if section.has("statement", option) {
                words.statements.push(value()?);
            } else if section.has("name", option) {
                words.names.push(value()?);
            } else if let Some(names) = section.place(option) {
                words.place.push(format!("{names}={}", value()?));
            } else if section.has("values", option) {
                // The name of a database may be the address of a server: `psql -d host=x`.
                let value = value()?;
                if !is_plain_value(section, &value) {
                    return None;
                }
            } else if !(attached.is_none() && is_flag(section, option)) {
                return None;
            }
        }
        words.place.sort();
        Some(words)
    }

    /// The names behind the words of a row: of all operands, or of the first one.
    fn named(&self, row: &[&str], takes_all: bool) -> Option<Vec<String>> {
        if !self.statements.is_empty() {
            let [statement] = self.statements.as_slice() else { return None };
            let statement: Vec<&str> = statement.trim().trim_end_matches(';').split_whitespace().collect();
            let (name, words) = statement.split_last()?;
            let is_row = words.len() == row.len()
                && words.iter().zip(row).all(|(word, wanted)| word.eq_ignore_ascii_case(wanted));
            // Servers fold the case of names differently.
            let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            return (is_row && is_plain).then(|| vec![(*name).to_owned()]);
        }
        let operands: Vec<&str> = self.operands.iter().map(String::as_str).collect();
        let rest = operands.strip_prefix(row)?;
        let names: Vec<String> = match self.names.as_slice() {
            [] => rest
                .iter()
                .take(if takes_all { rest.len() } else { 1 })
                .map(|name| (*name).to_owned())
                .collect(),
            names => names.to_vec(),
        };
        let is_plain = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
        };
        (!names.is_empty() && names.iter().all(is_plain)).then_some(names)
    }
}

/// Whether the value of an option cannot select a server.
fn is_plain_value(section: &Section, value: &str) -> bool {
    section.words("statement").next().is_none() || !is_address(value)
}

/// Whether a word may be the address of a server.
fn is_address(word: &str) -> bool {
    word.contains("://") || word.contains('=')
}

/// Whether an option is a flag, or a group of flags of one letter: `-dit`.
fn is_flag(section: &Section, option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.is_ascii());
    section.has("flags", option)
        || letters.is_some_and(|letters| letters.chars().all(|c| section.has("flags", &format!("-{c}"))))
}

/// The things that a command creates (`make`) or deletes (`delete`). Empty: none, or it is not known which.
fn things(context: &Context<'_>, action: &Action, at: usize, key: &str) -> Vec<String> {
    let Some(call) = action.commands.get(at) else { return Vec::new() };
    let is_known =
        call.unknown.is_empty() && call.splits.is_empty() && !call.has_more_args && call.path.is_none();
    let (Some(folder), Some(user), true) = (call.folder.as_deref(), user(action, at), is_known) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for section in Section::all() {
        let kind = section.rows("kind").next().unwrap_or_default();
        for row in section.rows(key) {
            let mut row = row.split(' ');
            if row.next() != Some(call.program.as_str()) {
                continue;
            }
            let row: Vec<&str> = row.collect();
            let is_named = key == "make" && section.words("name").next().is_some();
            let most = if is_named { row.len() + 1 } else { usize::MAX };
            let Some(words) = Words::sort(&section, &call.args, most) else { continue };
            if !words.statements.is_empty() && words.operands.iter().any(|word| is_address(word)) {
                continue;
            }
            let place = words.place.join(" ");
            let folder = match section.rows("folder").next() {
                Some(_) => format!("{}/{folder}", context.event.cwd.as_deref().unwrap_or_default()),
                None => String::new(),
            };
            let names = words.named(&row, key == "delete").unwrap_or_default();
            found.extend(names.iter().map(|name| format!("{kind}\n{user}\n{place}\n{folder}\n{name}")));
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
        && !changes_place(action)
}

/// Whether the same words may name things elsewhere after a line.
fn changes_place(action: &Action) -> bool {
    let selects = |name: &String| SERVER_VARIABLES.iter().any(|start| name.starts_with(start));
    let is_change = |call: &CommandCall| {
        OWN_THINGS.list("changes of place").iter().any(|row| match row.split_once(' ') {
            Some((program, word)) => call.program == program && call.args.iter().any(|arg| arg == word),
            None => call.program == *row,
        })
    };
    action.sets.iter().any(selects) || action.commands.iter().any(is_change)
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
        let things = things(context, action, *at, "delete");
        if things.is_empty() {
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
    let Some(file) = call.args.iter().find(|arg| !arg.starts_with('-')) else { return Ok(false) };
    // Statements can open other files, and commands of the client run programs.
    let is_elsewhere = |arg: &String| {
        let lower = arg.to_ascii_lowercase();
        lower.contains("attach") || lower.contains("writefile") || lower.trim_start().starts_with('.')
    };
    if !FILE_DATABASES.contains(&call.program.as_str()) || !is_known || call.args.iter().any(is_elsewhere) {
        return Ok(false);
    }
    // A relative name is one of the folder that the call starts in.
    let is_here = call.folder.as_deref().is_some_and(|folder| folder.is_empty() || folder == ".");
    Ok((is_here || file.starts_with('/')) && call.folder.is_some() && is_own(context, file)?)
}

/// Whether an argument of the call contains the name of a program that creates things. Results of other calls are not worth an analysis.
fn names_maker(context: &Context<'_>) -> bool {
    let rows = || OWN_THINGS.iter().flat_map(|(_, rows)| rows.iter());
    let programs = || rows().filter_map(|row| row.strip_prefix("make: ")?.split(' ').next());
    let values = context.event.tool.iter().flat_map(|tool| tool.args.values());
    let words = values.flat_map(|value| value.as_array().map_or(slice::from_ref(value), Vec::as_slice));
    words.filter_map(Value::as_str).any(|text| programs().any(|program| text.contains(program)))
}

/// Records what a call created, once it succeeded.
pub(crate) fn observe(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    if context.event.kind != EventKind::BeforeTool && !names_maker(context) {
        return Ok(());
    }
    let action = context.action()?;
    let key = things_key();
    if context.event.kind == EventKind::BeforeTool {
        if changes_place(action) && key.read(context)?.is_some_and(|own| !own.is_empty()) {
            key.write(changes, &Vec::new())?;
        }
        return Ok(());
    }
    if !is_plain(action) {
        return Ok(());
    }
    let decides = action.commands.iter().enumerate().filter(|(_, call)| call.decides && !call.wraps);
    let made: Vec<String> = decides.flat_map(|(at, _)| things(context, action, at, "make")).collect();
    if made.is_empty() || CallOutcome::from_context(context)? != CallOutcome::Success {
        return Ok(());
    }
    let mut own = key.read(context)?.unwrap_or_default();
    for thing in made {
        if own.len() < MAX_THINGS && !own.contains(&thing) {
            own.push(thing);
        }
    }
    key.write(changes, &own)
}
