//! The hosts, one module each. `build.rs` lists them.

mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod opencode;

use crate::host::HostSpec;

/// Every host that calls `midrail hook`.
pub static ALL: &[&HostSpec] = &include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// The host of a name.
pub fn find(name: &str) -> Option<&'static HostSpec> {
    ALL.iter().copied().find(|host| host.name == name)
}
