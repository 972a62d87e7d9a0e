//! Traces and logs by OTLP over HTTP, as JSON: one span per decision, with an event per verdict, and a log line for
//! every blocked action. A bounded queue decouples decisions from the network: spans that do not fit are counted
//! and dropped.

mod encode;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use midrail::core::{AuditRef, Record};
use midrail::metrics::MetricsText;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

pub(crate) use encode::Parent;

/// The length of the queue.
const QUEUE_LENGTH: usize = 4_096;

/// The most decisions per export.
const BATCH: usize = 256;

/// How long a decision waits for others to be sent with.
const LINGER: Duration = Duration::from_secs(1);

/// The number of tries, and the first pause. Each pause is twice as long as the one before.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// The timeout of the collector.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The collector of traces and logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Otlp {
    /// The collector: `http://127.0.0.1:4318`.
    pub endpoint: String,
    /// Headers to send, such as the collector's key.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Otlp").field("endpoint", &self.endpoint).field("headers", &names).finish()
    }
}

/// Exports decisions.
pub(crate) struct Exporter {
    queue: RwLock<Option<SyncSender<Queued>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counts: Arc<ExportCounts>,
}

/// Counts of exported spans.
#[derive(Default)]
struct ExportCounts {
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// A queued decision: its span and its log line.
type Queued = (Value, Option<Value>);

thread_local! {
    /// The span that the request being decided on this thread belongs to.
    static PARENT: RefCell<Option<Parent>> = const { RefCell::new(None) };
}

/// Decides within the span of the caller.
pub(crate) fn with_parent<T>(parent: Option<Parent>, decide: impl FnOnce() -> T) -> T {
    PARENT.with(|held| *held.borrow_mut() = parent);
    let decided = decide();
    PARENT.with(|held| *held.borrow_mut() = None);
    decided
}

impl Exporter {
    /// Starts sending.
    pub(crate) fn start(to: Otlp) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE_LENGTH);
        let counts = Arc::new(ExportCounts::default());
        let thread_counts = counts.clone();
        let thread = thread::Builder::new()
            .name("midrail-otlp".to_owned())
            .spawn(move || Sender { agent: agent(), to, counts: thread_counts }.run(&waiting))?;
        Ok(Exporter { queue: RwLock::new(Some(queue)), thread: Mutex::new(Some(thread)), counts })
    }

    /// Queues a decision.
    pub(crate) fn export(&self, project: &str, record: &Record, place: &AuditRef) {
        let parent = PARENT.with(|held| held.borrow().clone());
        let decision = encode::decision(project, record, place, parent.as_ref());
        let is_queued = self.queue.read().as_ref().is_some_and(|queue| queue.try_send(decision).is_ok());
        if !is_queued {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the counts as metrics.
    pub(crate) fn write(&self, out: &mut MetricsText) {
        let counts =
            [("sent", &self.counts.sent), ("dropped", &self.counts.dropped), ("failed", &self.counts.failed)];
        let counts =
            counts.map(|(outcome, count)| (vec![("outcome", outcome)], count.load(Ordering::Relaxed)));
        out.family("midrail_otlp_spans_total", "counter", "Spans, by outcome.", counts);
    }

    /// Sends queued decisions, and ends.
    pub(crate) fn finish(&self) {
        *self.queue.write() = None;
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.finish();
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
    config.build().into()
}

struct Sender {
    agent: ureq::Agent,
    to: Otlp,
    counts: Arc<ExportCounts>,
}

impl Sender {
    fn run(&self, waiting: &Receiver<Queued>) {
        let mut batch = Vec::new();
        let mut since = Instant::now();
        loop {
            let left = LINGER.saturating_sub(since.elapsed());
            match waiting.recv_timeout(if batch.is_empty() { LINGER } else { left }) {
                Ok(queued) => {
                    if batch.is_empty() {
                        since = Instant::now();
                    }
                    batch.push(queued);
                    if batch.len() < BATCH {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.send(&mut batch);
                    return;
                }
            }
            self.send(&mut batch);
        }
    }

    fn send(&self, batch: &mut Vec<Queued>) {
        if batch.is_empty() {
            return;
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let (spans, logs): (Vec<Value>, Vec<Option<Value>>) = batch.drain(..).unzip();
        let logs: Vec<Value> = logs.into_iter().flatten().collect();
        let is_sent = self.post("v1/traces", &encode::traces(spans));
        if !logs.is_empty() {
            self.post("v1/logs", &encode::logs(logs));
        }
        let counter = if is_sent { &self.counts.sent } else { &self.counts.failed };
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Posts a body, with retries if the collector is busy or unreachable.
    fn post(&self, what: &str, body: &Value) -> bool {
        let url = format!("{}/{what}", self.to.endpoint.trim_end_matches('/'));
        let text = body.to_string();
        let mut pause = PAUSE;
        for again in (0..TRIES).rev() {
            let mut request = self.agent.post(&url).header("content-type", "application/json");
            for (name, value) in &self.to.headers {
                request = request.header(name, value);
            }
            match request.send(text.as_str()) {
                Ok(response) if response.status().is_success() => return true,
                Ok(response)
                    if again == 0 || !matches!(response.status().as_u16(), 429 | 502 | 503 | 504) =>
                {
                    log::warn!(what, status = response.status().as_u16(); "the collector rejected the export");
                    return false;
                }
                Err(error) if again == 0 => {
                    log::warn!(what, error:%; "the collector could not be reached");
                    return false;
                }
                _ => thread::sleep(pause),
            }
            pause *= 2;
        }
        false
    }
}
