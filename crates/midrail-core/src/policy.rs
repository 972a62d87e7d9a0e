//! A compiled policy: immutable, indexed by kind of event and tool, with a revision hash.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use sha2::{Digest, Sha256};

use crate::chain::{Chain, Link, Role};
use crate::decision::Mode;
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::facts::Facts;
use crate::guardrail::{Condition, Guardrail};
use crate::hex;
use crate::inputs::Inputs;
use crate::routing::Routing;
use crate::rules::{Authorities, StrikeRule};
use crate::sandbox::{SandboxRules, shipped_box};
use crate::session::Session;
use crate::spec::Spec;

/// A guardrail with its settings in a policy.
#[derive(Clone)]
pub struct PolicyEntry {
    /// The settings.
    pub spec: Spec,
    /// The condition under which it applies. `None`: always.
    pub when: Option<Arc<dyn Condition>>,
    /// The check.
    pub guardrail: Arc<dyn Guardrail>,
}

impl PolicyEntry {
    /// A guardrail that always applies.
    pub fn new(spec: Spec, guardrail: Arc<dyn Guardrail>) -> Self {
        PolicyEntry { spec, when: None, guardrail }
    }

    /// Whether it can raise a decision above `effect`. `on_timeout` is the effect if an external service does not answer in time.
    pub(crate) fn could_raise(&self, effect: Effect, on_timeout: Effect) -> bool {
        let spec = &self.spec;
        let own = spec.effect.unwrap_or_else(|| self.guardrail.max_effect());
        let faults = spec.on_error.effect().max(spec.on_missing.effect());
        own.max(faults).max(self.guardrail.timeout_effect(on_timeout)) > effect
            || self.guardrail.has_consequences()
            || !spec.effects.is_empty()
    }

    /// Whether its objections, or what a pack makes of them, can request a retry.
    pub(crate) fn can_retry(&self, kind: EventKind) -> bool {
        match self.spec.effect {
            Some(effect) => effect == Effect::Retry,
            None => self.guardrail.can_retry(kind),
        }
    }

    fn role(&self, kind: EventKind, tool: Option<&str>, routing: &Routing) -> Option<Role> {
        let Spec { id, on, tools, .. } = &self.spec;
        let governs = tool.is_none_or(|tool| self.guardrail.tools().contains(tool));
        let checks = governs && on.contains(&kind) && tool.is_none_or(|tool| tools.contains(tool));
        let checks = checks || routing.requires(id, kind, tool);
        let observes = governs && self.guardrail.observes().contains(&kind);
        (checks || observes).then_some(Role { checks, observes })
    }
}

/// The guardrails in force, in the order of the chain.
pub struct Policy {
    entries: Vec<PolicyEntry>,
    definitions: Vec<Definition>,
    authorities: Authorities,
    routing: Routing,
    strikes: Vec<StrikeRule>,
    boxes: BTreeMap<String, SandboxRules>,
    has_late_answers: bool,
    mode: Mode,
    revision: Arc<str>,
    /// Chains by kind and tool, filled on demand. A cache of a pure function: it never changes a decision.
    chains: RwLock<Chains>,
}

type Chains = BTreeMap<(EventKind, Option<String>), Arc<Chain>>;

/// Agents invent tool names, so the cache of chains is limited.
const MAX_CHAINS: usize = 4_096;
const MAX_NAME: usize = 256;

impl Policy {
    /// A policy of these guardrails. `source` is what they were compiled from, and becomes part of the revision.
    ///
    /// Of two guardrails with one id the first is kept.
    pub fn new(entries: Vec<PolicyEntry>, definitions: Vec<Definition>, source: &[u8]) -> Self {
        let entries = in_order(entries);
        let revision = revision(&entries, source);
        Policy::with_revision(entries, definitions, revision)
    }

    /// The same policy compiled again with a revision that is known from the first time. The caller guarantees that it is the same.
    pub fn with_revision(
        entries: Vec<PolicyEntry>,
        definitions: Vec<Definition>,
        revision: Arc<str>,
    ) -> Self {
        let entries = in_order(entries);
        let is_shadow = !entries.is_empty() && entries.iter().all(|entry| entry.spec.mode == Mode::Shadow);
        Policy {
            has_late_answers: entries.iter().any(|entry| entry.guardrail.has_late_answers()),
            entries,
            definitions,
            authorities: Authorities::default(),
            routing: Routing::default(),
            strikes: Vec::new(),
            boxes: BTreeMap::new(),
            mode: if is_shadow { Mode::Shadow } else { Mode::Enforce },
            revision,
            chains: RwLock::default(),
        }
    }

    /// The same policy with these authorities.
    pub fn with_authorities(self, authorities: Authorities) -> Policy {
        Policy { authorities, ..self }
    }

    /// The same policy with these risks of tools.
    pub fn with_routing(self, routing: Routing) -> Policy {
        Policy { routing, chains: RwLock::default(), ..self }
    }

    /// The same policy with these strike rules.
    pub fn with_strike_rules(self, strikes: Vec<StrikeRule>) -> Policy {
        Policy { strikes, ..self }
    }

    /// The same policy with these boxes for contained calls.
    pub fn with_boxes(self, boxes: BTreeMap<String, SandboxRules>) -> Policy {
        Policy { boxes, ..self }
    }

    /// The same policy in the mode of its packs as a whole. Always-on built-ins are enforced all the same.
    pub fn with_mode(self, mode: Mode) -> Policy {
        Policy { mode, ..self }
    }

    /// The same policy with one more guardrail, or with the one of the same id replaced.
    pub fn with_entry(&self, entry: PolicyEntry) -> Policy {
        let mut entries: Vec<PolicyEntry> =
            self.entries.iter().filter(|other| other.spec.id != entry.spec.id).cloned().collect();
        entries.push(entry);
        self.with_same_rules(Policy::new(entries, self.definitions.clone(), self.revision.as_bytes()))
    }

    /// The same policy without a guardrail. `None`: there is none with that id.
    pub fn without(&self, id: &str) -> Option<Policy> {
        self.get(id)?;
        let entries = self.entries.iter().filter(|entry| &*entry.spec.id != id).cloned().collect();
        Some(self.with_same_rules(Policy::new(entries, self.definitions.clone(), self.revision.as_bytes())))
    }

    fn with_same_rules(&self, policy: Policy) -> Policy {
        policy
            .with_authorities(self.authorities.clone())
            .with_routing(self.routing.clone())
            .with_strike_rules(self.strikes.clone())
            .with_boxes(self.boxes.clone())
    }

    /// The same policy during a pause: every guardrail that is not always on runs in shadow mode.
    pub(crate) fn paused(&self) -> Policy {
        let mut entries = self.entries.clone();
        for entry in entries.iter_mut().filter(|entry| !entry.spec.always_on) {
            entry.spec.mode = Mode::Shadow;
        }
        let policy = Policy::with_revision(entries, self.definitions.clone(), self.revision.clone());
        self.with_same_rules(policy).with_mode(Mode::Shadow)
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

    /// Who decides approvals.
    pub fn authorities(&self) -> &Authorities {
        &self.authorities
    }

    /// The risks of tools, and what follows from them.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// What strikes lead to.
    pub fn strike_rules(&self) -> &[StrikeRule] {
        &self.strikes
    }

    /// What a call may do in a box. `None`: there is no box of this name.
    pub fn sandbox(&self, name: &str) -> Option<SandboxRules> {
        self.boxes.get(name).cloned().or_else(|| shipped_box(name))
    }

    /// Whether answers can arrive after the event that they are about.
    pub(crate) fn has_late_answers(&self) -> bool {
        self.has_late_answers
    }

    /// A hash of what the policy is made of.
    pub fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// Shadow if every guardrail is in shadow mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The guardrails that check or observe calls of a tool.
    pub fn entries_for_tool(&self, tool: &str) -> Vec<&PolicyEntry> {
        let concerns = |entry: &&PolicyEntry| {
            [EventKind::BeforeTool, EventKind::AfterTool]
                .into_iter()
                .any(|kind| entry.role(kind, Some(tool), &self.routing).is_some())
        };
        self.entries.iter().filter(concerns).collect()
    }

    /// How many words at the end of a stream are held back, because a guardrail has to see them with what follows.
    pub fn held_words(&self) -> usize {
        let of_chunks = self.entries.iter().filter(|entry| entry.spec.on.contains(&EventKind::ModelChunk));
        of_chunks.map(|entry| entry.guardrail.held_words()).max().unwrap_or(0)
    }

    /// The inputs of a decision by this policy.
    pub(crate) fn inputs<'a>(
        &'a self,
        session: &'a Session,
        facts: &'a Facts,
        event: &'a Event,
    ) -> Inputs<'a> {
        Inputs {
            definitions: &self.definitions,
            routing: &self.routing,
            session,
            facts,
            event,
            needs: RefCell::default(),
            prefetched: RefCell::default(),
            ignores_prefetched_facts: false,
            is_incomplete: Cell::default(),
            in_shadow: Cell::default(),
            has_pending_needs: Cell::default(),
            within_ms: Cell::default(),
            rewrites: RefCell::default(),
            arrived: event,
            modifications: Vec::new(),
            without_own_files: RefCell::default(),
        }
    }

    /// The chain for events of this kind and tool.
    pub(crate) fn chain(&self, event: &Event) -> Arc<Chain> {
        // A call without a tool name could be of any tool.
        let tool = event.tool_name().filter(|name| !name.is_empty());
        let key = (event.kind, tool.map(|name| name.get(..MAX_NAME).unwrap_or(name).to_owned()));
        let is_cached = tool.is_none_or(|name| name.len() <= MAX_NAME);
        if is_cached
            && let Ok(chains) = self.chains.read()
            && let Some(chain) = chains.get(&key)
        {
            return chain.clone();
        }
        let links = self.entries.iter().enumerate();
        let links: Vec<(Link, &PolicyEntry)> = links
            .filter_map(|(at, entry)| Some(((at, entry.role(event.kind, tool, &self.routing)?), entry)))
            .collect();
        // A call that is changed may start other programs than the one that arrives.
        let is_stable = event.kind != EventKind::BeforeTool
            || !links.iter().any(|(_, entry)| entry.guardrail.can_modify());
        let links = links.into_iter().map(|(link, entry)| {
            let condition = entry.when.as_ref().filter(|_| is_stable);
            (link, condition.and_then(|condition| condition.programs()))
        });
        let chain = Arc::new(Chain::new(links));
        if is_cached && let Ok(mut chains) = self.chains.write() {
            if chains.len() >= MAX_CHAINS {
                chains.clear();
            }
            chains.insert(key, chain.clone());
        }
        chain
    }
}

/// The entries in the order of the chain, the first of each id.
fn in_order(mut entries: Vec<PolicyEntry>) -> Vec<PolicyEntry> {
    let mut ids = BTreeSet::new();
    entries.retain(|entry| ids.insert(entry.spec.id.clone()));
    // A stable sort: the order of declaration breaks the remaining ties.
    entries.sort_by_key(|entry| (entry.spec.priority, entry.spec.category));
    entries
}

fn revision(entries: &[PolicyEntry], source: &[u8]) -> Arc<str> {
    let mut hash = Sha256::new();
    hash.update(source);
    for PolicyEntry { spec, .. } in entries {
        // Debug texts quote and delimit, so that no two settings look alike.
        hash.update(format!("\n{spec:?}"));
    }
    format!("sha256:{}", hex::encode(&hash.finalize())).into()
}
