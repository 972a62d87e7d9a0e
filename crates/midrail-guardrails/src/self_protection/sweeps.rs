//! Files that an action changes without naming them, compared with those that connect hosts to Midrail.

use midrail_core::{Action, Context, Effect, Missing, Verdict};

use super::protected::{self, Included};
use super::{ADVICE, SelfProtection};
use crate::shared::file_access::{FileAccess, exists};
use crate::shared::file_paths::has_wildcard;

/// Advice for a change of many files.
const EXCLUDE: &str =
    "Name the files that you want to change, or exclude the files of Midrail and the agent's settings.";

/// The verdict on a written path with a wildcard.
pub(super) fn wildcard(
    context: &Context<'_>,
    action: &Action,
    access: &FileAccess<'_>,
) -> Result<Option<Verdict>, Missing> {
    if !has_wildcard(access.file) {
        return Ok(None);
    }
    let command = action.command.as_deref().unwrap_or_default();
    // Shells skip hidden names, unless an option changes that.
    let has_hidden = ["dotglob", "GLOB_DOTS", "globdots", "glob_dots"].iter().any(|it| command.contains(it));
    let place = context.place(access.file, None).key;
    let Some(found) = present(context, protected::included(&place, has_hidden), |_| true)? else {
        return Ok(None);
    };
    let reason =
        format!("{} includes '{}', which connects the agent's host to Midrail.", access.name(), found.path);
    Ok(Some(Verdict::block(reason).advise(ADVICE).with("path", access.file)))
}

/// The verdict on a folder or pattern of files that are changed.
pub(super) fn sweep(
    context: &Context<'_>,
    action: &Action,
    script: Option<&str>,
    sweep: &str,
) -> Result<Option<Verdict>, Missing> {
    let name = match script {
        Some(script) => format!("'{sweep}', which `{script}` changes,"),
        None => format!("'{sweep}'"),
    };
    let mut names = context.path_aliases(sweep)?;
    names.extend((sweep.starts_with(['~', '/'])).then(|| sweep.to_owned()));
    if let Some(why) = names.iter().find_map(|name| SelfProtection::objection(name)) {
        return Ok(Some(Verdict::block(format!("{name} {why}.")).advise(ADVICE).with("path", sweep)));
    }
    let command = action.command.as_deref().filter(|_| script.is_none()).unwrap_or_default();
    let found: Vec<Included> = names.iter().flat_map(|name| protected::included(name, true)).collect();
    // Of all files in a folder, those count that the command points to.
    let counts = |it: &Included| !it.is_whole || protected::points_to(command, &it.path);
    let Some(found) = present(context, found, counts)? else { return Ok(None) };
    let reason = format!("{name} includes '{}', which connects the agent's host to Midrail.", found.path);
    let effect = if found.is_whole || found.is_generic { Effect::Escalate } else { Effect::Block };
    Ok(Some(Verdict::new(effect, reason).advise(EXCLUDE).with("path", sweep)))
}

/// The file that exists and counts most. Files outside the project count as present.
fn present(
    context: &Context<'_>,
    found: Vec<Included>,
    counts: impl Fn(&Included) -> bool,
) -> Result<Option<Included>, Missing> {
    let mut present: Option<Included> = None;
    let mut unknown = None;
    for it in found.into_iter().filter(counts) {
        let is_there = match exists(context, &it.path) {
            _ if it.path.starts_with('~') => true,
            Ok(is_there) => is_there,
            Err(missing) if context.has_pending_needs() => {
                unknown = Some(missing);
                false
            }
            // Without a file system.
            Err(_) => it.is_usual,
        };
        let is_surer =
            |held: &Included| (held.is_whole || held.is_generic) && !(it.is_whole || it.is_generic);
        if is_there && present.as_ref().is_none_or(is_surer) {
            present = Some(it);
        }
    }
    match unknown {
        Some(missing) => Err(missing),
        None => Ok(present),
    }
}
