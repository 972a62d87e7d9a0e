//! The native part of the Node package: an engine that takes and returns JSON texts. Everything else is in JavaScript.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use midrail_binding::{Function as Guardrail, Guard, GuardError};
use napi::bindgen_prelude::{AsyncTask, FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;

/// An error with its help as a JavaScript error.
fn raise(error: &GuardError) -> Error {
    let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
    Error::from_reason(format!("{error}{help}"))
}

/// An engine in this process.
#[napi]
pub struct Engine {
    guard: Arc<Guard>,
    pending: Arc<PendingCalls>,
}

#[napi]
impl Engine {
    /// Opens an engine with these options, as JSON.
    #[napi(constructor)]
    pub fn new(options: String) -> Result<Self> {
        let guard = Guard::open(&options).map_err(|error| raise(&error))?;
        Ok(Engine { guard: Arc::new(guard), pending: Arc::default() })
    }

    /// Decides an event on another thread.
    #[napi]
    pub fn decide(&self, event: String) -> AsyncTask<Decide> {
        AsyncTask::new(Decide { guard: self.guard.clone(), event })
    }

    /// Decides the messages of a conversation on another thread.
    #[napi]
    pub fn decide_conversation(&self, events: Vec<String>, new: u32) -> AsyncTask<DecideConversation> {
        AsyncTask::new(DecideConversation { guard: self.guard.clone(), events, new })
    }

    /// The request for an approval as it is now.
    #[napi]
    pub fn approval(&self, id: String) -> AsyncTask<ShowApproval> {
        AsyncTask::new(ShowApproval { guard: self.guard.clone(), id })
    }

    /// Registers a guardrail. The function receives a number and the call as JSON, and answers through `answer`.
    #[napi]
    pub fn register(&self, spec: String, function: Function<'_, FnArgs<(u32, String)>, ()>) -> Result<()> {
        let function = function
            .build_threadsafe_function::<FnArgs<(u32, String)>>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let function = JavaScriptFunction { function, pending: self.pending.clone() };
        self.guard.register(&spec, Arc::new(function)).map_err(|error| raise(&error))
    }

    /// The answer of a guardrail to one call: JSON, or the message of an error.
    #[napi]
    pub fn answer(&self, call: u32, ok: bool, text: String) {
        let waiting = self.pending.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
        if let Some(waiting) = waiting {
            // The decision may not wait any more.
            let _ = waiting.send(if ok { Ok(text) } else { Err(text) });
        }
    }

    /// Removes a guardrail.
    #[napi]
    pub fn unregister(&self, id: String) -> bool {
        self.guard.unregister(&id)
    }
}

/// The decision of one event.
pub struct Decide {
    guard: Arc<Guard>,
    event: String,
}

impl Task for Decide {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        Ok(self.guard.decide(self.event.as_bytes()))
    }

    fn resolve(&mut self, _: Env, decision: String) -> Result<String> {
        Ok(decision)
    }
}

/// The decisions of one conversation.
pub struct DecideConversation {
    guard: Arc<Guard>,
    events: Vec<String>,
    new: u32,
}

impl Task for DecideConversation {
    type Output = Vec<String>;
    type JsValue = Vec<String>;

    fn compute(&mut self) -> Result<Vec<String>> {
        let new = usize::try_from(self.new).unwrap_or(usize::MAX);
        Ok(self.guard.decide_conversation(&self.events, new))
    }

    fn resolve(&mut self, _: Env, decisions: Vec<String>) -> Result<Vec<String>> {
        Ok(decisions)
    }
}

/// The state of one request for an approval.
pub struct ShowApproval {
    guard: Arc<Guard>,
    id: String,
}

impl Task for ShowApproval {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        self.guard.approval(&self.id, Duration::ZERO).map_err(|error| raise(&error))
    }

    fn resolve(&mut self, _: Env, approval: String) -> Result<String> {
        Ok(approval)
    }
}

/// The calls of guardrails that have not answered yet.
#[derive(Default)]
struct PendingCalls {
    last: AtomicU32,
    waiting: Mutex<HashMap<u32, Sender<std::result::Result<String, String>>>>,
}

/// A function of JavaScript that any thread can call, and that does not keep the process alive.
type Callback = ThreadsafeFunction<FnArgs<(u32, String)>, (), FnArgs<(u32, String)>, Status, false, true>;

/// A guardrail in JavaScript. It runs on the thread of JavaScript, while the decision waits on another one.
struct JavaScriptFunction {
    function: Callback,
    pending: Arc<PendingCalls>,
}

impl Guardrail for JavaScriptFunction {
    fn call(&self, call: String, timeout: Duration) -> std::result::Result<String, String> {
        let number = self.pending.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = mpsc::channel();
        let waiting = || self.pending.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().insert(number, sender);
        let status = self.function.call((number, call).into(), ThreadsafeFunctionCallMode::NonBlocking);
        let answer = if status == Status::Ok {
            let late = || Err(format!("no answer within {} ms", timeout.as_millis()));
            answer.recv_timeout(timeout).unwrap_or_else(|_| late())
        } else {
            Err(format!("the function cannot be called: {status}"))
        };
        waiting().remove(&number);
        answer
    }
}
