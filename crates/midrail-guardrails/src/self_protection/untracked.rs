//! Calls of git that remove files of the work tree which they do not name: untracked ones, and those outside a sparse checkout.

use midrail_core::{Action, CommandCall, Context, Missing};

use super::protected;
use crate::shared::file_access::exists;
use crate::shared::git::GitCall;

/// A protected file that a call of git would remove, and the call.
pub(super) fn removed(context: &Context<'_>, action: &Action) -> Result<Option<(String, String)>, Missing> {
    for call in action.commands.iter().filter(|call| call.program == "git") {
        let git = GitCall::new(call);
        if let Some(path) = forgotten(&git) {
            return Ok(Some((path, "git rm --cached".to_owned())));
        }
        let Some(takes_tracked) = sweep(&git, !action.sweeps.is_empty()) else { continue };
        let kept = kept(call);
        let files = protected::included(".", true);
        let files = files.iter().map(|it| it.path.as_str());
        let files = files.filter(|path| !is_kept(path, &kept) && includes(&git, path, &kept));
        if let Some(path) = first_removed(context, &files.collect::<Vec<_>>(), takes_tracked)? {
            return Ok(Some((path, format!("git {}", git.command))));
        }
    }
    Ok(None)
}

/// The first of some files that exists, and that the repository does not contain unless tracked ones are removed as well.
fn first_removed(
    context: &Context<'_>,
    files: &[&str],
    takes_tracked: bool,
) -> Result<Option<String>, Missing> {
    // Request all facts before the first one is missing, so that they are fetched together.
    let states: Vec<_> = files.iter().map(|path| exists(context, path)).collect();
    let mut present = Vec::new();
    for (path, state) in files.iter().zip(states) {
        match state {
            Ok(is_there) => present.extend(is_there.then_some(*path)),
            Err(missing) if context.has_pending_needs() => return Err(missing),
            Err(_) => present.push(*path),
        }
    }
    let mut removed = None;
    for path in present {
        let is_removed = match context.unsaved_files(path) {
            _ if takes_tracked => true,
            Ok(unsaved) => unsaved.more || !unsaved.files.is_empty(),
            Err(_) => true,
        };
        removed = removed.or_else(|| is_removed.then(|| path.to_owned()));
    }
    Ok(removed)
}

/// A protected file that a call removes from the index, and so from every later checkout.
fn forgotten(git: &GitCall<'_>) -> Option<String> {
    let is_it = git.command == "rm" && git.has(&["--cached"]);
    let mut named = git.operands.iter().map(|word| word.text.trim_start_matches("./").trim_end_matches('/'));
    named.find(|path| is_it && protected::objection(path).is_some()).map(str::to_owned)
}

/// Whether a call removes files that it does not name, and if so whether also tracked ones.
fn sweep(git: &GitCall<'_>, hands_on: bool) -> Option<bool> {
    let first = git.operands.first().map_or("", |word| word.text);
    match git.command {
        "clean" => (!git.has(&["-n", "--dry-run", "-i", "--interactive"])).then_some(false),
        "stash" if matches!(first, "" | "push" | "save") => {
            git.has(&["-u", "--include-untracked", "-a", "--all"]).then_some(false)
        }
        // `git ls-files --others | xargs rm`
        "ls-files" if hands_on => git.has(&["-o", "--others"]).then_some(false),
        "rm" if !git.has(&["--cached", "-n", "--dry-run"]) => {
            git.operands.iter().any(|word| matches!(word.text, "." | "./" | ":/" | "*")).then_some(true)
        }
        "sparse-checkout" => matches!(first, "set" | "init" | "reapply").then_some(true),
        _ => None,
    }
}

/// Whether a file is in the folders that a call names, if it names some.
fn includes(git: &GitCall<'_>, path: &str, kept: &[&str]) -> bool {
    let from = usize::from(matches!(git.command, "stash" | "sparse-checkout"));
    let operands = || git.operands.iter().skip(from).map(|word| word.text);
    let folders = || operands().filter(|word| !kept.contains(word)).map(|it| it.trim_start_matches("./"));
    let is_in = |folder: &str| {
        let folder = folder.trim_end_matches('/');
        matches!(folder, "" | "." | ":" | "*")
            || path == folder
            || path.strip_prefix(folder).is_some_and(|it| it.starts_with('/'))
    };
    match git.command {
        // What is named stays.
        "sparse-checkout" => !folders().any(is_in),
        _ => folders().next().is_none() || folders().all(|it| it.starts_with(':')) || folders().any(is_in),
    }
}

/// The patterns that a call leaves out.
fn kept(call: &CommandCall) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut args = call.args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if matches!(arg, "-e" | "--exclude") {
            kept.extend(args.next());
        } else if let Some(pattern) =
            ["--exclude=", "-e", ":!", ":^", ":(exclude)"].iter().find_map(|it| arg.strip_prefix(it))
        {
            kept.push(pattern);
        }
    }
    kept
}

fn is_kept(path: &str, kept: &[&str]) -> bool {
    let is_it = |pattern: &&str| {
        let pattern = pattern.trim_matches('/').trim_end_matches("/**").trim_end_matches("/*");
        path == pattern || path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/'))
    };
    kept.iter().any(is_it)
}
