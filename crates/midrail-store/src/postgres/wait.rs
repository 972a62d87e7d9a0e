//! Waits for futures on any thread, also on one of another runtime, without panics.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread. The runtime's own function would panic on a thread that drives a runtime.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => thread::park(),
        }
    }
}

/// One of several concurrent futures.
pub(super) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends statements without waiting between them, and waits for all answers, or for the first error.
///
/// After a statement that cannot be sent, the following ones, such as a commit, are not sent.
pub(super) async fn all<E>(mut tasks: Vec<Task<'_, Result<(), E>>>) -> Result<(), E> {
    let mut is_done = vec![false; tasks.len()];
    poll_fn(|context| {
        for (task, is_done) in tasks.iter_mut().zip(&mut is_done).filter(|(_, is_done)| !**is_done) {
            match task.as_mut().poll(context) {
                Poll::Ready(Ok(())) => *is_done = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
        }
        if is_done.iter().all(|is_done| *is_done) { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_of_another_runtime_can_wait() {
        let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let (ours, theirs) = (runtime().unwrap(), runtime().unwrap());
        let slow = || async {
            tokio::task::yield_now().await;
            7
        };
        let wait = || {
            let _inside = ours.enter();
            block_on(slow())
        };
        assert_eq!(wait(), 7);
        assert_eq!(theirs.block_on(async { wait() }), 7, "on a thread that drives a runtime");
    }

    #[test]
    fn statements_after_a_failure_are_not_sent() {
        let count = std::sync::atomic::AtomicU8::new(0);
        let sent = &count;
        let task = |outcome: Result<(), u8>, waits: bool| -> Task<'_, Result<(), u8>> {
            Box::pin(async move {
                sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if waits {
                    tokio::task::yield_now().await;
                }
                outcome
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(all(vec![task(Ok(()), true), task(Ok(()), false)])), Ok(()));
        let broken = vec![task(Ok(()), true), task(Err(7), false), task(Ok(()), false)];
        assert_eq!(runtime.block_on(all(broken)), Err(7));
        assert_eq!(count.into_inner(), 4, "the last one was sent");
    }
}
