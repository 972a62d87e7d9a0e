//! Calls of git whose meaning depends on what is there, as command lines that mean the same whatever is there.

use midrail_core::{Action, Context, FileState, RepositoryCall};

use super::aliases::is_own;

/// The command lines that the calls of an action stand for, where what is there makes more of them than they say. What
/// cannot be looked at makes nothing of them.
pub(crate) fn spelled_out(context: &Context<'_>, action: &Action) -> Vec<String> {
    let calls = action.repository.iter().filter(|call| call.program == "git");
    calls.filter_map(|call| named(context, call).or_else(|| paths(context, call))).collect()
}

/// A name of the repository's own configuration. Those that start other programs were judged when they were given.
fn named(context: &Context<'_>, call: &RepositoryCall) -> Option<String> {
    let (name, rest) = call.args.split_first()?;
    if name.starts_with('-') || is_own(name) {
        return None;
    }
    let git = context.git().ok()??;
    let body = git.aliases.get(&name.to_ascii_lowercase()).filter(|body| !body.starts_with('!'))?;
    let rest: Vec<String> = rest.iter().map(|arg| quoted(arg)).collect();
    Some(format!("git {body} {}", rest.join(" ")))
}

/// `git checkout src`, where `src` is there: git takes it for files, or refuses where it is a branch as well.
fn paths(context: &Context<'_>, call: &RepositoryCall) -> Option<String> {
    let ([verb, path], Some(folder)) = (call.args.as_slice(), &call.folder) else { return None };
    if verb != "checkout" || path.starts_with('-') || !call.unknown.is_empty() {
        return None;
    }
    let path = if folder.is_empty() { path.clone() } else { format!("{folder}/{path}") };
    let place = context.real_place(&path, None).ok()?;
    match context.file(&place) {
        Ok(FileState::Absent) | Err(_) => None,
        Ok(_) => Some(format!("git checkout -- {}", quoted(&path))),
    }
}

/// An argument as a shell reads it. What is not known stays as it is written.
fn quoted(arg: &str) -> String {
    if arg.contains('$') { format!("\"{arg}\"") } else { format!("'{}'", arg.replace('\'', "'\\''")) }
}
