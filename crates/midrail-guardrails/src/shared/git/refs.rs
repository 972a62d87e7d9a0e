//! Names of branches and commits, as git spells them.

use crate::shared::data::GIT;

/// A branch's name without `refs/heads/`.
pub(crate) fn branch_of(name: &str) -> &str {
    let name = name.trim_start_matches('+');
    name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("heads/")).unwrap_or(name)
}

/// A refspec of a push.
pub(super) struct Refspec<'a> {
    /// The source. Empty: the target is deleted.
    pub(super) from: &'a str,
    /// The target branch. `None`: the checked-out branch.
    pub(super) to: Option<&'a str>,
}

/// Parses a word of a push. `None`: it is a tag or a review, not a branch.
pub(super) fn refspec(word: &str) -> Option<Refspec<'_>> {
    let word = word.trim_start_matches('+');
    let (from, to) = word.split_once(':').unwrap_or((word, word));
    let is_branch = !to.starts_with("refs/") || to.starts_with("refs/heads/") || to.contains('*');
    let is_tags = to.starts_with("refs/tags/");
    if !is_branch || is_tags {
        return None;
    }
    // `:` alone pushes all branches that exist on both sides.
    let is_all = word == ":";
    Some(match to {
        _ if is_all => Refspec { from: ":", to: Some("") },
        "HEAD" | "@" => Refspec { from, to: None },
        to => Refspec { from, to: Some(branch_of(to)) },
    })
}

/// Whether an unknown word is a substitution for the current branch.
pub(super) fn yields_current(word: &str) -> bool {
    let inner = word.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| word.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')));
    inner.is_some_and(|inner| GIT.has("current branch", inner.trim()))
}

/// A folder relative to the working directory: `$PWD/src` is `./src`.
pub(super) fn from_here(word: &str) -> Option<&str> {
    let rest = GIT.list("working directory").iter().find_map(|here| word.strip_prefix(here))?;
    match rest.strip_prefix('/') {
        Some("") => Some("."),
        Some(below) if !below.contains(['$', '`']) => Some(below),
        _ => rest.is_empty().then_some("."),
    }
}

/// Whether a word names a commit and not a branch: `HEAD~2`, `origin/main`, `v1^{}`.
pub(super) fn is_revision(word: &str) -> bool {
    let is_digest = word.len() >= 7 && word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest
        || word.contains(['~', '^'])
        || word.contains("@{")
        || word.starts_with("origin/")
        || word.starts_with("upstream/")
        || word.starts_with("refs/remotes/")
        || word.starts_with("refs/tags/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refspecs_are_parsed() {
        let read = |word| refspec(word).map(|spec| (spec.from.to_owned(), spec.to.map(str::to_owned)));
        let pair = |from: &str, to: &str| Some((from.to_owned(), Some(to.to_owned())));
        assert_eq!(read("main"), pair("main", "main"));
        assert_eq!(read("+HEAD:refs/heads/main"), pair("HEAD", "main"));
        assert_eq!(read(":main"), pair("", "main"));
        assert_eq!(read("HEAD"), Some(("HEAD".into(), None)));
        assert_eq!(read(":"), pair(":", ""));
        assert_eq!(read("refs/tags/v1"), None);
        assert_eq!(read("HEAD:refs/for/main"), None);
    }

    #[test]
    fn commits_are_not_branches() {
        assert!(is_revision("HEAD~1") && is_revision("0a1b2c3d") && is_revision("origin/main"));
        assert!(!is_revision("feature/x") && !is_revision("main") && !is_revision("decade"));
        assert!(yields_current("$(git branch --show-current)") && !yields_current("$BRANCH"));
    }
}
