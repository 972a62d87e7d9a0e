//! Waits for records: one connection listens for all projects.
//!
//! A notification only announces a record, which is then read. Waiting threads also poll once a second, so a lost
//! notification delays them by a second at most.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use midrail_core::AuditRef;
use parking_lot::{Condvar, Mutex};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config, Error};

use crate::error::Result;
use crate::postgres::options::settings;
use crate::postgres::tls::Tls;

/// How often to poll without a notification, and the delay before a new connection.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The projects that threads wait for, by their names in notifications.
type Watches = Arc<Mutex<BTreeMap<String, Arc<Watch>>>>;

pub(super) struct Listener {
    config: Config,
    tls: Tls,
    timeout: Duration,
    watches: Watches,
    is_listening: AtomicBool,
}

/// The threads that wait for a project.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The last known record.
    head: Option<AuditRef>,
    /// When the head was last read. `None`: there was a notification since.
    polled: Option<Instant>,
    is_polling: bool,
}

impl Listener {
    pub(super) fn new(config: Config, tls: Tls, timeout: Duration) -> Self {
        Listener { config, tls, timeout, watches: Watches::default(), is_listening: AtomicBool::new(false) }
    }

    /// Wakes waiting threads after this process has written a record.
    pub(super) fn announce(&self, signal: &str, head: &AuditRef) {
        let watch = self.watches.lock().get(signal).cloned();
        if let Some(watch) = watch {
            watch.state.lock().update(Some(head));
            watch.changed.notify_all();
        }
    }

    /// Waits until there is a record after `seq`. `read_head` reads the head; one of all waiting threads does that.
    pub(super) fn wait(
        &self,
        signal: &str,
        seq: u64,
        at_most: Duration,
        read_head: impl Fn() -> Result<Option<AuditRef>>,
    ) -> Result<Option<AuditRef>> {
        let started = Instant::now();
        let watch = self.watches.lock().entry(signal.to_owned()).or_default().clone();
        let mut state = watch.state.lock();
        loop {
            if state.head.as_ref().is_some_and(|head| head.seq > seq) {
                return Ok(state.head.clone());
            }
            let left = at_most.saturating_sub(started.elapsed());
            let until_poll =
                state.polled.map_or(Duration::ZERO, |at| POLL_INTERVAL.saturating_sub(at.elapsed()));
            if until_poll.is_zero() && !state.is_polling {
                state.is_polling = true;
                // A notification that arrives meanwhile resets this.
                state.polled = Some(Instant::now());
                drop(state);
                let found = read_head();
                state = watch.state.lock();
                state.is_polling = false;
                watch.changed.notify_all();
                state.update(found?.as_ref());
                continue;
            }
            if left.is_zero() {
                return Ok(state.head.clone());
            }
            let pause = if state.is_polling { POLL_INTERVAL } else { until_poll };
            watch.changed.wait_for(&mut state, left.min(pause));
        }
    }

    /// The background task that listens. `None`: it runs already.
    pub(super) fn start(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        if self.is_listening.swap(true, Ordering::AcqRel) {
            return None;
        }
        let Listener { config, tls, timeout, watches, .. } = self;
        let (config, tls, timeout, watches) = (config.clone(), tls.clone(), *timeout, watches.clone());
        Some(async move {
            loop {
                let _ = listen(&config, tls.clone(), timeout, &watches).await;
                sleep(POLL_INTERVAL).await;
            }
        })
    }
}

impl Watch {
    /// Makes a waiting thread read the head.
    fn notify(&self) {
        self.state.lock().polled = None;
        self.changed.notify_all();
    }
}

impl State {
    fn update(&mut self, head: Option<&AuditRef>) {
        let known = self.head.as_ref().map_or(0, |head| head.seq);
        if let Some(head) = head.filter(|head| head.seq > known) {
            self.head = Some(head.clone());
        }
    }
}

/// Listens until the connection is lost.
async fn listen(config: &Config, tls: Tls, limit: Duration, watches: &Watches) -> Result<(), Error> {
    let Ok(connected) = timeout(limit, config.connect(tls)).await else { return Ok(()) };
    let (client, mut connection) = connected?;
    let listen = format!("{}; LISTEN midrail", settings(limit));
    let mut started = Box::pin(client.batch_execute(&listen));
    let mut is_started = false;
    loop {
        let message = poll_fn(|context| {
            if !is_started && started.as_mut().poll(context).is_ready() {
                is_started = true;
                // Earlier records were not announced.
                watches.lock().values().for_each(|watch| watch.notify());
            }
            connection.poll_message(context)
        });
        match message.await {
            None => return Ok(()),
            Some(Ok(AsyncMessage::Notification(notification))) => {
                let watch = watches.lock().get(notification.payload()).cloned();
                if let Some(watch) = watch {
                    watch.notify();
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}
