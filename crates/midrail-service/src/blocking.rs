//! Work that may block: the engine and the store are synchronous, and are called on threads that are kept for it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::spawn_blocking;

use crate::problem::{HandlerResult, Problem};

/// Does something on a thread that may block. A panic is a problem of this request alone.
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
    log::error!("a request failed in a way that it should not");
    Problem::internal("the request failed in a way that it should not; the log tells more")
}
