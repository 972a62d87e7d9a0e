//! The signals that end a process, also for programs without an async runtime of their own.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM, SIGINT and SIGHUP in place of their default action, which ends the process at once.
pub struct StopSignals {
    runtime: Runtime,
    signals: Vec<(i32, Signal)>,
}

impl StopSignals {
    /// Receives them from now on.
    pub fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let context = runtime.enter();
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let signals = kinds.into_iter().map(|kind| Ok((kind.as_raw_value(), signal(kind)?)));
        let signals = signals.collect::<io::Result<_>>()?;
        drop(context);
        Ok(StopSignals { runtime, signals })
    }

    /// Waits for one of them, and returns its number.
    pub fn wait(self) -> i32 {
        let StopSignals { runtime, mut signals } = self;
        runtime.block_on(poll_fn(|context| {
            let received = signals
                .iter_mut()
                .find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
            received.map_or(Poll::Pending, Poll::Ready)
        }))
    }
}
