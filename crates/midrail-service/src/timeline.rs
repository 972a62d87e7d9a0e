//! Decisions over time, for the API and the console. The store counts them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail::{Effect, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::{HandlerResult, Problem};

/// The most parts of a timeline.
const MAX_PARTS: usize = 500;

/// Decisions over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Timeline {
    /// When it begins.
    pub(crate) since: Timestamp,
    /// When it ends.
    pub(crate) until: Timestamp,
    /// Its equal parts, the oldest first.
    pub(crate) buckets: Vec<Bucket>,
}

/// A part of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Bucket {
    /// When it begins.
    pub(crate) from: Timestamp,
    /// Decisions in it.
    pub(crate) decisions: u64,
    /// Decisions by effect.
    pub(crate) effects: BTreeMap<Effect, u64>,
}

impl Timeline {
    /// Decisions by effect, in all parts.
    pub(crate) fn sums(&self) -> BTreeMap<Effect, u64> {
        let mut sums = BTreeMap::new();
        for (effect, number) in self.buckets.iter().flat_map(|bucket| &bucket.effects) {
            *sums.entry(*effect).or_default() += number;
        }
        sums
    }

    /// Counts the decisions between two times in a number of equal parts, by effect.
    pub(crate) fn load(
        store: &dyn Store,
        since: Timestamp,
        until: Timestamp,
        parts: usize,
    ) -> HandlerResult<Self> {
        if !(1..=MAX_PARTS).contains(&parts) {
            return Err(Problem::malformed(format!("`buckets` is 1 to {MAX_PARTS}")));
        }
        if until <= since {
            return Err(Problem::malformed("`until` has to be after `since`"));
        }
        let whole = until.as_microsecond().saturating_sub(since.as_microsecond());
        // As the store divides it: whole microseconds, rounded up.
        let step = whole
            .saturating_sub(1)
            .checked_div(i64::try_from(parts).unwrap_or(1))
            .unwrap_or(0)
            .saturating_add(1);
        let from = |part: usize| {
            let offset = step.saturating_mul(i64::try_from(part).unwrap_or(0));
            Timestamp::from_microsecond(since.as_microsecond().saturating_add(offset)).unwrap_or(until)
        };
        let counted = store.timeline(since, until, parts)?;
        let bucket = |(part, effects): (usize, BTreeMap<Effect, u64>)| Bucket {
            from: from(part),
            decisions: effects.values().sum(),
            effects,
        };
        Ok(Timeline { since, until, buckets: counted.into_iter().enumerate().map(bucket).collect() })
    }
}
