//! The running instances of the service on one store, and the policy that each of them enforces.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;

/// A running instance of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// Its id, which no other instance has.
    pub id: String,
    /// The revision of the policy that it enforces.
    pub revision: String,
    /// Where it listens.
    pub address: String,
    /// When it started.
    #[schemars(with = "String")]
    pub started: Timestamp,
}

/// The running instances. An instance lives as long as it renews its row; the clock of the database counts, so that the
/// clocks of several machines may differ. Nothing of this is in the audit log.
pub trait Instances: Send + Sync {
    /// Adds an instance, unless other live instances enforce another policy and `is_confirmed` is not set. Returns those
    /// others. Of two instances that start at the same time, one sees the other.
    fn join(&self, instance: &Instance, live_for: Duration, is_confirmed: bool) -> Result<Vec<Instance>>;

    /// Renews the row of an instance, which may enforce another policy now.
    fn renew(&self, instance: &Instance) -> Result<()>;

    /// Returns the instances that were renewed within this time, by their id.
    fn live_instances(&self, live_for: Duration) -> Result<Vec<Instance>>;

    /// Removes an instance that ends.
    fn leave(&self, id: &str) -> Result<()>;
}

/// A time as microseconds.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
