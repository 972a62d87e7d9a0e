//! A run of a host with hooks that are installed nowhere.

use std::path::{Path, PathBuf};

use super::environment::{Environment, InstallScope};
use super::files::{SettingsError, SettingsResult};
use super::plan::{in_plugin, plugin};
use crate::host::{HostSpec, HostTrial};

/// How a host is started with hooks for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The files with the hooks.
    pub files: Vec<(PathBuf, String)>,
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub env: Vec<(&'static str, String)>,
}

/// Plans a run of a host with hooks in a folder of this run. `program`: what the hooks start.
pub fn trial(
    host: &'static HostSpec,
    folder: &Path,
    program: &str,
    env: &Environment,
) -> SettingsResult<Trial> {
    let Some(HostTrial { file, text, args, env: variables }) = &host.trial else {
        let error = SettingsError::new(format!("{} reads hooks from its own settings only", host.title));
        let help = format!(
            "install them with `midrail init --agent {0}`, and remove them with `midrail uninstall --agent {0}`",
            host.name
        );
        return Err(error.help(help));
    };
    if let Some((name, _)) = variables.iter().find(|(name, _)| env.is_set(name)) {
        return Err(SettingsError::new(format!(
            "{name} is set already, and {} reads only one file from it",
            host.title
        )));
    }
    let managed = host.files.at(env, InstallScope::Managed).filter(|path| path.exists());
    if let Some(path) = managed.filter(|_| variables.iter().any(|(name, _)| name.contains("SYSTEM_SETTINGS")))
    {
        let error = SettingsError::new(format!(
            "{} would not read these settings of this machine in a trial",
            host.title
        ));
        return Err(error.in_file(&path));
    }
    let Some(started) = host.programs.iter().find_map(|name| env.on_path(name)) else {
        let names = host.programs.join("` or `");
        return Err(SettingsError::new(format!("`{names}` is not on the search path")));
    };
    let files = if file.is_empty() {
        let plan = plugin(host, folder, program);
        if let Some(error) = plan.errors.into_iter().next() {
            return Err(error);
        }
        plan.changes.into_iter().filter_map(|change| Some((change.path, change.after?))).collect()
    } else {
        let hooks = host.install(InstallScope::User, &format!("{text}\n"), program)?;
        vec![(folder.join(file), in_plugin(hooks))]
    };
    let place = folder.display().to_string();
    let here = |text: &&str| text.replace("@DIR@", &place);
    Ok(Trial {
        files,
        program: started,
        args: args.iter().map(here).collect(),
        env: variables.iter().map(|(name, value)| (*name, here(value))).collect(),
    })
}
