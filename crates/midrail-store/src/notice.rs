//! Notices that wait for their delivery, and alerts. Channels and their protocols are not known here.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::whole_micros;

/// A notice to write together with a record or an alert.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewNotice {
    /// The recipient: `orchestrator`, or the role of a person.
    pub to: String,
    /// Its kind: `approval`, `alert`, `handoff`.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// Its content for programs.
    pub body: Value,
}

/// A stored notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StoredNotice {
    /// Its number: from 1, without gaps.
    pub id: u64,
    /// The audit record that it was written with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was written.
    pub time: Timestamp,
    /// The recipient.
    pub to: String,
    /// Its kind.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// Its content for programs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// A notice that a channel has not delivered.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PendingDelivery {
    /// The notice.
    pub notice: StoredNotice,
    /// The number of delivery attempts.
    pub attempts: u64,
    /// The time of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Timestamp>,
}

/// An alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Alert {
    /// Its name: `high_block_rate`.
    pub name: String,
    /// The agent or guardrail, if the alert exists for each of them. Each has its own cooldown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// When it was raised.
    pub fired_at: Timestamp,
    /// The value that exceeded the limit.
    pub value: f64,
    /// Its text.
    pub message: String,
}

impl Alert {
    /// The alert with a time and a value that every store can represent.
    pub(crate) fn storable(&self) -> Alert {
        let value = if self.value.is_nan() { 0.0 } else { self.value.clamp(f64::MIN, f64::MAX) };
        Alert { fired_at: whole_micros(self.fired_at), value, ..self.clone() }
    }
}

/// Whether two times are at least so many seconds apart, in either order: a clock that was set back must not suppress
/// alerts for long.
pub(crate) fn is_apart(last: Timestamp, now: Timestamp, seconds: u64) -> bool {
    let apart = now.duration_since(last).abs();
    i64::try_from(seconds).is_ok_and(|seconds| apart >= SignedDuration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_compared_in_both_directions() {
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        assert!(!is_apart(at(100), at(159), 60) && is_apart(at(100), at(160), 60));
        assert!(!is_apart(at(160), at(101), 60) && is_apart(at(160), at(100), 60));
        assert!(is_apart(at(1), at(1), 0));
        assert!(!is_apart(Timestamp::MIN, Timestamp::MAX, u64::MAX));
    }

    #[test]
    fn non_finite_values_become_storable() {
        let value = |value| {
            let (name, key, message) = (String::new(), String::new(), String::new());
            Alert { name, key, fired_at: Timestamp::UNIX_EPOCH, value, message }.storable().value
        };
        assert_eq!((value(0.5), value(f64::NAN), value(f64::INFINITY)), (0.5, 0.0, f64::MAX));
    }
}
