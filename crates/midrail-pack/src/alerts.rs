//! The condition of an alert, ready to be held against figures.

use crate::expr::{Comparison, Expected, Expression};
use crate::names::{ALERT_GROUPS, ALERT_NAMES, GLOBS};

/// A figure compared with a number over a time, for each member of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertCondition {
    /// What is measured: `block_rate`, `bypass_requests` or `avg_duration_ms`.
    pub metric: String,
    /// Over how many seconds, where that is said.
    pub window_seconds: Option<u64>,
    /// For each of what, where that is said: `agent`, `guardrail`, `session` or `task`.
    pub group_by: Option<String>,
    op: Comparison,
    threshold: f64,
}

impl AlertCondition {
    /// Reads a condition such as `block_rate > 30% over 10 minute window`. `None`: it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let expected = Expected::Alert { groups: ALERT_GROUPS };
        let expression = Expression::parse(text, &ALERT_NAMES, expected, GLOBS).ok()?;
        let alert = expression.alert()?;
        Some(AlertCondition {
            metric: alert.metric.term().to_owned(),
            window_seconds: alert.window_seconds,
            group_by: alert.group_by.clone(),
            op: alert.op,
            threshold: alert.threshold,
        })
    }

    /// Whether a figure is one to raise the alert for.
    pub fn holds(&self, figure: f64) -> bool {
        match self.op {
            Comparison::Equal => (figure - self.threshold).abs() < f64::EPSILON,
            Comparison::NotEqual => (figure - self.threshold).abs() >= f64::EPSILON,
            Comparison::Less => figure < self.threshold,
            Comparison::LessOrEqual => figure <= self.threshold,
            Comparison::Greater => figure > self.threshold,
            Comparison::GreaterOrEqual => figure >= self.threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_alerts_are_read() {
        let rate = AlertCondition::parse("block_rate > 30% over 10 minute window").unwrap();
        assert_eq!((rate.metric.as_str(), rate.window_seconds), ("block_rate", Some(600)));
        assert!(rate.holds(0.31) && !rate.holds(0.3));
        let abuse = AlertCondition::parse("bypass_requests > 5 per agent per hour").unwrap();
        assert_eq!((abuse.window_seconds, abuse.group_by.as_deref()), (Some(3600), Some("agent")));
        assert!(abuse.holds(6.0) && !abuse.holds(5.0));
        let slow = AlertCondition::parse("avg_duration_ms > 500").unwrap();
        assert!(slow.window_seconds.is_none() && slow.holds(501.0));
        assert_eq!(AlertCondition::parse("block_rate"), None);
    }
}
