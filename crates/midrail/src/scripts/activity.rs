//! What runs in a realm: one call at most, timers and commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use midrail_core::{HookAnswer, HookOutcome};

use super::call::{Call, ScriptError};
use super::inbox::{Inbox, Reply, Request};

/// The call, the timers and the commands of a realm.
pub(super) struct Activity {
    pub(super) call: Option<ActiveCall>,
    pub(super) timers: BTreeMap<u64, Timer>,
    /// Whether the code that runs now belongs to the call.
    pub(super) is_turn_of_call: bool,
    /// Whether modules are still being loaded.
    pub(super) is_loading: bool,
    /// The name of the script's folder and of its main file, for errors.
    pub(super) folder: String,
    pub(super) main: String,
    /// Receives the ends of commands.
    pub(super) inbox: Arc<Inbox>,
    last_id: u64,
}

/// A call that has not been answered yet.
pub(super) struct ActiveCall {
    pub(super) id: u64,
    pub(super) call: Call,
    pub(super) deadline: Instant,
    reply: SyncSender<Reply>,
    pub(super) answer: Option<HookAnswer>,
    /// What went wrong, also after it answered.
    pub(super) failure: Option<ScriptError>,
    /// The changes that it made to `memory.snapshot`.
    pub(super) snapshot: BTreeMap<String, Option<String>>,
    /// Its commands that still run, and how to stop them.
    pub(super) runs: BTreeMap<u64, Arc<AtomicBool>>,
    /// Lines that it printed.
    pub(super) lines: usize,
}

/// A timer.
pub(super) struct Timer {
    pub(super) due: Instant,
    /// Whether the call set it. `false`: the script, when it was loaded.
    pub(super) is_of_call: bool,
    /// How often it fires, if more than once.
    pub(super) every: Option<Duration>,
}

impl ActiveCall {
    /// Sends the outcome. The receiver may be gone.
    pub(super) fn reply(&self, end: Result<HookOutcome, ScriptError>) {
        let _ = self.reply.try_send(Reply::End(Box::new(end)));
    }

    /// Sends the failure, with a refusal that came before it.
    pub(super) fn reply_failed(&mut self, error: ScriptError) {
        let objection = self.answer.take().filter(|answer| *answer != HookAnswer::Pass);
        self.reply(match objection {
            Some(answer) => {
                Ok(HookOutcome { answer, failure: Some(error.to_string()), ..HookOutcome::pass() })
            }
            None => Err(error),
        });
    }

    pub(super) fn is_settled(&self) -> bool {
        self.answer.is_some() || self.failure.is_some()
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        // No command outlives the call that it was run for.
        for stop in self.runs.values() {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Activity {
    pub(super) fn new(inbox: &Arc<Inbox>, main: &str) -> Self {
        Activity {
            call: None,
            timers: BTreeMap::new(),
            is_turn_of_call: false,
            is_loading: true,
            folder: String::new(),
            main: main.to_owned(),
            inbox: Arc::clone(inbox),
            last_id: 0,
        }
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Begins a call.
    pub(super) fn begin_call(&mut self, Request { call, deadline, reply }: Request) {
        self.call = Some(ActiveCall {
            id: self.next_id(),
            call,
            deadline,
            reply,
            answer: None,
            failure: None,
            snapshot: BTreeMap::new(),
            runs: BTreeMap::new(),
            lines: 0,
        });
    }

    /// The call with this number, if it has not ended.
    pub(super) fn call_with(&mut self, id: u64) -> Option<&mut ActiveCall> {
        self.call.as_mut().filter(|call| call.id == id)
    }

    /// Ends the call. Returns it with the numbers of its timers.
    pub(super) fn end_call(&mut self) -> Option<(ActiveCall, Vec<u64>)> {
        let call = self.call.take()?;
        let timers = self.timers.extract_if(.., |_, timer| timer.is_of_call).map(|(id, _)| id).collect();
        self.inbox.release();
        Some((call, timers))
    }

    /// Records how a call ended. The first result counts.
    pub(super) fn settle(&mut self, id: u64, end: Result<HookAnswer, ScriptError>) {
        let Some(call) = self.call_with(id).filter(|call| !call.is_settled()) else { return };
        match end {
            Ok(answer) => call.answer = Some(answer),
            Err(error) => call.failure = Some(error),
        }
    }

    /// Records that the script failed. An allow that is there already does not count then.
    pub(super) fn fail(&mut self, error: ScriptError) {
        if let Some(call) = &mut self.call {
            call.failure.get_or_insert(error);
        }
    }

    /// Fails the call if its time is up while it waits.
    pub(super) fn expire(&mut self) {
        let is_late = |call: &&ActiveCall| call.deadline <= Instant::now() && !call.is_settled();
        if self.call.as_ref().filter(is_late).is_some() {
            self.fail(self.too_late(true));
        }
    }

    /// When there is something to do without any message. `None`: never.
    pub(super) fn next_event(&self) -> Option<Instant> {
        let call = self.call.as_ref()?;
        if call.is_settled() || self.is_dead() {
            return Some(Instant::now());
        }
        Some(self.next_timer().map_or(call.deadline, |due| due.min(call.deadline)))
    }

    /// When the next timer fires.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.values().map(|timer| timer.due).min()
    }

    /// A timer that is due, and whether the call set it.
    pub(super) fn due_timer(&mut self, now: Instant) -> Option<(u64, bool)> {
        let (id, timer) = self.timers.iter_mut().min_by_key(|(_, timer)| timer.due)?;
        let (id, is_of_call) = (*id, timer.is_of_call);
        if timer.due > now {
            return None;
        }
        match timer.every {
            Some(every) => timer.due = now + every,
            None => {
                self.timers.remove(&id);
            }
        }
        Some((id, is_of_call))
    }

    /// Whether nothing is left that could settle the call.
    fn is_dead(&self) -> bool {
        let waits_for_nothing = |call: &ActiveCall| !call.is_settled() && call.runs.is_empty();
        self.timers.is_empty() && self.call.as_ref().is_some_and(waits_for_nothing)
    }

    /// Fails the call if nothing can settle it any more.
    pub(super) fn fail_if_dead(&mut self) {
        if let Some(call) = self.call.as_ref().filter(|_| self.is_dead()) {
            let hook = call.call.hook.name();
            let error =
                format!("the promise of `{hook}` never settles: nothing is left that it could wait for");
            self.fail(ScriptError::new(&self.main, error));
        }
    }

    /// The error of a turn whose time is up.
    pub(super) fn too_late(&self, is_turn_of_call: bool) -> ScriptError {
        let error = match self.call.as_ref().filter(|_| is_turn_of_call) {
            Some(ActiveCall { call, .. }) => {
                format!("stopped: `{}` took longer than {:?}", call.hook.name(), call.within)
            }
            None => "stopped: a timer took too long".to_owned(),
        };
        ScriptError::new(&self.main, error)
    }

    /// An error that was thrown.
    pub(super) fn thrown(&self, message: &str, stack: &str) -> ScriptError {
        ScriptError::thrown(&self.main, &self.folder, message, stack)
    }
}
