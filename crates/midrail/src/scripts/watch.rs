//! Waits without sleep, for what is sooner there than a thread is woken.

use std::hint;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Looks until there is something, for so long at most. It looks once where whoever is waited for has no core to run on.
pub(super) fn watch<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    static HAS_CORES: OnceLock<bool> = OnceLock::new();
    let has_cores =
        *HAS_CORES.get_or_init(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1));
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if !has_cores || began.elapsed() >= at_most {
            return None;
        }
        hint::spin_loop();
    }
}
