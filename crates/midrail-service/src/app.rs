//! What all handlers share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Semaphore, watch};

use crate::access::Doorkeeper;
use crate::config::Config;
use crate::observe::meter::Meter;
use crate::observe::otlp::Exporter;
use crate::project::{OpenError, Projects};

/// The service as handlers see it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

/// What is behind it.
pub(crate) struct Inner {
    /// What it was told when it started.
    pub(crate) config: Config,
    /// All projects.
    pub(crate) projects: Projects,
    /// Who may come in.
    pub(crate) doorkeeper: Doorkeeper,
    /// When it started.
    pub(crate) started: Instant,
    /// Requests that may be worked on now.
    pub(crate) places: Arc<Semaphore>,
    /// How requests fare.
    pub(crate) meter: Meter,
    /// Who sends decisions on, where somebody is to hear of them.
    pub(crate) exporter: Option<Arc<Exporter>>,
    /// Streams of text that may be opened now.
    pub(crate) streams: Arc<Semaphore>,
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
        let projects = Projects::open(&config, exporter.clone())?;
        let inner = Inner {
            projects,
            doorkeeper: Doorkeeper::default(),
            started: Instant::now(),
            places: Arc::new(Semaphore::new(config.limits.at_once)),
            meter: Meter::default(),
            exporter,
            streams: Arc::new(Semaphore::new(config.limits.streams)),
            closing: watch::Sender::new(false),
            config,
        };
        Ok(App(Arc::new(inner)))
    }

    /// Tells everything that goes on to come to an end.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether it is coming to an end.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until it is coming to an end. Streams that would go on for ever stop then.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender lives as long as the app.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}
