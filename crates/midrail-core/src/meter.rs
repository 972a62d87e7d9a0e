//! The durations of checks, for the record.

/// Measures durations for the record. No verdict depends on it.
pub trait Meter {
    /// Microseconds since a fixed moment, if they are measured.
    fn micros(&self) -> Option<u64>;
}

/// Measures nothing.
pub struct NoMeter;

impl Meter for NoMeter {
    fn micros(&self) -> Option<u64> {
        None
    }
}
