//! Waits without sleep for a value that arrives sooner than a thread is woken.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The number of spin hints between two checks: about a microsecond, in which the other thread of the core runs freely.
const PAUSES: u32 = 32;

/// Polls until there is a value, at most for a time. It yields between two polls, because the awaited thread may have
/// been woken on the same core.
pub(super) fn watch<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() >= at_most {
            return None;
        }
        for _ in 0..PAUSES {
            hint::spin_loop();
        }
        thread::yield_now();
    }
}
