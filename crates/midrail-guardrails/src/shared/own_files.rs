//! Files and folders that the agent created in this session. It may delete them, wherever they are.
//!
//! What was there before is never the agent's: a file that it moves into a folder of its own takes the folder with it, and a link
//! is no file of its own.

use midrail_core::{Action, Changes, CommandCall, Context, FileState, Key, Missing};
use midrail_shell::command::cloned_name;

use super::data::FILES;
use super::file_access::agent_scripts;
use super::file_paths::is_below;
use super::flow::available::available;

/// The most files and folders that are remembered. Further ones do not count as created.
const MAX_FILES: u64 = 10_000;

/// The slice of a place: `true` if the agent created what is there, `false` if something that was there before was moved to it.
fn place_key(place: &str) -> Key<bool> {
    Key::new(format!("made/{place}"))
}

/// The slice with the number of places.
fn count_key() -> Key<u64> {
    Key::new("made")
}

/// The folders that contain a place, and the place itself, the innermost first.
fn with_folders(place: &str) -> impl Iterator<Item = &str> {
    let ends = place.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).chain([place.len()]);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().filter_map(|end| place.get(..end))
}

/// Whether the agent created a file, or a folder that contains it, in this session.
pub(crate) fn is_created(context: &Context<'_>, place: &str) -> Result<bool, Missing> {
    // Request all slices before the first one is missing, so that they are fetched together.
    let known: Vec<_> = with_folders(place).map(|part| place_key(part).read(context)).collect();
    for entry in known {
        if let Some(is_made) = entry? {
            return Ok(is_made);
        }
    }
    Ok(false)
}

/// The same for a path of a command line. The content of a link, and what `..` leads to, is elsewhere. Files of the system belong to
/// no agent: others run or read them once they exist.
pub(crate) fn is_own(context: &Context<'_>, path: &str) -> Result<bool, Missing> {
    let place = context.real_place(path, None)?.key;
    let place = place.trim_end_matches('/');
    let is_system = |name: &str| FILES.list("system folders").iter().any(|folder| is_below(folder, name));
    let is_elsewhere = place.is_empty() || place.starts_with("..") || place.starts_with('~');
    let may_be = !is_elsewhere && !is_system(place) && !is_system(path);
    Ok(may_be && (is_created(context, place)? || is_cloned(context, place)?))
}

/// Whether the same call clones the repository that a place belongs to, into a folder that does not exist yet.
fn is_cloned(context: &Context<'_>, place: &str) -> Result<bool, Missing> {
    let action = context.action()?;
    let folders = cloned_folders(action);
    if folders.is_empty() || !action.scripts.is_empty() || action.commands.iter().any(makes_links) {
        return Ok(false);
    }
    for folder in folders {
        let real = context.real_place(folder, None)?;
        let holds = |name: &str| is_below(real.key.trim_end_matches('/'), name);
        if !holds(place) || *context.file(&real)? != FileState::Absent {
            continue;
        }
        let targets: Vec<_> = moves(action).map(|(_, to)| context.real_place(to, None)).collect();
        let targets = targets.into_iter().collect::<Result<Vec<_>, Missing>>()?;
        if !targets.iter().any(|to| holds(&to.key)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders that a call clones repositories into.
pub(crate) fn cloned_folders(action: &Action) -> Vec<&str> {
    let clones = |call: &&CommandCall| {
        matches!(call.program.as_str(), "git" | "gh") && call.args.iter().any(|arg| arg == "clone")
    };
    let calls = action.commands.iter().filter(clones);
    let names: Vec<&str> = calls.filter_map(|call| call.args.last()).map(|word| cloned_name(word)).collect();
    let folders = action.folders.iter().map(String::as_str);
    folders.filter(|folder| names.contains(&cloned_name(folder))).collect()
}

/// Records what a call creates and moves.
pub(crate) fn observe(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    let action = context.action()?;
    let mut actions: Vec<&Action> = vec![action];
    // What a script writes, as far as its text shows it. Of a script that is not known, nothing counts as created.
    let scripts = available(context, agent_scripts(context, action))?.unwrap_or_default();
    actions.extend(scripts.into_iter().map(|(_, does)| does));
    let has_links = actions.iter().any(|action| action.commands.iter().any(makes_links));
    let (mut made, mut has_old) = (Vec::new(), false);
    for action in &actions {
        for path in action.writes.iter().filter(|path| !path.contains(['$', '`', '*', '?', '~'])) {
            let Ok(place) = context.real_place(path, None) else { continue };
            // A file with an unknown state does not count as created.
            let state = available(context, context.file(&place))?;
            let is_new = !place.key.is_empty() && state == Some(&FileState::Absent);
            has_old |= !is_new;
            if is_new && !(has_links && action.copies.iter().any(|copy| copy.to == *path)) {
                made.push(place.key.trim_end_matches('/').to_owned());
            }
        }
    }
    // A tool that changes an old and a new file may have moved one.
    if has_old && action.command.is_none() {
        made.clear();
    }
    let mut moved = Vec::new();
    for (from, to) in actions.iter().flat_map(|action| moves(action)) {
        let (Ok(from), Ok(to)) = (context.real_place(from, None), context.real_place(to, None)) else {
            continue;
        };
        if !is_created(context, &from.key)? {
            moved.push(to.key.trim_end_matches('/').to_owned());
        }
    }
    if made.is_empty() && moved.is_empty() {
        return Ok(());
    }
    let mut count = count_key().read(context)?.unwrap_or_default();
    for place in made.iter().filter(|place| !moved.contains(place)) {
        let key = place_key(place);
        if count < MAX_FILES && key.read(context)?.is_none() {
            key.write(changes, &true)?;
            count += 1;
        }
    }
    for place in moved.iter().flat_map(|place| with_folders(place)) {
        let key = place_key(place);
        if made.iter().any(|it| it == place)
            || key.read(context)?.is_some()
            || moved.iter().any(|it| it == place)
        {
            key.write(changes, &false)?;
        }
    }
    count_key().write(changes, &count)
}

/// The files that a call moves, each with its new place.
fn moves(action: &Action) -> impl Iterator<Item = (&str, &str)> {
    let copies = action.copies.iter().filter(|copy| action.writes.contains(&copy.from));
    copies.map(|copy| (copy.from.as_str(), copy.to.as_str()))
}

/// Whether a command makes links. Emptying a hard link empties the file.
fn makes_links(call: &CommandCall) -> bool {
    let is_link_option = |arg: &String| {
        arg.starts_with("--link")
            || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['l', 's']))
    };
    match call.program.as_str() {
        "ln" | "link" => true,
        "cp" | "rsync" => call.args.iter().any(is_link_option),
        _ => false,
    }
}
