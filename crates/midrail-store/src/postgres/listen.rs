//! Waits for records: one connection listens for all projects, and threads wait at their project's door.
//!
//! A notification only says that there is news; what there is, is read. Whoever waits looks by himself once a second as
//! well, so a notification that is lost costs a second, and nothing else.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use midrail_core::AuditRef;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config, Error};

use crate::error::Result;
use crate::postgres::family::{Family, settings};
use crate::postgres::tls::Tls;

/// How often is looked without being told, and how long after a failure is tried again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Who waits for what.
pub(super) struct Ears {
    config: Config,
    tls: Tls,
    limit: Duration,
    doors: Arc<Mutex<BTreeMap<String, Arc<Door>>>>,
    is_listening: AtomicBool,
}

/// Where threads wait for a project.
#[derive(Default)]
struct Door {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// The last record that is known of.
    head: Option<AuditRef>,
    /// When it was looked last. `None`: there is news since.
    looked: Option<Instant>,
    is_looking: bool,
}

impl Ears {
    pub(super) fn new(config: Config, tls: Tls, limit: Duration) -> Self {
        Ears { config, tls, limit, doors: Arc::default(), is_listening: AtomicBool::new(false) }
    }

    /// This process has written a record.
    pub(super) fn heard(&self, signal: &str, head: &AuditRef) {
        let door = lock(&self.doors).get(signal).cloned();
        if let Some(door) = door {
            door.state().learn(Some(head));
            door.news.notify_all();
        }
    }

    /// Waits until there is a record after a `seq`. `look` reads the head; of all who wait, one looks.
    pub(super) fn wait(
        &self,
        signal: &str,
        seq: u64,
        at_most: Duration,
        look: impl Fn() -> Result<Option<AuditRef>>,
    ) -> Result<Option<AuditRef>> {
        let started = Instant::now();
        let door = lock(&self.doors).entry(signal.to_owned()).or_default().clone();
        let mut state = door.state();
        loop {
            if state.head.as_ref().is_some_and(|head| head.seq > seq) {
                return Ok(state.head.clone());
            }
            let left = at_most.saturating_sub(started.elapsed());
            let until_look =
                state.looked.map_or(Duration::ZERO, |at| LOOK_EVERY.saturating_sub(at.elapsed()));
            if until_look.is_zero() && !state.is_looking {
                state.is_looking = true;
                // News that come meanwhile take this back.
                state.looked = Some(Instant::now());
                drop(state);
                let found = look();
                state = door.state();
                state.is_looking = false;
                door.news.notify_all();
                state.learn(found?.as_ref());
                continue;
            }
            if left.is_zero() {
                return Ok(state.head.clone());
            }
            let pause = if state.is_looking { LOOK_EVERY } else { until_look };
            let waited = door.news.wait_timeout(state, left.min(pause));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Door {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn has_news(&self) {
        self.state().looked = None;
        self.news.notify_all();
    }
}

impl State {
    fn learn(&mut self, head: Option<&AuditRef>) {
        let known = self.head.as_ref().map_or(0, |head| head.seq);
        if let Some(head) = head.filter(|head| head.seq > known) {
            self.head = Some(head.clone());
        }
    }
}

impl Family {
    /// Begins to listen, once.
    pub(super) fn listen(&self) {
        if self.ears.is_listening.swap(true, Ordering::AcqRel) {
            return;
        }
        let Ears { config, tls, limit, doors, .. } = &self.ears;
        let (config, tls, limit, doors) = (config.clone(), tls.clone(), *limit, doors.clone());
        self.spawn(async move {
            loop {
                let _ = hear(&config, tls.clone(), limit, &doors).await;
                sleep(LOOK_EVERY).await;
            }
        });
    }
}

/// Listens until the connection is lost.
async fn hear(
    config: &Config,
    tls: Tls,
    limit: Duration,
    doors: &Mutex<BTreeMap<String, Arc<Door>>>,
) -> Result<(), Error> {
    let Ok(connected) = timeout(limit, config.connect(tls)).await else { return Ok(()) };
    let (client, mut connection) = connected?;
    let listen = format!("{}; LISTEN midrail", settings(limit));
    let mut asked = Box::pin(client.batch_execute(&listen));
    let mut is_asked = false;
    loop {
        let message = poll_fn(|context| {
            if !is_asked && asked.as_mut().poll(context).is_ready() {
                is_asked = true;
                // What was written before is not told.
                lock(doors).values().for_each(|door| door.has_news());
            }
            connection.poll_message(context)
        });
        match message.await {
            None => return Ok(()),
            Some(Ok(AsyncMessage::Notification(said))) => {
                let door = lock(doors).get(said.payload()).cloned();
                if let Some(door) = door {
                    door.has_news();
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
