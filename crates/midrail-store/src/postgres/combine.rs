//! Reads that are made at the same time are made together: one thread leads and reads for all that wait. A single thread
//! reads at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Result, StoreError};

/// Values by key, read for several threads.
type Found<K, V> = Result<Arc<BTreeMap<K, V>>>;

/// Reads that wait to be made.
pub(super) struct Combiner<K, V> {
    state: Mutex<State<K, V>>,
    answered: Condvar,
}

struct State<K, V> {
    waiting: Vec<Arc<Waiting<K, V>>>,
    is_led: bool,
}

struct Waiting<K, V> {
    keys: Vec<K>,
    answer: Mutex<Option<Found<K, V>>>,
}

impl<K, V> Default for Combiner<K, V> {
    fn default() -> Self {
        let state = State { waiting: Vec::new(), is_led: false };
        Combiner { state: Mutex::new(state), answered: Condvar::new() }
    }
}

impl<K: Ord + Clone, V> Combiner<K, V> {
    /// Returns the values of keys, and possibly of others. `fetch` begins after this call, so that the values include
    /// everything that was written before.
    pub(super) fn read(
        &self,
        keys: Vec<K>,
        fetch: impl Fn(BTreeSet<K>) -> Result<BTreeMap<K, V>>,
    ) -> Found<K, V> {
        let own = Arc::new(Waiting { keys, answer: Mutex::new(None) });
        let mut state = self.state.lock();
        state.waiting.push(own.clone());
        loop {
            if let Some(answer) = own.answer.lock().take() {
                return answer;
            }
            if state.is_led {
                // The timeout is for a missed wake-up only.
                self.answered.wait_for(&mut state, Duration::from_secs(1));
                continue;
            }
            state.is_led = true;
            let leading = Leading { combiner: self, batch: std::mem::take(&mut state.waiting) };
            drop(state);
            let keys = leading.batch.iter().flat_map(|one| one.keys.iter().cloned()).collect();
            leading.answer(&fetch(keys).map(Arc::new));
            drop(leading);
            state = self.state.lock();
        }
    }
}

/// Held by the leading thread. When it is dropped, also by a panic, the next thread leads, and reads without an answer have
/// failed.
struct Leading<'c, K, V> {
    combiner: &'c Combiner<K, V>,
    batch: Vec<Arc<Waiting<K, V>>>,
}

impl<K, V> Leading<'_, K, V> {
    fn answer(&self, found: &Found<K, V>) {
        for one in &self.batch {
            one.answer.lock().get_or_insert_with(|| found.clone());
        }
    }
}

impl<K, V> Drop for Leading<'_, K, V> {
    fn drop(&mut self) {
        self.answer(&Err(StoreError::Abandoned));
        self.combiner.state.lock().is_led = false;
        self.combiner.answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn reads_of_many_threads_are_made_together() {
        let (combiner, fetches) = (Combiner::default(), AtomicUsize::new(0));
        let fetch = |keys: BTreeSet<usize>| {
            fetches.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
            Ok(keys.into_iter().map(|key| (key, key * 2)).collect())
        };
        thread::scope(|scope| {
            for key in 0..32 {
                let (combiner, fetch) = (&combiner, &fetch);
                scope.spawn(move || assert_eq!(combiner.read(vec![key], fetch).unwrap()[&key], key * 2));
            }
        });
        assert!(fetches.into_inner() < 16);
    }

    #[test]
    fn thread_that_panics_does_not_block_the_others() {
        let combiner: Combiner<u8, u8> = Combiner::default();
        let panics = || combiner.read(vec![1], |_| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(combiner.read(vec![1], |_| Ok([(1, 2)].into())).unwrap()[&1], 2);
    }
}
