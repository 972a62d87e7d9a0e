//! One realm: a JavaScript engine with one script in it, on its own thread, with an event loop as in Node.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use midrail_core::{HookAnswer, HookOutcome};
use rquickjs::{Context, Function, Object, Runtime};
use serde_json::Value;

use super::activity::Activity;
use super::call::{Hook, Script, ScriptError, label};
use super::inbox::{Inbox, Message, Wakeup};
use super::modules::{Files, Home, SourceFile};
use super::turns::{Limit, RealmFailure, Rejections, State, Turns};
use crate::error::Available;
use crate::probes::Exec;

/// The least memory of a realm: what it takes to start, before anything of the script runs.
const LEAST_MEMORY: usize = 1 << 20;

/// Serves the calls of a realm until there are no more, or until it has to be stopped.
pub(super) fn run(script: &Script, inbox: &Arc<Inbox>) {
    let _end = AtEnd(inbox);
    let Wakeup::Message(Message::Call(first)) = inbox.pop(None) else { return };
    let main = label(&script.path);
    let activity = Rc::new(RefCell::new(Activity::new(inbox, &main)));
    activity.borrow_mut().begin_call(*first);
    if let Err(error) = serve(script, inbox, &activity) {
        activity.borrow_mut().fail(error);
    }
    if let Some((mut call, _)) = activity.borrow_mut().end_call()
        && let Some(failure) = call.failure.take()
    {
        call.reply_failed(failure);
    }
}

/// Closes the realm also where it ends by a panic.
struct AtEnd<'i>(&'i Arc<Inbox>);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn serve(script: &Script, inbox: &Arc<Inbox>, activity: &Rc<RefCell<Activity>>) -> Result<(), ScriptError> {
    let home = Home::new(script)?;
    let broken = |error: rquickjs::Error| ScriptError::new(&home.main, format!("cannot be started: {error}"));
    activity.borrow_mut().folder.clone_from(&home.label);
    let limit = Rc::new(Limit::default());
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(script.memory.max(LEAST_MEMORY));
    runtime.set_max_stack_size(script.stack);
    let (its_limit, its_inbox) = (Rc::clone(&limit), Arc::clone(inbox));
    let is_over = move || its_limit.is_over() || its_inbox.is_given_up();
    runtime.set_interrupt_handler(Some(Box::new(is_over)));
    let rejections = Rc::new(Rejections::default());
    let its_rejections = Rc::clone(&rejections);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, is_handled| {
        its_rejections.note(&ctx, promise, reason, is_handled);
    })));
    let files = Files::new(home.clone());
    runtime.set_loader(files.clone(), files.clone());
    let context = Context::full(&runtime).map_err(broken)?;
    context.with(|ctx| {
        let mut turns =
            Turns { ctx: &ctx, activity, limit: &limit, rejections: &rejections, inbox, prelude: None };
        let loaded = turns.load(&files);
        let served = loaded.map(|(functions, state)| {
            let functions = Functions::new(&functions)?;
            // Where it had to be stopped, the call has the reason.
            let _ = Realm { turns, inbox, functions, state, seen: files.seen() }.serve();
            Ok(())
        });
        // No value may outlive the context that it is from.
        let _ = ctx.remove_userdata::<Object<'_>>();
        served?.map_err(broken)
    })
}

/// What the realm calls in the prelude.
struct Functions<'js> {
    start: Function<'js>,
    fire: Function<'js>,
    ended: Function<'js>,
    forget: Function<'js>,
}

impl<'js> Functions<'js> {
    fn new(functions: &Object<'js>) -> rquickjs::Result<Self> {
        Ok(Functions {
            start: functions.get("start")?,
            fire: functions.get("fire")?,
            ended: functions.get("ended")?,
            forget: functions.get("forget")?,
        })
    }
}

struct Realm<'a, 'js> {
    turns: Turns<'a, 'js>,
    inbox: &'a Arc<Inbox>,
    functions: Functions<'js>,
    state: State<'js>,
    /// The files that the script was loaded from.
    seen: Vec<SourceFile>,
}

impl Realm<'_, '_> {
    fn serve(mut self) -> Result<(), RealmFailure> {
        self.start()?;
        loop {
            self.turns.activity.borrow_mut().expire();
            self.finish()?;
            self.fire()?;
            self.finish()?;
            let until = self.turns.activity.borrow().next_event();
            match self.inbox.pop(until) {
                Wakeup::Message(Message::Call(request)) if !self.seen.iter().all(SourceFile::holds) => {
                    self.inbox.turn_away(*request);
                }
                Wakeup::Message(Message::Call(request)) => {
                    self.turns.activity.borrow_mut().begin_call(*request);
                    self.start()?;
                }
                Wakeup::Message(Message::Ended { run, end }) => self.ended(run, end)?,
                Wakeup::Time => self.turns.activity.borrow_mut().fail_if_dead(),
                Wakeup::Closed => return Ok(()),
            }
        }
    }

    /// Calls the hook.
    fn start(&mut self) -> Result<(), RealmFailure> {
        let activity = self.turns.activity;
        let opening = activity.borrow_mut().call.as_mut().map(|active| {
            let call = &mut active.call;
            (active.id, call.hook, call.tool.clone(), call.working_directory.clone(), call.result.take())
        });
        let Some((id, hook, tool, folder, result)) = opening else { return Ok(()) };
        if hook == Hook::Load {
            activity.borrow_mut().settle(id, Ok(HookAnswer::Pass));
            return Ok(());
        }
        self.turns.begin(true);
        let state = activity.borrow_mut().call.as_mut().and_then(|active| active.call.state.take());
        let prepared = self.state.prepare(state.as_deref()).map_err(|error| self.turns.caught(error));
        if let Some(active) = &mut activity.borrow_mut().call {
            active.call.state = state;
        }
        self.turns.end()?;
        if let Err(error) = prepared {
            activity.borrow_mut().settle(id, Err(error));
            return Ok(());
        }
        let (content, is_error) =
            result.map_or((None, false), |(content, is_error)| (Some(content), is_error));
        self.turns
            .turn(true, || self.functions.start.call((id, hook.name(), tool, folder, content, is_error)))
    }

    /// Fires one timer that is due.
    fn fire(&mut self) -> Result<(), RealmFailure> {
        let due = self.turns.activity.borrow_mut().due_timer(Instant::now());
        let Some((id, is_of_call)) = due else { return Ok(()) };
        self.turns.turn(is_of_call, || self.functions.fire.call((id,)))
    }

    /// Passes the end of a command to the call that ran it, unless that has ended.
    fn ended(&mut self, run: u64, end: Available<Exec>) -> Result<(), RealmFailure> {
        let stop = self.turns.activity.borrow_mut().call.as_mut().and_then(|call| call.runs.remove(&run));
        if stop.is_none() {
            return Ok(());
        }
        self.turns.turn(true, || match end {
            Ok(Exec { exit_code, stdout, stderr }) => {
                self.functions.ended.call((run, exit_code, stdout, stderr))
            }
            Err(problem) => self.functions.ended.call((run, 0, "", "", problem.to_string())),
        })
    }

    /// Replies to the call if it is answered.
    fn finish(&mut self) -> Result<(), RealmFailure> {
        let activity = self.turns.activity;
        let settled = match &mut activity.borrow_mut().call {
            Some(active) if active.is_settled() => (active.failure.is_some(), active.call.state.take()),
            _ => return Ok(()),
        };
        let mut taken = Ok(None);
        if let (false, had) = settled {
            self.turns.begin(true);
            taken = self.state.taken(had.as_deref()).map_err(|error| self.turns.caught(error));
            self.turns.end()?;
        }
        let Some((mut call, timers)) = activity.borrow_mut().end_call() else { return Ok(()) };
        let runs: Vec<u64> = call.runs.keys().copied().collect();
        if !(timers.is_empty() && runs.is_empty()) {
            self.turns.turn(false, || self.functions.forget.call((timers, runs)))?;
        }
        let error = match (call.failure.take().map_or(taken, Err), call.answer.take()) {
            (Ok(state), Some(answer)) => {
                let (state, snapshot) = (state.map(Value::from), std::mem::take(&mut call.snapshot));
                call.reply(Ok(HookOutcome { answer, state, snapshot, failure: None }));
                return Ok(());
            }
            (Ok(_), None) => ScriptError::new(&activity.borrow().main, "ended without an answer"),
            (Err(error), answer) => {
                call.answer = answer;
                error
            }
        };
        self.state.doubt();
        let is_out_of_memory = error.is_out_of_memory();
        call.reply_failed(error);
        if is_out_of_memory { Err(RealmFailure) } else { Ok(()) }
    }
}
