//! The hosts, one module and folder each, and the folders of MCP clients without hooks. `build.rs` compiles their `host.toml`.

mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod opencode;

use std::time::Duration;

use midrail::EventKind;
use midrail::core::ActionType;

use crate::host::{
    Capabilities, HostFiles, HostPlugin, HostSandbox, HostSpec, HostTrial, LiveTest, OnFailure, hook_event,
};
use crate::mcp_client::{AddressForm, McpClient};
use crate::setup::command::HookShell;
use crate::setup::environment::InstallScope;

/// Every host that calls `midrail hook`.
pub static ALL: &[HostSpec] = &include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// Every client whose MCP servers can run through the proxy: the hosts, and clients without hooks.
pub static MCP_CLIENTS: &[McpClient] = &include!(concat!(env!("OUT_DIR"), "/clients.rs"));

/// The host of a name.
pub fn find(name: &str) -> Option<&'static HostSpec> {
    ALL.iter().find(|host| host.name == name)
}
