//! Where commands run.

use midrail_core::CommandCall;

use crate::prelude::*;

/// Whether a command runs in a folder of the project.
pub(super) fn is_in_project(context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
    match call.folder.as_deref().filter(|_| !call.program.is_empty()) {
        Some(folder) => Ok(context.real_place(here_if_empty(folder), None)?.inside),
        None => Ok(false),
    }
}

/// Whether the folders that `find` searches are those of the project: it lists their content, through links as well.
pub(super) fn names_only_own_folders(context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
    if call.program != "find" {
        return Ok(true);
    }
    for folder in call.args.iter().take_while(|arg| !arg.starts_with(['-', '(', '!'])) {
        let plain = folder.trim_end_matches('/');
        if !context.known_place(plain)?.is_some_and(|place| place.inside) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a folder is the top of the project's repository. Another repository has settings of its own, which start programs.
pub(super) fn is_top(context: &Context<'_>, folder: &str) -> Result<bool, Missing> {
    let Some(git) = context.git()? else { return Ok(false) };
    let place = context.real_place(here_if_empty(folder), None)?;
    Ok(context.real_place(&git.top, None)?.key == place.key)
}

pub(super) fn here_if_empty(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}
