//! Why no person needs to be asked about a call.

use crate::sandbox::SandboxNetwork;

/// Why no person needs to be asked about a call, as one guardrail sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The reason, for people: `\`cargo test\` is listed`.
    pub reason: String,
    /// It counts only in a sandbox, with no more network than this.
    pub sandbox: Option<SandboxNetwork>,
}
