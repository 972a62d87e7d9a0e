//! Lets JavaScript run, one turn after the other, each within the time of the call that it belongs to.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Exception, FromJs, Function, Object, Promise, Value};

use super::activity::Activity;
use super::call::ScriptError;
use super::inbox::Inbox;
use super::modules::Files;
use super::{natives, prelude};

/// Bytes of a script's variables, as JSON.
const MAX_STATE: u32 = 256 << 10;

/// How deep variables may be nested. A level may take three of JSON, whose parser stops at 128.
const MAX_DEPTH: u32 = 40;

/// Characters of an answer.
const MAX_TEXT: u32 = 1 << 20;

/// How long a turn may take that belongs to no call.
const IDLE_TURN: Duration = Duration::from_secs(1);

/// Until when JavaScript may run.
#[derive(Default)]
pub(super) struct Limit {
    deadline: Cell<Option<Instant>>,
    is_interrupted: Cell<bool>,
}

impl Limit {
    /// Whether it is time to stop. Once it is, it stays so.
    pub(super) fn is_over(&self) -> bool {
        if self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline) {
            self.is_interrupted.set(true);
        }
        self.is_interrupted.get()
    }
}

/// A call ran out of its time while JavaScript was running, or out of memory: the realm cannot be trusted any more.
pub(super) struct RealmFailure;

/// Whether promises were rejected in this turn without a handler. The prelude knows which.
#[derive(Default)]
pub(super) struct Rejections {
    are_there: Cell<bool>,
    /// One could not be noted down.
    are_lost: Cell<bool>,
}

impl Rejections {
    /// Notes a rejected promise, or that it got a handler after all.
    pub(super) fn note<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        is_handled: bool,
    ) {
        let Some(prelude) = ctx.userdata::<Object<'js>>().map(|prelude| (*prelude).clone()) else { return };
        self.are_there.set(true);
        let noted = prelude
            .get::<_, Function<'js>>("rejected")
            .and_then(|rejected| rejected.call::<_, ()>((promise, reason, is_handled)));
        if noted.is_err() {
            let _ = ctx.catch();
            self.are_lost.set(true);
        }
    }
}

/// Why a script was not loaded.
enum NotLoaded {
    Failed(ScriptError),
    /// JavaScript threw it.
    Thrown(rquickjs::Error),
    Said(String),
}

impl From<rquickjs::Error> for NotLoaded {
    fn from(error: rquickjs::Error) -> Self {
        NotLoaded::Thrown(error)
    }
}

/// Runs JavaScript in one realm.
pub(super) struct Turns<'a, 'js> {
    pub(super) ctx: &'a Ctx<'js>,
    pub(super) activity: &'a Rc<RefCell<Activity>>,
    pub(super) limit: &'a Limit,
    pub(super) rejections: &'a Rejections,
    pub(super) inbox: &'a Inbox,
    /// The functions of the prelude, once it ran.
    pub(super) prelude: Option<Object<'js>>,
}

impl<'js> Turns<'_, 'js> {
    /// Lets something run on behalf of a call, and then all that became possible by it.
    pub(super) fn turn(
        &self,
        is_of_call: bool,
        run: impl FnOnce() -> rquickjs::Result<Value<'js>>,
    ) -> Result<(), RealmFailure> {
        self.begin(is_of_call);
        if let Err(error) = run() {
            let error = self.caught(error);
            self.activity.borrow_mut().fail(error);
        }
        self.drain();
        self.report();
        self.end()
    }

    /// Fails the call of this turn if a promise was rejected without a handler.
    fn report(&self) {
        if !self.rejections.are_there.take() || self.limit.is_over() {
            return;
        }
        let Some(prelude) = &self.prelude else { return };
        let reported = prelude.get::<_, Function<'js>>("report").and_then(|report| report.call::<_, ()>(()));
        let error = match reported {
            Err(error) => self.caught(error),
            Ok(()) if self.rejections.are_lost.take() => {
                self.activity.borrow().thrown(ScriptError::OUT_OF_MEMORY, "")
            }
            Ok(()) => return,
        };
        self.activity.borrow_mut().fail(error);
    }

    /// Begins a turn. It counts towards the time of the call if it belongs to the call.
    pub(super) fn begin(&self, is_of_call: bool) {
        let mut activity = self.activity.borrow_mut();
        activity.is_turn_of_call = is_of_call;
        let deadline = activity.call.as_ref().filter(|_| is_of_call).map(|call| call.deadline);
        let deadline = deadline.unwrap_or_else(|| Instant::now() + IDLE_TURN);
        self.limit.deadline.set(Some(deadline));
        self.inbox.runs_until(Some(deadline));
    }

    /// The turn is over. If it had to be interrupted, its call fails.
    pub(super) fn end(&self) -> Result<(), RealmFailure> {
        self.limit.deadline.set(None);
        self.inbox.runs_until(None);
        let mut activity = self.activity.borrow_mut();
        if self.limit.is_interrupted.get() {
            let error = activity.too_late(activity.is_turn_of_call);
            activity.fail(error);
            return Err(RealmFailure);
        }
        activity.is_turn_of_call = false;
        Ok(())
    }

    /// Runs what promises wait for, until nothing is left or the time is up.
    fn drain(&self) {
        while !self.limit.is_over() && self.ctx.execute_pending_job() {}
    }

    /// An error of the JavaScript engine, in words.
    pub(super) fn caught(&self, error: rquickjs::Error) -> ScriptError {
        if !error.is_exception() {
            return ScriptError::new(&self.activity.borrow().main, error.to_string());
        }
        let thrown = self.ctx.catch();
        if self.limit.is_interrupted.get() {
            // Nothing of the script may run any more. Where it was is still of use.
            let stack = Exception::from_js(self.ctx, thrown).ok().and_then(|thrown| thrown.stack());
            let activity = self.activity.borrow();
            let error = activity.too_late(activity.is_turn_of_call);
            return activity.thrown(&error.message, &stack.unwrap_or_default());
        }
        let described = self.prelude.as_ref().and_then(|prelude| {
            let describe: Function<'js> = prelude.get("describe").ok()?;
            let described: Object<'js> = describe.call((thrown,)).ok()?;
            Some((described.get::<_, String>("message").ok()?, described.get::<_, String>("stack").ok()?))
        });
        let (message, stack) = described.unwrap_or_else(|| {
            // To describe something takes memory too.
            let _ = self.ctx.catch();
            (ScriptError::OUT_OF_MEMORY.to_owned(), String::new())
        });
        self.activity.borrow().thrown(&message, &stack)
    }

    /// Loads the script. The functions of the prelude come back.
    pub(super) fn load(&mut self, files: &Files) -> Result<(Object<'js>, State<'js>), ScriptError> {
        self.begin(true);
        let loaded = self.try_load(files).map_err(|error| match error {
            NotLoaded::Thrown(error) => files.placed(self.caught(error)),
            NotLoaded::Said(error) => ScriptError::new(&self.activity.borrow().main, error),
            NotLoaded::Failed(error) => error,
        });
        let ended = self.end();
        self.activity.borrow_mut().is_loading = false;
        let loaded = loaded?;
        ended.map_err(|RealmFailure| self.activity.borrow().too_late(true))?;
        Ok(loaded)
    }

    fn try_load(&mut self, files: &Files) -> Result<(Object<'js>, State<'js>), NotLoaded> {
        let prelude = prelude::core(self.ctx)?;
        let limits = Object::new(self.ctx.clone())?;
        limits.set("state", MAX_STATE)?;
        limits.set("text", MAX_TEXT)?;
        limits.set("depth", MAX_DEPTH)?;
        limits.set("part", prelude::ROOM)?;
        limits.set("noMemory", ScriptError::THREW_NULL)?;
        let functions: Object<'js> = prelude.call((natives::object(self.ctx, self.activity)?, limits))?;
        self.prelude = Some(functions.clone());
        // The loader finds them there, as it can hold no value itself.
        let _ = self.ctx.store_userdata::<Object<'js>>(functions.clone());
        let source = files.main_source().map_err(|why| NotLoaded::Said(format!("cannot be read: {why}")))?;
        let (module, evaluated) = files.declare_main(self.ctx, source)?.eval()?;
        self.wait_for(&evaluated, &functions.get("fire")?)?;
        self.report();
        if let Some(error) = self.activity.borrow().call.as_ref().and_then(|call| call.failure.clone()) {
            return Err(NotLoaded::Failed(error));
        }
        let namespace = module.namespace()?;
        // A module without a default export has no such property at all.
        let exported: Value<'js> = namespace.get("default")?;
        functions.get::<_, Function<'js>>("shape")?.call::<_, ()>((exported,))?;
        let state = State::new(&functions)?;
        Ok((functions, state))
    }

    /// Waits until the top level of the modules has run.
    fn wait_for(&self, evaluated: &Promise<'js>, fire: &Function<'js>) -> Result<(), NotLoaded> {
        loop {
            self.drain();
            match evaluated.state() {
                PromiseState::Resolved => return Ok(()),
                PromiseState::Rejected => {
                    evaluated.result::<Value<'js>>().transpose()?;
                    return Ok(());
                }
                PromiseState::Pending => {}
            }
            if self.limit.is_over() {
                return Err(NotLoaded::Said("stopped: it took too long to load".to_owned()));
            }
            let Some(next) = self.activity.borrow().next_timer() else {
                return Err(NotLoaded::Said("its top level awaits a promise that never settles".to_owned()));
            };
            let until = self.limit.deadline.get().map_or(next, |deadline| next.min(deadline));
            thread::sleep(until.saturating_duration_since(Instant::now()));
            let due = self.activity.borrow_mut().due_timer(Instant::now());
            if let Some((id, _)) = due {
                fire.call::<_, ()>((id,))?;
            }
        }
    }
}

/// What a realm's variables are known to be.
enum KnownState {
    /// As the script begins.
    Initial,
    /// Those of this text.
    Kept(String),
    /// A call failed, and may have changed anything.
    Unsure,
}

/// The text where no variable has changed.
const INITIAL: &str = "{}";

/// The variables of one realm.
pub(super) struct State<'js> {
    capture: Function<'js>,
    restore: Function<'js>,
    /// The variables as they were last taken, as far as they are not as the script begins.
    text: String,
    known: KnownState,
}

impl<'js> State<'js> {
    /// The variables of a script that was just loaded.
    pub(super) fn new(prelude: &Object<'js>) -> rquickjs::Result<Self> {
        prelude.get::<_, Function<'js>>("begin")?.call::<_, ()>(())?;
        Ok(State {
            capture: prelude.get("capture")?,
            restore: prelude.get("restore")?,
            text: INITIAL.to_owned(),
            known: KnownState::Initial,
        })
    }

    /// Restores the variables of the session.
    pub(super) fn prepare(&mut self, wanted: Option<&str>) -> rquickjs::Result<()> {
        let is_so = match (&self.known, wanted) {
            (KnownState::Initial, None) => true,
            (KnownState::Kept(known), Some(wanted)) => known == wanted,
            _ => false,
        };
        if is_so {
            return Ok(());
        }
        self.known = KnownState::Unsure;
        self.restore.call::<_, ()>((wanted.unwrap_or(INITIAL),))?;
        self.text = self.capture.call(())?;
        self.known = wanted.map_or(KnownState::Initial, |wanted| KnownState::Kept(wanted.to_owned()));
        Ok(())
    }

    /// The variables now, where they are not what the session had.
    pub(super) fn taken(&mut self, had: Option<&str>) -> rquickjs::Result<Option<String>> {
        let text: String = self.capture.call(())?;
        if text != self.text || matches!(self.known, KnownState::Unsure) {
            let is_initial = text == INITIAL && had.is_none();
            self.known = if is_initial { KnownState::Initial } else { KnownState::Kept(text.clone()) };
            self.text = text;
        }
        Ok(match (&self.known, had) {
            (KnownState::Kept(now), had) if Some(now.as_str()) != had => Some(now.clone()),
            (KnownState::Initial, Some(_)) => Some(self.text.clone()),
            (KnownState::Kept(_) | KnownState::Initial | KnownState::Unsure, _) => None,
        })
    }

    /// A call failed: what it changed is undone before the next one.
    pub(super) fn doubt(&mut self) {
        self.known = KnownState::Unsure;
    }
}
