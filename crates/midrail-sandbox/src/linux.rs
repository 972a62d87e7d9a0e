//! The sandbox on Linux.
//!
//! With mounts, four processes are one behind the other: this one, which waits; one that enters new namespaces; the first
//! process in them, which mounts the files that the command may see and then restricts itself; and the command. Without mounts,
//! a process restricts itself and becomes the command. A sandbox that outlives its command has a keeper, which waits instead
//! of this process. Each part is this program, started anew: nothing is done between `fork` and `exec`.

mod capabilities;
mod errors;
mod files;
mod keeper;
mod loopback;
mod lost;
mod message;
mod mounts;
mod part;
mod processes;
mod restrictions;
mod stage;
mod supervisor;
mod syscalls;
mod watch;

use std::collections::BTreeMap;

use crate::error::SandboxError;
use crate::sandbox::{Background, Command, Report, Sandbox};

use message::Orders;

pub(crate) use stage::stage;

/// Runs a command, with mounts if the machine has them.
pub(crate) fn run(sandbox: &Sandbox, command: &Command) -> Result<Report, SandboxError> {
    let orders = Orders { sandbox: resolved(sandbox)?, command: command.clone() };
    match sandbox.background {
        Background::End => supervisor::run(&orders, None, &mut |_| Ok(())),
        Background::Until(_) => keeper::run(&orders),
    }
}

/// Whether this machine has Landlock, or lets this user make namespaces.
pub(crate) fn is_available() -> bool {
    files::is_available() || permits_namespaces()
}

/// Whether the settings of the system let this user make namespaces.
fn permits_namespaces() -> bool {
    let setting = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let is_off = |path: &str, off: &str| setting(path).is_some_and(|value| value == off);
    rustix::process::geteuid().is_root()
        || !(is_off("/proc/sys/user/max_user_namespaces", "0")
            || is_off("/proc/sys/kernel/unprivileged_userns_clone", "0")
            || is_off("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
}

/// The sandbox with its paths resolved, so that links do not lead elsewhere later.
fn resolved(sandbox: &Sandbox) -> Result<Sandbox, SandboxError> {
    let mut sandbox = sandbox.clone();
    sandbox.dir =
        sandbox.dir.canonicalize().map_err(|error| SandboxError::set_up("find the folder", error))?;
    sandbox.home = sandbox.home.canonicalize().unwrap_or(sandbox.home);
    sandbox.scratch = sandbox.scratch.iter().filter_map(|path| path.canonicalize().ok()).collect();
    sandbox.write = sandbox.write.iter().filter_map(|path| path.canonicalize().ok()).collect();
    sandbox.hidden = sandbox.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    // The last part of a protected path is not followed: a link is protected as a link. Most are in the same folder.
    let mut folders = BTreeMap::new();
    for path in &mut sandbox.protected {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            let real = folders.entry(folder.to_owned()).or_insert_with(|| folder.canonicalize().ok());
            if let Some(real) = real {
                *path = real.join(name);
            }
        }
    }
    Ok(sandbox)
}
