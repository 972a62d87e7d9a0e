//! Calls of git that change what stands in a work tree: whole folders of files that they do not name.

use midrail_core::{Context, FileState, Missing, RepositoryCall};

use super::words::Words;
use super::{Word, shown};
use crate::places::is_below;

/// Commands whose files are told with the action, and may be folders.
const NAMED: &[&str] = &["rm", "mv", "restore", "checkout"];

/// What a call of git overwrites or removes and the action does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Swept {
    /// A folder or file, seen from where the action starts.
    Path(String),
    /// All of the work tree that this folder is in, seen from where the action starts.
    Tree(String),
    /// The same, by a change of branch: the files in which the branches differ. The call is told as it is shown.
    Branch {
        /// The folder.
        folder: String,
        /// The call.
        call: String,
    },
}

/// Whether one of these calls takes folders with all that is in them.
pub(crate) fn takes_folders(calls: &[RepositoryCall]) -> bool {
    calls.iter().filter(|call| call.program == "git").any(|call| NAMED.contains(&Words::of(call).command))
}

/// What a call overwrites or removes and the action does not name.
pub(crate) fn swept(context: &Context<'_>, call: &RepositoryCall) -> Result<Vec<Swept>, Missing> {
    let is_there = |path: &str| {
        let place = context.real_place(path, None)?;
        Ok(*context.file(&place)? != FileState::Absent)
    };
    swept_where(call, &is_there)
}

/// Whether a call may overwrite or remove what the action does not name, by its words alone.
pub(crate) fn may_sweep(call: &RepositoryCall) -> bool {
    swept_where(call, &|_| Ok(false)).is_ok_and(|swept| !swept.is_empty())
}

/// The absolute path of the work tree that a folder of this action is in. One that is of no repository stands for itself.
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
        // A folder below the root may hold a repository or work tree of its own.
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
    // The root may be a folder of a repository that begins above it.
    let git = match context.git() {
        Err(missing) if context.awaits() => return Err(missing),
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
        "gh" | "glab" => return Ok(of_forge(call)),
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
            // A wildcard of git's own goes down into folders.
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
    Ok(match words.command {
        "reset" if words.has(&["--hard", "--merge", "--keep"]) => whole(),
        "clean" if words.has(&["-n"]) => Vec::new(),
        "clean" if words.has(&["-f", "--force"]) => match paths(0) {
            paths if paths.is_empty() => vec![Swept::Path(below("."))],
            paths => paths,
        },
        "stash" => match operand {
            "push" if words.operands.len() > 1 => paths(1),
            "" | "push" | "save" => whole(),
            // What was put aside comes back, wherever that is.
            "pop" | "apply" | "branch" => branch(),
            _ => Vec::new(),
        },
        "checkout" | "switch" if words.has(&["-f", "--force", "--discard-changes"]) => whole(),
        "checkout" if names_elsewhere(call) => whole(),
        "checkout" | "switch" if changes_branch(&words) => match words.operands.first() {
            // A file is put back by its name alone, where no branch has that name.
            Some(target)
                if words.command == "checkout" && target.is_known && is_there(&below(target.text))? =>
            {
                paths(0)
            }
            _ => branch(),
        },
        "checkout" if !words.has(CREATES) && words.before_dashes != Some(words.operands.len()) => paths(0),
        "restore" if words.has(&["-S", "--staged"]) && !writes_work_tree(call) => Vec::new(),
        "rm" if words.has(&["--cached"]) => Vec::new(),
        "restore" | "rm" if names_elsewhere(call) => whole(),
        // Plain paths are told with the action.
        "restore" | "rm" if !words.operands.iter().all(|word| is_plain(word.text)) => paths(0),
        "checkout-index" if words.has(&["-f", "--force"]) && words.has(&["-a", "--all"]) => whole(),
        _ => Vec::new(),
    })
}

/// Characters by which a path stands for many.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Whether a path of git's command line is one, and not a pattern or one of the forms that begin with a colon.
fn is_plain(path: &str) -> bool {
    !path.starts_with(':') && !path.contains(WILDCARDS)
}

/// Whether the paths stand in a file, or come through a pipe.
fn names_elsewhere(call: &RepositoryCall) -> bool {
    call.args.iter().any(|arg| arg.starts_with("--pathspec-from-file"))
}

/// Whether a call that puts back the index puts back files as well.
fn writes_work_tree(call: &RepositoryCall) -> bool {
    let is_short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--");
    call.args.iter().any(|arg| arg.starts_with("--w") || (is_short(arg) && arg.contains('W')))
}

/// Options that make a branch.
const CREATES: &[&str] = &["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"];

/// Whether the files of another branch or commit take the place of those that stand there.
fn changes_branch(words: &Words<'_>) -> bool {
    let is_other = |word: Option<&Word<'_>>| word.is_some_and(|word| !matches!(word.text, "HEAD" | "@"));
    let is_switch = words.command == "switch";
    // A branch that begins here changes no file; that of a new history has none.
    if words.has(CREATES) {
        return is_other(words.operands.first()) || (is_switch && words.has(&["--orphan"]));
    }
    let has_paths = words.operands.len() > 1
        || words.before_dashes == Some(0)
        || words.has(&["-p", "--patch"])
        || matches!(words.operands.first().map(|word| word.text), Some("." | "./" | ":/"));
    is_other(words.operands.first()) && (is_switch || !has_paths)
}

/// `gh pr checkout 7`
fn of_forge(call: &RepositoryCall) -> Vec<Swept> {
    let mut words = call.args.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    match (words.next(), words.next()) {
        (Some("pr" | "mr"), Some("checkout" | "co")) => {
            let folder = call.folder.clone().unwrap_or_default();
            vec![Swept::Branch { folder, call: shown(call) }]
        }
        _ => Vec::new(),
    }
}

/// The folder that a call works in, seen from where the action starts.
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

    /// What a line sweeps, in a folder that holds `src` and `a.rs`: paths as they are, `tree:` and `branch:` with their
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
        let told = |swept| match swept {
            Swept::Path(path) => path,
            Swept::Tree(folder) => format!("tree:{folder}"),
            Swept::Branch { folder, .. } => format!("branch:{folder}"),
        };
        swept.into_iter().map(told).collect()
    }

    #[test]
    fn what_is_thrown_away_is_known() {
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
            "gh pr checkout 7",
            "glab mr checkout 7",
        ] {
            assert_eq!(of(line), ["branch:"], "{line}");
        }
        assert_eq!(of("git -C sub switch main"), ["branch:sub"]);
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
            "gh pr view 7",
            "gh checkout .",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
