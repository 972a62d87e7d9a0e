//! What a process gives up for good before it starts the command, or becomes it.

use nix::sys::resource::{Resource, setrlimit};

use super::part::{Failure, failed};
use super::{capabilities, files, syscalls};
use crate::sandbox::Sandbox;

/// Restricts this process. With mounts it sees only the files of the sandbox already, and Landlock is a second layer. Returns
/// what the kernel cannot restrict.
pub(super) fn restrict(sandbox: &Sandbox, has_mounts: bool) -> Result<Vec<String>, Failure> {
    limit(sandbox)?;
    capabilities::drop_all().map_err(|error| failed("drop capabilities", error))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| failed("refuse new privileges", error))?;
    let missing = files::restrict(sandbox, has_mounts)?;
    syscalls::refuse(sandbox.network, has_mounts)
        .map_err(|error| Failure::Unavailable(format!("no filter for system calls ({error})")))?;
    Ok(missing)
}

/// Sets the limits, for this process and all that it starts.
fn limit(sandbox: &Sandbox) -> Result<(), Failure> {
    let limits = &sandbox.limits;
    let resources = [
        (Resource::RLIMIT_CORE, Some(0)),
        (Resource::RLIMIT_NPROC, limits.processes),
        // Address space is no measure: runtimes reserve far more than they use.
        (Resource::RLIMIT_DATA, limits.memory),
        (Resource::RLIMIT_FSIZE, limits.file_size),
    ];
    for (resource, limit) in resources {
        if let Some(limit) = limit {
            let (_, hard) =
                nix::sys::resource::getrlimit(resource).map_err(|error| failed("read the limits", error))?;
            let limit = limit.min(hard);
            setrlimit(resource, limit, limit).map_err(|error| failed("set the limits", error))?;
        }
    }
    Ok(())
}
