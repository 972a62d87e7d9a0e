//! A whole coding agent in a sandbox: what it needs besides its project.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use midrail_adapters::host::HostSpec;
use midrail_adapters::hosts;
use midrail_adapters::setup::{self, Environment};

use crate::error::{CliError, CliResult};

/// The coding agent that a program is. A file of the project with such a name is none: it would get the agent's keys and the network.
pub(super) fn host(program: &OsStr) -> Option<&'static HostSpec> {
    let host = hosts::ALL.iter().find(|host| host.programs.iter().any(|name| *name == program))?;
    let here = env::current_dir().ok()?.canonicalize().ok()?;
    let project = Environment::detect(&here, None)?.project;
    found(program).filter(|path| !path.starts_with(&project) && !path.starts_with(&here)).map(|_| host)
}

/// The program on the search path, with links followed.
fn found(program: &OsStr) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())?
        .canonicalize()
        .ok()
}

/// What a coding agent needs besides its project and the network.
#[derive(Default)]
pub(super) struct Needs {
    /// Variables with the keys of its service.
    pub(super) keep: Vec<OsString>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) deny_write: Vec<PathBuf>,
}

/// What an agent needs: its program, its own files without the settings that connect it to Midrail, and the store that its hooks write
/// to.
pub(super) fn needs(host: &'static HostSpec, program: &OsStr) -> CliResult<Needs> {
    let here = env::current_dir()?;
    let places = Environment::detect(&here, None).ok_or_else(|| CliError::new("this user has no home"))?;
    let mut needs = Needs {
        keep: host.sandbox.keep.iter().map(OsString::from).collect(),
        read: program_folder(program).into_iter().collect(),
        ..Needs::default()
    };
    for name in host.sandbox.state {
        let path = places.home.join(name);
        // A file that is missing is one that the agent does not keep.
        if !name.ends_with(".json") {
            fs::create_dir_all(&path)?;
        }
        needs.write.extend(path.exists().then_some(path));
    }
    for (_, _, file) in setup::registered(&[host], &places) {
        needs.deny_write.push(file);
        let config = places.config.join("midrail");
        needs.read.extend(config.exists().then_some(config));
        fs::create_dir_all(&places.state)?;
        needs.write.push(places.state.clone());
        needs.read.extend(env::current_exe());
    }
    Ok(needs)
}

/// The folder with a program and what belongs to it: the one that holds its `node_modules`, or its own.
fn program_folder(program: &OsStr) -> Option<PathBuf> {
    let real = found(program)?;
    let above_modules =
        real.ancestors().filter(|it| it.file_name().is_some_and(|name| name == "node_modules"));
    above_modules.last().or(real.parent()).map(Path::to_owned)
}
