//! Code that an action runs and that Midrail has not seen.

use midrail_core::{Action, FileState, Missing, OpaqueCode, OpaqueKind};

use crate::prelude::*;
use crate::shared::file_access::{ReadScripts, read_scripts};

/// The code that the command line of an action does not show, except scripts that were read and show all that they do.
pub(crate) fn unseen_code<'a>(
    context: &Context<'a>,
    action: &'a Action,
) -> Result<Vec<&'a OpaqueCode>, Missing> {
    let (scripts, mut unseen): (Vec<_>, Vec<_>) =
        action.opaque.iter().partition(|part| part.kind == OpaqueKind::Script);
    if scripts.is_empty() {
        return Ok(unseen);
    }
    let read = read_scripts(context, action)?;
    let states: Vec<_> = scripts.iter().map(|part| is_seen(context, &read, &part.what)).collect();
    for (part, is_seen) in scripts.into_iter().zip(states) {
        if !is_seen? {
            unseen.push(part);
        }
    }
    Ok(unseen)
}

/// Whether a script was read and shows all that it does, or does not exist.
fn is_seen(context: &Context<'_>, read: &[ReadScripts<'_>], script: &str) -> Result<bool, Missing> {
    if script.contains(['$', '`', '*', '?']) {
        return Ok(false);
    }
    let place = context.real_place(script, None)?;
    for ReadScripts { does, files, .. } in read {
        let is_among = |key: &str| files.iter().any(|file| file.place == key);
        if !is_among(&place.key) || does.is_partial || does.has_unknown_programs {
            continue;
        }
        let mut shows_all = true;
        for part in &does.opaque {
            let is_read =
                part.kind == OpaqueKind::Script && is_among(&context.real_place(&part.what, None)?.key);
            shows_all &= is_read;
        }
        if shows_all {
            return Ok(true);
        }
    }
    match context.file(&place) {
        Ok(state) => Ok(*state == FileState::Absent),
        Err(missing) if context.has_pending_needs() => Err(missing),
        Err(_) => Ok(false),
    }
}
