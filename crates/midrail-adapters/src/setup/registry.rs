//! What `midrail init` has registered for this user: a list in the folder of the store. Every hook compares it with the
//! settings of the hosts, because a checkout of an older branch, or an agent, can remove hooks: the running session keeps
//! them, and the next one would be unprotected.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::command;
use super::environment::{Environment, InstallScope};
use super::files::{self, SettingsResult};
use super::plan::install_hooks;
use crate::host::{HostSpec, Installation};
use crate::hosts;

/// The hooks of one host in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Registration {
    host: String,
    scope: InstallScope,
    path: PathBuf,
    program: String,
    /// The project, if the file belongs to one.
    project: Option<PathBuf>,
    /// The state of the file when it was last compared, and whether it had all hooks.
    seen: Option<FileStamp>,
    is_intact: bool,
}

/// What changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    size: u64,
    inode: u64,
    changed: (i64, i64),
}

/// Hooks that are not registered any more, or are disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostHooks {
    /// The host.
    pub host: &'static HostSpec,
    /// The file that had them, or that disables them.
    pub path: PathBuf,
    /// What became of them.
    pub state: LostState,
    /// Whether this was not found before.
    pub is_new: bool,
}

/// What became of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostState {
    /// They were removed, and are registered again.
    Restored,
    /// They were removed, and are missing.
    Missing,
    /// This setting disables them.
    Disabled(&'static str),
}

impl fmt::Display for LostHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostHooks { host: HostSpec { title, name, .. }, path, .. } = self;
        let path = path.display();
        match self.state {
            LostState::Restored => write!(
                f,
                "Midrail's hooks for {title} were removed from {path}, and are registered again. `midrail uninstall` \
                 removes them for good."
            ),
            LostState::Missing => write!(
                f,
                "Midrail's hooks for {title} are missing in {path}: the next session is not protected. A person has to run \
                 `midrail init --agent {name}`, which protects all projects of this user."
            ),
            LostState::Disabled(setting) => write!(
                f,
                "{setting} in {path} disables Midrail's hooks for {title}: the next session is not protected. A person has \
                 to remove it."
            ),
        }
    }
}

fn list_path() -> Option<PathBuf> {
    Some(midrail::paths::default_store()?.with_file_name("registrations.json"))
}

fn read(path: &Path) -> Vec<Registration> {
    let text = files::read(path).ok().flatten().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn write(path: &Path, list: &[Registration]) -> SettingsResult {
    let text = serde_json::to_string_pretty(list).unwrap_or_default();
    files::write(path, &text, Some(0o600))
}

/// Notes that hooks were registered.
pub(super) fn note(
    host: &HostSpec,
    scope: InstallScope,
    path: &Path,
    program: &str,
    env: &Environment,
) -> SettingsResult {
    let Some(list) = list_path() else { return Ok(()) };
    let mut registrations = read(&list);
    registrations.retain(|it| it.path != path || it.host != host.name);
    registrations.push(Registration {
        host: host.name.to_owned(),
        scope,
        path: path.to_owned(),
        program: program.to_owned(),
        project: (scope == InstallScope::Project).then(|| env.project.clone()),
        seen: stamp(path),
        is_intact: true,
    });
    write(&list, &registrations)
}

/// Notes that hooks were removed on purpose.
pub(super) fn forget(path: &Path) -> SettingsResult {
    let Some(list) = list_path() else { return Ok(()) };
    let mut registrations = read(&list);
    let known = registrations.len();
    registrations.retain(|it| it.path != path);
    match registrations.len() {
        0 if known > 0 => files::remove(&list),
        left if left == known => Ok(()),
        _ => write(&list, &registrations),
    }
}

/// Compares the settings of all hosts with what was registered. `folder` is the folder of the session. Hooks of a user or
/// of a machine are registered again; a file of a project is not changed, because a repository may track it. Hooks that are
/// missing are reported when they are first missed, and again where a session or a turn begins or ends.
///
/// `caller` is the host that runs a registered hook. Within a turn, a file that did not change costs one call of the system.
pub fn find_lost_hooks(
    folder: Option<&Path>,
    caller: Option<&'static HostSpec>,
    is_boundary: bool,
) -> Vec<LostHooks> {
    let Some(list) = list_path() else { return Vec::new() };
    let mut registrations = read(&list);
    let before = registrations.clone();
    let mut lost = Vec::new();
    let is_here = |project: &PathBuf| folder.is_some_and(|folder| folder.starts_with(project));
    let is_known = |host: &HostSpec| {
        before.iter().any(|it| it.host == host.name && it.project.as_ref().is_none_or(is_here))
    };
    if let (Some(host), Some(folder)) = (caller.filter(|host| !is_known(host)), folder) {
        let missing = recover(&mut registrations, host, folder);
        lost.extend(missing.filter(|_| is_boundary));
    }
    for it in &mut registrations {
        let Some(host) = hosts::find(&it.host).filter(|_| it.project.as_ref().is_none_or(is_here)) else {
            continue;
        };
        let is_new = stamp(&it.path) != it.seen;
        let mut state = LostState::Missing;
        if is_new {
            it.is_intact = is_intact(host, it);
            if !it.is_intact && it.scope != InstallScope::Project && restore(host, it, folder).is_ok() {
                it.is_intact = true;
                state = LostState::Restored;
            }
            it.seen = stamp(&it.path);
        }
        if state == LostState::Restored || !it.is_intact && (is_new || is_boundary) {
            lost.push(LostHooks { host, path: it.path.clone(), state, is_new });
        }
    }
    if registrations != before {
        // What was not noted is compared again by the next hook.
        let _ = write(&list, &registrations);
    }
    // Hooks for the user protect every project.
    let is_protected = |host: &HostSpec| {
        let mut of_user = registrations.iter().filter(|it| it.project.is_none());
        of_user.any(|it| it.is_intact && it.host == host.name)
    };
    lost.retain(|it| it.state == LostState::Restored || !is_protected(it.host));
    if is_boundary && let Some(env) = folder.and_then(|folder| Environment::detect(folder, None)) {
        lost.extend(registrations.iter().filter_map(|it| hosts::find(&it.host)).flat_map(|host| {
            let installation = Installation { files: &[], program: None, env: &env, host };
            let disabled = (host.setup.disabled_in)(&installation).into_iter();
            disabled.map(move |(path, setting)| {
                let state = LostState::Disabled(setting);
                LostHooks { host, path, state, is_new: false }
            })
        }));
        lost.dedup();
    }
    lost
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let file = path.metadata().ok()?;
    Some(FileStamp { size: file.len(), inode: file.ino(), changed: (file.ctime(), file.ctime_nsec()) })
}

/// Whether a file has all hooks as `midrail init` writes them. Numbers and indentation may differ: people change timeouts.
fn is_intact(host: &HostSpec, it: &Registration) -> bool {
    let Ok(Some(text)) = files::read(&it.path) else { return false };
    let installed = host.install(it.scope, &text, &it.program);
    installed.is_ok_and(|installed| without_numbers(&installed).eq(without_numbers(&text)))
}

/// A text without indentation, in which one digit stands for each number.
fn without_numbers(text: &str) -> impl Iterator<Item = char> {
    let mut was_digit = false;
    text.lines().flat_map(|line| line.trim().chars().chain(['\n'])).filter_map(move |c| {
        let is_digit = c.is_ascii_digit();
        let is_repeated = std::mem::replace(&mut was_digit, is_digit) && is_digit;
        (!is_repeated).then_some(if is_digit { '0' } else { c })
    })
}

/// Adds the settings of a host that calls hooks without being in the list: the list was lost. If no settings have hooks,
/// they were lost, too, and the user's file stands for them.
fn recover(
    registrations: &mut Vec<Registration>,
    host: &'static HostSpec,
    folder: &Path,
) -> Option<LostHooks> {
    let env = Environment::detect(folder, None)?;
    let settings = host.settings(&env);
    let known = registrations.len();
    for (scope, path) in &settings {
        let text = files::read(path).ok().flatten().unwrap_or_default();
        let hooks = host.registered(*scope, &text).unwrap_or_default();
        let commands = hooks.iter().filter_map(|(_, handler)| handler.get("command").or(handler.get("bash")));
        let program = commands.filter_map(|command| command::program_of(command.as_str()?)).next();
        let program = program.or_else(|| (host.setup.format)(*scope).plugin_program(&text));
        if let Some(program) = program {
            let project = (*scope == InstallScope::Project).then(|| env.project.clone());
            let (host, path) = (host.name.to_owned(), path.clone());
            let it =
                Registration { host, scope: *scope, path, program, project, seen: None, is_intact: true };
            registrations.push(it);
        }
    }
    let path = settings.into_iter().find(|(scope, _)| *scope == InstallScope::User)?.1;
    (registrations.len() == known).then_some(LostHooks {
        host,
        path,
        state: LostState::Missing,
        is_new: false,
    })
}

fn restore(host: &HostSpec, it: &Registration, folder: Option<&Path>) -> SettingsResult {
    let folder = folder.unwrap_or(Path::new("/"));
    let Some(env) = Environment::detect(folder, None) else { return Ok(()) };
    match install_hooks(host, it.scope, &it.program, &it.path, &env)?.and_then(|change| change.after) {
        Some(text) => files::write(&it.path, &text, None),
        None => Ok(()),
    }
}
