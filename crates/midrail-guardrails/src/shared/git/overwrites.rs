//! Git calls that change files of a work tree without naming them.

use midrail_core::{CommandCall, Context, Missing};

use super::commands::is_builtin;
use super::git_call::{GitCall, Word};
use super::{nested_repository, shown, with_alias};
use crate::shared::data::GIT;
use crate::shared::file_access::exists;
use crate::shared::file_paths::is_below;

/// Commands whose files are listed in the action and may be folders.
const NAMED: &[&str] = &["rm", "mv", "restore", "checkout"];

/// Files that a git call overwrites or removes without naming them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// A folder or file, relative to the start of the action.
    Path(String),
    /// The whole work tree of this folder, relative to the start of the action.
    Tree(String),
    /// The same by a change of branch: the files in which the branches differ.
    Branch {
        /// The folder.
        folder: String,
        /// The call.
        call: String,
    },
}

/// Whether one of these calls changes whole folders, or lists their content for other programs.
pub(crate) fn takes_folders(calls: &[CommandCall]) -> bool {
    let is_deep = |command: &str| NAMED.contains(&command) || command == "ls-files";
    calls.iter().filter(|call| call.program == "git").any(|call| is_deep(GitCall::new(call).command))
}

/// The files that a call overwrites or removes without naming them.
pub(crate) fn overwrites(context: &Context<'_>, call: &CommandCall) -> Result<Vec<Overwrite>, Missing> {
    let is_there = |path: &str| exists(context, path);
    if let Some(command) = possible_alias(call) {
        return match context.git() {
            Ok(git) => {
                let body = git.and_then(|git| git.aliases.get(&command.to_ascii_lowercase()));
                body.map_or_else(
                    || Ok(Vec::new()),
                    |body| overwrites_of_alias(call, &command, body, &is_there),
                )
            }
            Err(missing) if context.has_pending_needs() => Err(missing),
            // Without a repository there are no aliases.
            Err(_) => Ok(Vec::new()),
        };
    }
    // The files of a patch in the command line are listed in the action.
    let has_patch = |line: &str| !midrail_shell::patch::targets(line).is_empty();
    if is_patch_from_input(call) && context.action()?.command.as_deref().is_some_and(has_patch) {
        return Ok(Vec::new());
    }
    overwrites_if(call, &is_there)
}

/// Whether a call may overwrite or remove files without naming them, judged by its words alone.
pub(crate) fn may_overwrite(call: &CommandCall) -> bool {
    possible_alias(call).is_some()
        || overwrites_if(call, &|_| Ok(false)).is_ok_and(|overwrites| !overwrites.is_empty())
}

/// A command that is not built into git and may be an alias.
fn possible_alias(call: &CommandCall) -> Option<String> {
    let git = GitCall::new(call);
    let is_other = call.program == "git" && !git.is_unknown && !is_builtin(git.command);
    is_other.then(|| git.command.to_owned())
}

/// The files that an alias overwrites or removes.
fn overwrites_of_alias(
    call: &CommandCall,
    name: &str,
    body: &str,
    is_there: &dyn Fn(&str) -> Result<bool, Missing>,
) -> Result<Vec<Overwrite>, Missing> {
    // For an alias that starts other programs, only its git commands are known, without arguments.
    if let Some(commands) = body.strip_prefix('!') {
        let takes = commands.split_whitespace().any(|command| GIT.has("work tree commands", command));
        let folder = GitCall::new(call).folder();
        return Ok(takes.then(|| Overwrite::Branch { folder, call: shown(call) }).into_iter().collect());
    }
    let mut overwrites = overwrites_if(&with_alias(call, name, body), is_there)?;
    for overwrite in &mut overwrites {
        if let Overwrite::Branch { call: expanded, .. } = overwrite {
            *expanded = shown(call);
        }
    }
    Ok(overwrites)
}

/// Whether a patch from standard input is applied.
fn is_patch_from_input(call: &CommandCall) -> bool {
    let git = GitCall::new(call);
    matches!(git.command, "apply" | "am") && git.operands.iter().all(|word| word.text == "-")
}

/// The absolute path of the work tree of a folder, or of the folder itself outside a repository.
pub(crate) fn work_tree(context: &Context<'_>, folder: &str) -> Result<String, Missing> {
    let place = context.real_place(if folder.is_empty() { "." } else { folder }, None)?;
    let root = context.root().map(|root| root.trim_end_matches('/'));
    let absolute = |key: &str| match (root, key) {
        (Some(root), "" | ".") => root.to_owned(),
        (Some(root), key) => format!("{root}/{key}"),
        (None, "." | "") => String::new(),
        (None, key) => key.to_owned(),
    };
    if place.inside
        && let Some(folder) = nested_repository(context, &place.key)?
    {
        return Ok(absolute(&folder));
    }
    let here = if place.inside { absolute("") } else { place.key.clone() };
    // The root may be inside a larger repository.
    let git = match context.git() {
        Err(missing) if context.has_pending_needs() => return Err(missing),
        git => git.ok().flatten(),
    };
    let top = git.map(|git| git.top.as_str()).filter(|top| !top.is_empty() && is_below(top, &here));
    Ok(top.map_or(here, str::to_owned))
}

fn overwrites_if(
    call: &CommandCall,
    is_there: &dyn Fn(&str) -> Result<bool, Missing>,
) -> Result<Vec<Overwrite>, Missing> {
    match call.program.as_str() {
        "git" => {}
        "gh" | "glab" => return Ok(overwrites_of_forge(call)),
        _ => return Ok(Vec::new()),
    }
    let git = GitCall::new(call);
    if git.has(&["--help", "-h", "--dry-run"]) {
        return Ok(Vec::new());
    }
    let folder = git.folder();
    let below = |path: &str| match path {
        _ if path.starts_with('/') => path.to_owned(),
        _ if folder.is_empty() => path.to_owned(),
        "." => folder.clone(),
        _ => format!("{folder}/{path}"),
    };
    let paths = |from: usize| -> Vec<Overwrite> {
        let texts = git.operands.iter().skip(from).map(|word| word.text).filter(|text| *text != "HEAD");
        let overwrite = |text: &str| match (is_plain(text), text.starts_with(':') || text.contains("..")) {
            (true, _) => Overwrite::Path(below(text)),
            (false, true) => Overwrite::Tree(folder.clone()),
            // A git wildcard also matches in subfolders.
            (false, false) => {
                let literal = text.split(WILDCARDS).next().unwrap_or_default();
                Overwrite::Path(below(literal.rsplit_once('/').map_or(".", |(folder, _)| folder)))
            }
        };
        texts.map(overwrite).collect()
    };
    let whole = || vec![Overwrite::Tree(folder.clone())];
    let branch = || vec![Overwrite::Branch { folder: folder.clone(), call: shown(call) }];
    let operand = git.operands.first().map_or("", |word| word.text);
    // Aborting an operation, or inspecting it.
    let inspects = git.has(&["--abort", "--quit", "--edit-todo", "--show-current-patch"]);
    Ok(match git.command {
        "cherry-pick" | "revert" | "am" | "rebase" | "pull" if !inspects => branch(),
        "merge" if !inspects && !git.has(&["--continue"]) => branch(),
        "apply" if !git.has(ONLY_INSPECTS) || git.has(&["--apply"]) => branch(),
        "read-tree" if git.has(&["-u"]) && !git.has(&["-n"]) => branch(),
        "bisect" => match operand {
            "start" if git.operands.len() > 2 => branch(),
            "good" | "bad" | "new" | "old" | "skip" | "next" | "reset" | "replay" | "run" => branch(),
            _ => Vec::new(),
        },
        "sparse-checkout" if matches!(operand, "set" | "add" | "reapply" | "disable") => branch(),
        "reset" if git.has(&["--hard", "--merge", "--keep"]) => whole(),
        "clean" if git.has(&["-n"]) => Vec::new(),
        "clean" if git.has(&["-f", "--force"]) => match paths(0) {
            paths if paths.is_empty() => vec![Overwrite::Path(below("."))],
            paths => paths,
        },
        "stash" => match operand {
            "push" if git.operands.len() > 1 => paths(1),
            "" | "push" | "save" => whole(),
            // Stashed files may be anywhere.
            "pop" | "apply" | "branch" => branch(),
            _ => Vec::new(),
        },
        "checkout" | "switch" if git.has(&["-f", "--force", "--discard-changes"]) => whole(),
        "checkout" if reads_paths_from_file(call) => whole(),
        // With --patch, a commit may precede the paths.
        "checkout" if git.has(&["-p", "--patch"]) => match git.before_dashes {
            Some(before) if before < git.operands.len() => paths(before),
            _ => {
                let mut are_paths = !git.operands.is_empty();
                for word in &git.operands {
                    are_paths &= word.is_known && is_there(&below(word.text))?;
                }
                if are_paths { paths(0) } else { whole() }
            }
        },
        "checkout" | "switch" if changes_branch(&git) => match git.operands.first() {
            // A bare file name restores the file if no branch has that name.
            Some(target)
                if git.command == "checkout" && target.is_known && is_there(&below(target.text))? =>
            {
                paths(0)
            }
            _ => branch(),
        },
        "checkout"
            if !git.has(GIT.list("creating options")) && git.before_dashes != Some(git.operands.len()) =>
        {
            paths(0)
        }
        "restore" if git.has(&["-S", "--staged"]) && !writes_work_tree(call) => Vec::new(),
        "restore" if git.operands.is_empty() && git.has(&["-p", "--patch"]) => whole(),
        "rm" if git.has(&["--cached"]) => Vec::new(),
        "restore" | "rm" if reads_paths_from_file(call) => whole(),
        // Plain paths are listed in the action.
        "restore" | "rm" if !git.operands.iter().all(|word| is_plain(word.text)) => paths(0),
        "checkout-index" if !git.has(&["-f", "--force"]) => Vec::new(),
        "checkout-index" if git.has(&["-a", "--all", "--stdin"]) => whole(),
        "checkout-index" => paths(0),
        _ => Vec::new(),
    })
}

/// Options that only inspect a patch or apply it to the index.
const ONLY_INSPECTS: &[&str] = &["--check", "--stat", "--numstat", "--summary", "--cached"];

/// Wildcard characters.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Whether a pathspec is a plain path, without wildcards and magic.
fn is_plain(path: &str) -> bool {
    !path.starts_with(':') && !path.contains(WILDCARDS)
}

/// Whether the paths come from a file or standard input.
fn reads_paths_from_file(call: &CommandCall) -> bool {
    call.args.iter().any(|arg| arg.starts_with("--pathspec-from-file"))
}

/// Whether a call that restores the index restores files as well.
fn writes_work_tree(call: &CommandCall) -> bool {
    let is_short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--");
    call.args.iter().any(|arg| arg.starts_with("--w") || (is_short(arg) && arg.contains('W')))
}

/// Whether the call checks out the files of another branch or commit.
fn changes_branch(git: &GitCall<'_>) -> bool {
    let is_other = |word: Option<&Word<'_>>| word.is_some_and(|word| !matches!(word.text, "HEAD" | "@"));
    let is_switch = git.command == "switch";
    // A new branch at HEAD changes no file; an orphan branch removes them.
    if git.has(GIT.list("creating options")) {
        return is_other(git.operands.first()) || (is_switch && git.has(&["--orphan"]));
    }
    let has_paths = git.operands.len() > 1
        || git.before_dashes == Some(0)
        || git.has(&["-p", "--patch"])
        || matches!(git.operands.first().map(|word| word.text), Some("." | "./" | ":/"));
    is_other(git.operands.first()) && (is_switch || !has_paths)
}

/// `gh pr checkout 7`, `gh co 7`
fn overwrites_of_forge(call: &CommandCall) -> Vec<Overwrite> {
    let mut words = Vec::new();
    let mut args = call.args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "-R" | "--repo" | "--hostname" => drop(args.next()),
            "--help" | "-h" => return Vec::new(),
            option if option.starts_with('-') => {}
            word => words.push(word),
        }
    }
    match (words.first().copied(), words.get(1).copied()) {
        (Some("pr" | "mr"), Some("checkout" | "co")) | (Some("co"), Some(_)) => {
            let folder = call.folder.clone().unwrap_or_default();
            vec![Overwrite::Branch { folder, call: shown(call) }]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The overwritten files of a line, in a folder with `src` and `a.rs`: plain paths, or `tree:` and `branch:` with their
    /// folders.
    fn of(line: &str) -> Vec<String> {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        let call = CommandCall {
            program,
            args: words.collect(),
            folder: Some(String::new()),
            ..CommandCall::default()
        };
        let swept = overwrites_if(&call, &|path| Ok(["src", "a.rs"].contains(&path))).unwrap();
        let label = |swept| match swept {
            Overwrite::Path(path) => path,
            Overwrite::Tree(folder) => format!("tree:{folder}"),
            Overwrite::Branch { folder, .. } => format!("branch:{folder}"),
        };
        swept.into_iter().map(label).collect()
    }

    #[test]
    fn discarded_files_are_detected() {
        for (line, paths) in [
            ("git checkout .", &["."][..]),
            ("git checkout :/", &["tree:"]),
            ("git checkout HEAD .", &["."]),
            ("git checkout -- src docs", &["src", "docs"]),
            ("git checkout a.rs", &["a.rs"]),
            ("git checkout -f", &["tree:"]),
            ("git -C sub checkout .", &["sub"]),
            ("git reset --hard origin/main", &["tree:"]),
            ("git clean -fdx", &["."]),
            ("git clean -f src", &["src"]),
            ("git -C sub clean -fd", &["sub"]),
            ("git stash", &["tree:"]),
            ("git stash push -u", &["tree:"]),
            ("git stash push -m message", &["tree:"]),
            ("git stash push -m message -- src", &["src"]),
            ("git switch --discard-changes main", &["tree:"]),
            ("git restore *.rs", &["."]),
            ("git restore src/*/a.rs", &["src"]),
            ("git restore ../*.rs", &["tree:"]),
            ("git restore :/", &["tree:"]),
            ("git restore -SW *.rs", &["."]),
            ("git -C sub restore :!docs", &["tree:sub"]),
            ("git restore --pathspec-from-file=list", &["tree:"]),
            ("git checkout --pathspec-from-file=- HEAD", &["tree:"]),
            ("git checkout feat -- *.rs", &["feat", "."]),
            ("git checkout -- :(top)src", &["tree:"]),
            ("git rm -r :/", &["tree:"]),
            ("git rm -f *.rs", &["."]),
            ("git stash push -- *.rs", &["."]),
            ("git checkout -p", &["tree:"]),
            ("git checkout -p main", &["tree:"]),
            ("git checkout -p src", &["src"]),
            ("git checkout --patch HEAD -- src", &["src"]),
            ("git restore -p", &["tree:"]),
            ("git restore -p -s main", &["tree:"]),
            ("git checkout-index -f a.rs", &["a.rs"]),
            ("git checkout-index -fa", &["tree:"]),
        ] {
            assert_eq!(of(line), paths, "{line}");
        }
    }

    #[test]
    fn changes_of_branch_are_detected() {
        for line in [
            "git checkout main",
            "git checkout -",
            "git checkout main --",
            "git checkout --detach v1.2",
            "git checkout HEAD~3",
            "git checkout -b fix origin/main",
            "git checkout -B fix main",
            "git switch main",
            "git switch -",
            "git switch src",
            "git switch -c fix main",
            "git switch --orphan empty",
            "git stash pop",
            "git stash apply stash@{1}",
            "git cherry-pick abc",
            "git revert HEAD",
            "git am 0001.patch",
            "git apply fix.patch",
            "git apply --stat --apply fix.patch",
            "git read-tree -um HEAD main",
            "git merge feat",
            "git merge --no-commit feat",
            "git pull",
            "git pull --rebase origin main",
            "git rebase main",
            "git rebase --continue",
            "git bisect start HEAD v1",
            "git bisect good",
            "git bisect reset",
            "git sparse-checkout set docs",
            "gh pr checkout 7",
            "gh pr -R me/site checkout 7",
            "gh -R me/site pr checkout 7",
            "gh co 7",
            "glab mr checkout 7",
        ] {
            assert_eq!(of(line), ["branch:"], "{line}");
        }
        assert_eq!(of("git -C sub switch main"), ["branch:sub"]);
    }

    #[test]
    fn names_of_the_repository_are_resolved() {
        let by = |line: &str, name: &str, body: &str| {
            let args = line.split(' ').skip(1).map(str::to_owned).collect();
            let call = CommandCall { program: "git".into(), args, ..CommandCall::default() };
            assert!(may_overwrite(&call), "{line}");
            overwrites_of_alias(&call, name, body, &|_| Ok(false)).unwrap()
        };
        for (line, name, body) in [
            ("git co main", "co", "checkout"),
            ("git sync", "sync", "!fetch rebase"),
            ("git nuke", "nuke", "pull -r"),
        ] {
            let swept = by(line, name, body);
            assert!(
                matches!(swept.as_slice(), [Overwrite::Branch { call, .. }] if call == line),
                "{line}: {swept:?}"
            );
        }
        assert_eq!(by("git undo", "undo", "reset --hard"), [Overwrite::Tree(String::new())]);
        assert!(by("git ll", "ll", "!").is_empty() && by("git lg", "lg", "log --all").is_empty());
    }

    #[test]
    fn calls_that_change_no_file_are_ignored() {
        for line in [
            "git checkout",
            "git checkout -b fix",
            "git checkout -b fix HEAD",
            "git checkout --orphan fresh",
            "git switch -c fix",
            "git switch --create fix",
            "git switch --detach",
            "git checkout HEAD",
            "git reset src",
            "git reset --soft HEAD~1",
            "git clean -n",
            "git clean -nfd",
            "git stash list",
            "git stash show",
            "git status .",
            "git restore --staged *.rs",
            "git rm --cached *.rs",
            "git branch fix",
            "git checkout --help",
            "git merge --abort",
            "git merge --continue",
            "git rebase --abort",
            "git rebase --edit-todo",
            "git cherry-pick --quit",
            "git am --show-current-patch",
            "git apply --check fix.patch",
            "git apply --stat fix.patch",
            "git apply --cached fix.patch",
            "git read-tree HEAD",
            "git bisect log",
            "git bisect start",
            "git pull --dry-run",
            "git restore --staged src",
            "git restore -S -p",
            "git rm -r --cached src",
            "git sparse-checkout list",
            "gh pr view 7",
            "gh pr list -R pr checkout",
            "gh checkout .",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
