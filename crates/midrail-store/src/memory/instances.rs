//! Instances in memory: those of one process.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::instance::{Instance, Instances};
use crate::memory::MemoryStore;

impl Instances for MemoryStore {
    fn join(&self, instance: &Instance, live_for: Duration, is_confirmed: bool) -> Result<Vec<Instance>> {
        let mut state = self.state();
        let is_other = |other: &Instance| other.id != instance.id && other.revision != instance.revision;
        state.instances.retain(|_, (_, seen)| seen.elapsed() <= live_for);
        let all = state.instances.values().map(|(other, _)| other);
        let others: Vec<Instance> = all.filter(|other| is_other(other)).cloned().collect();
        if others.is_empty() || is_confirmed {
            state.instances.insert(instance.id.clone(), (instance.clone(), Instant::now()));
        }
        Ok(others)
    }

    fn renew(&self, instance: &Instance) -> Result<()> {
        self.state().instances.insert(instance.id.clone(), (instance.clone(), Instant::now()));
        Ok(())
    }

    fn live_instances(&self, live_for: Duration) -> Result<Vec<Instance>> {
        let state = self.state();
        let live = state.instances.values().filter(|(_, seen)| seen.elapsed() <= live_for);
        Ok(live.map(|(instance, _)| instance.clone()).collect())
    }

    fn leave(&self, id: &str) -> Result<()> {
        self.state().instances.remove(id);
        Ok(())
    }
}
