//! A host that a person trusts for a limited time: what is read from it names destinations and sets no label, and data may go there.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The slice with the trusted hosts, as a list. All sessions share it.
pub const TRUSTED_HOSTS: &str = "shared/flow/trusted-hosts";

/// A host that a person trusts for a limited time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedHost {
    /// The host, in lower case. Its sub-domains are other hosts.
    pub host: String,
    /// The person who trusts it.
    pub by: String,
    /// When the trust began.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When it ends.
    #[schemars(with = "String")]
    pub until: Timestamp,
}

impl TrustedHost {
    /// The longest trust. A longer one has no effect.
    pub const MAX_DURATION: SignedDuration = SignedDuration::from_hours(24);

    /// The hosts in a slice. A malformed one is ignored.
    pub fn all(slice: Option<&Value>) -> Vec<TrustedHost> {
        let rows = slice.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        rows.iter().filter_map(|row| TrustedHost::deserialize(row).ok()).collect()
    }

    /// Whether it is trusted at a time.
    pub fn is_active_at(&self, now: Timestamp) -> bool {
        self.since <= now
            && now < self.until
            && self.until.duration_since(self.since) <= TrustedHost::MAX_DURATION
    }
}
