//! The files that a patch touches: unified diffs, git's extended headers, and `apply_patch` bodies.
//!
//! Headers are recognised anywhere, also inside what claims to be a hunk: a patch with wrong
//! line counts names more files here, never fewer.

use std::collections::BTreeSet;

use crate::command::decode::{self, Escapes};

/// How a program shortens the paths of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// It removes this many leading parts: `-p1`.
    Parts(usize),
    /// It keeps the name only.
    Folders,
}

/// The paths that a program changes that applies the diff, each once. `/dev/null` is none.
pub fn stripped_targets(text: &str, strip: Strip) -> Vec<String> {
    let mut files = Files::default();
    let mut add = |path: &str, parts: usize| {
        let kept: Vec<&str> = match strip {
            _ if path == "/dev/null" => return,
            Strip::Folders => path.rsplit('/').take(1).collect(),
            Strip::Parts(_) => path.split('/').filter(|part| !part.is_empty()).skip(parts).collect(),
        };
        files.add(&kept.join("/"));
    };
    let parts = match strip {
        Strip::Parts(parts) => parts,
        Strip::Folders => 0,
    };
    let mut previous = "";
    for line in text.lines().map(|line| line.trim_end_matches('\r').trim_start()) {
        // Both names of a file stand in two lines, one after the other.
        let before = [("--- ", "+++ "), ("*** ", "--- ")]
            .iter()
            .find_map(|(old, new)| Some((previous.strip_prefix(old)?, line.strip_prefix(new)?)));
        if let Some((old, new)) = before {
            add(&header_path(old), parts);
            add(&header_path(new), parts);
        } else if let Some(path) = ["Index: ", "+++ "].iter().find_map(|header| line.strip_prefix(header)) {
            add(&header_path(path), parts);
        } else if let Some(path) = GIT_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            // Git writes these without its own folder.
            add(&unquoted(path), parts.saturating_sub(1));
        } else if let Some((old, new)) = line.strip_prefix("diff --git ").and_then(|it| it.split_once(" b/"))
        {
            add(&unquoted(old), parts);
            add(&format!("b/{new}"), parts);
        }
        previous = line;
    }
    files.paths
}

/// The paths, in order, each once, as the patch spells them (without git's `a/` and `b/`).
pub fn targets(text: &str) -> Vec<String> {
    let mut files = Files::default();
    let mut old: Option<&str> = None;
    let has_old = text.lines().any(|line| line.trim_start().starts_with("--- "));
    let mut context: Option<&str> = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim_end_matches('\r');
        let previous = old.take();
        let before = context.take();
        let trimmed = line.trim_start();
        if let Some(path) = APPLY_PATCH_HEADERS.iter().find_map(|header| trimmed.strip_prefix(header)) {
            files.add(path.trim());
        } else if let Some(path) = GIT_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            files.add(&unquoted(path));
        } else if let Some(paths) = line.strip_prefix("diff --git ") {
            git_pair(paths, &mut files);
        } else if let Some(path) = trimmed.strip_prefix("--- ") {
            // A context diff has the old name before it, with stars.
            if let Some(before) = before {
                pair(before, path, &mut files);
            }
            old = Some(path);
        } else if let Some(path) = trimmed.strip_prefix("*** ") {
            context = Some(path);
        } else if let Some(new) = trimmed.strip_prefix("+++ ") {
            match previous {
                Some(old) => pair(old, new, &mut files),
                None if !has_old => pair(new, new, &mut files),
                None => {}
            }
        }
    }
    files.paths
}

/// The two names of a file in a diff. Tools put a folder of their own before them and take it off again; which one it is
/// is not always known, so both names are reported.
fn pair(old: &str, new: &str, files: &mut Files) {
    let (old, new) = (header_path(old), header_path(new));
    let is_git = prefixed(&old, "a/") && prefixed(&new, "b/");
    let below = |path: &str| path.split_once('/').map(|(_, below)| below.to_owned());
    let has_different_folders = old != new && below(&old).is_some() && below(&old) == below(&new);
    for (path, prefix) in [(&old, "a/"), (&new, "b/")] {
        files.add(if is_git { path.strip_prefix(prefix).unwrap_or(path) } else { path });
        if !is_git && (has_different_folders || MNEMONIC.iter().any(|prefix| path.starts_with(prefix))) {
            files.add(&below(path).unwrap_or_default());
        }
    }
}

/// Folders that git puts before names by what they are of: commit, index, object, work tree.
const MNEMONIC: [&str; 6] = ["a/", "b/", "c/", "i/", "o/", "w/"];

const APPLY_PATCH_HEADERS: &[&str] =
    &["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
const GIT_HEADERS: &[&str] = &["rename from ", "rename to ", "copy from ", "copy to "];

#[derive(Default)]
struct Files {
    paths: Vec<String>,
    known: BTreeSet<String>,
}

impl Files {
    fn add(&mut self, path: &str) {
        if !path.is_empty() && path != "/dev/null" && self.known.insert(path.to_owned()) {
            self.paths.push(path.to_owned());
        }
    }
}

/// `diff` puts a tab and a time behind the path.
fn header_path(path: &str) -> String {
    unquoted(path.split('\t').next().unwrap_or(path).trim())
}

fn prefixed(path: &str, prefix: &str) -> bool {
    path == "/dev/null" || path.starts_with(prefix)
}

/// A path as git quotes it where it has odd characters: `"b/\056env"` is `b/.env`.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return path.to_owned();
    };
    let bytes = decode::escaped_bytes(quoted, Escapes::AnsiC);
    bytes.map_or_else(|| quoted.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The two paths behind `diff --git`. Where a space makes it ambiguous, the headers that follow name them.
fn git_pair(paths: &str, files: &mut Files) {
    if let Some((old, new)) = paths.split_once(" b/").filter(|(_, new)| !new.contains(" b/")) {
        let old = unquoted(old);
        files.add(old.strip_prefix("a/").unwrap_or(&old));
        files.add(&unquoted(new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_diffs_name_both_sides() {
        assert_eq!(targets("--- a/x.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b\n"), ["x.rs", "y.rs"]);
        assert_eq!(targets("--- x.txt\t2026-01-01\n+++ x.txt\t2026-01-02\n"), ["x.txt"]);
        assert_eq!(targets("--- /dev/null\n+++ b/new.rs\n@@ -0,0 +1 @@\n+x\n"), ["new.rs"]);
    }

    #[test]
    fn git_renames_and_deletions_count() {
        let diff =
            "diff --git a/old.rs b/new.rs\nsimilarity index 100%\nrename from old.rs\nrename to new.rs\n";
        assert_eq!(targets(diff), ["old.rs", "new.rs"]);
        let gone = "diff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\n--- a/gone.rs\n+++ /dev/null\n";
        assert_eq!(targets(gone), ["gone.rs"]);
    }

    #[test]
    fn apply_patch_bodies_count() {
        let body = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** End Patch";
        assert_eq!(targets(body), ["a b.txt", "c", "d", "e"]);
    }

    #[test]
    fn a_hunk_with_a_wrong_length_hides_nothing() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,999 +1,999 @@\n-a\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(targets(diff), ["x", ".env"]);
    }

    #[test]
    fn plain_text_is_no_patch() {
        assert!(targets("some text\n--- a line of dashes\nmore\n").is_empty());
    }

    #[test]
    fn quoted_and_indented_headers_hide_nothing() {
        assert_eq!(targets("--- \"a/\\056env\"\n+++ \"b/\\056env\"\n"), [".env"]);
        assert_eq!(targets("  *** Update File: .env\n"), [".env"]);
    }
}
