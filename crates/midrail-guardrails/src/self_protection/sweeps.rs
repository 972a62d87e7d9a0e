//! Files that an action changes without naming them, compared with those that connect hosts to Midrail.

use midrail_core::{Action, Context, Effect, Missing, Verdict};

use super::protected::{self, ADVICE, Included};
use crate::shared::data::PROGRAMS;
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
    let (pattern, is_unknown) = with_wildcards(access.file);
    if !has_wildcard(&pattern) {
        return Ok(None);
    }
    let command = action.command.as_deref().unwrap_or_default();
    // Shells skip hidden names, unless an option changes that.
    let has_hidden = ["dotglob", "GLOB_DOTS", "globdots", "glob_dots", "include_hidden", "rglob("]
        .iter()
        .any(|it| command.contains(it));
    let place = context.place(&pattern, None).key;
    let Some(found) =
        present(context, protected::included(&place, has_hidden), |it| has_hidden || !it.is_whole)?
    else {
        return Ok(None);
    };
    let reason =
        format!("{} includes '{}', which connects the agent's host to Midrail.", access.name(), found.path);
    let (effect, advice) =
        if is_unknown { (Effect::Escalate, "Name the file in the call.") } else { (Effect::Block, ADVICE) };
    Ok(Some(Verdict::new(effect, reason).advise(advice).with("path", access.file)))
}

/// A path with a wildcard for each unknown part below a known folder, and whether there is one: `.claude/$NAME`.
fn with_wildcards(path: &str) -> (String, bool) {
    let is_unknown = |part: &str| part.contains(['$', '`']);
    if path.split('/').next().is_none_or(is_unknown) || !is_unknown(path) {
        return (path.to_owned(), false);
    }
    let part = |part: &str| match part.find(['$', '`']) {
        Some(at) => format!("{}*", part.get(..at).unwrap_or_default()),
        None => part.to_owned(),
    };
    (path.split('/').map(part).collect::<Vec<_>>().join("/"), true)
}

/// The verdict on a copy that removes what the original does not contain: `rsync --delete empty/ .`.
pub(super) fn mirror(context: &Context<'_>, action: &Action) -> Result<Option<Verdict>, Missing> {
    let command = action.command.as_deref().unwrap_or_default();
    let is_mirror = action.programs.iter().any(|it| it == "rsync") && command.contains("--del");
    let is_here = |path: &String| matches!(context.place(path, None).key.as_str(), "" | ".");
    if !is_mirror || !action.writes.iter().any(is_here) {
        return Ok(None);
    }
    let is_kept = |it: &Included| {
        let folder = it.path.split('/').next().unwrap_or_default();
        command.split(['=', ' ', '\'', '"', '/']).any(|word| word == folder)
    };
    let found = present(context, protected::included(".", true), |it| !is_kept(it))?;
    Ok(found.map(|found| {
        let reason = format!("`rsync --delete` would remove '{}', which controls Midrail.", found.path);
        Verdict::new(Effect::Escalate, reason).advise(EXCLUDE).with("path", found.path.as_str())
    }))
}

/// The verdict on code that writes a file which an argument names: `python3 -c "open(sys.argv[1], 'w')" FILE`.
pub(super) fn argument(action: &Action) -> Option<Verdict> {
    let command = action.command.as_deref()?;
    let lower = command.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(&["argv", "$argv"])
        || !has(&["'w", "\"w", "write", "unlink", "remove", "rename", "rmtree", "rmsync", "truncate"])
    {
        return None;
    }
    let mut words =
        command.split_whitespace().map(|word| word.trim_matches(['\'', '"', ';']).trim_start_matches("./"));
    let file = words.find(|word| protected::objection(word).is_some())?;
    let reason = format!("Code in the command is given '{file}', which controls Midrail, and may change it.");
    Some(Verdict::new(Effect::Escalate, reason).advise("Name the file in the code.").with("path", file))
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
    if let Some(why) = names.iter().find_map(|name| protected::objection(name)) {
        return Ok(Some(Verdict::block(format!("{name} {why}.")).advise(ADVICE).with("path", sweep)));
    }
    let command = action.command.as_deref().filter(|_| script.is_none()).unwrap_or_default();
    let found: Vec<Included> = names.iter().flat_map(|name| protected::included(name, true)).collect();
    // Of all files in a folder, those count that the command points to.
    let removes_all =
        lists_hidden(command) && action.programs.iter().any(|it| PROGRAMS.has("folder changers", it));
    let counts = |it: &Included| !it.is_whole || removes_all || protected::points_to(command, &it.path);
    let Some(found) = present(context, found, counts)? else { return Ok(None) };
    let reason = format!("{name} includes '{}', which connects the agent's host to Midrail.", found.path);
    let effect = if found.is_whole || found.is_generic { Effect::Escalate } else { Effect::Block };
    Ok(Some(Verdict::new(effect, reason).advise(EXCLUDE).with("path", sweep)))
}

/// Whether a command lists hidden names: `ls -A`.
fn lists_hidden(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).any(|pair| match pair {
        ["ls", options] => options.starts_with('-') && options.contains(['a', 'A']),
        _ => false,
    })
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
