//! The files that connect hosts to Midrail, by their usual places, and the patterns of files that include them.

use std::sync::LazyLock;

use midrail_core::glob;

use crate::shared::data::{FILES, HOST_SETTINGS};
use crate::shared::file_paths::{PlacePatterns, could_be, has_wildcard, may_match};

/// Names of the files that Midrail registers in folders of hosts.
const REGISTERED: [&str; 2] = ["midrail.json", "midrail.js"];

/// Folders of a home or project that contain much else.
const SHARED_FOLDERS: [&str; 4] = [".config", ".local", ".cache", ".github"];

/// The protected files, relative to the folder of a project or a user, in lowercase.
static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let own = FILES.list("midrail files").iter().map(|pattern| (*pattern, true));
    let hosts = HOST_SETTINGS.list("hosts").iter().map(|pattern| (*pattern, false));
    let mut paths: Vec<String> = Vec::new();
    for (pattern, is_own) in own.chain(hosts) {
        let is_name = !pattern.contains(['/', '$']);
        let Some(path) = pattern.strip_prefix("**/").or(is_name.then_some(pattern)) else { continue };
        let path = path.to_lowercase();
        match path.strip_suffix("/**") {
            Some(folder) => {
                let names = if is_own { FILES.list("midrail file names") } else { &REGISTERED };
                paths.extend(names.iter().map(|name| format!("{folder}/{name}")));
            }
            // A folder counts by its files.
            None if path.starts_with('.') && !path.contains('/') => {}
            None => paths.push(path.replace('*', "")),
        }
    }
    paths.sort();
    paths.dedup();
    paths
});

/// The reason for files of Midrail.
pub(super) const OWN_FILE: &str = "belongs to Midrail, which protects this machine";

/// The advice for files that must not be changed.
pub(super) const ADVICE: &str = "Do not change it. If it prevents your work, ask a person to change it.";

/// Why a file of this name must not be changed.
pub(super) fn objection(name: &str) -> Option<&'static str> {
    static OWN: LazyLock<PlacePatterns> = LazyLock::new(|| PlacePatterns::new(FILES.list("midrail files")));
    static HOSTS: LazyLock<PlacePatterns> = LazyLock::new(|| PlacePatterns::new(HOST_SETTINGS.list("hosts")));
    if OWN.any(name, may_match) {
        Some(OWN_FILE)
    } else if HOSTS.any(name, may_match) {
        Some("connects the agent's host to Midrail")
    } else {
        None
    }
}

/// Whether a folder is one above protected files of a user: the home, a folder above it, or one between them.
pub(super) fn is_above_settings(folder: &str) -> bool {
    if folder == "/" {
        return true;
    }
    let folder = folder.trim_end_matches('/');
    let below = ["~", "$HOME", "${HOME}", "/root"].iter().find_map(|home| folder.strip_prefix(home));
    let below = below.or_else(|| {
        let rest = folder.strip_prefix("/home").or_else(|| folder.strip_prefix("/Users"))?;
        Some(
            rest.strip_prefix('/')
                .and_then(|rest| rest.find('/').and_then(|at| rest.get(at..)))
                .unwrap_or_default(),
        )
    });
    match below {
        Some("") => true,
        Some(below) => below.strip_prefix('/').is_some_and(|below| {
            let below = format!("{}/", below.to_lowercase());
            PATHS.iter().any(|path| path.starts_with(&below))
        }),
        None => false,
    }
}

/// A protected file that a pattern includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Included {
    /// The file.
    pub(super) path: String,
    /// Whether the pattern names everything in a folder, so that nothing points to this file.
    pub(super) is_whole: bool,
    /// Whether the pattern fits many other files: `**/*.json`.
    pub(super) is_generic: bool,
    /// Whether the file is at its usual place, and not below another folder.
    pub(super) is_usual: bool,
}

/// The protected files that a folder or a pattern includes. `has_hidden`: its wildcards also match names that begin with a dot.
pub(super) fn included(pattern: &str, has_hidden: bool) -> Vec<Included> {
    let pattern = pattern.to_lowercase();
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | "." | "~")).collect();
    let is_far = pattern.starts_with(['/', '~']);
    let plain = parts.iter().take_while(|part| !has_wildcard(part)).count();
    let mut found = Vec::new();
    for skipped in 0..=plain {
        let (above, rest) = parts.split_at_checked(skipped).unwrap_or_default();
        let is_whole = rest.iter().all(|part| matches!(*part, "*" | "**"));
        // A folder that is not protected itself includes what is next to the project or the home only.
        if is_whole && skipped > 0 {
            continue;
        }
        for path in PATHS.iter() {
            let names: Vec<&str> = path.split('/').collect();
            let last = rest.last().copied().unwrap_or_default();
            // `data/*.json` is about other files than those at the root.
            let is_elsewhere = skipped > 0 && names.len() == 1 && has_wildcard(last);
            if is_elsewhere || !is_included(rest, &names, has_hidden) {
                continue;
            }
            let name = names.last().copied().unwrap_or_default();
            let is_deep = rest.contains(&"**");
            let full = above.iter().chain(&names).copied().collect::<Vec<_>>().join("/");
            found.push(Included {
                path: if is_far { format!("~/{path}") } else { full },
                is_whole,
                is_generic: is_deep
                    && has_wildcard(last)
                    && (last.starts_with("*.") || !could_be(last, name)),
                is_usual: skipped == 0,
            });
        }
    }
    found
}

/// Whether a pattern matches a path or one of the folders that it is in.
fn is_included(pattern: &[&str], path: &[&str], has_hidden: bool) -> bool {
    let is_seen = |name: &str| has_hidden || !name.starts_with('.');
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((&"**", rest)), Some((name, below))) => {
            is_included(rest, path, has_hidden) || (is_seen(name) && is_included(pattern, below, has_hidden))
        }
        (Some((part, rest)), Some((name, below))) => {
            let fits = if has_wildcard(part) {
                (part.starts_with('.') || is_seen(name))
                    && glob::check(part).is_ok()
                    && glob::path_matches(part, name)
            } else {
                part == name
            };
            fits && is_included(rest, below, has_hidden)
        }
    }
}

/// Whether a text names a protected file or the folder of a host.
pub(super) fn is_named_in(text: &str) -> bool {
    let text = text.to_lowercase();
    PATHS.iter().any(|path| names(&text, path))
}

/// Whether a text in lowercase names a protected file, its folder, or Midrail.
fn names(text: &str, path: &str) -> bool {
    let folder = path.split_once('/').map(|(folder, _)| folder);
    let folder = folder.filter(|folder| folder.starts_with('.') && !SHARED_FOLDERS.contains(folder));
    let name = path.rsplit('/').next().unwrap_or(path);
    text.contains("midrail") || text.contains(name) || folder.is_some_and(|folder| text.contains(folder))
}

/// Whether a command line points to a protected file: a word names it that does not exclude it.
pub(super) fn points_to(command: &str, path: &str) -> bool {
    let text = command.to_lowercase().replace('\\', "");
    let words: Vec<&str> = text.split_whitespace().filter(|word| !matches!(*word, "(" | ")")).collect();
    let at = |index: Option<usize>| index.and_then(|index| words.get(index)).copied().unwrap_or_default();
    words.iter().enumerate().any(|(index, word)| {
        let is_denied = matches!(at(index.checked_sub(2)), "!" | "-not");
        let is_pruned = at(index.checked_add(1)) == "-prune";
        let before = at(index.checked_sub(1));
        let is_left_out = before.starts_with("--exclude")
            || matches!(before, "-v" | "-E" | "-ev" | "-ve")
            || word.starts_with("--exclude");
        // `ls -a | grep claude` filters names.
        let is_filter = matches!(before, "grep" | "egrep" | "-i" | "-e" | "-ie");
        let names_host = || {
            let host = path.split_once('/').and_then(|(folder, _)| folder.strip_prefix('.'));
            host == Some(word.trim_matches(|c: char| !c.is_alphanumeric()))
        };
        let is_named = names(word, path) || (is_filter && names_host());
        is_named && !is_denied && !is_pruned && !is_left_out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(pattern: &str, has_hidden: bool) -> Vec<String> {
        included(pattern, has_hidden).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn patterns_include_protected_files() {
        for (pattern, path) in [
            ("**/settings.json", ".claude/settings.json"),
            (".claude/*", ".claude/settings.json"),
            (".*/settings.json", ".gemini/settings.json"),
            (".c*/*", ".codex/hooks.json"),
            ("**/.claude", ".claude/settings.local.json"),
            (".github/*/*.json", ".github/hooks/midrail.json"),
            ("sub/**/hooks.json", "sub/.cursor/hooks.json"),
            ("**/*.yaml", ".midrail/pack.yaml"),
            (".", ".claude/settings.json"),
            ("~/**/config.toml", "~/.codex/config.toml"),
        ] {
            assert!(paths(pattern, true).contains(&path.to_owned()), "{pattern}: {:?}", paths(pattern, true));
        }
        for pattern in
            ["**/*.pyc", "src", "src/*.rs", "**/*.rs", ".claude/commands/*", "**/*.md", ".github/workflows/*"]
        {
            assert!(paths(pattern, true).is_empty(), "{pattern}: {:?}", paths(pattern, true));
        }
    }

    #[test]
    fn folders_above_the_settings_of_a_user_are_known() {
        for folder in
            ["~", "$HOME", "/", "/home", "/home/me", "/Users/me/", "/root", "~/.local/state", "~/.config"]
        {
            assert!(is_above_settings(folder), "{folder}");
        }
        for folder in ["", ".", "src", "/tmp", "~/projects/x", "/home/me/projects", "/opt/x", "~/a.tar"] {
            assert!(!is_above_settings(folder), "{folder}");
        }
    }

    #[test]
    fn shells_do_not_expand_to_hidden_names() {
        assert!(
            included("*", false).iter().all(|it| it.is_whole) && paths("*/settings.json", false).is_empty()
        );
        assert!(paths("*/settings.json", true).contains(&".claude/settings.json".to_owned()));
    }

    #[test]
    fn generic_patterns_are_recognised() {
        let is_generic = |pattern: &str| included(pattern, true).iter().all(|it| it.is_generic);
        assert!(is_generic("**/*.json") && !is_generic("**/settings.json") && !is_generic(".claude/*"));
    }

    #[test]
    fn excluded_words_point_to_nothing() {
        let settings = ".claude/settings.json";
        for command in [
            "find . -path '*/.claude/*' -delete",
            "ls -a | grep .claude | xargs rm",
            "ls -a | grep -i claude | xargs rm",
            "fd -H settings.json -x rm",
        ] {
            assert!(points_to(command, settings), "{command}");
        }
        for command in [
            "find . -not -path './.claude/*' -delete",
            r"find . \( -path ./.claude -prune \) -o -name x -delete",
            "grep -rl x . --exclude-dir=.claude | xargs rm",
            "ls -a | grep -v .claude | xargs rm",
            "grep -rl claude-3 . | xargs sed -i s/3/4/",
        ] {
            assert!(!points_to(command, settings), "{command}");
        }
    }
}
