//! The clock of the program. Debug builds can read the time from a file, for tests.

use std::sync::Arc;

use jiff::Timestamp;
use midrail::{Clock, SystemClock};

/// The clock of this process.
pub(crate) fn clock() -> Arc<dyn Clock> {
    #[cfg(debug_assertions)]
    if let Some(file) = std::env::var_os(moved::VARIABLE) {
        return Arc::new(moved::Moved(file.into()));
    }
    Arc::new(SystemClock)
}

/// Now, by that clock.
pub(crate) fn now() -> Timestamp {
    clock().now()
}

// INVARIANT: a changed clock can time out requests and trigger emergency overrides, so release builds do not contain
// this.
#[cfg(debug_assertions)]
mod moved {
    use std::path::PathBuf;

    use jiff::Timestamp;
    use midrail::{Clock, SystemClock};

    /// Names the file that holds the time.
    pub(super) const VARIABLE: &str = "MIDRAIL_TEST_CLOCK";

    /// A clock that reads its time from a file.
    pub(super) struct Moved(pub(super) PathBuf);

    impl Clock for Moved {
        fn now(&self) -> Timestamp {
            let text = std::fs::read_to_string(&self.0).unwrap_or_default();
            text.trim().parse().unwrap_or_else(|_| SystemClock.now())
        }
    }
}
