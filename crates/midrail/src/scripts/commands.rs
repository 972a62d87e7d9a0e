//! The commands that scripts have started in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long stopped commands are waited for.
const GRACE: Duration = Duration::from_secs(1);

/// The flags that stop the running commands.
static COMMANDS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

/// A running command.
pub(super) struct RunningCommand(Arc<AtomicBool>);

impl RunningCommand {
    pub(super) fn new(stop: &Arc<AtomicBool>) -> Self {
        COMMANDS.lock().push(Arc::clone(stop));
        RunningCommand(Arc::clone(stop))
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        COMMANDS.lock().retain(|stop| !Arc::ptr_eq(stop, &self.0));
    }
}

/// Waits for stopped commands, so that they end before the process does.
pub(super) fn await_commands() {
    let deadline = Instant::now() + GRACE;
    while COMMANDS.lock().iter().any(|stop| stop.load(Ordering::Relaxed)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Stops all commands that scripts have started in this process. A program calls it before it ends.
pub fn stop_script_commands() {
    for stop in COMMANDS.lock().iter() {
        stop.store(true, Ordering::Relaxed);
    }
    await_commands();
}
