//! Lines that only read, or change files that may be changed, in a sandbox that permits no more than that.
//!
//! A line that is not simple is read by the shell in more ways than an analysis can show. So the operating system enforces what the
//! analysis says: the sandbox has no network, shows no home, and changes nothing but the folders of the files that the line names.

use midrail_core::{Action, CommandCall, Grounds, SandboxNetwork, SandboxRules};

use super::patterns::{lists_edit, lists_folder, lists_read};
use super::places::is_in_project;
use crate::prelude::*;
use crate::shared::data::PROGRAMS;
use crate::shared::file_access::{FileAccess, accessed_files, exists};
use crate::shared::file_paths::{is_device, is_temporary};
use crate::shared::flow::labels::Labels;
use crate::shared::own_files::is_own;
use crate::shared::settings::Pattern;

/// What a command does at most, in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reads,
    Edits,
}

/// The sandbox in which no person needs to be asked about a line, with the reason.
pub(super) fn contained(
    reads: &[Pattern],
    edits: &[Pattern],
    context: &Context<'_>,
    action: &Action,
) -> Result<Option<(SandboxRules, Grounds)>, Missing> {
    // A host that asks all the same gains nothing from it.
    let takes_vouches = context.event.host.as_ref().is_none_or(|host| host.takes_vouches);
    if !takes_vouches || !action.is_complete() || uses_network(action) {
        return Ok(None);
    }
    // A repository that the line itself names starts programs.
    if action.sets.iter().any(|name| name.starts_with("GIT_")) {
        return Ok(None);
    }
    // All that the sandbox shows of the project may be read.
    let lists_project = lists_folder(reads, &context.real_place(".", None)?.key);
    let kinds: Option<Vec<Kind>> = action.commands.iter().map(kind).collect();
    let (true, Some(kinds)) = (lists_project, kinds) else { return Ok(None) };
    if action.commands.last().is_none_or(|last| KEPT.contains(&last.program.as_str())) {
        return Ok(None);
    }
    for call in &action.commands {
        if !is_in_project(context, call)? {
            return Ok(None);
        }
    }
    let mut rules = SandboxRules { read_only: true, ..SandboxRules::default() };
    for access in accessed_files(context)? {
        if !permit((reads, edits), context, access, &mut rules)? {
            return Ok(None);
        }
    }
    let only_reads = rules.write.is_empty() && kinds.iter().all(|kind| *kind == Kind::Reads);
    if !only_reads && Labels::from_context(context)?.names().next().is_some() {
        return Ok(None);
    }
    if rules.write.iter().any(|folder| folder == ".") {
        rules.deny_write = instructions();
    }
    let what = if only_reads { "it only reads" } else { "it changes files that may be changed" };
    let reason = format!("{what}, in a sandbox");
    let sandbox = Some(SandboxNetwork::None);
    Ok(context.has_sandbox()?.then_some((rules, Grounds { reason, sandbox })))
}

/// Permits what the line does to a file. `false`: it may not do that.
fn permit(
    (reads, edits): (&[Pattern], &[Pattern]),
    context: &Context<'_>,
    access: FileAccess<'_>,
    rules: &mut SandboxRules,
) -> Result<bool, Missing> {
    let is_open = access.file.contains(['$', '`', '*', '?', '[', '{']);
    if is_open && !access.is_write {
        // The sandbox shows nothing but the project, the system and toolchains.
        let leads_out =
            access.file.starts_with(['/', '~']) || access.file.split('/').any(|part| part == "..");
        return Ok(!leads_out);
    }
    let Some(place) = context.known_place(access.file)?.filter(|_| !is_open) else { return Ok(false) };
    if is_device(&place.key) {
        return Ok(true);
    }
    if !access.is_write {
        let is_readable = place.inside || lists_read(reads, &place.key) || is_own(context, access.file)?;
        if !place.inside && place.key.starts_with('/') {
            add(&mut rules.read, &place.key);
        }
        return Ok(is_readable);
    }
    let mut folder = folder_of(&place.key);
    while folder != "." && folder != "/" && !exists(context, folder)? {
        folder = folder_of(folder);
    }
    add(&mut rules.write, folder);
    let is_listed = place.inside
        && lists_edit(edits, &place.key)
        && lists_folder(edits, folder)
        && context.git()?.is_some();
    Ok(is_listed || (is_temporary(&place.key) && folder != "/" && !edits.is_empty()))
}

/// The folder that a file is in.
fn folder_of(place: &str) -> &str {
    match place.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None => ".",
    }
}

/// Builtins whose work is for the lines that follow. It would end with the sandbox.
pub(super) const KEPT: &[&str] = &["cd", "set"];

pub(super) fn uses_network(action: &Action) -> bool {
    !action.hosts.is_empty() || !action.network.is_empty() || action.has_unknown_hosts
}

/// What a command does at most, by its program and subcommand. `None`: not known.
fn kind(call: &CommandCall) -> Option<Kind> {
    if is_listed("contained commands", call) {
        return Some(Kind::Reads);
    }
    is_listed("contained editing commands", call).then_some(Kind::Edits)
}

/// Whether a list has a command, by its program and subcommand.
pub(super) fn is_listed(list: &str, call: &CommandCall) -> bool {
    let is_row = |row: &&str| {
        let (program, subcommand) = row.split_once(' ').unwrap_or((row, ""));
        let args = || call.args.iter().filter(|arg| !arg.starts_with('-') || subcommand.starts_with('-'));
        let mut words = subcommand.split(' ').filter(|word| !word.is_empty());
        program == call.program
            && words.clone().count() <= args().count()
            && args().map(String::as_str).zip(&mut words).all(|(arg, word)| arg == word)
    };
    call.path.is_none() && PROGRAMS.list(list).iter().any(is_row)
}

/// Files that agents obey, as they are usually spelt.
fn instructions() -> Vec<String> {
    let spelt = |name: &&str| match name.split_once('.') {
        Some((stem, "md")) => format!("{}.md", stem.to_ascii_uppercase()),
        _ => (*name).to_owned(),
    };
    PROGRAMS.list("instructions").iter().map(spelt).collect()
}

fn add(list: &mut Vec<String>, path: &str) {
    if !list.iter().any(|other| other == path) {
        list.push(path.to_owned());
    }
}
