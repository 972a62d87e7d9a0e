//! HTTP connections of Midrail: how they are made, and the certificates that they trust.

use std::env;
use std::io;

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::deep::{CA_FILE, connection_config};

/// The settings of connections that trust the certificates of the file in `MIDRAIL_CA_FILE`, or else the well-known
/// authorities, and that follow no redirects.
pub fn config() -> io::Result<ConfigBuilder<AgentScope>> {
    let ca_file = env::var(CA_FILE).ok();
    let ca_file = ca_file.as_deref().filter(|file| !file.trim().is_empty());
    connection_config(ca_file).map_err(|unavailable| io::Error::other(unavailable.0))
}
