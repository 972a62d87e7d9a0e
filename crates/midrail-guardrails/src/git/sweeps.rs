//! Git calls that change files of a work tree without naming them.

use midrail_core::{Context, FileState, Missing, RepositoryCall};

use super::commands::is_own;
use super::shown;
use super::words::{Word, Words};
use crate::places::is_below;

/// Commands whose files are listed in the action and may be folders.
const NAMED: &[&str] = &["rm", "mv", "restore", "checkout"];

/// Files that a git call overwrites or removes without naming them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Swept {
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
pub(crate) fn takes_folders(calls: &[RepositoryCall]) -> bool {
    let is_deep = |command: &str| NAMED.contains(&command) || command == "ls-files";
    calls.iter().filter(|call| call.program == "git").any(|call| is_deep(Words::of(call).command))
}

/// The files that a call overwrites or removes without naming them.
pub(crate) fn swept(context: &Context<'_>, call: &RepositoryCall) -> Result<Vec<Swept>, Missing> {
    let is_there = |path: &str| {
        let place = context.real_place(path, None)?;
        Ok(*context.file(&place)? != FileState::Absent)
    };
    if let Some(command) = named_elsewhere(call) {
        return match context.git() {
            Ok(git) => {
                let body = git.and_then(|git| git.aliases.get(&command.to_ascii_lowercase()));
                body.map_or_else(|| Ok(Vec::new()), |body| swept_by_alias(call, &command, body, &is_there))
            }
            Err(missing) if context.has_pending_needs() => Err(missing),
            // Without a repository there are no aliases.
            Err(_) => Ok(Vec::new()),
        };
    }
    // The files of a patch in the command line are listed in the action.
    if is_patch_from_input(call) && context.action()?.command.as_deref().is_some_and(holds_patch) {
        return Ok(Vec::new());
    }
    swept_where(call, &is_there)
}

/// Whether a call may overwrite or remove files without naming them, judged by its words alone.
pub(crate) fn may_sweep(call: &RepositoryCall) -> bool {
    named_elsewhere(call).is_some() || swept_where(call, &|_| Ok(false)).is_ok_and(|swept| !swept.is_empty())
}

/// A command that is not built into git and may be an alias.
fn named_elsewhere(call: &RepositoryCall) -> Option<String> {
    let words = Words::of(call);
    let is_other = call.program == "git" && !words.is_unknown && !is_own(words.command);
    is_other.then(|| words.command.to_owned())
}

/// The files that an alias overwrites or removes.
fn swept_by_alias(
    call: &RepositoryCall,
    name: &str,
    body: &str,
    is_there: &dyn Fn(&str) -> Result<bool, Missing>,
) -> Result<Vec<Swept>, Missing> {
    // For an alias that starts other programs, only its git commands are known, without arguments.
    if let Some(commands) = body.strip_prefix('!') {
        let takes = commands.split_whitespace().any(|command| CHANGES_FILES.contains(&command));
        let folder = folder(call, &Words::of(call));
        return Ok(takes.then(|| Swept::Branch { folder, call: shown(call) }).into_iter().collect());
    }
    let mut spelled = call.clone();
    spelled.args.splice(0..0, ["-c".to_owned(), format!("alias.{name}={body}")]);
    spelled.unknown.iter_mut().for_each(|at| *at += 2);
    let swept = swept_where(&spelled, is_there)?;
    Ok(swept
        .into_iter()
        .map(|swept| match swept {
            Swept::Branch { folder, .. } => Swept::Branch { folder, call: shown(call) },
            other => other,
        })
        .collect())
}

/// Git commands that may change files of the work tree.
const CHANGES_FILES: &[&str] = &[
    "am",
    "bisect",
    "checkout",
    "cherry-pick",
    "merge",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "switch",
];

/// Whether a patch from standard input is applied.
fn is_patch_from_input(call: &RepositoryCall) -> bool {
    let words = Words::of(call);
    matches!(words.command, "apply" | "am") && words.operands.iter().all(|word| word.text == "-")
}

fn holds_patch(line: &str) -> bool {
    !midrail_shell::patch::targets(line).is_empty()
}

/// The absolute path of the work tree of a folder, or of the folder itself outside a repository.
pub(crate) fn top(context: &Context<'_>, folder: &str) -> Result<String, Missing> {
    let place = context.real_place(if folder.is_empty() { "." } else { folder }, None)?;
    let root = context.root().map(|root| root.trim_end_matches('/'));
    let absolute = |key: &str| match (root, key) {
        (Some(root), "" | ".") => root.to_owned(),
        (Some(root), key) => format!("{root}/{key}"),
        (None, "." | "") => String::new(),
        (None, key) => key.to_owned(),
    };
    if place.inside {
        // A folder below the root may contain another repository or work tree.
        let mut folder = place.key.trim_matches('/');
        while !matches!(folder, "" | ".") {
            let git = context.real_place(&format!("{folder}/.git"), None)?;
            if *context.file(&git)? != FileState::Absent {
                return Ok(absolute(folder));
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
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

fn swept_where(
    call: &RepositoryCall,
    is_there: &dyn Fn(&str) -> Result<bool, Missing>,
) -> Result<Vec<Swept>, Missing> {
    match call.program.as_str() {
        "git" => {}
        "gh" | "glab" => return Ok(swept_by_forge(call)),
        _ => return Ok(Vec::new()),
    }
    let words = Words::of(call);
    if words.has(&["--help", "-h", "--dry-run"]) {
        return Ok(Vec::new());
    }
    let folder = folder(call, &words);
    let below = |path: &str| match path {
        _ if path.starts_with('/') => path.to_owned(),
        _ if folder.is_empty() => path.to_owned(),
        "." => folder.clone(),
        _ => format!("{folder}/{path}"),
    };
    let paths = |from: usize| -> Vec<Swept> {
        let texts = words.operands.iter().skip(from).map(|word| word.text).filter(|text| *text != "HEAD");
        let swept = |text: &str| match (is_plain(text), text.starts_with(':') || text.contains("..")) {
            (true, _) => Swept::Path(below(text)),
            (false, true) => Swept::Tree(folder.clone()),
            // A git wildcard also matches in subfolders.
            (false, false) => {
                let spelt = text.split(WILDCARDS).next().unwrap_or_default();
                Swept::Path(below(spelt.rsplit_once('/').map_or(".", |(folder, _)| folder)))
            }
        };
        texts.map(swept).collect()
    };
    let whole = || vec![Swept::Tree(folder.clone())];
    let branch = || vec![Swept::Branch { folder: folder.clone(), call: shown(call) }];
    let operand = words.operands.first().map_or("", |word| word.text);
    // Aborting an operation, or inspecting it.
    let looks = words.has(&["--abort", "--quit", "--edit-todo", "--show-current-patch"]);
    Ok(match words.command {
        "cherry-pick" | "revert" | "am" | "rebase" | "pull" if !looks => branch(),
        "merge" if !looks && !words.has(&["--continue"]) => branch(),
        "apply" if !words.has(ONLY_LOOKS) || words.has(&["--apply"]) => branch(),
        "read-tree" if words.has(&["-u"]) && !words.has(&["-n"]) => branch(),
        "bisect" => match operand {
            "start" if words.operands.len() > 2 => branch(),
            "good" | "bad" | "new" | "old" | "skip" | "next" | "reset" | "replay" | "run" => branch(),
            _ => Vec::new(),
        },
        "sparse-checkout" if matches!(operand, "set" | "add" | "reapply" | "disable") => branch(),
        "reset" if words.has(&["--hard", "--merge", "--keep"]) => whole(),
        "clean" if words.has(&["-n"]) => Vec::new(),
        "clean" if words.has(&["-f", "--force"]) => match paths(0) {
            paths if paths.is_empty() => vec![Swept::Path(below("."))],
            paths => paths,
        },
        "stash" => match operand {
            "push" if words.operands.len() > 1 => paths(1),
            "" | "push" | "save" => whole(),
            // Stashed files may be anywhere.
            "pop" | "apply" | "branch" => branch(),
            _ => Vec::new(),
        },
        "checkout" | "switch" if words.has(&["-f", "--force", "--discard-changes"]) => whole(),
        "checkout" if names_elsewhere(call) => whole(),
        // With --patch, a commit may precede the paths.
        "checkout" if words.has(&["-p", "--patch"]) => match words.before_dashes {
            Some(before) if before < words.operands.len() => paths(before),
            _ => {
                let mut are_paths = !words.operands.is_empty();
                for word in &words.operands {
                    are_paths &= word.is_known && is_there(&below(word.text))?;
                }
                if are_paths { paths(0) } else { whole() }
            }
        },
        "checkout" | "switch" if changes_branch(&words) => match words.operands.first() {
            // A bare file name restores the file if no branch has that name.
            Some(target)
                if words.command == "checkout" && target.is_known && is_there(&below(target.text))? =>
            {
                paths(0)
            }
            _ => branch(),
        },
        "checkout" if !words.has(CREATES) && words.before_dashes != Some(words.operands.len()) => paths(0),
        "restore" if words.has(&["-S", "--staged"]) && !writes_work_tree(call) => Vec::new(),
        "restore" if words.operands.is_empty() && words.has(&["-p", "--patch"]) => whole(),
        "rm" if words.has(&["--cached"]) => Vec::new(),
        "restore" | "rm" if names_elsewhere(call) => whole(),
        // Plain paths are listed in the action.
        "restore" | "rm" if !words.operands.iter().all(|word| is_plain(word.text)) => paths(0),
        "checkout-index" if words.has(&["-f", "--force"]) => match words.has(&["-a", "--all", "--stdin"]) {
            true => whole(),
            false => paths(0),
        },
        _ => Vec::new(),
    })
}

/// Options that only inspect a patch or apply it to the index.
const ONLY_LOOKS: &[&str] = &["--check", "--stat", "--numstat", "--summary", "--cached"];

/// Wildcard characters.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Whether a pathspec is a plain path, without wildcards and magic.
fn is_plain(path: &str) -> bool {
    !path.starts_with(':') && !path.contains(WILDCARDS)
}

/// Whether the paths come from a file or standard input.
fn names_elsewhere(call: &RepositoryCall) -> bool {
    call.args.iter().any(|arg| arg.starts_with("--pathspec-from-file"))
}

/// Whether a call that restores the index restores files as well.
fn writes_work_tree(call: &RepositoryCall) -> bool {
    let is_short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--");
    call.args.iter().any(|arg| arg.starts_with("--w") || (is_short(arg) && arg.contains('W')))
}

/// Options that create a branch.
const CREATES: &[&str] = &["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"];

/// Whether the call checks out the files of another branch or commit.
fn changes_branch(words: &Words<'_>) -> bool {
    let is_other = |word: Option<&Word<'_>>| word.is_some_and(|word| !matches!(word.text, "HEAD" | "@"));
    let is_switch = words.command == "switch";
    // A new branch at HEAD changes no file; an orphan branch removes them.
    if words.has(CREATES) {
        return is_other(words.operands.first()) || (is_switch && words.has(&["--orphan"]));
    }
    let has_paths = words.operands.len() > 1
        || words.before_dashes == Some(0)
        || words.has(&["-p", "--patch"])
        || matches!(words.operands.first().map(|word| word.text), Some("." | "./" | ":/"));
    is_other(words.operands.first()) && (is_switch || !has_paths)
}

/// `gh pr checkout 7`, `gh co 7`
fn swept_by_forge(call: &RepositoryCall) -> Vec<Swept> {
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
            vec![Swept::Branch { folder, call: shown(call) }]
        }
        _ => Vec::new(),
    }
}

/// The folder of a call, relative to the start of the action.
fn folder(call: &RepositoryCall, words: &Words<'_>) -> String {
    let mut folder = call.folder.clone().unwrap_or_default();
    for next in &words.folders {
        folder = match next.text {
            text if text.starts_with(['/', '~']) || folder.is_empty() => text.to_owned(),
            text => format!("{folder}/{text}"),
        };
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The swept files of a line, in a folder with `src` and `a.rs`: plain paths, or `tree:` and `branch:` with their
    /// folders.
    fn of(line: &str) -> Vec<String> {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        let call = RepositoryCall {
            program,
            args: words.collect(),
            folder: Some(String::new()),
            ..RepositoryCall::default()
        };
        let swept = swept_where(&call, &|path| Ok(["src", "a.rs"].contains(&path))).unwrap();
        let label = |swept| match swept {
            Swept::Path(path) => path,
            Swept::Tree(folder) => format!("tree:{folder}"),
            Swept::Branch { folder, .. } => format!("branch:{folder}"),
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
    fn a_change_of_branch_is_known() {
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
            let call = RepositoryCall { program: "git".into(), args, ..RepositoryCall::default() };
            assert!(may_sweep(&call), "{line}");
            swept_by_alias(&call, name, body, &|_| Ok(false)).unwrap()
        };
        for (line, name, body) in [
            ("git co main", "co", "checkout"),
            ("git sync", "sync", "!fetch rebase"),
            ("git nuke", "nuke", "pull -r"),
        ] {
            let swept = by(line, name, body);
            assert!(
                matches!(swept.as_slice(), [Swept::Branch { call, .. }] if call == line),
                "{line}: {swept:?}"
            );
        }
        assert_eq!(by("git undo", "undo", "reset --hard"), [Swept::Tree(String::new())]);
        assert!(by("git ll", "ll", "!").is_empty() && by("git lg", "lg", "log --all").is_empty());
    }

    #[test]
    fn what_changes_no_file_is_left_alone() {
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
