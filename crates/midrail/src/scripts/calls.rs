//! The state of a realm: running calls, timers and commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use midrail_core::{HookAnswer, HookOutcome};

use super::call::{Call, Hook};
use super::error::ScriptError;
use super::inbox::{Inbox, Reply, Request};

/// The running calls, timers and commands of a realm.
pub(super) struct CallTable {
    pub(super) calls: BTreeMap<u64, ActiveCall>,
    pub(super) timers: BTreeMap<u64, Timer>,
    /// The call that runs now, for what it starts.
    pub(super) turn: Option<u64>,
    /// Whether modules are still being loaded.
    pub(super) is_loading: bool,
    /// The name of the script's folder and of its main file, for errors.
    pub(super) folder: String,
    pub(super) main: String,
    inbox: Arc<Inbox>,
    last_id: u64,
}

/// A call that has not been answered yet.
pub(super) struct ActiveCall {
    pub(super) call: Call,
    pub(super) deadline: Instant,
    pub(super) only_load: bool,
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
    /// The call that set it. `None`: the script, as it was loaded.
    pub(super) owner: Option<u64>,
    /// How often it rings, if more than once.
    pub(super) every: Option<Duration>,
}

impl ActiveCall {
    fn new(request: Request) -> Self {
        ActiveCall {
            call: request.call,
            deadline: request.deadline,
            only_load: request.only_load,
            reply: request.reply,
            answer: None,
            failure: None,
            snapshot: BTreeMap::new(),
            runs: BTreeMap::new(),
            lines: 0,
        }
    }
}

impl ActiveCall {
    /// Sends the outcome. The receiver may be gone.
    pub(super) fn reply(&self, end: Result<HookOutcome, ScriptError>) {
        let _ = self.reply.try_send(Reply::End(end));
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

    fn is_settled(&self) -> bool {
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

/// What is needed to call a hook: hook, tool, folder, result, variables, and whether loading was all.
pub(super) type Opening = (Hook, String, String, Option<(String, bool)>, Option<String>, bool);

impl CallTable {
    pub(super) fn new(inbox: &Arc<Inbox>, main: &str) -> Self {
        CallTable {
            calls: BTreeMap::new(),
            timers: BTreeMap::new(),
            turn: None,
            is_loading: true,
            folder: String::new(),
            main: main.to_owned(),
            inbox: Arc::clone(inbox),
            last_id: 0,
        }
    }

    /// Where the ends of commands go.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Begins a call.
    pub(super) fn take_up(&mut self, request: Request) -> u64 {
        let id = self.next_id();
        self.calls.insert(id, ActiveCall::new(request));
        id
    }

    /// What a call begins with.
    pub(super) fn opening(&mut self, id: u64) -> Option<Opening> {
        let ActiveCall { call, only_load, .. } = self.calls.get_mut(&id)?;
        let tool = std::mem::take(&mut call.tool);
        let folder = std::mem::take(&mut call.working_directory);
        Some((call.hook, tool, folder, call.result.take(), call.state.take(), *only_load))
    }

    /// Puts the variables back that a call came with.
    pub(super) fn keep_state(&mut self, id: u64, state: Option<String>) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.call.state = state;
        }
    }

    /// Ends a call, with its timers and its commands, whose numbers it returns.
    pub(super) fn put_down(&mut self, id: u64) -> Option<(ActiveCall, Vec<u64>, Vec<u64>)> {
        let call = self.calls.remove(&id)?;
        let is_its = |timer: &Timer| timer.owner == Some(id);
        let timers: Vec<u64> =
            self.timers.iter().filter(|(_, timer)| is_its(timer)).map(|(id, _)| *id).collect();
        self.timers.retain(|_, timer| !is_its(timer));
        self.inbox.done();
        let runs = call.runs.keys().copied().collect();
        Some((call, timers, runs))
    }

    /// Ends all calls. `stopped` is the error of those without one.
    pub(super) fn put_down_all(&mut self, stopped: &ScriptError) {
        for mut call in std::mem::take(&mut self.calls).into_values() {
            self.inbox.done();
            let failure = call.failure.take();
            call.reply_failed(failure.unwrap_or_else(|| stopped.clone()));
        }
    }

    /// A call that has answered or failed, whether it failed, and the variables that it came with.
    pub(super) fn settled(&mut self) -> Option<(u64, bool, Option<String>)> {
        let (id, call) = self.calls.iter_mut().find(|(_, call)| call.is_settled())?;
        Some((*id, call.failure.is_some(), call.call.state.take()))
    }

    /// Records how a call ended. The first word counts.
    pub(super) fn settle(&mut self, id: u64, end: Result<HookAnswer, ScriptError>) {
        let Some(call) = self.calls.get_mut(&id).filter(|call| !call.is_settled()) else { return };
        match end {
            Ok(answer) => call.answer = Some(answer),
            Err(error) => call.failure = Some(error),
        }
    }

    /// Records that something went wrong in a turn: for its call, or for all where it has none.
    pub(super) fn fail(&mut self, error: &ScriptError) {
        let turn = self.turn.filter(|id| self.calls.contains_key(id));
        let failing = self.calls.iter_mut().filter(|(id, _)| turn.is_none_or(|turn| turn == **id));
        for (_, call) in failing {
            // An allow may be there already, and does not stand when the script fails afterwards.
            call.failure.get_or_insert_with(|| error.clone());
        }
    }

    /// What went wrong already, if anything did.
    pub(super) fn failure(&self) -> Option<ScriptError> {
        self.calls.values().find_map(|call| call.failure.clone())
    }

    /// Fails the calls whose time is up while they wait.
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        let late: Vec<u64> =
            self.calls.iter().filter(|(_, call)| call.deadline <= now).map(|(id, _)| *id).collect();
        for id in late {
            let error = self.too_late(Some(id));
            self.settle(id, Err(error));
        }
    }

    /// When there is something to do without any message. `None`: never.
    pub(super) fn next_event(&self) -> Option<Instant> {
        if self.calls.values().any(ActiveCall::is_settled) || self.is_dead() {
            return Some(Instant::now());
        }
        let deadline = self.calls.values().map(|call| call.deadline).min()?;
        Some(self.next_timer().map_or(deadline, |due| due.min(deadline)))
    }

    /// When the next timer rings.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.values().map(|timer| timer.due).min()
    }

    /// A timer that is due, and the call that set it.
    pub(super) fn due_timer(&mut self, now: Instant) -> Option<(u64, Option<u64>)> {
        let (id, timer) = self.timers.iter_mut().min_by_key(|(_, timer)| timer.due)?;
        let (id, owner) = (*id, timer.owner);
        if timer.due > now {
            return None;
        }
        match timer.every {
            Some(every) => timer.due = now + every,
            None => {
                self.timers.remove(&id);
            }
        }
        Some((id, owner))
    }

    /// A command has ended. The call that it was run for, if that still is under way.
    pub(super) fn run_ended(&mut self, run: u64) -> Option<u64> {
        let (id, call) = self.calls.iter_mut().find(|(_, call)| call.runs.contains_key(&run))?;
        call.runs.remove(&run);
        Some(*id)
    }

    /// Whether nothing is left that could settle what calls wait for.
    fn is_dead(&self) -> bool {
        !self.calls.is_empty()
            && self.timers.is_empty()
            && self.calls.values().all(|call| !call.is_settled() && call.runs.is_empty())
    }

    /// Nothing happened. Calls that nothing can settle any more fail.
    pub(super) fn unsettle(&mut self) {
        if self.is_dead() {
            for call in self.calls.values_mut() {
                let hook = call.call.hook.name();
                let error =
                    format!("the promise of `{hook}` never settles: nothing is left that it could wait for");
                call.failure = Some(ScriptError::of(&self.main, error));
            }
        }
    }

    /// The error of a call whose time is up.
    pub(super) fn too_late(&self, id: Option<u64>) -> ScriptError {
        let call = id.and_then(|id| self.calls.get(&id)).map(|call| &call.call);
        let error = match call {
            Some(call) => format!("stopped: `{}` took longer than {:?}", call.hook.name(), call.within),
            None => "stopped: a timer took too long".to_owned(),
        };
        ScriptError::of(&self.main, error)
    }

    /// An error that was thrown.
    pub(super) fn thrown(&self, message: &str, stack: &str) -> ScriptError {
        ScriptError::thrown(&self.main, &self.folder, message, stack)
    }
}
