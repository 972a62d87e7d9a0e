//! What an engine remembers of each guardrail that asks: how many of its questions are under way.

use std::sync::Arc;

use midrail_guardrails::DeepSettings;

pub(super) struct Concurrency {
    settings: Arc<DeepSettings>,
    /// Questions that are asked at this moment.
    pub(super) running: usize,
}

impl Concurrency {
    pub(super) fn new(settings: Arc<DeepSettings>) -> Self {
        Concurrency { settings, running: 0 }
    }

    /// Takes new settings.
    pub(super) fn set(&mut self, settings: &Arc<DeepSettings>) {
        if !Arc::ptr_eq(&self.settings, settings) {
            self.settings = settings.clone();
        }
    }

    /// Whether there is room for another question at this moment.
    pub(super) fn has_room(&self) -> bool {
        self.running < self.settings.max_concurrent
    }

    /// Whether nothing would be lost without it.
    pub(super) fn is_forgettable(&self) -> bool {
        self.running == 0
    }
}
