//! Files of a project that act later, outside of a sandbox: settings of agents, and repositories, whose settings start programs.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::path::{Component, Path, PathBuf};

use crate::aside::free_name;
use crate::walk::walk;

/// Settings of agents, in every folder.
pub(crate) const AGENT_SETTINGS: &[&str] = &[
    ".aider.conf.yml",
    ".amazonq",
    ".augment",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".crush.json",
    ".cursor",
    ".factory",
    ".gemini",
    ".junie",
    ".kiro",
    ".mcp.json",
    ".midrail",
    ".opencode",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
    "crush.json",
    "opencode.json",
    "opencode.jsonc",
];

/// What git runs or follows, in its folder.
pub(crate) const GIT_PROTECTED: &[&str] =
    &["hooks", "config", "config.worktree", "commondir", "info/attributes", "gitdir"];

/// Keys of settings of git, in lower case, that start no program and include no other file: `SECTION.KEY`.
const PLAIN_KEYS: &[&str] = &[
    "branch.merge",
    "branch.rebase",
    "branch.remote",
    "core.autocrlf",
    "core.bare",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.repositoryformatversion",
    "core.symlinks",
    "extensions.objectformat",
    "init.defaultbranch",
    "pull.rebase",
    "push.default",
    "remote.fetch",
    "remote.url",
    "submodule.active",
    "submodule.url",
    "user.email",
    "user.name",
];

/// What was in a project before a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Special(BTreeSet<PathBuf>);

impl Special {
    /// Keeps a file that acts later.
    pub(crate) fn note(&mut self, entry: &DirEntry) {
        self.0.extend(place(entry));
    }

    /// Moves aside what appeared in a project: settings of agents, and what makes a new repository start programs. Returns the places.
    pub(crate) fn remove_new(&self, root: &Path) -> Vec<PathBuf> {
        let mut moved = Vec::new();
        walk(root, &mut |entry| {
            let Some(place) = place(entry).filter(|place| !self.0.contains(place)) else { return };
            let parts = if is_agent_settings(entry) { vec![place] } else { acting_parts(&place, root) };
            moved.extend(parts.into_iter().filter(|part| move_aside(part)));
        });
        moved.sort();
        moved.dedup();
        moved
    }
}

/// Whether an entry holds settings of an agent.
pub(crate) fn is_agent_settings(entry: &DirEntry) -> bool {
    AGENT_SETTINGS.iter().any(|name| entry.file_name() == *name)
}

/// The place that an entry belongs to, if it acts later: settings of an agent, or a repository.
fn place(entry: &DirEntry) -> Option<PathBuf> {
    let name = entry.file_name();
    if is_agent_settings(entry) || name == ".git" {
        return Some(entry.path());
    }
    // Git takes every folder with these for a repository.
    let folder = entry.path().parent()?.to_owned();
    let is_repository = name == "HEAD" && folder.join("objects").is_dir() && folder.join("refs").is_dir();
    is_repository.then_some(folder)
}

/// The parts of a repository that start programs, or lead to another one.
fn acting_parts(repository: &Path, root: &Path) -> Vec<PathBuf> {
    if !repository.is_dir() || repository.is_symlink() {
        let text = fs::read_to_string(repository).unwrap_or_default();
        let folder = text.strip_prefix("gitdir:").map(str::trim).unwrap_or_default();
        let real = repository.parent().and_then(|above| above.join(folder).canonicalize().ok());
        let is_of_project = real.is_some_and(|real| real.starts_with(root.join(".git")));
        return if is_of_project { Vec::new() } else { vec![repository.to_owned()] };
    }
    let mut parts = Vec::new();
    for name in ["config", "config.worktree"] {
        let file = repository.join(name);
        let is_plain = match fs::symlink_metadata(&file) {
            Err(_) => true,
            Ok(data) => {
                let is_plain = |text: String| is_plain_config(&text, repository, root);
                data.is_file() && fs::read_to_string(&file).is_ok_and(is_plain)
            }
        };
        parts.extend((!is_plain).then_some(file));
    }
    for name in ["commondir", "gitdir"] {
        let file = repository.join(name);
        parts.extend(file.symlink_metadata().is_ok().then_some(file));
    }
    let hooks = repository.join("hooks");
    if hooks.is_symlink() {
        parts.push(hooks);
    } else {
        let names = fs::read_dir(hooks).into_iter().flatten().flatten().map(|entry| entry.path());
        // The names of hooks have no dot, unlike samples and what was moved aside.
        parts.extend(names.filter(|path| path.extension().is_none()));
    }
    parts
}

/// Whether settings of a repository have only keys that start nothing, and lead to nothing outside of the project.
fn is_plain_config(text: &str, repository: &Path, root: &Path) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).all(|line| {
        if let Some(header) = line.strip_prefix('[') {
            let Some((header, rest)) = header.split_once(']') else { return false };
            section = header.split([' ', '\t', '"', '.']).next().unwrap_or_default().to_lowercase();
            return rest.is_empty();
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let name = format!("{section}.{}", key.trim().to_lowercase());
        let is_plain = match name.as_str() {
            // The folder of a submodule.
            "core.worktree" => is_of_project(value.trim(), repository, root),
            name => PLAIN_KEYS.contains(&name),
        };
        // A line that goes on could hide another one.
        is_plain && !line.ends_with('\\')
    })
}

/// Whether the files that a repository of the project names are files of the project.
fn is_of_project(folder: &str, repository: &Path, root: &Path) -> bool {
    let mut place = repository.to_owned();
    for part in Path::new(folder).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir => drop(place.pop()),
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    // What git keeps in its own folder is not for a command to change.
    let is_of_git = place.components().any(|part| part.as_os_str() == ".git");
    let real = place.canonicalize().unwrap_or_else(|_| place.clone());
    !is_of_git && place.starts_with(root) && real.starts_with(root)
}

/// Moves a file to a free name next to it.
fn move_aside(path: &Path) -> bool {
    free_name(path).is_some_and(|place| fs::rename(path, place).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(root: &Path) -> Special {
        let mut special = Special::default();
        walk(root, &mut |entry| special.note(entry));
        special
    }

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_would_act_later_is_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(&root, "old/.claude/settings.json", "{}");
        write(&root, "old/.git/config", "[core]\n\tfsmonitor = ./run\n");
        let special = noted(&root);
        assert_eq!(special.remove_new(&root), Vec::<PathBuf>::new());
        write(&root, "sub/.claude/settings.json", "{}");
        write(&root, "sub/.mcp.json", "{}");
        write(&root, "new/.git/config", "[core]\n\tbare = false\n\tfsmonitor = ./run\n");
        write(&root, "new/.git/hooks/post-checkout", "./run");
        write(&root, "new/.git/hooks/pre-push.sample", "");
        write(&root, "docs/HEAD", "ref: refs/heads/main");
        write(&root, "docs/config", "[alias]\n\tst = !./run\n");
        write(&root, "linked/.git", "gitdir: ../docs");
        for folder in ["docs/objects", "docs/refs"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let moved = special.remove_new(&root);
        let names: Vec<_> =
            moved.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        let expected = [
            "docs/config",
            "linked/.git",
            "new/.git/config",
            "new/.git/hooks/post-checkout",
            "sub/.claude",
            "sub/.mcp.json",
        ];
        assert_eq!(names, expected);
        assert!(root.join("sub/.claude.sandbox-1/settings.json").is_file());
        assert!(root.join("old/.claude/settings.json").is_file());
        assert_eq!(special.remove_new(&root), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_plain_new_repository_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let special = noted(&root);
        let config =
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = ../x\n";
        write(&root, "new/.git/config", config);
        write(&root, "new/.git/HEAD", "ref: refs/heads/main");
        for folder in ["new/.git/objects", "new/.git/refs"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        assert_eq!(special.remove_new(&root), Vec::<PathBuf>::new());
        for config in [
            "[core]\n\tsshCommand = x",
            "[core] fsmonitor = x",
            "[include]\npath = x",
            "[core]\nbare = \\\nx",
        ] {
            assert!(!is_plain_config(config, &root.join("new/.git"), &root), "{config}");
        }
    }

    #[test]
    fn settings_of_a_submodule_lead_to_its_folder_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let repository = root.join(".git/modules/lib");
        for (folder, is_plain) in [
            ("../../../lib", true),
            ("../../../vendor/lib", true),
            ("../../../../other", false),
            ("../../hooks", false),
            ("/etc", false),
        ] {
            let config = format!("[core]\n\tbare = false\n\tworktree = {folder}\n");
            assert_eq!(is_plain_config(&config, &repository, &root), is_plain, "{folder}");
        }
    }
}
