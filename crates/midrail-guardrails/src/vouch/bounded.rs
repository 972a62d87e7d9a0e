//! Lines about which a person is asked, in a sandbox: what the answer permits is then no more than the project and, if the line needs
//! it, the network without the credentials of the user.

use midrail_core::{Action, CommandCall, DEFAULT_BOX, INSTALL_BOX};

use super::contained::{KEPT, is_listed, uses_network};
use super::patterns::has_hidden_part;
use super::places::is_in_project;
use crate::prelude::*;
use crate::shared::data::PROGRAMS;
use crate::shared::file_access::{FileAccess, accessed_files};
use crate::shared::file_paths::{is_below, is_device, is_temporary};

/// The box in which a line does its work. `None`: it needs more than a sandbox has, or that is not known.
pub(super) fn bounded(context: &Context<'_>, action: &Action) -> Result<Option<&'static str>, Missing> {
    let is_local = |call: &CommandCall| {
        ["contained commands", "contained editing commands", "bounded commands"]
            .iter()
            .any(|list| is_listed(list, call))
    };
    let reaches = |call: &CommandCall| is_listed("bounded network commands", call) && !needs_user(call);
    let is_known = |call: &CommandCall| is_local(call) || reaches(call);
    let keeps = action.commands.last().is_none_or(|last| KEPT.contains(&last.program.as_str()));
    if !action.is_complete() || keeps || !action.commands.iter().all(is_known) {
        return Ok(None);
    }
    let has_network = action.commands.iter().any(reaches);
    if uses_network(action) && !has_network {
        return Ok(None);
    }
    for call in &action.commands {
        if !is_in_project(context, call)? {
            return Ok(None);
        }
    }
    for access in accessed_files(context)? {
        if !is_in_sandbox(context, access)? {
            return Ok(None);
        }
    }
    let name = if has_network { INSTALL_BOX } else { DEFAULT_BOX };
    Ok(context.has_sandbox()?.then_some(name))
}

/// Whether a command that reaches the network needs what no sandbox has: credentials of the user, or a socket.
fn needs_user(call: &CommandCall) -> bool {
    let is_option = |arg: &String| {
        let name = arg.split('=').next().unwrap_or(arg);
        PROGRAMS.has("options that need more than a sandbox has", name)
            || (call.program == "curl" && has_letter(arg))
    };
    // A repository may be private. Its credentials are in the line, or with a helper of the user.
    let needs_helper = call.program == "git" && !call.args.iter().any(|arg| has_credentials(arg));
    needs_helper || !call.unknown.is_empty() && call.program == "git" || call.args.iter().any(is_option)
}

/// Whether one of the letters of an argument makes curl read the user's credentials or settings.
fn has_letter(arg: &str) -> bool {
    /// Letters with a value, which the rest of the argument can be.
    const WITH_VALUE: &str = "AbcCdDeEFhHmoPQrtTuUwxXyYz";
    let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    letters.chars().take_while(|char| !WITH_VALUE.contains(*char)).any(|char| matches!(char, 'n' | 'K'))
}

/// Whether an address contains a name and a password.
fn has_credentials(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    let user = rest.split('/').next().and_then(|host| host.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

/// Folders and files of the system that every sandbox shows.
const SHOWN: &[&str] = &[
    "/bin",
    "/etc",
    "/lib",
    "/lib64",
    "/opt",
    "/proc/cpuinfo",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/version",
    "/sbin",
    "/sys",
    "/usr",
];

/// What begins a part of a path that the line does not show.
const OPEN: &[char] = &['$', '`', '*', '?', '[', '{'];

/// Whether a sandbox has a file as the line needs it.
fn is_in_sandbox(context: &Context<'_>, access: FileAccess<'_>) -> Result<bool, Missing> {
    let (known, rest) = match access.file.find(OPEN).and_then(|at| access.file.split_at_checked(at)) {
        None => (access.file, ""),
        Some((before, rest)) => (before.rsplit_once('/').map_or(".", |(folder, _)| folder), rest),
    };
    let leads_out = rest.split('/').any(|part| part == "..")
        || ["$HOME", "${HOME", "`", "$("].iter().any(|start| access.file.starts_with(start));
    if leads_out || known.is_empty() {
        return Ok(false);
    }
    let Some(place) = context.known_place(known)? else { return Ok(false) };
    if is_device(&place.key) || is_temporary(&place.key) {
        return Ok(true);
    }
    Ok(match access.is_write {
        // Settings of git, agents and editors cannot be changed in a sandbox.
        true => place.inside && !has_hidden_part(&place.key) && !has_hidden_part(rest),
        false => place.inside || SHOWN.iter().any(|folder| is_below(folder, &place.key)),
    })
}
