//! Why a command could not run in a sandbox.

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
    pub(crate) fn set_up(step: &str, error: impl std::fmt::Display) -> Self {
        SandboxError::SetUp(format!("{step}: {error}"))
    }
}
