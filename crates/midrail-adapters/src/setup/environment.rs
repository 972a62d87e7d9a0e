//! The folders in which hosts keep their settings, and in which Midrail keeps backups.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Who is protected by an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallScope {
    /// Everyone who works on this project.
    Project,
    /// One user, in all projects.
    User,
    /// Everyone on this machine, through files that only an administrator can write.
    Managed,
}

impl InstallScope {
    /// All scopes.
    pub const ALL: [InstallScope; 3] = [InstallScope::Project, InstallScope::User, InstallScope::Managed];

    /// The flag of `midrail init` and `uninstall` that selects it, with a space before it.
    pub fn flag(self) -> &'static str {
        match self {
            InstallScope::Project => " --project",
            InstallScope::User => "",
            InstallScope::Managed => " --managed",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            InstallScope::Project => "project",
            InstallScope::User => "user",
            InstallScope::Managed => "managed",
        }
    }
}

/// The folders of a project, a user and a machine.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The root of the repository that contains the working directory; the working directory if there is none.
    pub project: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
    /// Where Midrail keeps backups of files outside of projects.
    pub state: PathBuf,
    /// The root of the file system; another folder in tests.
    pub root: PathBuf,
    /// The search path.
    pub path: Option<OsString>,
    /// The user's shell.
    pub shell: Option<PathBuf>,
    /// The program of this process.
    pub program: Option<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The folders of this process's user and a working directory. `None`: the user has no home.
    pub fn detect(folder: &Path, root: Option<PathBuf>) -> Option<Environment> {
        let variables = env::vars_os().collect();
        let mut env = Environment { variables, ..Environment::at(&repository_root(folder), Path::new("")) };
        let home = env.variable("HOME")?;
        let usual = Environment::at(&env.project, &home);
        env.root = root.unwrap_or(usual.root);
        env.config = env.variable("XDG_CONFIG_HOME").unwrap_or(usual.config);
        env.state = env.variable("XDG_STATE_HOME").map_or(usual.state, |state| state.join("midrail"));
        env.path = env::var_os("PATH");
        env.shell = env.variable("SHELL");
        env.program = env::current_exe().ok();
        env.home = home;
        Some(env)
    }

    /// The usual folders below a home, without a search path.
    pub fn at(project: &Path, home: &Path) -> Environment {
        Environment {
            project: project.to_owned(),
            home: home.to_owned(),
            config: home.join(".config"),
            state: home.join(".local/state/midrail"),
            root: PathBuf::from("/"),
            path: None,
            shell: None,
            program: None,
            variables: BTreeMap::new(),
        }
    }

    /// Whether a variable has a value.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.variables.get(&OsString::from(name)).is_some_and(|value| !value.is_empty())
    }

    /// The absolute path in a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        let path = self.variables.get(&OsString::from(name)).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    }

    /// A folder of the user: a variable that moves it, its default below the home, and a folder below that.
    pub(crate) fn user_folder(&self, (variable, default, below): (&str, &str, &str)) -> PathBuf {
        self.variable(variable).unwrap_or_else(|| self.home.join(default)).join(below)
    }

    /// A program on the search path.
    pub(crate) fn on_path(&self, name: &str) -> Option<PathBuf> {
        let folders = env::split_paths(self.path.as_ref()?).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// Whether the project is the home itself, where a project's files are the user's.
    pub fn is_home(&self) -> bool {
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        self.project == self.home || self.project == home
    }

    /// Where the backups of a file are kept: in its project, or in the user's state.
    pub(crate) fn backup_folder(&self, path: &Path) -> PathBuf {
        if path.starts_with(&self.project) && !self.is_home() && !path.starts_with(self.root.join("etc")) {
            return self.project.join(midrail::paths::PROJECT_FOLDER).join("backup");
        }
        self.state.join("backup")
    }
}

/// Whether a file is executable.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn repository_root(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = folder.ancestors().find(|folder| folder.join(".git").exists());
    root.map(Path::to_owned).unwrap_or(folder)
}
