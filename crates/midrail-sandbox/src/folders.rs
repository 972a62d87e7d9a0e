//! The folders that a command of a project needs, and those that it must not have.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::special::{AGENT_SETTINGS, GIT_PROTECTED, Special, is_agent_settings};
use crate::walk::{MAX_ENTRIES, walk};

/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/run/systemd/resolve",
    "/home/linuxbrew/.linuxbrew",
    "/sys",
];

/// Files of the system that hold credentials. Others than root cannot read most of them anyway.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/opt/containerd",
];

/// Programs and settings below the home.
const TOOLS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".config/git",
    ".deno/bin",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".juliaup",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/uv",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
];

/// Caches of package managers below the home, without their folders of programs.
const CACHES: &[&str] = &[
    ".cache/bazel",
    ".cache/go-build",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/.global-cache",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".ivy2/cache",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm/_cacache",
    ".npm/_logs",
    ".nuget/packages",
    ".yarn/berry/cache",
    "go/pkg/mod",
];

/// Variables that name other places for tools, and the folder below the home that they stand for.
const PLACES: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("GOCACHE", ".cache/go-build"),
    ("NVM_DIR", ".nvm"),
    ("PYENV_ROOT", ".pyenv"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("VOLTA_HOME", ".volta"),
    ("npm_config_cache", ".npm"),
];

/// What runs later without being asked for, below the project, besides settings of agents.
const PROTECTED: &[&str] = &[
    ".circleci",
    ".devcontainer",
    ".envrc",
    ".github",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".hg/hgrc",
    ".hg/sharedpath",
    ".husky",
    ".idea",
    ".jj/repo/config.toml",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".vscode",
    ".zed",
    "lefthook.yml",
];

/// What a command of a project may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// To read.
    pub read: Vec<PathBuf>,
    /// To read and write.
    pub write: Vec<PathBuf>,
    /// To be empty.
    pub scratch: Vec<PathBuf>,
    /// To stay as they are.
    pub protected: Vec<PathBuf>,
    /// Not to be read.
    pub hidden: Vec<PathBuf>,
    /// Whether the whole project was searched for files to hide.
    pub is_complete: bool,
    special: Special,
}

impl Folders {
    /// The folders of a project. `is_secret` says whether a path holds credentials.
    pub fn of_project(root: &Path, home: &Path, is_secret: &dyn Fn(&Path) -> bool) -> Self {
        let mut folders = Folders { is_complete: true, ..Folders::default() };
        folders.read.extend(SYSTEM.iter().map(PathBuf::from));
        folders.read.extend(in_home(home, TOOLS));
        let path = env::var_os("PATH").unwrap_or_default();
        folders.read.extend(env::split_paths(&path).filter(|folder| is_for_programs(folder, home)));
        folders.write.push(root.to_owned());
        folders.write.push(temporary(root, home));
        folders.write.extend(in_home(home, CACHES));
        folders.hidden.extend(SYSTEM_SECRETS.iter().map(PathBuf::from));
        folders.protected.extend(AGENT_SETTINGS.iter().chain(PROTECTED).map(|name| root.join(name)));
        folders.add_git(root, home);
        folders.search(root, is_secret);
        folders.hide_sockets(&temporary(root, home));
        folders
    }

    /// Permits no changes any more: an empty temporary folder takes the place of the one of this machine.
    pub fn make_read_only(&mut self, root: &Path, home: &Path) {
        let temporary = temporary(root, home);
        self.read.extend(self.write.drain(..).filter(|folder| *folder != temporary));
        self.scratch.push(temporary);
    }

    /// Protects the repository of a folder. A folder without one must not become one: git would run what its settings name.
    fn add_git(&mut self, root: &Path, home: &Path) {
        let git = root.join(".git");
        let settings = [git.join("config"), home.join(".gitconfig"), home.join(".config/git/config")];
        self.protected.extend(settings.iter().flat_map(|file| named_by_settings(file, root)));
        if git.is_dir() {
            self.protected.extend(GIT_PROTECTED.iter().map(|name| git.join(name)));
            for folder in ["modules", "worktrees"] {
                let inner = fs::read_dir(git.join(folder)).into_iter().flatten().flatten();
                let inner =
                    inner.flat_map(|entry| GIT_PROTECTED.iter().map(move |name| entry.path().join(name)));
                self.protected.extend(inner);
            }
            return;
        }
        self.protected.push(git.clone());
        if let Some(repository) = worktree(&git) {
            self.protected.extend(GIT_PROTECTED.iter().map(|name| repository.join(name)));
            self.write.push(repository);
        }
    }

    /// Finds credentials, sockets, settings of agents and further repositories in a project.
    fn search(&mut self, root: &Path, is_secret: &dyn Fn(&Path) -> bool) {
        let mut secrets = Vec::new();
        let mut special = Special::default();
        self.is_complete = walk(root, &mut |entry| {
            special.note(entry);
            let path = entry.path();
            // The name of a branch is no name of a file: `fix/credentials`.
            let is_branch =
                || path.ancestors().any(|it| it.ends_with(".git/refs") || it.ends_with(".git/logs"));
            if (is_secret(&path) && !is_branch()) || entry.file_type().is_ok_and(is_socket) {
                secrets.push(path);
            } else if entry.file_name() == ".git" && path.is_dir() {
                self.protected.extend(GIT_PROTECTED.iter().map(|name| path.join(name)));
            } else if entry.file_name() == ".git" || is_agent_settings(entry) {
                self.protected.push(path);
            }
        });
        self.hidden.extend(linked(root, &secrets));
        self.hidden.append(&mut secrets);
        self.special = special;
        self.protected.sort();
        self.protected.dedup();
    }

    /// Moves aside what a command left that would act later: settings of agents in any folder, and what makes a new repository start
    /// programs. Returns the places.
    pub fn remove_new(&self, root: &Path) -> Vec<PathBuf> {
        self.special.remove_new(root)
    }

    /// Hides sockets in the temporary folder: agents for keys, desktops and containers listen there.
    fn hide_sockets(&mut self, folder: &Path) {
        self.hidden.extend(listening(folder));
        // Those of other network namespaces are not among the listed ones.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES) {
            let Ok(kind) = entry.file_type() else { continue };
            if is_socket(kind) {
                self.hidden.push(entry.path());
            } else if kind.is_dir() {
                let below = fs::read_dir(entry.path()).into_iter().flatten().flatten().take(100);
                let sockets = below.filter(|entry| entry.file_type().is_ok_and(is_socket));
                self.hidden.extend(sockets.map(|entry| entry.path()));
            }
        }
        self.hidden.sort();
        self.hidden.dedup();
    }
}

/// The sockets below a folder that the system lists.
fn listening(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read("/proc/net/unix").unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    let paths =
        list.lines().filter_map(|line| Some(PathBuf::from(line.get(line.find(" /")?.saturating_add(1)..)?)));
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|data| is_socket(data.file_type()));
    paths.filter(|path| path.starts_with(folder) && is_there(path)).collect()
}

/// Files and folders of a project that settings of git name: of hooks, and of further settings.
fn named_by_settings(file: &Path, root: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim().rsplit(['.', ']', ' ']).next().unwrap_or_default().to_lowercase();
        let names = ["hookspath", "path", "fsmonitor", "attributesfile", "templatedir"];
        let value =
            value.trim().trim_matches('"').split([' ', ';', '#']).next().unwrap_or_default().to_owned();
        (names.contains(&key.as_str()) && !value.is_empty()).then_some(value)
    };
    let above = file.parent().unwrap_or(root);
    let places = text.lines().filter_map(value).flat_map(|value| [root.join(&value), above.join(&value)]);
    // A path out of the project, and the project itself, are not its files.
    let is_inside = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        real != root && real.starts_with(root) && !path.components().any(|part| part.as_os_str() == "..")
    };
    places.filter(is_inside).collect()
}

/// Other names of files with credentials: hard links in the project.
#[cfg(unix)]
fn linked(root: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    use std::collections::BTreeSet;
    use std::os::unix::fs::{DirEntryExt, MetadataExt};
    let has_more = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|it| it.is_file() && it.nlink() > 1);
    let inodes: BTreeSet<u64> = secrets
        .iter()
        .filter(has_more)
        .filter_map(|path| Some(path.symlink_metadata().ok()?.ino()))
        .collect();
    let mut found = Vec::new();
    if !inodes.is_empty() {
        walk(root, &mut |entry| {
            let path = entry.path();
            if inodes.contains(&entry.ino()) && !secrets.contains(&path) {
                found.push(path);
            }
        });
    }
    found
}

#[cfg(not(unix))]
fn linked(_: &Path, _: &[PathBuf]) -> Vec<PathBuf> {
    Vec::new()
}

/// Paths below the home, or where variables say that they are.
fn in_home(home: &Path, names: &[&str]) -> Vec<PathBuf> {
    let place = |name: &&str| {
        let moved = PLACES.iter().find_map(|(variable, usual)| {
            let rest = Path::new(name).strip_prefix(usual).ok()?;
            let folder = PathBuf::from(env::var_os(variable)?);
            may_be_cache(&folder, home).then(|| folder.join(rest))
        });
        moved.unwrap_or_else(|| home.join(name))
    };
    names.iter().map(place).collect()
}

/// The temporary folder. One that a variable moves into the home is not used.
fn temporary(root: &Path, home: &Path) -> PathBuf {
    let folder = env::temp_dir();
    let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let is_in_home = real.starts_with(home) && !real.starts_with(root);
    if is_in_home { PathBuf::from("/tmp") } else { folder }
}

/// Whether a folder that a variable names can be one of tools or a cache: it holds neither the home nor other settings of the user.
fn may_be_cache(folder: &Path, home: &Path) -> bool {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_above = home.starts_with(&real);
    let Ok(below) = real.strip_prefix(home) else { return folder.is_absolute() && !is_above };
    let first = |path: &Path| path.components().next().map(|part| part.as_os_str().to_owned());
    let is_hidden = first(below).is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_of_tools = || TOOLS.iter().chain(CACHES).any(|known| first(Path::new(known)) == first(below));
    folder.is_absolute() && !is_above && (!is_hidden || is_of_tools())
}

/// Whether a folder of `PATH` holds programs alone: it is outside the home, or named for them.
fn is_for_programs(folder: &Path, home: &Path) -> bool {
    let is_named = || folder.file_name().is_some_and(|name| name == "bin" || name == "shims");
    folder.is_absolute() && (!folder.starts_with(home) || is_named())
}

#[cfg(unix)]
fn is_socket(kind: fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_socket()
}

#[cfg(not(unix))]
fn is_socket(_: fs::FileType) -> bool {
    false
}

/// The folder of git that a `.git` file names, if that is a worktree of this project: any file could name any folder, so the
/// folder must name the file as well.
fn worktree(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let folder = file.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = fs::read_to_string(folder.join("gitdir")).ok()?;
    if Path::new(back.trim()).canonicalize().ok()? != file.canonicalize().ok()? {
        return None;
    }
    let common = fs::read_to_string(folder.join("commondir")).ok()?;
    let common = folder.join(common.trim()).canonicalize().ok()?;
    // A worktree is below the folder of its repository.
    folder.starts_with(common.join("worktrees")).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    fn of(root: &Path) -> Folders {
        Folders::of_project(root, Path::new("/nowhere"), &|path| path.ends_with(".env"))
    }

    #[test]
    fn credentials_and_nested_repositories_are_found() {
        let (_dir, root) = project();
        fs::create_dir_all(root.join("a/b/.git/hooks")).unwrap();
        fs::write(root.join("a/.env"), "").unwrap();
        fs::create_dir_all(root.join("a/b/.git/refs/heads")).unwrap();
        fs::write(root.join("a/b/.git/refs/heads/.env"), "").unwrap();
        let folders = of(&root);
        assert!(folders.hidden.contains(&root.join("a/.env")));
        assert!(!folders.hidden.contains(&root.join("a/b/.git/refs/heads/.env")), "a branch of this name");
        assert!(folders.protected.contains(&root.join("a/b/.git/hooks")));
        assert!(folders.protected.contains(&root.join(".git")), "the project must not become a repository");
        assert!(folders.is_complete);
    }

    #[test]
    fn hard_links_settings_in_folders_and_folders_of_hooks_are_found() {
        let (_dir, root) = project();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join(".githooks")).unwrap();
        fs::create_dir_all(root.join("sub/.claude")).unwrap();
        fs::write(
            root.join(".git/config"),
            "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../extra.config\n",
        )
        .unwrap();
        fs::write(root.join(".env"), "SECRET").unwrap();
        fs::hard_link(root.join(".env"), root.join("sub/notes")).unwrap();
        let folders = of(&root);
        assert!(folders.hidden.contains(&root.join("sub/notes")));
        assert!(folders.protected.contains(&root.join("sub/.claude")));
        assert!(folders.protected.contains(&root.join(".githooks")), "{:?}", folders.protected);
        assert!(!folders.protected.contains(&root));
    }

    #[cfg(unix)]
    #[test]
    fn sockets_are_hidden_however_deep_they_are() {
        let (_dir, root) = project();
        let folder = root.join("a/b/c/d");
        fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(listening(&root), [socket]);
        }
    }

    #[test]
    fn a_worktree_needs_its_repository_and_no_other_folder_does() {
        let (_dir, root) = project();
        let git = root.join("main/.git");
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}/worktrees/w\n", git.display())).unwrap();
        fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
        assert!(!of(&root.join("w")).write.contains(&git), "the repository does not name the worktree");
        fs::write(git.join("worktrees/w/gitdir"), format!("{}\n", root.join("w/.git").display())).unwrap();
        let folders = of(&root.join("w"));
        assert!(folders.write.contains(&git));
        assert!(
            folders.protected.contains(&git.join("hooks"))
                && folders.protected.contains(&root.join("w/.git"))
        );
    }
}
