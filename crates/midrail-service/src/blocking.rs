//! Blocking work: the engine and the store are synchronous, and run on a pool of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::spawn_blocking;

use crate::problem::{HandlerResult, Problem};

/// Runs work on a thread that may block. A panic fails only this request.
pub(crate) async fn blocking<T, F>(work: F) -> HandlerResult<T>
where
    T: Send + 'static,
    F: FnOnce() -> HandlerResult<T> + Send + 'static,
{
    let done = spawn_blocking(move || catch_unwind(AssertUnwindSafe(work))).await;
    match done {
        Ok(Ok(outcome)) => outcome,
        _ => Err(failed()),
    }
}

/// The problem of a request that panicked.
pub(crate) fn failed() -> Problem {
    log::error!("a request failed with an internal error");
    Problem::internal("internal error; the log has details")
}
