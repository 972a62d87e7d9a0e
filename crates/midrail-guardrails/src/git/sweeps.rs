//! Calls of git that throw away what stands in a work tree: whole folders of files that they do not name.

use midrail_core::RepositoryCall;

use super::words::Words;

/// Commands whose files are told with the action, and may be folders.
const NAMED: &[&str] = &["rm", "mv", "restore", "checkout"];

/// Whether one of these calls takes folders with all that is in them.
pub(crate) fn takes_folders(calls: &[RepositoryCall]) -> bool {
    calls.iter().filter(|call| call.program == "git").any(|call| NAMED.contains(&Words::of(call).command))
}

/// The folders and files that a call overwrites or removes and that the action does not name, seen from where the
/// action starts.
pub(crate) fn swept(call: &RepositoryCall) -> Vec<String> {
    if call.program != "git" {
        return Vec::new();
    }
    let words = Words::of(call);
    let paths = |from: usize| -> Vec<&str> {
        words.operands.iter().skip(from).map(|word| word.text).filter(|text| *text != "HEAD").collect()
    };
    let operand = words.operands.first().map_or("", |word| word.text);
    let whole = vec!["."];
    let named = match words.command {
        _ if words.has(&["--help", "-h", "--dry-run"]) => Vec::new(),
        "reset" if words.has(&["--hard", "--merge", "--keep"]) => whole,
        "clean" if words.has(&["-n"]) => Vec::new(),
        "clean" if words.has(&["-f", "--force"]) => match paths(0) {
            paths if paths.is_empty() => whole,
            paths => paths,
        },
        "stash" if matches!(operand, "" | "push" | "save") => whole,
        "checkout" | "switch" if words.has(&["-f", "--force", "--discard-changes"]) => whole,
        "checkout" if words.operands.len() == 1 && matches!(operand, "." | ":/" | "./") => whole,
        "checkout" if words.operands.len() > 1 || words.before_dashes == Some(0) => paths(0),
        "checkout-index" if words.has(&["-f", "--force"]) && words.has(&["-a", "--all"]) => whole,
        _ => Vec::new(),
    };
    let mut folder = call.folder.clone().unwrap_or_default();
    for next in &words.folders {
        folder = match next.text {
            text if text.starts_with(['/', '~']) || folder.is_empty() => text.to_owned(),
            text => format!("{folder}/{text}"),
        };
    }
    let below = |path: &str| match path {
        _ if path.starts_with('/') => path.to_owned(),
        // The top of the work tree; what the line does not tell is taken for the folder that it starts in.
        ":/" | "./" => {
            if folder.is_empty() {
                ".".to_owned()
            } else {
                folder.clone()
            }
        }
        _ if folder.is_empty() => path.to_owned(),
        "." => folder.clone(),
        _ => format!("{folder}/{path}"),
    };
    named.into_iter().map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        swept(&RepositoryCall {
            program,
            args: words.collect(),
            folder: Some(String::new()),
            ..RepositoryCall::default()
        })
    }

    #[test]
    fn what_is_thrown_away_is_known() {
        for (line, paths) in [
            ("git checkout .", &["."][..]),
            ("git checkout HEAD .", &["."]),
            ("git checkout -- src docs", &["src", "docs"]),
            ("git checkout -f", &["."]),
            ("git -C sub checkout .", &["sub"]),
            ("git reset --hard origin/main", &["."]),
            ("git clean -fdx", &["."]),
            ("git clean -f src", &["src"]),
            ("git stash", &["."]),
            ("git stash push -u", &["."]),
            ("git switch --discard-changes main", &["."]),
        ] {
            assert_eq!(of(line), paths, "{line}");
        }
        for line in [
            "git checkout main",
            "git checkout -b x",
            "git reset src",
            "git reset --soft HEAD~1",
            "git clean -n",
            "git clean -nfd",
            "git stash list",
            "git stash pop",
            "git status .",
            "git switch main",
            "gh checkout .",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
