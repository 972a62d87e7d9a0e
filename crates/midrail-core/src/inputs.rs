//! The inputs of one decision, and which of them turned out to be missing. Reading a value that is not known records a need, so
//! what guardrails read and what the engine fetches cannot diverge.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use serde_json::Value;

use crate::action::Action;
use crate::decision::Mode;
use crate::definition::Definition;
use crate::event::{Event, EventKind, Risk, Task, ToolCall};
use crate::facts::{Fact, FactKey, Facts, Needs, PrefetchedReads};
use crate::routing::Routing;
use crate::sandbox::{Contained, SandboxLauncher};
use crate::session::Session;
use crate::spec::Spec;

/// A value that a guardrail needs and that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// What one decision is made from.
pub struct Inputs<'a> {
    pub(crate) definitions: &'a [Definition],
    pub(crate) routing: &'a Routing,
    pub(crate) session: &'a Session,
    pub(crate) facts: &'a Facts,
    pub(crate) event: &'a Event,
    pub(crate) needs: RefCell<Needs>,
    /// Prefetched values that were read.
    pub(crate) prefetched: RefCell<PrefetchedReads>,
    /// Whether the event is not the one that facts were prefetched for.
    pub(crate) ignores_prefetched_facts: bool,
    /// Whether an enforced guardrail or `decide` itself lacks a value.
    pub(crate) is_incomplete: Cell<bool>,
    /// Whether the running guardrail is in shadow mode.
    pub(crate) in_shadow: Cell<bool>,
    /// Whether the running guardrail lacks a value that can still be fetched.
    pub(crate) has_pending_needs: Cell<bool>,
    /// The milliseconds that the running guardrail grants to probes.
    pub(crate) within_ms: Cell<Option<u64>>,
    /// The guardrails that can change the arguments or rewrite the result, in order, and whether each of them did.
    pub(crate) rewrites: RefCell<Vec<(Arc<str>, bool)>>,
    /// The event as it arrived. `event` is the one that guardrails check.
    pub(crate) arrived: &'a Event,
    /// What became of the changes of a call's arguments.
    pub(crate) modifications: Vec<Modification>,
    /// The actions that run no file of the agent, by their addresses, which are those of facts.
    pub(crate) without_own_files: RefCell<Vec<*const Action>>,
}

/// What became of the changes of one guardrail.
#[derive(Debug, Clone)]
pub(crate) struct Modification {
    /// The guardrail.
    pub(crate) by: Arc<str>,
    /// Whether the arguments differ because of it.
    pub(crate) is_applied: bool,
    /// The arguments that it changes.
    pub(crate) arguments: Result<Vec<ModifiedArgument>, NotModified>,
}

/// Why a guardrail could not change a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotModified {
    /// A value that it needs is missing.
    Missing(Missing),
    /// It failed.
    Failed(String),
}

/// An argument that a guardrail changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ModifiedArgument {
    /// The argument, as a JSON pointer below the arguments.
    pub argument: String,
    /// Its value as the agent wrote it.
    pub before: Option<Value>,
    /// Its new value.
    pub after: Option<Value>,
    /// Another guardrail that changes it differently, so that it stays as it is.
    pub conflicts_with: Option<Arc<str>>,
}

impl<'a> Inputs<'a> {
    /// Attributes the reads that follow to a guardrail.
    pub(crate) fn start_guardrail(&self, spec: &Spec) {
        self.in_shadow.set(spec.mode == Mode::Shadow);
        self.has_pending_needs.set(false);
    }

    /// The definitions of the policy that apply to the event's agent and task.
    pub fn definitions(&self) -> impl Iterator<Item = &'a Definition> {
        let event = self.event;
        self.definitions.iter().filter(move |definition| definition.applies_to(event))
    }

    /// The event's own task and those of the definitions. Every limit in any of them applies.
    pub fn tasks(&self) -> impl Iterator<Item = &'a Task> {
        let own = self.event.task.as_ref();
        own.into_iter().chain(self.definitions().map(|definition| &definition.task))
    }

    /// The acting agent, by a name that is valid across sessions: its id, or the session's if it has none.
    pub fn actor(&self) -> String {
        self.event.actor(&self.session.id)
    }

    /// The risk of the task: the highest that the host and the definitions give.
    pub fn risk(&self) -> Option<Risk> {
        self.tasks().filter_map(|task| task.risk).max()
    }

    /// Any slice of the session, by its full key.
    pub fn slice(&self, key: &str) -> Result<Option<&'a Value>, Missing> {
        if let Some(slice) = self.session.get(key) {
            return Ok(slice);
        }
        if let Some(slice) = self.session.prefetched(key) {
            self.prefetched.borrow_mut().slices.insert(key.to_owned());
            return Ok(slice);
        }
        self.record_missing();
        self.needs.borrow_mut().slices.insert(key.to_owned());
        Err(Missing(format!("the session's `{key}` was not loaded")))
    }

    /// A fact that was fetched. A prefetched one counts as known from now on.
    pub(crate) fn known_fact(&self, key: &FactKey) -> Option<&'a Fact> {
        let is_changed = self.is_modified() && key.is_about_event();
        let known = if is_changed {
            self.facts.get(&FactKey::Modified(Box::new(key.clone())))
        } else {
            self.facts.get(key)
        };
        if known.is_some() {
            return known;
        }
        let fact = self.facts.prefetched.get(key).filter(|_| !self.ignores_prefetched_facts)?;
        self.prefetched.borrow_mut().facts.insert(key.clone());
        Some(fact)
    }

    pub(crate) fn fact(&self, key: FactKey) -> Result<&'a Fact, Missing> {
        let key = self.key(key);
        match (self.known_fact(&key), self.expected(&key)) {
            (Some(Fact::Unavailable(why)), _) => Err(unavailable(&key, why)),
            (Some(fact), _) => Ok(fact),
            (None, Some(expected)) => {
                self.needs.borrow_mut().add_fact(key, self.within_ms.get());
                Ok(expected)
            }
            (None, None) => {
                let missing = Missing(format!("`{key}` was not looked up"));
                self.record_missing();
                self.needs.borrow_mut().add_fact(key, self.within_ms.get());
                Err(missing)
            }
        }
    }

    /// Whether a guardrail found that an action runs no file of the agent. Several ask, and the answer is the same for all.
    pub fn is_without_own_files(&self, action: &'a Action) -> bool {
        self.without_own_files.borrow().iter().any(|known| std::ptr::eq(*known, action))
    }

    /// Remembers that an action runs no file of the agent. All that the answer depends on must have been known.
    pub fn note_without_own_files(&self, action: &'a Action) {
        self.without_own_files.borrow_mut().push(action);
    }

    /// How the call can be made in a sandbox. `None`: it cannot.
    pub(crate) fn sandbox_launcher(&self) -> Result<Option<&'a SandboxLauncher>, Missing> {
        match self.fact(FactKey::Sandbox)? {
            Fact::Sandbox(launcher) => Ok(launcher.as_ref()),
            _ => Ok(None),
        }
    }

    /// Whether the call can be made in a sandbox.
    pub(crate) fn can_contain(&self) -> bool {
        self.containable().is_some_and(|(launcher, tool)| launcher.fits(&tool.args))
    }

    /// The call in a sandbox. `id` makes the id of the sandbox of the digest of the command. `None`: it cannot be made in one.
    pub(crate) fn contained(&self, id: impl FnOnce(&str) -> String) -> Option<Contained> {
        let (launcher, tool) = self.containable()?;
        launcher.contain(tool.args.clone(), id)
    }

    fn containable(&self) -> Option<(&'a SandboxLauncher, &'a ToolCall)> {
        let tool = self.event.tool.as_ref().filter(|_| self.event.kind == EventKind::BeforeTool)?;
        Some((self.sandbox_launcher().ok().flatten()?, tool))
    }

    /// The answer of a script or an external judge. If it failed, the error is its own message.
    pub(crate) fn answer(&self, key: FactKey) -> Result<&'a Fact, Missing> {
        match self.known_fact(&key) {
            Some(Fact::Unavailable(why)) => Err(Missing(why.clone())),
            _ => self.fact(key),
        }
    }

    /// A fact that was requested before, as it is known or expected. Does not request it.
    pub(crate) fn requested_fact(&self, key: &FactKey) -> Option<&'a Fact> {
        let expected = || self.expected(key).filter(|_| self.needs.borrow().facts.contains(key));
        self.facts.get(key).or_else(expected)
    }

    /// A fact as it is expected to be. Results can be rewritten, so nothing is expected of their events.
    fn expected(&self, key: &FactKey) -> Option<&'a Fact> {
        if self.event.kind == EventKind::AfterTool { None } else { self.facts.expected(key) }
    }

    /// The key of a fact about the event that guardrails check.
    fn key(&self, key: FactKey) -> FactKey {
        if self.is_modified() && key.is_about_event() { FactKey::Modified(Box::new(key)) } else { key }
    }

    /// Whether guardrails changed the arguments of the call.
    pub(crate) fn is_modified(&self) -> bool {
        self.modifications.iter().any(|modification| modification.is_applied)
    }

    fn record_missing(&self) {
        self.has_pending_needs.set(true);
        self.is_incomplete.set(self.is_incomplete.get() || !self.in_shadow.get());
    }
}

fn unavailable(key: &FactKey, why: &str) -> Missing {
    Missing(match (key, why.strip_prefix("it ")) {
        (FactKey::Command(run), Some(what)) => format!("the command `{}` {what}", run.command),
        (FactKey::Command(run), None) => format!("the command `{}` was not run: {why}", run.command),
        _ => format!("`{key}` is not known: {why}"),
    })
}
