//! The state that all handlers share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedRwLockReadGuard, RwLock, Semaphore, watch};

use crate::access::authenticator::Authenticator;
use crate::config::Config;
use crate::observe::meter::Meter;
use crate::observe::otlp::Exporter;
use crate::project::{OpenError, Projects};

/// The most large bodies that are read at the same time.
const LARGE_BODIES: usize = 64;

/// The service as handlers see it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

/// The shared state.
pub(crate) struct Inner {
    /// The configuration.
    pub(crate) config: Config,
    /// All projects.
    pub(crate) projects: Arc<Projects>,
    /// Authenticates callers.
    pub(crate) authenticator: Authenticator,
    /// When it started.
    pub(crate) started: Instant,
    /// Slots for concurrent requests.
    pub(crate) places: Arc<Semaphore>,
    /// Slots for large bodies that are being read.
    pub(crate) large_bodies: Semaphore,
    /// Measures requests.
    pub(crate) meter: Meter,
    /// Exports decisions over OTLP, if configured.
    pub(crate) exporter: Option<Arc<Exporter>>,
    /// Slots for streams of text.
    pub(crate) streams: Arc<Semaphore>,
    /// Held by tasks that have something to record at the end.
    background: Arc<RwLock<()>>,
    closing: watch::Sender<bool>,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Opens everything.
    pub(crate) fn open(config: Config) -> Result<Self, OpenError> {
        let exporter = config.otlp.clone().map(Exporter::start).transpose().map_err(OpenError::Thread)?;
        let exporter = exporter.map(Arc::new);
        let projects = Arc::new(Projects::open(&config, exporter.clone())?);
        let inner = Inner {
            authenticator: Authenticator::new(projects.clone(), &config),
            projects,
            started: Instant::now(),
            places: Arc::new(Semaphore::new(config.limits.at_once)),
            large_bodies: Semaphore::new(LARGE_BODIES),
            meter: Meter::default(),
            exporter,
            streams: Arc::new(Semaphore::new(config.limits.streams)),
            background: Arc::default(),
            closing: watch::Sender::new(false),
            config,
        };
        Ok(App(Arc::new(inner)))
    }

    /// Starts the shutdown.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// For a task that has something to record at the end: the shutdown waits until it is dropped. `None`: it is too late.
    pub(crate) fn delay_end(&self) -> Option<OwnedRwLockReadGuard<()>> {
        self.background.clone().try_read_owned().ok()
    }

    /// Waits for the tasks that delay the end.
    pub(crate) async fn background_ended(&self) {
        drop(self.background.write().await);
    }

    /// Whether the shutdown has started.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits for the shutdown, which ends open streams.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender lives as long as the app.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}
