//! Streamable HTTP: streams of events, the headers of messages, requests to servers at an address, and a connection to one of them.

pub mod events;
mod header_text;
pub mod headers;
mod link;
mod params;
#[cfg(test)]
mod tests;
pub mod upstream;

pub use self::link::{Link, Received};
pub use self::params::rewritten_params;
