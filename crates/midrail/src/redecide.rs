//! Decides recorded events again: with the policy that decided them, to see that they come out the same; or with
//! another one, to see what it would have done.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    Decision, EventKind, Fact, FactKey, Facts, Finding, HALTED, Policy, Record, Session, Unmetered,
    approval_key, evaluate, variable_key,
};
use midrail_detect::{action, of_event};
use midrail_pack::PolicySource;
use midrail_store::{Approval, Store, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::MAX_ROUNDS;

/// A part of a decision that came out otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Change {
    /// The field.
    pub field: &'static str,
    /// As it is recorded.
    pub recorded: String,
    /// As it came out now.
    pub now: String,
}

/// Where a decision differs from a recorded one, in what a record keeps of it.
pub fn changes(recorded: &Decision, now: &Decision) -> Vec<Change> {
    let word =
        |effect: Option<midrail_core::Effect>| effect.map(|effect| effect.to_string()).unwrap_or_default();
    let by = |decision: &Decision| decision.by.as_deref().unwrap_or_default().to_owned();
    let pairs = [
        ("effect", recorded.effect.to_string(), now.effect.to_string()),
        ("by", by(recorded), by(now)),
        ("reason", recorded.reason.clone(), now.reason.clone()),
        ("would", word(recorded.would), word(now.would)),
    ];
    let changed = pairs.into_iter().filter(|(_, recorded, now)| recorded != now);
    changed.map(|(field, recorded, now)| Change { field, recorded, now }).collect()
}

/// Makes decisions again with the policies that made them.
pub struct Reproduction<'s> {
    store: &'s dyn Store,
    policies: BTreeMap<Arc<str>, Result<Policy, String>>,
}

/// What came of making a decision again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reproduced {
    /// It came out as it is recorded.
    Same,
    /// It came out otherwise.
    Differs(Vec<Change>),
    /// It cannot be made again, for this reason.
    Unknown(String),
}

impl<'s> Reproduction<'s> {
    /// Takes the policies from a store.
    pub fn new(store: &'s dyn Store) -> Self {
        Reproduction { store, policies: BTreeMap::new() }
    }

    /// Makes a decision again. `None`: there was nothing to decide.
    pub fn again(&mut self, record: &Record) -> Result<Option<Reproduced>, StoreError> {
        if !is_decided(record) {
            return Ok(None);
        }
        let revision = &record.decision.policy;
        if !self.policies.contains_key(revision) {
            let policy = self.compile(revision)?;
            self.policies.insert(revision.clone(), policy);
        }
        Ok(Some(match self.policies.get(revision) {
            Some(Ok(policy)) => match changes(&record.decision, &record.replay(policy)) {
                changes if changes.is_empty() => Reproduced::Same,
                changes => Reproduced::Differs(changes),
            },
            Some(Err(why)) => Reproduced::Unknown(why.clone()),
            None => Reproduced::Unknown("its policy is not known".to_owned()),
        }))
    }

    fn compile(&self, revision: &str) -> Result<Result<Policy, String>, StoreError> {
        Ok(recorded_policy(self.store, revision)?.map(|(policy, _)| policy))
    }
}

/// A policy that decisions were made with, as the store keeps it, or why it cannot be made again.
pub(crate) fn recorded_policy(
    store: &dyn Store,
    revision: &str,
) -> Result<Result<(Policy, PolicySource), String>, StoreError> {
    let Some(text) = store.policy(revision)? else {
        return Ok(Err(format!("the policy {revision} is not in the store")));
    };
    let source = match serde_json::from_str::<PolicySource>(&text) {
        Ok(source) => source,
        Err(error) => return Ok(Err(format!("the policy {revision} cannot be read: {error}"))),
    };
    Ok(match source.compile() {
        Ok(policy) if **policy.revision() == *revision => Ok((policy, source)),
        Ok(_) => Err(format!(
            "the policy {revision} does not follow from its packs: a program registered guardrails of its own, \
             or another version of midrail made it"
        )),
        Err(why) => Err(format!("the policy {revision} no longer compiles: {why}")),
    })
}

/// Plays recorded events under another policy, which keeps a state of its own along the way. Records have to come in
/// the order of the log, from its first on.
///
/// # Limits
/// Events are those that happened: one that the other policy would have stopped is still followed by its result. Facts
/// that were not recorded are not known. A session that was set back keeps the state that it had.
pub struct WhatIf {
    policy: Policy,
    sessions: BTreeMap<String, BTreeMap<String, Value>>,
}

/// What another policy would have decided.
#[derive(Debug, Clone)]
pub struct Projection {
    /// The decision.
    pub decision: Decision,
    /// Facts that it asked for and that were not recorded.
    pub unknown: Vec<FactKey>,
}

impl WhatIf {
    /// A start from nothing.
    pub fn new(policy: Policy) -> Self {
        WhatIf { policy, sessions: BTreeMap::new() }
    }

    /// What the policy would have decided in place of this record. `None`: there was nothing to decide.
    pub fn next(&mut self, record: &Record) -> Option<Projection> {
        let slices = self.sessions.entry(record.session.clone()).or_default();
        if !is_decided(record) {
            answer(slices, record);
            if record.event.extra.get("what").and_then(Value::as_str) == Some("halt_lifted") {
                slices.remove(HALTED);
            }
            if let Some(Value::Object(variables)) = record.event.extra.get("set") {
                slices.extend(variables.iter().map(|(name, value)| (variable_key(name), value.clone())));
            }
            return None;
        }
        let mut session = Session::new(&*record.session);
        session.load(HALTED, slices.get(HALTED).cloned());
        let mut facts = Facts {
            root: record.facts.root.clone(),
            action_digest: record.facts.action_digest.clone(),
            passed: record.facts.passed,
            overlong: record.facts.overlong,
            ..Facts::default()
        };
        // Of a call it is always known what it does.
        if record.event.tool.is_some() {
            facts.known.extend(fact(&FactKey::Action, record).map(|action| (FactKey::Action, action)));
        }
        let mut unknown = Vec::new();
        let mut evaluation = evaluate(&self.policy, &session, &facts, &record.event, &Unmetered);
        for _ in 0..MAX_ROUNDS {
            if evaluation.needs.is_empty() {
                break;
            }
            for key in std::mem::take(&mut evaluation.needs.slices) {
                let value = slices.get(&key).cloned();
                session.load(key, value);
            }
            for key in std::mem::take(&mut evaluation.needs.facts) {
                let fact = fact(&key, record).unwrap_or_else(|| {
                    unknown.push(key.clone());
                    Fact::Unavailable("it was not recorded".to_owned())
                });
                facts.insert(key, fact);
            }
            evaluation = evaluate(&self.policy, &session, &facts, &record.event, &Unmetered);
        }
        for (key, value) in &evaluation.decision.changes.0 {
            match value {
                Some(value) => slices.insert(key.clone(), value.clone()),
                None => slices.remove(key),
            };
        }
        Some(Projection { decision: evaluation.decision, unknown })
    }
}

/// Whether the law was asked. Answers of people and variables that are set are written down, not decided.
fn is_decided(record: &Record) -> bool {
    // The law reads whether the run was halted, whatever else it reads.
    record.event.kind != EventKind::ApprovalDecided && record.slices.contains_key(HALTED)
}

/// A fact as it was when the record was made, if that is known.
pub(crate) fn fact(key: &FactKey, record: &Record) -> Option<Fact> {
    let recorded = record.facts.get(key).cloned();
    recorded.or_else(|| match key {
        FactKey::Action => Some(Fact::of_action(action::of(&record.event))),
        // An event with secrets has a digest of its own, because its record does not show it as it was.
        FactKey::Secrets if record.facts.action_digest.is_none() => Some(Fact::Secrets(Vec::new())),
        // Without a file system a path is what it says.
        FactKey::Place(_) => Some(Fact::Unavailable("where its links led is not on record".to_owned())),
        // The record shows every text but its secrets. Nothing is fingerprinted: the key is the store's.
        FactKey::PersonalData => found(record, of_event::personal_data),
        FactKey::Injections => found(record, of_event::injections),
        FactKey::Secrets
        | FactKey::Script(_)
        | FactKey::File(_)
        | FactKey::Command(_)
        | FactKey::Tree(_)
        | FactKey::Count(_)
        | FactKey::Git
        | FactKey::Hook(_)
        | FactKey::Deep(_)
        | FactKey::Unsaved(_)
        | FactKey::Answer(_) => None,
    })
}

fn found(record: &Record, detector: fn(&Value, &[u8]) -> Vec<Finding>) -> Option<Fact> {
    let event = serde_json::to_value(&record.event).ok()?;
    Some(Fact::Findings(detector(&event, &[])))
}

/// A person's answer holds for the same guardrail and action, whichever policy asks.
fn answer(slices: &mut BTreeMap<String, Value>, record: &Record) {
    let approval = record.event.extra.get("approval").cloned();
    let Some(Ok(approval)) = approval.map(serde_json::from_value::<Approval>) else { return };
    slices.insert(
        approval_key(&approval.guardrail, &approval.action),
        json!({
            "id": approval.id, "state": approval.state, "by": approval.decided_by,
            "expires": approval.expires.map(|time| time.to_string()),
            "taken_back": approval.taken_back.is_some(),
        }),
    );
}
