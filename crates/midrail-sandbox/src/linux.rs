//! The sandbox on Linux.
//!
//! With mounts, four processes are one behind the other: this one, which waits; one that enters new namespaces; the first
//! process in them, which mounts the files that the command may see and then restricts itself; and the command. Without mounts,
//! a process restricts itself and becomes the command. A sandbox that outlives its command has a keeper, which waits instead
//! of this process. Each part is this program, started anew: nothing is done between `fork` and `exec`.

mod capabilities;
mod files;
mod keeper;
mod loopback;
mod message;
mod mounts;
mod part;
mod processes;
mod restrictions;
mod stage;
mod supervisor;
mod syscalls;

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

/// The sandbox with its paths resolved, so that links do not lead elsewhere later.
fn resolved(sandbox: &Sandbox) -> Result<Sandbox, SandboxError> {
    let mut sandbox = sandbox.clone();
    sandbox.dir =
        sandbox.dir.canonicalize().map_err(|error| SandboxError::set_up("find the folder", error))?;
    sandbox.home = sandbox.home.canonicalize().unwrap_or(sandbox.home);
    sandbox.write = sandbox.write.iter().filter_map(|path| path.canonicalize().ok()).collect();
    sandbox.hidden = sandbox.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    // The last part of a protected path is not followed: a link is protected as a link.
    for path in &mut sandbox.protected {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && let Ok(folder) = folder.canonicalize()
        {
            *path = folder.join(name);
        }
    }
    Ok(sandbox)
}
