//! Follows the store of a project while callers listen, and wakes them when it changes.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use midrail::Store;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::problem::{HandlerResult, Problem};

/// How long one poll of the store waits for a new record. Alerts are polled at the same interval.
const LOOK: Duration = Duration::from_secs(1);

/// The shortest interval between two wake-ups.
const REST: Duration = Duration::from_millis(20);

/// The most listeners of one project.
const LISTENERS: usize = 1000;

/// The followers of one project.
pub(crate) struct Live {
    head: watch::Sender<Mark>,
    /// Whether the thread runs. New listeners and the ending thread synchronise on it.
    running: Arc<Mutex<bool>>,
    places: Arc<Semaphore>,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            head: watch::Sender::new(Mark::default()),
            running: Arc::default(),
            places: Arc::new(Semaphore::new(LISTENERS)),
        }
    }
}

/// How far the store has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The last record.
    pub(crate) seq: u64,
    /// The time of the last alert.
    alert: i64,
}

/// A listener.
pub(crate) struct Listener {
    marks: watch::Receiver<Mark>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// Marks everything so far as seen.
    pub(crate) fn catch_up(&mut self) {
        self.marks.borrow_and_update();
    }

    /// Waits for news.
    pub(crate) async fn news(&mut self) {
        if self.marks.changed().await.is_err() {
            // The project was closed, which it never is while it is listened to.
            std::future::pending::<()>().await;
        }
    }
}

impl Live {
    /// Listens to a store. The number of listeners is limited.
    pub(crate) fn listen(&self, store: &Arc<dyn Store>) -> HandlerResult<Listener> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            Problem::unavailable(format!("this project has {LISTENERS} listeners already")).retry_after(5)
        })?;
        let mut running = self.running.lock();
        let marks = self.head.subscribe();
        if !*running {
            let (head, ended, store) = (self.head.clone(), self.running.clone(), store.clone());
            let started = thread::Builder::new().name("midrail-live".to_owned()).spawn(move || {
                let _ended = Ended(ended.clone());
                follow(&head, &ended, &*store);
            });
            started
                .map_err(|error| Problem::unavailable(format!("the store cannot be followed: {error}")))?;
            *running = true;
        }
        Ok(Listener { marks, _place: place })
    }
}

#[cfg(test)]
impl Live {
    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.head.receiver_count()
    }
}

/// Resets the flag if the thread panics.
struct Ended(Arc<Mutex<bool>>);

impl Drop for Ended {
    fn drop(&mut self) {
        if thread::panicking() {
            *self.0.lock() = false;
        }
    }
}

/// Follows a store while there are listeners.
fn follow(head: &watch::Sender<Mark>, running: &Mutex<bool>, store: &dyn Store) {
    let mut failed = false;
    loop {
        let was = *head.borrow();
        match look(store, was) {
            Ok(mark) => {
                failed = false;
                head.send_if_modified(|known| std::mem::replace(known, mark) != mark);
                thread::sleep(REST);
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    log::error!(error:%; "the store cannot be followed");
                }
                thread::sleep(LOOK);
            }
        }
        let mut running = running.lock();
        if head.receiver_count() == 0 {
            *running = false;
            return;
        }
    }
}

fn look(store: &dyn Store, was: Mark) -> Result<Mark, midrail::StoreError> {
    let seq = store.wait_for_record(was.seq, LOOK)?.map_or(0, |head| head.seq);
    let alert = store.alerts(1)?.first().map_or(0, |alert| alert.fired_at.as_microsecond());
    Ok(Mark { seq, alert })
}
