//! A message of a client, and the headers with which the server receives it.

use midrail_adapters::mcp::http::headers::{
    LAST_EVENT_ID, METHOD, NAME, PARAM, PROTOCOL_VERSION, PostedMessage,
};
use midrail_adapters::mcp::http::rewritten_params;

/// A message of a client, as it came.
pub(super) struct Posted {
    pub(super) message: PostedMessage,
    /// The headers that the server receives, except for those with arguments.
    pub(super) headers: Vec<(String, String)>,
    /// The headers with arguments: their names without the start, and values.
    pub(super) params: Vec<(String, String)>,
}

/// The headers of a client that the server receives.
pub(super) const FORWARDED: &[&str] = &[PROTOCOL_VERSION, METHOD, NAME, LAST_EVENT_ID, "accept"];

impl Posted {
    /// The headers for a line, which may have other arguments than the message that came.
    pub(super) fn headers_for(&self, line: &str) -> Vec<(String, String)> {
        let params = match PostedMessage::read(line.as_bytes()) {
            Ok(sent) if self.message.line() != line => {
                rewritten_params(&self.params, &self.message.arguments(), &sent.arguments())
            }
            _ => self.params.clone(),
        };
        let params = params.into_iter().map(|(name, value)| (format!("{PARAM}{name}"), value));
        self.headers.iter().cloned().chain(params).collect()
    }
}
