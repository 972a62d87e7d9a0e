//! Work of an engine that outlives a decision: deliveries of notices, late answers and scripts.

use std::time::{Duration, Instant};

use crate::engine::Engine;
pub use crate::scripts::stop_script_commands;

/// Controls the background work of an engine. See [`Engine::background`].
#[derive(Clone, Copy)]
pub struct Background<'e> {
    pub(crate) engine: &'e Engine,
}

impl Engine {
    /// The background work of this engine.
    pub fn background(&self) -> Background<'_> {
        Background { engine: self }
    }

    /// Runs work that no decision waits for on a thread of its own.
    pub(crate) fn spawn_delivery<T>(&self, work: impl FnOnce() -> T + Send + 'static) {
        let thread =
            std::thread::Builder::new().name("midrail-notices".to_owned()).spawn(move || drop(work()));
        match thread {
            Ok(thread) => {
                let mut threads = self.deliveries.lock();
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => log::error!("notices wait for the next delivery: {error}"),
        }
    }
}

impl Background<'_> {
    /// Waits for the notices that are being delivered. Dropping the engine does the same.
    pub fn finish(&self) {
        self.engine.join_deliveries();
    }

    /// Waits until all external services have answered and their late answers are stored, at most for a time. A program
    /// calls this before it ends. `false`: some have not answered.
    pub fn wait_for_late_answers(&self, timeout: Duration) -> bool {
        self.engine.deep_queue.wait_until_idle(Instant::now() + timeout)
    }

    /// Stops scripts at this time, whatever their timeouts are. A script that is stopped fails as its settings say, and
    /// its failure is recorded. The first call counts.
    pub fn stop_scripts_at(&self, deadline: Instant) {
        self.engine.script_deadline.get_or_init(|| deadline);
    }
}
