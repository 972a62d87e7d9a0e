//! The files that a patch touches: unified diffs, git's extended headers, and `apply_patch` bodies.
//!
//! Headers are recognised wherever they stand, also inside what claims to be a hunk: a patch that lies about its
//! line counts names more files here, never fewer.

/// The paths, in order, each once, as the patch spells them (without git's `a/` and `b/`).
pub fn targets(text: &str) -> Vec<&str> {
    let mut files = Vec::new();
    let mut old: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        let previous = old.take();
        if let Some(path) = APPLY_PATCH_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            add(&mut files, path.trim());
        } else if let Some(path) = GIT_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            add(&mut files, unquoted(path));
        } else if let Some(paths) = line.strip_prefix("diff --git ") {
            for path in git_pair(paths) {
                add(&mut files, path);
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            old = Some(path);
        } else if let (Some(new), Some(old)) = (line.strip_prefix("+++ "), previous) {
            let is_git = prefixed(old, "a/") && prefixed(new, "b/");
            for (path, prefix) in [(old, "a/"), (new, "b/")] {
                let path = header_path(path);
                add(&mut files, if is_git { path.strip_prefix(prefix).unwrap_or(path) } else { path });
            }
        }
    }
    files
}

const APPLY_PATCH_HEADERS: &[&str] =
    &["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
const GIT_HEADERS: &[&str] = &["rename from ", "rename to ", "copy from ", "copy to "];

fn add<'a>(files: &mut Vec<&'a str>, path: &'a str) {
    if !path.is_empty() && path != "/dev/null" && !files.contains(&path) {
        files.push(path);
    }
}

/// `diff` puts a tab and a time behind the path.
fn header_path(path: &str) -> &str {
    unquoted(path.split('\t').next().unwrap_or(path).trim_end())
}

fn prefixed(path: &str, prefix: &str) -> bool {
    let path = header_path(path);
    path == "/dev/null" || path.starts_with(prefix)
}

fn unquoted(path: &str) -> &str {
    path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path)
}

/// The two paths behind `diff --git`. Where a space makes it ambiguous, the headers that follow name them.
fn git_pair(paths: &str) -> Vec<&str> {
    match paths.split_once(" b/") {
        Some((old, new)) if !new.contains(" b/") => {
            let old = unquoted(old);
            vec![old.strip_prefix("a/").unwrap_or(old), unquoted(new)]
        }
        _ => Vec::new(),
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
    fn a_hunk_that_lies_about_its_length_hides_nothing() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,999 +1,999 @@\n-a\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(targets(diff), ["x", ".env"]);
    }

    #[test]
    fn plain_text_is_no_patch() {
        assert!(targets("some text\n--- a line of dashes\nmore\n").is_empty());
    }
}
