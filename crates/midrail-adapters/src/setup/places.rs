//! Where agents keep their settings on this machine, and where Midrail keeps what it replaced.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folders of a project, a user and a machine.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The project: the top of the repository that a folder is in, else that folder.
    pub project: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
    /// Where Midrail keeps copies of what it replaced outside of projects.
    pub state: PathBuf,
    /// Where the system's files begin. `/`, but for tests.
    pub root: PathBuf,
    /// The search path.
    pub path: Option<OsString>,
    /// The user's own shell.
    pub shell: Option<PathBuf>,
    pub(super) claude: PathBuf,
    pub(super) codex: PathBuf,
    pub(super) gemini: PathBuf,
    pub(super) copilot: PathBuf,
}

impl Environment {
    /// The places of this process's user, for a folder. `None`: the user has no home.
    pub fn of(folder: &Path, root: Option<PathBuf>) -> Option<Environment> {
        let set = |name: &str| {
            let value = env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let home = set("HOME")?;
        let mut places = Environment::at(&top(folder), &home);
        places.root = root.unwrap_or(places.root);
        places.config = set("XDG_CONFIG_HOME").unwrap_or(places.config);
        places.state = set("XDG_STATE_HOME").map_or(places.state, |state| state.join("midrail"));
        places.path = env::var_os("PATH");
        places.shell = set("SHELL");
        places.claude = set("CLAUDE_CONFIG_DIR").unwrap_or(places.claude);
        places.codex = set("CODEX_HOME").unwrap_or(places.codex);
        places.gemini = set("GEMINI_CLI_HOME").map_or(places.gemini, |home| home.join(".gemini"));
        places.copilot = set("COPILOT_HOME").unwrap_or(places.copilot);
        Some(places)
    }

    /// The usual places below a home, with no search path.
    pub fn at(project: &Path, home: &Path) -> Environment {
        Environment {
            project: project.to_owned(),
            home: home.to_owned(),
            config: home.join(".config"),
            state: home.join(".local/state/midrail"),
            root: PathBuf::from("/"),
            path: None,
            shell: None,
            claude: home.join(".claude"),
            codex: home.join(".codex"),
            gemini: home.join(".gemini"),
            copilot: home.join(".copilot"),
        }
    }

    /// A folder of `/etc`.
    pub(super) fn etc(&self, name: &str) -> PathBuf {
        self.root.join("etc").join(name)
    }

    /// The same, which is elsewhere on macOS.
    pub(super) fn system(&self, name: &str, on_macos: &str) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.root.join("Library/Application Support").join(on_macos)
        } else {
            self.etc(name)
        }
    }

    /// A program on the search path.
    pub(super) fn on_path(&self, name: &str) -> Option<PathBuf> {
        let folders = env::split_paths(self.path.as_ref()?).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// Whether the project is the home itself, where a project's files are the user's.
    pub fn is_home(&self) -> bool {
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        self.project == self.home || self.project == home
    }

    /// Where the copies of a file are kept: with its project, or with the user's state.
    pub(super) fn backups_of(&self, path: &Path) -> PathBuf {
        if path.starts_with(&self.project) && !self.is_home() && !path.starts_with(self.root.join("etc")) {
            return self.project.join(midrail::paths::PROJECT_FOLDER).join("backup");
        }
        self.state.join("backup")
    }
}

/// Whether a file can be run.
pub(super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn top(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = folder.ancestors().find(|folder| folder.join(".git").exists());
    top.map(Path::to_owned).unwrap_or(folder)
}
