//! Changes the commands of servers in the text of a settings file. Every other byte stays, and unwrapping restores the text
//! that was wrapped.

use std::path::Path;

use super::entries::{entries, words};
use super::text_edit::{Edit, apply, proxy_command, quoted};
use super::tree::{self, Field, Node, Value};
use super::{ProxiedCommand, address};
use crate::mcp_client::McpClient;
use crate::setup::files::{LEFT_UNCHANGED, SettingsError, SettingsResult};

/// A settings file whose servers run through a proxy.
pub(super) fn wrap(text: &str, path: &Path, client: &McpClient, program: &str) -> SettingsResult<String> {
    let mut written = wrap_programs(text, path, client, program)?;
    for at in 0..entries(&tree::parse(text, path)?, client.fields)?.len() {
        let tree = tree::parse(&written, path)?;
        let Some((name, server)) = entries(&tree, client.fields)?.into_iter().nth(at) else { break };
        let file = address::SettingsFile { text: &written, path, client };
        if let Ok(wrapped) = address::wrap(file, at, name, server, program) {
            written = wrapped;
        }
    }
    Ok(written)
}

fn wrap_programs(text: &str, path: &Path, client: &McpClient, program: &str) -> SettingsResult<String> {
    rewrite(text, path, client, &|name, words| {
        if let Some(proxied) = ProxiedCommand::of(words) {
            return (proxied.program != program)
                .then(|| Splice { removed: 1, inserted: vec![program.to_owned()] });
        }
        let start = [proxy_command(program, name), vec!["--".to_owned()]].concat();
        Some(Splice { removed: 0, inserted: start })
    })
}

/// A settings file whose servers run without a proxy.
pub(super) fn unwrap(
    text: &str,
    path: &Path,
    client: &McpClient,
    before: Option<&str>,
) -> SettingsResult<String> {
    let mut unwrapped = unwrap_programs(text, path, client, before)?;
    for at in 0..entries(&tree::parse(text, path)?, client.fields)?.len() {
        let tree = tree::parse(&unwrapped, path)?;
        let Some((_, server)) = entries(&tree, client.fields)?.into_iter().nth(at) else { break };
        let file = address::SettingsFile { text: &unwrapped, path, client };
        if let Some(restored) = address::unwrap(file, server) {
            unwrapped = restored;
        }
    }
    Ok(unwrapped)
}

/// A settings file whose servers that are programs run without a proxy. Lists of arguments that are empty then are removed
/// unless `before` had them.
fn unwrap_programs(
    text: &str,
    path: &Path,
    client: &McpClient,
    before: Option<&str>,
) -> SettingsResult<String> {
    let before = before.map(|before| tree::parse(before, path)).transpose()?;
    let before =
        before.as_ref().map(|before| entries(before, client.fields)).transpose()?.unwrap_or_default();
    let had_args = |name: &str| {
        let server = before.iter().find(|(known, _)| *known == name);
        server.is_some_and(|(_, server)| server.has("args"))
    };
    let unwrapped = rewrite(text, path, client, &|_, words| {
        let proxied = ProxiedCommand::of(words).filter(|proxied| !proxied.command.is_empty())?;
        Some(Splice { removed: words.len() - proxied.command.len(), inserted: Vec::new() })
    })?;
    if unwrapped == text {
        return Ok(unwrapped);
    }
    let (wrapped_tree, tree) = (tree::parse(text, path)?, tree::parse(&unwrapped, path)?);
    let (wrapped, servers) = (entries(&wrapped_tree, client.fields)?, entries(&tree, client.fields)?);
    let edits = wrapped.into_iter().zip(servers).filter_map(|((_, wrapped), (name, server))| {
        let was_new = words(wrapped) != words(server) && !had_args(name);
        was_new.then(|| empty_args(&unwrapped, server)).flatten()
    });
    Ok(apply(&unwrapped, edits.collect()))
}

/// Removes an empty list of arguments that directly follows the command.
fn empty_args(text: &str, server: &Value) -> Option<Edit> {
    let fields = server.fields();
    let command = fields.iter().find(|field| field.name == "command")?.value.range.end;
    let args = fields.iter().find(|field| field.name == "args")?;
    if !matches!(&args.value.node, Node::List(items) if items.is_empty()) {
        return None;
    }
    let (between, end) = (text.get(command..args.key.start)?, args.value.range.end);
    let range = if server.is_in_lines() {
        // From the end of the command's line to the end of the next one.
        let line = command + between.find('\n')?;
        let is_next = !text.get(line + 1..args.key.start)?.contains('\n');
        let last = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at);
        is_next.then_some(line..last)?
    } else {
        (between.trim() == ",").then_some(command..end)?
    };
    Some(Edit { range, text: String::new() })
}

/// A change of a command: its first words are replaced.
struct Splice {
    removed: usize,
    inserted: Vec<String>,
}

fn rewrite(
    text: &str,
    path: &Path,
    client: &McpClient,
    change: &dyn Fn(&str, &[String]) -> Option<Splice>,
) -> SettingsResult<String> {
    let tree = tree::parse(text, path)?;
    let mut edits = Vec::new();
    let mut expected = Vec::new();
    for (name, server) in entries(&tree, client.fields)? {
        let Some(before) = words(server) else { continue };
        let Some(splice) = change(name, &before) else { continue };
        let kept = before.iter().skip(splice.removed);
        expected.push((name, splice.inserted.iter().chain(kept).cloned().collect::<Vec<String>>()));
        edits.extend(edits_of(text, server, &splice));
    }
    let written = apply(text, edits);
    // INVARIANT: a client reads exactly the commands that were meant.
    let tree = tree::parse(&written, path)?;
    let mut found = entries(&tree, client.fields)?.into_iter();
    let is_meant = |(name, words_meant): &(&str, Vec<String>)| {
        found.any(|(known, server)| known == *name && words(server).as_ref() == Some(words_meant))
    };
    if expected.iter().all(is_meant) {
        Ok(written)
    } else {
        Err(SettingsError::new("has MCP servers in a form that cannot be changed")
            .help(format!("put `midrail mcp wrap --` before their commands yourself; {LEFT_UNCHANGED}")))
    }
}

fn edits_of(text: &str, server: &Value, splice: &Splice) -> Vec<Edit> {
    let find = |name: &str| server.fields().iter().find(|field| field.name == name);
    let Some(command) = find("command") else { return Vec::new() };
    let inserted: Vec<String> = splice.inserted.iter().map(|word| quoted(word)).collect();
    if let Node::List(items) = &command.value.node {
        return list_edits(text, &command.value, items, splice.removed, &inserted);
    }
    let args = find("args").map(|field| &field.value);
    let items = args.map(|args| match &args.node {
        Node::List(items) => items.as_slice(),
        Node::Text(_) | Node::Table { .. } | Node::Other => &[],
    });
    let items = items.unwrap_or_default();
    let raw = |value: &Value| text.get(value.range.clone()).unwrap_or_default().to_owned();
    // The program and its arguments are one list, in two fields.
    let (program, removed, front) = match (inserted.split_first(), splice.removed.checked_sub(1)) {
        (None, None) => return Vec::new(),
        (None, Some(before)) => {
            let Some(program) = items.get(before) else { return Vec::new() };
            (raw(program), splice.removed, Vec::new())
        }
        (Some((program, rest)), Some(removed)) => (program.clone(), removed, rest.to_vec()),
        (Some((program, rest)), None) => (program.clone(), 0, [rest, &[raw(&command.value)]].concat()),
    };
    let mut edits = vec![Edit { range: command.value.range.clone(), text: program }];
    match args {
        Some(args) => edits.extend(list_edits(text, args, items, removed, &front)),
        None if front.is_empty() => {}
        None => {
            let (at, list) = new_args(text, command, server.is_in_lines(), &front);
            edits.push(Edit { range: at..at, text: list });
        }
    }
    edits
}

/// Replaces the first items of a list.
fn list_edits(text: &str, list: &Value, items: &[Value], removed: usize, inserted: &[String]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let start = items.first().map_or(list.range.start + 1, |item| item.range.start);
    let kept = items.get(removed);
    if removed > 0
        && let Some(last) = items.get(removed - 1)
    {
        let end = match kept {
            Some(kept) => kept.range.start,
            None => end_with_comma(text, last.range.end),
        };
        edits.push(Edit { range: start..end, text: String::new() });
    }
    if !inserted.is_empty() {
        let space = text.get(list.range.start + 1..start).unwrap_or_default();
        let between = match space.rfind('\n') {
            Some(at) => {
                let at =
                    if space.get(..at).is_some_and(|before| before.ends_with('\r')) { at - 1 } else { at };
                format!(",{}", space.get(at..).unwrap_or_default())
            }
            None => ", ".to_owned(),
        };
        let after = if kept.is_some() { between.as_str() } else { "" };
        edits.push(Edit { range: start..start, text: inserted.join(&between) + after });
    }
    // What is inserted comes before what is removed at the same place.
    edits.reverse();
    edits
}

/// The end of an item, with the comma behind it.
fn end_with_comma(text: &str, end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    let space = rest.len() - rest.trim_start().len();
    if rest.trim_start().starts_with(',') { end + space + 1 } else { end }
}

/// A list of arguments next to a command, and its place.
fn new_args(text: &str, command: &Field, is_in_lines: bool, words: &[String]) -> (usize, String) {
    let list = format!("[{}]", words.join(", "));
    let key_start = text.get(..command.key.start).unwrap_or_default();
    let end = command.value.range.end;
    let head = text.get(command.key.start..command.value.range.start).unwrap_or_default();
    let head = head.replacen("command", "args", 1);
    if is_in_lines {
        // The name may be dotted.
        let line = key_start.rfind('\n').map_or(0, |at| at + 1);
        let before = text.get(line..command.key.start).unwrap_or_default();
        let rest = text.get(end..).unwrap_or_default();
        return match rest.find('\n') {
            Some(at) => {
                let newline =
                    if rest.get(..at).is_some_and(|rest| rest.ends_with('\r')) { "\r\n" } else { "\n" };
                (end + at + 1, format!("{before}{head}{list}{newline}"))
            }
            None => (text.len(), format!("\n{before}{head}{list}")),
        };
    }
    let space = key_start.rfind(|c: char| !c.is_whitespace()).map_or(0, |at| at + 1);
    let space = key_start.get(space..).filter(|space| space.contains('\n')).unwrap_or(" ");
    (end, format!(",{space}{head}{list}"))
}
