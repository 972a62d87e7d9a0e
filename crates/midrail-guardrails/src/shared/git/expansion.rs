//! Git calls that depend on the repository, expanded to command lines that do not.

use midrail_core::{Action, CommandCall, Context};

use super::commands::is_builtin;
use crate::shared::file_access::exists;

/// The expanded command lines of an action's git calls. Calls with unknown state are left out.
pub(crate) fn expanded_commands(context: &Context<'_>, action: &Action) -> Vec<String> {
    let calls = action.commands.iter().filter(|call| call.program == "git");
    calls.filter_map(|call| expand_alias(context, call).or_else(|| expand_paths(context, call))).collect()
}

/// Expands an alias of the repository. Aliases that start other programs were checked when they were defined.
fn expand_alias(context: &Context<'_>, call: &CommandCall) -> Option<String> {
    let (name, rest) = call.args.split_first()?;
    if name.starts_with('-') || is_builtin(name) {
        return None;
    }
    let git = context.git().ok()??;
    let body = git.aliases.get(&name.to_ascii_lowercase()).filter(|body| !body.starts_with('!'))?;
    let rest: Vec<String> = rest.iter().map(|arg| quoted(arg)).collect();
    Some(format!("git {body} {}", rest.join(" ")))
}

/// Expands `git checkout src` if `src` is an existing path.
fn expand_paths(context: &Context<'_>, call: &CommandCall) -> Option<String> {
    let ([command, path], Some(folder)) = (call.args.as_slice(), &call.folder) else { return None };
    if command != "checkout" || path.starts_with('-') || !call.unknown.is_empty() {
        return None;
    }
    let path = if folder.is_empty() { path.clone() } else { format!("{folder}/{path}") };
    let is_path = exists(context, &path).unwrap_or(false);
    is_path.then(|| format!("git checkout -- {}", quoted(&path)))
}

/// An argument quoted for a shell. Unknown values are kept.
fn quoted(arg: &str) -> String {
    if arg.contains('$') { format!("\"{arg}\"") } else { format!("'{}'", arg.replace('\'', "'\\''")) }
}
