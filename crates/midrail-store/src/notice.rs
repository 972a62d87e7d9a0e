//! What others are told, as it waits for its delivery; and the alerts that are raised. How they are delivered is not
//! known here.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::whole_micros;

/// Something to tell to someone, to be written with a record or an alert.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewNotice {
    /// Whom: `orchestrator`, or the role of a person.
    pub to: String,
    /// What it is about, in one word: `approval`, `alert`, `handoff`.
    pub kind: String,
    /// What.
    pub message: String,
    /// The same for programs.
    pub body: Value,
}

/// A notice that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StoredNotice {
    /// Its number: from 1, without gaps.
    pub id: u64,
    /// The audit record that it was written with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was written.
    pub time: Timestamp,
    /// Whom it is for.
    pub to: String,
    /// What it is about, in one word.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// The same for programs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// A notice that a channel has not delivered.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PendingDelivery {
    /// The notice.
    pub notice: StoredNotice,
    /// How often its delivery was tried.
    pub attempts: u64,
    /// When it was tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Timestamp>,
}

/// An alert that was raised, or is to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Alert {
    /// Which alert: `high_block_rate`.
    pub name: String,
    /// What it is about, where there is one for each agent or guardrail. Each has a cool-down of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// When.
    pub fired_at: Timestamp,
    /// The figure that was too high.
    pub value: f64,
    /// The same in words.
    pub message: String,
}

impl Alert {
    /// The alert with a time and a figure that every store can keep.
    pub(crate) fn kept(&self) -> Alert {
        let value = if self.value.is_nan() { 0.0 } else { self.value.clamp(f64::MIN, f64::MAX) };
        Alert { fired_at: whole_micros(self.fired_at), value, ..self.clone() }
    }
}

/// Whether so many seconds lie between two moments, whichever is the earlier: a clock that was set back must not
/// silence anything for long.
pub(crate) fn is_apart(last: Timestamp, now: Timestamp, seconds: u64) -> bool {
    let apart = now.duration_since(last).abs();
    i64::try_from(seconds).is_ok_and(|seconds| apart >= SignedDuration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_apart_either_way() {
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        assert!(!is_apart(at(100), at(159), 60) && is_apart(at(100), at(160), 60));
        assert!(!is_apart(at(160), at(101), 60) && is_apart(at(160), at(100), 60));
        assert!(is_apart(at(1), at(1), 0));
        assert!(!is_apart(Timestamp::MIN, Timestamp::MAX, u64::MAX));
    }

    #[test]
    fn odd_figures_are_made_storable() {
        let value = |value| {
            let (name, key, message) = (String::new(), String::new(), String::new());
            Alert { name, key, fired_at: Timestamp::UNIX_EPOCH, value, message }.kept().value
        };
        assert_eq!((value(0.5), value(f64::NAN), value(f64::INFINITY)), (0.5, 0.0, f64::MAX));
    }
}
