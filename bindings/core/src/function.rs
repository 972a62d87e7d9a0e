//! A guardrail that is a function of the other language. It receives the event and its own state as JSON, and answers
//! with a verdict or with its new state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use midrail::core::OnFault;
use midrail::{
    Changes, Context, Effect, Event, EventKind, Fault, Guardrail, PolicyEntry, Spec, Tools, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A function of the other language.
pub trait Function: Send + Sync {
    /// Calls it with a [`Call`] as JSON, and returns its answer as JSON. `Err`: it failed, or did not answer within the
    /// time.
    fn call(&self, call: String, timeout: Duration) -> Result<String, String>;
}

/// The settings of a guardrail that is a function.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// Its id.
    pub id: String,
    /// What it protects against.
    #[serde(default)]
    pub description: String,
    /// The kinds of event that it checks.
    #[serde(default = "before_tool")]
    pub on: Vec<EventKind>,
    /// The tools that it checks and observes, as names or glob patterns. Empty: all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The argument whose value its state is separate for. A call without the argument is not checked.
    #[serde(default)]
    pub key: Option<String>,
    /// Lower runs first.
    #[serde(default = "default_priority")]
    pub priority: u32,
    /// The effect if it fails.
    #[serde(default)]
    pub on_error: OnFault,
    /// The role that answers its escalations.
    #[serde(default = "default_approver")]
    pub approver: String,
    /// The milliseconds that it has for an answer.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u64,
    /// Whether it also receives the results of successful calls.
    #[serde(default)]
    pub observes: bool,
}

fn before_tool() -> Vec<EventKind> {
    vec![EventKind::BeforeTool]
}

fn default_priority() -> u32 {
    100
}

fn default_approver() -> String {
    "reviewer".to_owned()
}

fn default_timeout() -> u64 {
    1_000
}

/// The most bytes of the state of one guardrail, or of one key of it.
const MAX_STATE: usize = 64 << 10;

impl FunctionSpec {
    /// The entry of the policy for this guardrail.
    pub(crate) fn entry(self, function: Arc<dyn Function>) -> PolicyEntry {
        let mut on = self.on.clone();
        if self.observes && !on.contains(&EventKind::AfterTool) {
            on.push(EventKind::AfterTool);
        }
        let spec = Spec {
            description: self.description.clone(),
            on,
            priority: self.priority,
            on_error: self.on_error,
            approver: self.approver.clone(),
            ..Spec::new(self.id.as_str())
        };
        PolicyEntry::new(spec, Arc::new(FunctionGuardrail { spec: self, function }))
    }
}

struct FunctionGuardrail {
    spec: FunctionSpec,
    function: Arc<dyn Function>,
}

/// What a function receives.
#[derive(Serialize)]
struct Call<'c> {
    /// `check` or `on_result`.
    hook: &'static str,
    event: &'c Event,
    /// Its state, or null at first.
    state: Option<&'c Value>,
}

/// What `check` answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    effect: Effect,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    advice: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    /// The text that replaces the result or the prompt (`redact`).
    #[serde(default)]
    replacement: Option<String>,
}

impl FunctionGuardrail {
    /// The name of the slice with its state. `None`: it does not apply to this event.
    fn slot(&self, event: &Event) -> Option<String> {
        let Some(key) = &self.spec.key else { return Some("state".to_owned()) };
        let value = event.tool.as_ref()?.args.get(key)?;
        let mut slot = "state/".to_owned();
        // Writing to a text cannot fail.
        let _ = match value {
            Value::Null => return None,
            Value::String(text) => write!(slot, "{text}"),
            other => write!(slot, "{other}"),
        };
        Some(slot)
    }

    /// Calls the function, once for each decision: a decision evaluates its guardrails until nothing is missing.
    fn call(&self, hook: &'static str, context: &Context<'_>, slot: &str) -> Result<String, Fault> {
        let call = Call { hook, event: context.event, state: context.state(slot)? };
        let call = serde_json::to_string(&call).map_err(failed)?;
        let key = (self.spec.id.clone(), call);
        let known = ANSWERS.with_borrow(|answers| answers.get(&key).cloned());
        let answer = known.unwrap_or_else(|| {
            let answer = self.function.call(key.1.clone(), Duration::from_millis(self.spec.timeout_ms));
            ANSWERS.with_borrow_mut(|answers| answers.insert(key, answer.clone()));
            answer
        });
        answer.map_err(Fault::Failed)
    }

    /// The state after a result. `None`: there is none any more.
    fn next_state(&self, context: &Context<'_>, slot: &str) -> Result<Option<Value>, Fault> {
        let answer = self.call("on_result", context, slot)?;
        if answer.len() > MAX_STATE {
            return Err(Fault::Failed(format!("its state is larger than {MAX_STATE} bytes")));
        }
        serde_json::from_str(&answer).map_err(failed)
    }

    /// Whether the event is a result that it learns from.
    fn learns_from(&self, event: &Event) -> bool {
        self.spec.observes && event.is_success()
    }
}

/// The answers of functions to the calls of one decision, by guardrail and call.
type Answers = BTreeMap<(String, String), Result<String, String>>;

thread_local! {
    static ANSWERS: RefCell<Answers> = const { RefCell::new(Answers::new()) };
}

/// Makes one decision, in which no answer to an earlier one is known.
pub(crate) fn in_one_decision<T>(decide: impl FnOnce() -> T) -> T {
    ANSWERS.take();
    let decided = decide();
    ANSWERS.take();
    decided
}

fn failed(error: serde_json::Error) -> Fault {
    Fault::Failed(format!("the answer is not valid: {error}"))
}

impl Guardrail for FunctionGuardrail {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(slot) = self.slot(context.event) else { return Ok(Verdict::allow()) };
        if self.learns_from(context.event) {
            // INVARIANT: a result that the guardrail cannot learn from is withheld, because its state would be wrong.
            self.next_state(context, &slot)?;
        }
        if !self.spec.on.contains(&context.event.kind) {
            return Ok(Verdict::allow());
        }
        let answer = self.call("check", context, &slot)?;
        let Answer { effect, reason, advice, metadata, replacement } =
            serde_json::from_str(&answer).map_err(failed)?;
        if effect == Effect::Redact && replacement.is_none() {
            return Err(Fault::Failed("`redact` needs a `replacement`".to_owned()));
        }
        if effect == Effect::Allow && reason.is_empty() {
            return Ok(Verdict::allow());
        }
        let retry_message = (effect == Effect::Retry).then(|| reason.clone());
        Ok(Verdict { advice, metadata, replacement, retry_message, ..Verdict::new(effect, reason) })
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(slot) = self.slot(context.event) else { return Ok(()) };
        if !self.learns_from(context.event) || !effect.allows() {
            return Ok(());
        }
        let (key, before) = (context.key(&slot), context.state(&slot)?);
        match self.next_state(context, &slot)? {
            after if after.as_ref() == before => {}
            Some(state) => changes.set(key, state),
            None => changes.remove(key),
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        if self.spec.observes { &[EventKind::AfterTool] } else { &[] }
    }

    fn tools(&self) -> Tools {
        if self.spec.tools.is_empty() { Tools::All } else { Tools::only(self.spec.tools.clone()) }
    }
}
