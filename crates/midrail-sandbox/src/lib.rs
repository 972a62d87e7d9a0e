//! Runs a command in a sandbox that the operating system enforces: which files it can read and write, whether it reaches the
//! network, and how much it may use. On Linux by mounts, Landlock and seccomp; on macOS by a profile that was never tried; elsewhere
//! [`Sandbox::run`] fails.
//!
//! A program that uses this crate starts itself anew as parts of the sandbox. So its `main` must call [`stage`] first.

mod aside;
mod error;
mod folders;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
mod macos;
#[cfg(target_os = "linux")]
mod protected;
mod sandbox;
mod special;
mod walk;

pub use error::SandboxError;
pub use folders::Folders;
pub use sandbox::{Background, Command, Ending, Layers, Limits, Network, Report, Sandbox};

impl Sandbox {
    /// Runs a command with the streams of this process, and waits for its end. This process must have no other children: what
    /// is left of the command ends with all of them.
    pub fn run(&self, command: &Command) -> Result<Report, SandboxError> {
        #[cfg(target_os = "linux")]
        return linux::run(self, command);
        #[cfg(target_os = "macos")]
        return macos::run(self, command);
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        {
            let _ = command;
            Err(SandboxError::Unavailable("only Linux and macOS are supported".to_owned()))
        }
    }
}

/// Whether this machine can enforce a sandbox that was tried.
pub fn is_available() -> bool {
    #[cfg(target_os = "linux")]
    return linux::is_available();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Runs this process as a part of a sandbox if its arguments say so, and returns its exit code.
///
/// Call it before anything else: no thread may run, and no file may be open.
pub fn stage() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != sandbox::STAGE {
        return None;
    }
    #[cfg(target_os = "linux")]
    let code = linux::stage(arguments);
    #[cfg(not(target_os = "linux"))]
    let code = 1;
    Some(code)
}
