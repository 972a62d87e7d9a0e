//! Waits without sleep, for what is sooner there than a thread is woken.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// How often a processor is told between two looks that nothing is done. About a microsecond, in which whoever shares its
/// core runs as if it were alone.
const PAUSES: u32 = 32;

/// Looks until there is something, for so long at most. Its turn is given away between looks: whoever is waited for may have
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
