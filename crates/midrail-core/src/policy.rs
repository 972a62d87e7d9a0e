//! The packs compiled: immutable, indexed by kind of event and tool, with a revision hash.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use sha2::{Digest, Sha256};

use crate::approval::Authorities;
use crate::consequences::StrikeRule;
use crate::decision::Mode;
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::guardrail::{Guardrail, Spec};
use crate::hex;
use crate::routing::Routing;

/// A guardrail in its place in a policy.
#[derive(Clone)]
pub struct PolicyEntry {
    /// Everything around the check.
    pub spec: Spec,
    /// The check.
    pub guardrail: Arc<dyn Guardrail>,
}

impl PolicyEntry {
    /// Whether it can still raise a decision that stands at `effect`. `then` follows where nobody answers it in time.
    pub(crate) fn could_raise(&self, effect: Effect, on_timeout: Effect) -> bool {
        let spec = &self.spec;
        let own = spec.effect.unwrap_or_else(|| self.guardrail.max_effect());
        let faults = spec.on_error.effect().max(spec.on_missing.effect());
        own.max(faults).max(self.guardrail.timeout_effect(on_timeout)) > effect
            || self.guardrail.has_consequences()
            || !spec.effects.is_empty()
    }

    fn is_asked(&self, kind: EventKind) -> bool {
        self.spec.on.contains(&kind)
    }

    fn concerns(&self, kind: EventKind, tool: Option<&str>, routing: &Routing) -> Option<Part> {
        let governs = tool.is_none_or(|tool| self.guardrail.tools().contains(tool));
        let asked = governs && self.is_asked(kind) && tool.is_none_or(|tool| self.spec.tools.contains(tool));
        let asked = asked || routing.requires(&self.spec.id, kind, tool);
        let watches = governs && self.guardrail.observes().contains(&kind);
        (asked || watches).then_some(Part { asked, watches })
    }
}

/// What a guardrail has to do with an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// It is asked for a verdict.
    pub(crate) asked: bool,
    /// It learns from the outcome.
    pub(crate) watches: bool,
}

/// A link of a chain: the place of an entry, and its part.
pub(crate) type Link = (usize, Part);

/// The guardrails in force, in the order of the chain.
pub struct Policy {
    entries: Vec<PolicyEntry>,
    definitions: Vec<Definition>,
    authorities: Authorities,
    routing: Routing,
    strikes: Vec<StrikeRule>,
    /// Whether answers can come after the event that they are about.
    asks_outside: bool,
    mode: Mode,
    revision: Arc<str>,
    /// Chains by kind and tool, filled as they are asked for. A memo of a pure function: it never changes an answer.
    chains: RwLock<Chains>,
}

type Chains = BTreeMap<(EventKind, Option<String>), Arc<[Link]>>;

/// Agents make up tool names; a memo of all of them must not grow without end.
const MAX_CHAINS: usize = 4_096;
const MAX_NAME: usize = 256;

impl Policy {
    /// A policy of these guardrails. `source` is whatever they were made of: it becomes part of the revision.
    ///
    /// Of two guardrails with one id the first is kept.
    pub fn new(entries: Vec<PolicyEntry>, definitions: Vec<Definition>, source: &[u8]) -> Self {
        Policy::made(entries, definitions, |entries| revision(entries, source))
    }

    /// The same policy made again, where its revision is known from the first time. Whoever says so vouches for it.
    pub fn with_revision(
        entries: Vec<PolicyEntry>,
        definitions: Vec<Definition>,
        revision: Arc<str>,
    ) -> Self {
        Policy::made(entries, definitions, |_| revision)
    }

    fn made(
        entries: Vec<PolicyEntry>,
        definitions: Vec<Definition>,
        revision: impl FnOnce(&[PolicyEntry]) -> Arc<str>,
    ) -> Self {
        let mut kept: Vec<PolicyEntry> = Vec::with_capacity(entries.len());
        let mut seen = std::collections::BTreeSet::new();
        for entry in entries {
            if seen.insert(entry.spec.id.clone()) {
                kept.push(entry);
            }
        }
        // A stable sort: what is left to break ties is the order of declaration.
        kept.sort_by_key(|entry| (entry.spec.priority, entry.spec.category));
        let mode = if !kept.is_empty() && kept.iter().all(|entry| entry.spec.mode == Mode::Shadow) {
            Mode::Shadow
        } else {
            Mode::Enforce
        };
        let revision = revision(&kept);
        Policy {
            asks_outside: kept.iter().any(|entry| entry.guardrail.has_late_answers()),
            routing: Routing::default(),
            strikes: Vec::new(),
            entries: kept,
            definitions,
            authorities: Authorities::default(),
            mode,
            revision,
            chains: RwLock::default(),
        }
    }

    /// The same policy, with others to decide.
    pub fn with_authorities(mut self, authorities: Authorities) -> Policy {
        self.authorities = authorities;
        self
    }

    /// The same policy, with what is said of the risks of tools.
    pub fn with_routing(mut self, routing: Routing) -> Policy {
        self.routing = routing;
        self.chains = RwLock::default();
        self
    }

    /// The risks of tools, and what follows from them.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The same policy, with what strikes lead to.
    pub fn with_strike_rules(mut self, strikes: Vec<StrikeRule>) -> Policy {
        self.strikes = strikes;
        self
    }

    /// What strikes lead to.
    pub fn strike_rules(&self) -> &[StrikeRule] {
        &self.strikes
    }

    /// Whether answers can come after the event that they are about.
    pub(crate) fn asks_outside(&self) -> bool {
        self.asks_outside
    }

    /// The same rules around other guardrails.
    fn around(&self, entries: Vec<PolicyEntry>) -> Policy {
        Policy::new(entries, self.definitions.clone(), self.revision.as_bytes())
            .with_authorities(self.authorities.clone())
            .with_routing(self.routing.clone())
            .with_strike_rules(self.strikes.clone())
    }

    /// Who decides what guardrails put to people.
    pub fn authorities(&self) -> &Authorities {
        &self.authorities
    }

    /// The same policy, in a mode that its packs are in as a whole. Always-on built-ins are enforced all the same.
    pub fn with_mode(mut self, mode: Mode) -> Policy {
        self.mode = mode;
        self
    }

    /// The same policy while it is paused: everyone speaks in shadow mode, but for those that stay on.
    pub(crate) fn paused(&self) -> Policy {
        let mut entries = self.entries.clone();
        for entry in entries.iter_mut().filter(|entry| !entry.spec.always_on) {
            entry.spec.mode = Mode::Shadow;
        }
        Policy {
            entries,
            definitions: self.definitions.clone(),
            authorities: self.authorities.clone(),
            routing: self.routing.clone(),
            strikes: self.strikes.clone(),
            asks_outside: self.asks_outside,
            mode: Mode::Shadow,
            revision: self.revision.clone(),
            chains: RwLock::default(),
        }
    }

    /// The guardrails, in the order of the chain.
    pub fn entries(&self) -> &[PolicyEntry] {
        &self.entries
    }

    /// The guardrail of an id.
    pub fn get(&self, id: &str) -> Option<&PolicyEntry> {
        self.entries.iter().find(|entry| &*entry.spec.id == id)
    }

    /// The definitions of agents and tasks.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// A hash of what the policy is made of.
    pub fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// Shadow where every guardrail is in shadow mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The guardrails that have to do with calls of a tool.
    pub fn entries_for_tool(&self, tool: &str) -> Vec<&PolicyEntry> {
        self.entries
            .iter()
            .filter(|entry| {
                entry.concerns(EventKind::BeforeTool, Some(tool), &self.routing).is_some()
                    || entry.concerns(EventKind::AfterTool, Some(tool), &self.routing).is_some()
            })
            .collect()
    }

    /// The same policy with one more guardrail, or with the one of the same id replaced.
    pub fn with_entry(&self, entry: PolicyEntry) -> Policy {
        let mut entries: Vec<PolicyEntry> =
            self.entries.iter().filter(|other| other.spec.id != entry.spec.id).cloned().collect();
        entries.push(entry);
        self.around(entries)
    }

    /// The same policy without a guardrail. `None`: there is none of that id.
    pub fn without(&self, id: &str) -> Option<Policy> {
        self.get(id)?;
        let entries = self.entries.iter().filter(|entry| &*entry.spec.id != id).cloned().collect();
        Some(self.around(entries))
    }

    /// The chain for an event.
    pub(crate) fn chain(&self, event: &Event) -> Arc<[Link]> {
        // A call whose tool has no name might be of any tool, like one that tells none.
        let tool = event.tool_name().filter(|name| !name.is_empty());
        // A name that no real tool has is not worth remembering.
        let key = (event.kind, tool.map(|name| name.get(..MAX_NAME).unwrap_or(name).to_owned()));
        let is_kept = tool.is_none_or(|name| name.len() <= MAX_NAME);
        if is_kept
            && let Ok(chains) = self.chains.read()
            && let Some(chain) = chains.get(&key)
        {
            return chain.clone();
        }
        let chain: Arc<[Link]> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| Some((at, entry.concerns(event.kind, tool, &self.routing)?)))
            .collect();
        if is_kept && let Ok(mut chains) = self.chains.write() {
            if chains.len() >= MAX_CHAINS {
                chains.clear();
            }
            chains.insert(key, chain.clone());
        }
        chain
    }
}

fn revision(entries: &[PolicyEntry], source: &[u8]) -> Arc<str> {
    let mut hash = Sha256::new();
    hash.update(source);
    for PolicyEntry { spec, .. } in entries {
        // Debug texts quote and delimit, so that no two settings look alike.
        hash.update(format!(
            "\n{:?}",
            (&*spec.id, spec.priority, spec.category, &spec.on, &spec.tools, &spec.agents, &spec.tasks)
        ));
        hash.update(format!(
            "{:?}",
            (spec.effect, &spec.reason, &spec.advice, spec.mode, spec.on_error, spec.on_missing)
        ));
        hash.update(format!(
            "{:?}",
            (
                spec.warn_limit,
                spec.max_attempts,
                spec.on_exhausted,
                &spec.approver,
                spec.approval_timeout_s,
                spec.per_prompt,
                &spec.bypass,
                &spec.effects,
                spec.within_ms,
                spec.from_risk,
                spec.effect_by_risk
            )
        ));
    }
    format!("sha256:{}", hex::encode(&hash.finalize())).into()
}
