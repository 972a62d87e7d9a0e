//! Runs a command in a sandbox that the operating system enforces: which files it can read and write, whether it reaches the
//! network, and how much it may use. Linux only, by mounts, Landlock and seccomp; elsewhere [`Sandbox::run`] fails.
//!
//! A program that uses this crate starts itself anew as parts of the sandbox. So its `main` must call [`stage`] first.

mod folders;
#[cfg(target_os = "linux")]
mod linux;
mod protected;
mod sandbox;

pub use folders::Folders;
pub use sandbox::{Background, Command, Ending, Layers, Limits, Network, Report, Sandbox};

/// The first argument of a process that is a part of a sandbox.
pub const STAGE: &str = "--stage";

/// Why a command could not run in a sandbox. It was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine has nothing that can enforce a sandbox.
    #[error("this machine cannot enforce a sandbox: {0}")]
    Unavailable(String),
    /// A step failed.
    #[error("could not set up the sandbox: {0}")]
    SetUp(String),
    /// Protected files could not be recorded or restored.
    #[error("could not protect files: {0}")]
    Protect(String),
}

impl SandboxError {
    /// A failed step and its cause.
    fn set_up(step: &str, error: impl std::fmt::Display) -> Self {
        SandboxError::SetUp(format!("{step}: {error}"))
    }
}

/// Runs this process as a part of a sandbox if its arguments say so, and returns its exit code.
///
/// Call it before anything else: no thread may run, and no file may be open.
pub fn stage() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != STAGE {
        return None;
    }
    #[cfg(target_os = "linux")]
    let code = linux::stage(arguments);
    #[cfg(not(target_os = "linux"))]
    let code = 1;
    Some(code)
}
