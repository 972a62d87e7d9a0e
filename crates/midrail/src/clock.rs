//! The time, as a value that can be moved in replays and tests.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};
use midrail_core::Meter;
use parking_lot::Mutex;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Microseconds since a fixed moment, for durations. They never go back.
    fn micros(&self) -> Option<u64> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_micros()).ok()
    }
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        timestamp(SystemTime::now())
    }
}

/// A time of this machine. One beyond the calendar is the last or the first moment of it, so that deadlines have passed.
fn timestamp(time: SystemTime) -> Timestamp {
    let is_past = time < SystemTime::UNIX_EPOCH;
    Timestamp::try_from(time).unwrap_or(if is_past { Timestamp::MIN } else { Timestamp::MAX })
}

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock at a time.
    pub fn at(time: Timestamp) -> Self {
        ManualClock(Mutex::new(time))
    }

    /// Moves it on. `false`: the time would be beyond the calendar, and it stays where it is.
    pub fn advance(&self, seconds: f64) -> bool {
        let mut now = self.0.lock();
        let step = SignedDuration::try_from_secs_f64(seconds);
        let later = step.ok().and_then(|step| now.checked_add(step).ok());
        *now = later.unwrap_or(*now);
        later.is_some()
    }

    /// Moves it to a time, unless it is already later.
    pub fn advance_to(&self, time: Timestamp) {
        let mut now = self.0.lock();
        *now = time.max(*now);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }

    fn micros(&self) -> Option<u64> {
        u64::try_from(self.now().as_microsecond()).ok()
    }
}

/// Measures how long guardrails take. No verdict reads it.
pub(crate) struct Stopwatch<'c>(pub(crate) &'c dyn Clock);

impl Meter for Stopwatch<'_> {
    fn micros(&self) -> Option<u64> {
        self.0.micros()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_beyond_the_calendar_are_its_ends() {
        let epoch = SystemTime::UNIX_EPOCH;
        let later = |seconds| epoch.checked_add(Duration::from_secs(seconds)).unwrap();
        assert_eq!(timestamp(later(1)).as_second(), 1);
        assert_eq!(timestamp(later(1 << 62)), Timestamp::MAX);
        let earlier = epoch.checked_sub(Duration::from_secs(1 << 62)).unwrap();
        assert_eq!(timestamp(earlier), Timestamp::MIN);
    }
}
