//! The hosts, one module and folder each. `build.rs` compiles their `host.toml`.

mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod opencode;

use std::time::Duration;

use midrail::EventKind;
use midrail::core::ActionType;

use crate::host::{Capabilities, HostFiles, HostPlugin, HostSpec, LiveTest, OnFailure, hook_event};
use crate::setup::command::HookShell;
use crate::setup::environment::InstallScope;

/// Every host that calls `midrail hook`.
pub static ALL: &[HostSpec] = &include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// The host of a name.
pub fn find(name: &str) -> Option<&'static HostSpec> {
    ALL.iter().find(|host| host.name == name)
}
