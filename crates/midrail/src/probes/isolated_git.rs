//! Runs git on a repository without the repository's configuration.
//!
//! A configuration can make git run programs: filters, file system monitors, hooks, transports that fetch missing objects. An
//! agent can write such a configuration, and Midrail would run the program outside of every guardrail and sandbox. So git
//! gets a folder of Midrail's own as `GIT_DIR`, with a configuration of Midrail's own, and reads only the data of the
//! repository: its objects, its index and its work tree. The configuration of the user and of the system is not read either.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::command::{self, Exec};
use super::git::{self, Repository};
use crate::error::{Available, Unavailable};
use crate::paths::{self, read_limited};

/// The limit for all runs of git of one fact.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The largest list of files that is read.
const MAX_LIST: u64 = 64 << 20;

/// The largest file of exclude patterns that is copied.
const MAX_EXCLUDES: u64 = 1 << 20;

/// The deepest submodule, and the most submodules.
const MAX_DEPTH: usize = 8;
const MAX_SUBMODULES: usize = 64;

/// Settings that only change how files are compared. Git runs nothing for them.
const COMPARISON_SETTINGS: &[&str] =
    &["autocrlf", "eol", "excludesfile", "filemode", "ignorecase", "precomposeunicode", "symlinks"];

/// Whether there are changes that are not committed, or new files that are not ignored, submodules included.
pub(super) fn is_dirty(root: &Path) -> Available<bool> {
    let repository = git::find(root)?.ok_or("there is no repository")?;
    let deadline = Instant::now() + TIMEOUT;
    let mut submodules = MAX_SUBMODULES;
    is_tree_dirty(&repository, deadline, MAX_DEPTH, &mut submodules)
}

/// The number of commits that the upstream branch does not have. `None`: there is no upstream branch.
pub(super) fn commits_ahead(root: &Path) -> Available<Option<u64>> {
    let Some(repository) = git::find(root)? else { return Ok(None) };
    let (Some(upstream), Some(head)) = (repository.upstream_commit()?, repository.state()?.head) else {
        return Ok(None);
    };
    let isolated = IsolatedGit::new(repository, Instant::now() + TIMEOUT)?;
    let exec = isolated.run(&format!("rev-list --count {upstream}..{head}"))?;
    exec.stdout.trim().parse().map(Some).map_err(|_| "git returned no number".into())
}

fn is_tree_dirty(
    repository: &Repository,
    deadline: Instant,
    depth: usize,
    submodules: &mut usize,
) -> Available<bool> {
    let isolated = IsolatedGit::new(repository.clone(), deadline)?;
    // Submodules have configurations of their own, which git would use: they are checked below.
    let status = "status --porcelain --untracked-files=normal --no-renames --ignore-submodules=dirty";
    if !isolated.run(status)?.stdout.trim().is_empty() {
        return Ok(true);
    }
    for path in isolated.submodules()? {
        let folder = repository.top.join(path);
        if folder.join(".git").symlink_metadata().is_err() {
            continue;
        }
        *submodules = submodules.checked_sub(1).ok_or("there are too many submodules")?;
        let depth = depth.checked_sub(1).ok_or("the submodules are nested too deeply")?;
        let inner = git::find(&folder)?.filter(|inner| inner.top == folder);
        let inner = inner.ok_or_else(|| format!("`{}` is no repository", folder.display()))?;
        if is_tree_dirty(&inner, deadline, depth, submodules)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A repository with a `GIT_DIR` of Midrail's own, which is removed at the end.
struct IsolatedGit {
    repository: Repository,
    folder: PathBuf,
    deadline: Instant,
}

impl IsolatedGit {
    fn new(repository: Repository, deadline: Instant) -> Available<Self> {
        let failed = |error: std::io::Error| Unavailable::new(format!("git cannot be isolated: {error}"));
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| "there are no random numbers")?;
        // Not in a folder for temporary files: a sandboxed agent could write a configuration there.
        let parent = paths::isolated_git().ok_or("there is no home folder to isolate git in")?;
        let folder = parent.join(format!("{:016x}", u64::from_ne_bytes(random)));
        let private = |path: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(&folder).map_err(failed)?;
        let isolated = IsolatedGit { repository, folder, deadline };
        for part in ["refs", "info"] {
            private(&isolated.folder.join(part)).map_err(failed)?;
        }
        let head = isolated.repository.state()?.head;
        let settings = isolated.comparison_settings()?;
        let is_sha256 = head.as_ref().is_some_and(|id| id.len() == 64);
        let format =
            if is_sha256 { "repositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n" } else { "" };
        let config =
            format!("[core]\nbare = false\nfsmonitor = false\nhooksPath = /dev/null\n{settings}{format}");
        let head = head.unwrap_or_else(|| "ref: refs/heads/unborn".to_owned());
        let excludes = isolated.repository.common.join("info/exclude");
        let excludes = read_limited(&excludes, MAX_EXCLUDES).ok().flatten().unwrap_or_default();
        for (name, content) in
            [("config", config.into_bytes()), ("HEAD", head.into_bytes()), ("info/exclude", excludes)]
        {
            fs::write(isolated.folder.join(name), content).map_err(failed)?;
        }
        Ok(isolated)
    }

    /// The settings of the user and the repository for the comparison of files. `git config` runs no other program.
    fn comparison_settings(&self) -> Available<String> {
        let line = format!("git config -z --get-regexp '^core\\.({})$'", COMPARISON_SETTINGS.join("|"));
        let exec = self.exec(&self.repository.top, &line)?;
        let entries = exec.stdout.split('\0').filter_map(|entry| entry.split_once('\n'));
        let plain = entries.filter(|(_, value)| !value.contains(['\n', '"', '\\']));
        let lines = plain.filter_map(|(key, value)| {
            let name = key.strip_prefix("core.").filter(|name| COMPARISON_SETTINGS.contains(name))?;
            Some(format!("{name} = \"{value}\"\n"))
        });
        Ok(lines.collect())
    }

    fn exec(&self, folder: &Path, line: &str) -> Available<Exec> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        command::exec(folder, line, left, &AtomicBool::new(false))
    }

    /// Runs git. It must succeed.
    fn run(&self, args: &str) -> Available<Exec> {
        let Repository { top, own, common } = &self.repository;
        let shallow = common.join("shallow");
        let mut line = String::new();
        for (name, path) in [
            ("GIT_DIR", &self.folder),
            ("GIT_WORK_TREE", top),
            ("GIT_INDEX_FILE", &own.join("index")),
            ("GIT_OBJECT_DIRECTORY", &common.join("objects")),
            ("GIT_SHALLOW_FILE", &shallow),
        ] {
            if name != "GIT_SHALLOW_FILE" || shallow.is_file() {
                line.push_str(&format!("{name}={} ", quoted(path)?));
            }
        }
        line.push_str("GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 ");
        line.push_str("GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C ");
        line.push_str(&format!("git --no-optional-locks {args}"));
        let exec = self.exec(top, &line)?;
        if exec.exit_code == 0 { Ok(exec) } else { Err("git has no answer".into()) }
    }

    /// The paths of the submodules. Unavailable if the index hides changes of a file.
    fn submodules(&self) -> Available<Vec<String>> {
        let list = self.folder.join("files");
        self.run(&format!("ls-files -v --stage -z > {}", quoted(&list)?))?;
        let bytes = read_limited(&list, MAX_LIST).ok().flatten().ok_or("the index is too large")?;
        let mut submodules = Vec::new();
        for entry in String::from_utf8_lossy(&bytes).split_terminator('\0') {
            // `H 100644 ID 0<tab>path`
            let (head, path) = entry.split_once('\t').ok_or("git printed an unknown format")?;
            let (tag, rest) = head.split_once(' ').ok_or("git printed an unknown format")?;
            // Lower case: assume-unchanged. `S`: skip-worktree, as for files that a sparse checkout leaves out.
            let exists = || self.repository.top.join(path).symlink_metadata().is_ok();
            if tag.chars().all(|tag| tag.is_ascii_lowercase()) || (tag == "S" && exists()) {
                return Err(format!("the index tells git to ignore changes of `{path}`").into());
            }
            if rest.starts_with("160000 ") {
                submodules.push(path.to_owned());
            }
        }
        Ok(submodules)
    }
}

impl Drop for IsolatedGit {
    fn drop(&mut self) {
        // A folder that is left behind has no effect.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> Available<String> {
    let text = path.to_str().ok_or_else(|| format!("`{}` is no text", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        let settings = ["user.name=a", "user.email=a@b.c", "protocol.file.allow=always"];
        git.args(settings.iter().flat_map(|setting| ["-c", setting])).args(args).current_dir(folder);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A repository with one committed file, and a place outside of it.
    fn repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("it's a root");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        fs::write(root.join("a"), "a").unwrap();
        git(&root, &["add", "."]);
        git(&root, &["commit", "-qm", "x"]);
        (folder, root, top.join("ran"))
    }

    /// Every setting of a repository that makes git run a program when it compares files.
    fn configure_programs(root: &Path, mark: &Path) {
        let run = format!("touch '{}'; cat", mark.display());
        for key in [
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "pager.status",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "credential.helper",
            "core.alternateRefsCommand",
        ] {
            git(root, &["config", key, &run]);
        }
        git(root, &["config", "filter.x.required", "true"]);
        fs::write(root.join(".git/info/attributes"), "* filter=x diff=x\n").unwrap();
        let hook = root.join(".git/hooks/post-index-change");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{run}\n")).unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn programs_of_a_repository_do_not_run() {
        let (_folder, root, mark) = repository();
        configure_programs(&root, &mark);
        fs::write(root.join("a"), "a").unwrap();
        assert_eq!(is_dirty(&root), Ok(false));
        fs::write(root.join("a"), "b").unwrap();
        assert_eq!(is_dirty(&root), Ok(true));
        assert_eq!(commits_ahead(&root), Ok(None));
        assert!(!mark.exists());
        // The test would notice.
        let _ = Command::new("git").args(["status"]).current_dir(&root).output();
        assert!(mark.exists());
    }

    #[test]
    fn included_configurations_and_attributes_of_the_tree_do_not_run() {
        let (_folder, root, mark) = repository();
        let included = format!("[filter \"x\"]\nclean = touch '{}'; cat\n", mark.display());
        fs::write(root.join(".git/more"), included).unwrap();
        git(&root, &["config", "include.path", "more"]);
        fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
        fs::write(root.join("a"), "a").unwrap();
        assert_eq!(is_dirty(&root), Ok(true));
        assert!(!mark.exists());
    }

    #[test]
    fn submodules_are_checked_without_their_programs() {
        let (folder, root, mark) = repository();
        let other = folder.path().canonicalize().unwrap().join("other");
        git(&root, &["clone", "-q", ".", other.to_str().unwrap()]);
        git(&root, &["submodule", "--quiet", "add", other.to_str().unwrap(), "sub"]);
        git(&root, &["commit", "-qm", "sub"]);
        assert_eq!(is_dirty(&root), Ok(false));
        let run = format!("touch '{}'; cat", mark.display());
        let sub = root.join("sub");
        git(&sub, &["config", "filter.x.clean", &run]);
        git(&sub, &["config", "core.fsmonitor", &run]);
        fs::write(root.join(".git/modules/sub/info/attributes"), "* filter=x\n").unwrap();
        fs::write(sub.join("a"), "changed").unwrap();
        assert_eq!(is_dirty(&root), Ok(true));
        assert!(!mark.exists());
    }

    #[test]
    fn missing_objects_are_not_fetched() {
        let (_folder, root, mark) = repository();
        git(&root, &["config", "extensions.partialClone", "evil"]);
        git(&root, &["config", "core.repositoryFormatVersion", "1"]);
        git(&root, &["config", "remote.evil.promisor", "true"]);
        git(&root, &["config", "remote.evil.url", &format!("ext::sh -c touch% {}", mark.display())]);
        git(&root, &["config", "protocol.ext.allow", "always"]);
        fs::remove_dir_all(root.join(".git/objects")).unwrap();
        fs::create_dir(root.join(".git/objects")).unwrap();
        assert!(is_dirty(&root).is_err());
        assert!(!mark.exists());
    }

    #[test]
    fn settings_and_flags_do_not_hide_changes() {
        let (_folder, root, _) = repository();
        git(&root, &["config", "status.showUntrackedFiles", "no"]);
        git(&root, &["config", "core.checkStat", "minimal"]);
        fs::write(root.join("new"), "n").unwrap();
        assert_eq!(is_dirty(&root), Ok(true));
        fs::remove_file(root.join("new")).unwrap();
        assert_eq!(is_dirty(&root), Ok(false));
        for flag in ["assume-unchanged", "skip-worktree"] {
            git(&root, &["update-index", &format!("--{flag}"), "a"]);
            assert!(is_dirty(&root).is_err(), "{flag}");
            git(&root, &["update-index", &format!("--no-{flag}"), "a"]);
        }
        // What the user excludes stays excluded.
        fs::write(root.join(".git/info/exclude"), "new\n").unwrap();
        fs::write(root.join("new"), "n").unwrap();
        assert_eq!(is_dirty(&root), Ok(false));
    }

    #[test]
    fn commits_ahead_are_counted() {
        let (folder, root, _) = repository();
        let other = folder.path().canonicalize().unwrap().join("other");
        git(&root, &["clone", "-q", ".", other.to_str().unwrap()]);
        assert_eq!(commits_ahead(&other), Ok(Some(0)));
        git(&other, &["commit", "-q", "--allow-empty", "-m", "y"]);
        assert_eq!(commits_ahead(&other), Ok(Some(1)));
    }

    #[test]
    fn a_repository_without_a_commit_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(is_dirty(&root).is_err());
        git(&root, &["init", "-q"]);
        assert_eq!(is_dirty(&root), Ok(false));
        fs::write(root.join("a"), "a").unwrap();
        assert_eq!(is_dirty(&root), Ok(true));
    }
}
