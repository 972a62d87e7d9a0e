//! What a guardrail sees when it is asked: one event, and whatever is known. Reading what is not known yet records
//! a need, so that what a guardrail asks for and what is fetched for it cannot drift apart.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::action::Action;
use crate::budget::{Autonomy, Budget, Resource};
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{Event, Risk, Task};
use crate::facts::{
    CommandOutcome, DeepCall, DeepOutcome, Fact, FactKey, Facts, FileState, Finding, GitState, HookCall,
    HookOutcome, Needs, PackCommand, UnsavedFiles,
};
use crate::guardrail::Spec;
use crate::held::ScriptSource;
use crate::path::{self, Place, Roots};
use crate::policy::Policy;
use crate::rewrite::can_be_rewritten;
use crate::routing::WaitRule;
use crate::session::{Session, key_part};

/// Something that a guardrail needs to know and that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// The world of one decision: what is known, and what turned out to be lacking.
pub(crate) struct World<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) session: &'a Session,
    pub(crate) facts: &'a Facts,
    pub(crate) event: &'a Event,
    pub(crate) needs: RefCell<Needs>,
    /// Slices that were read and that somebody had prefetched.
    pub(crate) prefetched: RefCell<BTreeSet<String>>,
    /// A guardrail that is enforced, or the law itself, lacks something.
    pub(crate) lacks: Cell<bool>,
    /// What is lacking now is lacking in shadow mode only.
    pub(crate) in_shadow: Cell<bool>,
    /// The guardrail that is being asked lacks something that could still be fetched.
    pub(crate) asks_too_early: Cell<bool>,
    /// Milliseconds that the guardrail that is being asked gives probes.
    pub(crate) within_ms: Cell<Option<u64>>,
    /// Those that may replace the result, in order, and whether what each put in place stands.
    pub(crate) rewritten_by: RefCell<Vec<(Arc<str>, bool)>>,
}

impl<'a> World<'a> {
    pub(crate) fn new(policy: &'a Policy, session: &'a Session, facts: &'a Facts, event: &'a Event) -> Self {
        World {
            policy,
            session,
            facts,
            event,
            needs: RefCell::default(),
            prefetched: RefCell::default(),
            lacks: Cell::new(false),
            in_shadow: Cell::new(false),
            asks_too_early: Cell::new(false),
            within_ms: Cell::new(None),
            rewritten_by: RefCell::default(),
        }
    }

    fn note_lack(&self) {
        self.asks_too_early.set(true);
        self.lacks.set(self.lacks.get() || !self.in_shadow.get());
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &'a Definition> {
        let event = self.event;
        self.policy.definitions().iter().filter(move |definition| definition.applies_to(event))
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a Task> {
        let own = self.event.task.as_ref();
        own.into_iter().chain(self.definitions().map(|definition| &definition.task))
    }

    pub(crate) fn actor(&self) -> String {
        actor(self.event, &self.session.id)
    }

    pub(crate) fn risk(&self) -> Option<Risk> {
        self.tasks().filter_map(|task| task.risk).max()
    }

    pub(crate) fn slice(&self, key: &str) -> Result<Option<&'a Value>, Missing> {
        if let Some(slice) = self.session.get(key) {
            return Ok(slice);
        }
        if let Some(slice) = self.session.prefetched(key) {
            self.prefetched.borrow_mut().insert(key.to_owned());
            return Ok(slice);
        }
        self.note_lack();
        self.needs.borrow_mut().slices.insert(key.to_owned());
        Err(Missing(format!("the session's `{key}` was not loaded")))
    }

    /// What became of a question that was asked on a guardrail's behalf. Whoever failed has said why.
    fn outcome(&self, key: FactKey) -> Result<&'a Fact, Missing> {
        match self.facts.get(&key) {
            Some(Fact::Unavailable(why)) => Err(Missing(why.clone())),
            _ => self.fact(key),
        }
    }

    /// A fact as it is expected to be. Not where a result may be replaced: what others need is asked for only when it is
    /// known what they get to see.
    fn expected(&self, key: &FactKey) -> Option<&'a Fact> {
        if can_be_rewritten(self.event) { None } else { self.facts.expected(key) }
    }

    /// A fact that somebody has asked for, as it is known or expected.
    fn asked(&self, key: &FactKey) -> Option<&'a Fact> {
        let expected = || self.expected(key).filter(|_| self.needs.borrow().facts.contains(key));
        self.facts.get(key).or_else(expected)
    }

    pub(crate) fn fact(&self, key: FactKey) -> Result<&'a Fact, Missing> {
        if let Some(expected) = self.expected(&key)
            && self.facts.get(&key).is_none()
        {
            self.needs.borrow_mut().ask(key, self.within_ms.get());
            return Ok(expected);
        }
        match self.facts.get(&key) {
            Some(Fact::Unavailable(why)) => Err(Missing(match &key {
                FactKey::Command(run) => match why.strip_prefix("it ") {
                    Some(what) => format!("the command `{}` {what}", run.command),
                    None => format!("the command `{}` was not run: {why}", run.command),
                },
                _ => format!("`{key}` is not known: {why}"),
            })),
            Some(fact) => Ok(fact),
            None => {
                let missing = Missing(format!("`{key}` was not looked up"));
                self.note_lack();
                self.needs.borrow_mut().ask(key, self.within_ms.get());
                Err(missing)
            }
        }
    }
}

/// What one guardrail sees.
pub struct Context<'a> {
    /// The event.
    pub event: &'a Event,
    /// The guardrail's own spec.
    pub spec: &'a Spec,
    world: &'a World<'a>,
    part: Option<String>,
    answer: Option<&'a Value>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(world: &'a World<'a>, spec: &'a Spec) -> Self {
        Context { event: world.event, spec, world, part: None, answer: None }
    }

    /// The key of a slice that belongs to this guardrail (and, where set, to the prompt).
    pub fn key(&self, name: &str) -> String {
        let prompt = self.event.prompt.as_deref().filter(|_| self.spec.per_prompt);
        let mut key = state_prefix(&self.spec.id, prompt);
        if let Some(part) = &self.part {
            key.push_str(part);
            key.push('/');
        }
        key.push_str(name);
        key
    }

    /// A slice of this guardrail's own state.
    pub fn state(&self, name: &str) -> Result<Option<&'a Value>, Missing> {
        self.world.slice(&self.key(name))
    }

    /// Any slice of the session, by its whole key.
    pub fn slice(&self, key: &str) -> Result<Option<&'a Value>, Missing> {
        self.world.slice(key)
    }

    /// A variable that the host set on the session.
    pub fn variable(&self, name: &str) -> Result<Option<&'a Value>, Missing> {
        self.world.slice(&variable_key(name))
    }

    /// Whether something that was asked for just now has yet to be fetched. What is missing then need not stay so: the
    /// guardrail is asked again.
    pub fn has_pending_needs(&self) -> bool {
        self.world.asks_too_early.get()
    }

    /// What the event does.
    pub fn action(&self) -> Result<&'a Action, Missing> {
        match self.world.fact(FactKey::Action)? {
            Fact::Action(action) => Ok(action),
            _ => Err(Missing("`action` is not an action".to_owned())),
        }
    }

    /// The secrets in the event's texts.
    pub fn secrets(&self) -> Result<&'a [Finding], Missing> {
        match self.world.fact(FactKey::Secrets)? {
            Fact::Secrets(findings) => Ok(findings),
            _ => Err(Missing("`secrets` is not a list of findings".to_owned())),
        }
    }

    /// Personal data in the event's texts.
    pub fn personal_data(&self) -> Result<&'a [Finding], Missing> {
        self.findings(FactKey::PersonalData)
    }

    /// Attempts in the event's texts to take over a model.
    pub fn injections(&self) -> Result<&'a [Finding], Missing> {
        self.findings(FactKey::Injections)
    }

    fn findings(&self, key: FactKey) -> Result<&'a [Finding], Missing> {
        match self.world.fact(key.clone())? {
            Fact::Findings(findings) => Ok(findings),
            _ => Err(Missing(format!("`{key}` is not a list of findings"))),
        }
    }

    /// What the event does beyond its own text by what stands in files that it runs or obeys.
    pub fn script(&self, files: &[ScriptSource]) -> Result<&'a Action, Missing> {
        let key = FactKey::Script(ScriptSource::encode(files));
        match self.world.fact(key.clone())? {
            Fact::Script(action) => Ok(action),
            _ => Err(Missing(format!("`{key}` is not what a script does"))),
        }
    }

    /// The state of a file, by its [`Place`].
    pub fn file(&self, place: &Place) -> Result<&'a FileState, Missing> {
        match self.world.fact(FactKey::File(place.key.clone()))? {
            Fact::File(state) => Ok(state),
            _ => Err(Missing(format!("`file:{}` is not the state of a file", place.key))),
        }
    }

    /// What would be lost with all that is at and below a place.
    pub fn unsaved_files(&self, place: &str) -> Result<&'a UnsavedFiles, Missing> {
        match self.world.fact(FactKey::Unsaved(place.to_owned()))? {
            Fact::Unsaved(lost) => Ok(lost),
            _ => Err(Missing(format!("what would be lost with `{place}` is not known"))),
        }
    }

    /// How a command of the pack ends.
    pub fn command(&self, run: &PackCommand) -> Result<&'a CommandOutcome, Missing> {
        match self.world.fact(FactKey::Command(run.clone()))? {
            Fact::Command(end) => Ok(end),
            _ => Err(Missing(format!("`{}` did not tell how it ended", run.command))),
        }
    }

    /// How a command of the pack ended, where this decision had it run. Asking does not make it run.
    pub fn command_if_run(&self, run: &PackCommand) -> Option<&'a CommandOutcome> {
        match self.world.facts.get(&FactKey::Command(run.clone()))? {
            Fact::Command(end) => Some(end),
            _ => None,
        }
    }

    /// A digest of the state of all files below the root that fit any of these patterns.
    pub fn tree_digest(&self, patterns: &[String]) -> Result<&'a str, Missing> {
        match self.world.fact(FactKey::Tree(patterns.to_vec()))? {
            Fact::Tree(digest) => Ok(digest),
            _ => Err(Missing("the state of the files is not known".to_owned())),
        }
    }

    /// How many files below the root fit any of these patterns.
    pub fn count_files(&self, patterns: &[String]) -> Result<u64, Missing> {
        match self.world.fact(FactKey::Count(patterns.to_vec()))? {
            Fact::Count(count) => Ok(*count),
            _ => Err(Missing("the number of the files is not known".to_owned())),
        }
    }

    /// What the repository around the root is at. `None`: the root is in no repository.
    pub fn git(&self) -> Result<Option<&'a GitState>, Missing> {
        match self.world.fact(FactKey::Git)? {
            Fact::Git(state) => Ok(state.as_ref()),
            _ => Err(Missing("the state of the repository is not known".to_owned())),
        }
    }

    /// How the hook of this guardrail's script ends.
    pub fn hook(&self) -> Result<&'a HookOutcome, Missing> {
        match self.world.outcome(FactKey::Hook(self.hook_call()))? {
            Fact::Hook(end) => Ok(end),
            _ => Err(Missing("the script did not tell how it ended".to_owned())),
        }
    }

    /// How the hook of this guardrail's script ended, where this decision had it run. Asking does not make it run.
    pub fn hook_if_run(&self) -> Option<&'a HookOutcome> {
        match self.world.asked(&FactKey::Hook(self.hook_call()))? {
            Fact::Hook(end) => Some(end),
            _ => None,
        }
    }

    /// The call of this guardrail's script, which sees what those before it made of the result.
    fn hook_call(&self) -> HookCall {
        let standing = self.world.rewritten_by.borrow();
        let before = standing.iter().take_while(|(id, _)| *id != self.spec.id);
        let after = before.filter(|(_, stands)| *stands).map(|(id, _)| id.clone()).collect();
        HookCall { script: self.spec.id.clone(), after }
    }

    /// Whether what this guardrail put in place of the result is what everyone sees.
    pub fn rewrote_last(&self) -> bool {
        let standing = self.world.rewritten_by.borrow();
        let last = standing.iter().rev().find(|(_, stands)| *stands);
        last.is_some_and(|(id, _)| *id == self.spec.id)
    }

    /// How long this event waits for those outside, and what follows where they do not answer in time.
    pub fn wait_rule(&self) -> WaitRule {
        self.world.policy.routing().wait_rule(self.event)
    }

    /// Whether nobody will be there to hear an answer that comes after this event.
    pub fn is_one_shot(&self) -> bool {
        self.world.facts.is_one_shot
    }

    /// The highest risk of the tools that the event speaks of, where it speaks of any.
    pub fn tool_risk(&self) -> Option<Risk> {
        self.world.policy.routing().highest(self.event)
    }

    /// What somebody outside says about the event, on behalf of this guardrail.
    pub fn deep(&self, wait_ms: u64) -> Result<&'a DeepOutcome, Missing> {
        let call = DeepCall { guardrail: self.spec.id.clone(), wait_ms };
        match self.world.outcome(FactKey::Deep(call))? {
            Fact::Deep(end) => Ok(end),
            _ => Err(Missing("nobody told what became of the question".to_owned())),
        }
    }

    /// A probe's answer, by the probe's own name for it.
    pub fn probe_answer(&self, name: &str) -> Result<&'a Value, Missing> {
        match self.world.fact(FactKey::Answer(name.to_owned()))? {
            Fact::Answer(value) => Ok(value),
            _ => Err(Missing(format!("`answer:{name}` is not an answer"))),
        }
    }

    /// Where the engine keeps its own files, beyond the usual places.
    pub fn engine_paths(&self) -> &'a [String] {
        &self.world.facts.engine_paths
    }

    /// The folder that the session works in, where it is known.
    pub fn root(&self) -> Option<&'a str> {
        self.world.facts.root.as_deref()
    }

    /// Where a path of this event leads by its spelling. `mount` is the prefix under which the agent sees the root.
    pub fn place(&self, path: &str, mount: Option<&str>) -> Place {
        let facts = self.world.facts;
        let roots = Roots { root: facts.root.as_deref(), aliases: &facts.root_aliases };
        path::resolve(path, self.event.cwd.as_deref(), roots, mount)
    }

    /// Where a path of this event really leads: symbolic links are followed where a file system is at hand.
    pub fn real_place(&self, path: &str, mount: Option<&str>) -> Result<Place, Missing> {
        let place = self.place(path, mount);
        // Below a mount prefix the disk knows the path by its place only.
        let spelling = if mount.is_some() && place.inside { &place.key } else { path };
        let key = FactKey::Place(spelling.to_owned());
        match self.world.facts.get(&key) {
            Some(Fact::Place(real)) => {
                let inside = !real.starts_with('/') && !real.starts_with("../") && !real.starts_with('~');
                Ok(Place { key: real.clone(), inside })
            }
            Some(Fact::Unavailable(_)) => Ok(place),
            _ => self.world.fact(key).map(|_| place),
        }
    }

    /// Every name that a file of this event goes by: where its links lead, and what its path says. A rule on files has
    /// to hold for all of them.
    pub fn path_aliases(&self, path: &str) -> Result<Vec<String>, Missing> {
        let real = self.real_place(path, None)?.key;
        let spelt = self.place(path, None).key;
        // To a host that tells no folder the root may be `/`; the probe has settled what it means.
        let is_virtual = self.event.cwd.is_none() && path.starts_with('/');
        Ok(if spelt == real || is_virtual { vec![real] } else { vec![real, spelt] })
    }

    /// The tool of a call. An event of a call that names none might be any, so it is missing.
    pub fn tool(&self) -> Result<&'a str, Missing> {
        let name = self.event.tool_name().filter(|name| !name.is_empty());
        name.ok_or_else(|| Missing("the event names no tool".to_owned()))
    }

    /// Whether this is the result of a call that went well, was let pass, and had not been denied before.
    pub fn succeeded(&self, effect: Effect) -> Result<bool, Missing> {
        if !(self.event.is_success() && effect.allows()) {
            return Ok(false);
        }
        match self.event.call_id() {
            Some(id) => Ok(self.world.slice(&denied_key(id))?.is_none()),
            None => Ok(true),
        }
    }

    /// The same context for a part of the guardrail, which keeps its state apart from the other parts.
    pub fn part(&self, name: &str) -> Context<'a> {
        let part = match &self.part {
            Some(part) => format!("{part}/{name}"),
            None => name.to_owned(),
        };
        Context {
            event: self.event,
            spec: self.spec,
            world: self.world,
            part: Some(part),
            answer: self.answer,
        }
    }

    /// The same context for what is to be said of an answer.
    pub fn with_external_answer<'b>(&'b self, answer: &'b Value) -> Context<'b> {
        Context {
            event: self.event,
            spec: self.spec,
            world: self.world,
            part: self.part.clone(),
            answer: Some(answer),
        }
    }

    /// The answer that something is to be said of.
    pub fn external_answer(&self) -> Option<&'a Value> {
        self.answer
    }

    /// Who acts, by a name that holds across sessions: the agent's id, or that of the session where it has none.
    pub fn actor(&self) -> String {
        self.world.actor()
    }

    /// The session's name.
    pub fn session(&self) -> &'a str {
        &self.world.session.id
    }

    /// How much can go wrong with the task, as the host and the definitions say; the worst counts.
    pub fn risk(&self) -> Option<Risk> {
        self.world.risk()
    }

    /// A budget of the task, as far as one is set: the tightest of the host's and those of the definitions.
    pub fn budget(&self, of: Resource) -> Result<Option<Budget>, Missing> {
        self.world.budget(of)
    }

    /// The same, with what the call that this event ends has used.
    pub fn budget_after(&self, of: Resource) -> Result<Option<Budget>, Missing> {
        self.world.budget_after(of)
    }

    /// When the run has to be finished: the earliest that the event and the definitions say. `None`: nobody says.
    pub fn deadline(&self) -> Result<Option<Timestamp>, Missing> {
        self.world.deadline()
    }

    /// When the run began, where it has a deadline.
    pub fn run_start(&self) -> Result<Timestamp, Missing> {
        self.world.run_start()
    }

    /// Whether the event's tool speaks to another machine.
    pub fn contacts_other_host(&self) -> Result<bool, Missing> {
        self.world.contacts_other_host()
    }

    /// How far the agent may go on its own, by what remains of the budgets.
    pub fn autonomy(&self) -> Result<Autonomy, Missing> {
        self.world.autonomy()
    }

    /// What thresholds that warn and escalate are multiplied with.
    pub fn threshold_factor(&self) -> Result<f64, Missing> {
        self.world.threshold_factor()
    }

    /// The time of the event.
    pub fn now(&self) -> Result<Timestamp, Missing> {
        self.event.time.ok_or_else(|| Missing("the event tells no time".to_owned()))
    }

    /// The definitions of the policy that this event falls under: those of its agent and of its task.
    pub fn definitions(&self) -> impl Iterator<Item = &'a Definition> {
        self.world.definitions()
    }

    /// The definitions of the policy that name an agent, by its id, its role or their own name. A hand-off goes to an
    /// agent that its event does not speak for.
    pub fn definitions_for_agent(&self, agent: &str) -> impl Iterator<Item = &'a Definition> {
        let is_named = move |definition: &&Definition| {
            let role = definition.agent.role.as_deref();
            let is_of_agent = role.is_some() || !definition.agents.is_empty();
            definition.agents.iter().any(|pattern| crate::glob::name_matches(pattern, agent))
                || role == Some(agent)
                || (is_of_agent && definition.name == agent)
        };
        self.world.policy.definitions().iter().filter(is_named)
    }

    /// The event's own task and those of the definitions. Every limit in any of them holds.
    pub fn tasks(&self) -> impl Iterator<Item = &'a Task> {
        self.world.tasks()
    }

    /// Every list of allowed tools that holds for this event, the host's and those of the definitions, each with the
    /// tools that its own definition adds to it.
    pub fn tool_lists(&self) -> impl Iterator<Item = (&'a [String], &'a [String])> {
        let own = self.event.agent.as_ref().and_then(|agent| agent.allowed_tools.as_deref());
        let defined = self.definitions().filter_map(|definition| {
            let added = definition.task.additional_tools.as_deref().unwrap_or_default();
            Some((definition.agent.allowed_tools.as_deref()?, added))
        });
        own.map(|list| (list, [].as_slice())).into_iter().chain(defined)
    }
}

/// Who acts: the agent, or where it has no name its session.
pub(crate) fn actor(event: &Event, session: &str) -> String {
    match event.agent.as_ref().and_then(|agent| agent.id.as_deref()) {
        Some(agent) => agent.to_owned(),
        None => format!("session:{session}"),
    }
}

/// What the keys of a guardrail's own slices begin with.
pub fn state_prefix(guardrail: &str, prompt: Option<&str>) -> String {
    let id = key_part(guardrail);
    match prompt {
        Some(prompt) => [&*id, "@", &*key_part(prompt), "/"].concat(),
        None => [&*id, "/"].concat(),
    }
}

/// The key of the slice that says that a call was denied.
pub fn denied_key(call_id: &str) -> String {
    format!("denied/{call_id}")
}

/// The key of the slice that holds a session variable.
pub fn variable_key(name: &str) -> String {
    format!("var/{name}")
}
