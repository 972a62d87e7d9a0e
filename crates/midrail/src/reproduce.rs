//! Decides recorded events again: with the policy that decided them, to check that the decisions are the same, or with
//! another policy, to see what it would have decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    Decision, Event, EventKind, Fact, FactKey, Facts, Finding, HALTED, NoMeter, Policy, Record, Session,
    approval_key, evaluate, variable_key,
};
use midrail_guardrails::text_origin;
use midrail_scan::{event as scan_event, names};
use midrail_shell::action;
use midrail_store::{Approval, Result, Store};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::MAX_ROUNDS;
use crate::stored_policy::{StoredPolicyError, stored_policy};

/// A field of a decision that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DecisionChange {
    /// The field.
    pub field: &'static str,
    /// As it is recorded.
    pub recorded: String,
    /// As it is now.
    pub now: String,
}

/// The fields in which a decision differs from a recorded one.
pub fn compare(recorded: &Decision, now: &Decision) -> Vec<DecisionChange> {
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
    changed.map(|(field, recorded, now)| DecisionChange { field, recorded, now }).collect()
}

/// Reproduces decisions with the policies that made them.
pub struct Reproduction<'s> {
    store: &'s dyn Store,
    policies: BTreeMap<Arc<str>, Result<Policy, StoredPolicyError>>,
}

/// The result of reproducing a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReproductionResult {
    /// It is the same.
    Same,
    /// It differs.
    Differs(Vec<DecisionChange>),
    /// It cannot be reproduced, for this reason.
    Unknown(String),
}

impl<'s> Reproduction<'s> {
    /// Takes the policies from a store.
    pub fn new(store: &'s dyn Store) -> Self {
        Reproduction { store, policies: BTreeMap::new() }
    }

    /// Reproduces a decision. `None`: the record has no decision.
    pub fn reproduce(&mut self, record: &Record) -> Result<Option<ReproductionResult>> {
        if !is_decided(record) {
            return Ok(None);
        }
        let revision = &record.decision.policy;
        if !self.policies.contains_key(revision) {
            let policy = match stored_policy(self.store, revision) {
                Err(StoredPolicyError::Store(error)) => return Err(error),
                found => found.map(|(policy, _)| policy),
            };
            self.policies.insert(revision.clone(), policy);
        }
        Ok(Some(match self.policies.get(revision) {
            Some(Ok(policy)) => match compare(&record.decision, &record.replay(policy)) {
                changes if changes.is_empty() => ReproductionResult::Same,
                changes => ReproductionResult::Differs(changes),
            },
            Some(Err(error)) => ReproductionResult::Unknown(error.to_string()),
            None => ReproductionResult::Unknown("its policy is not known".to_owned()),
        }))
    }
}

/// Decides recorded events with another policy, which has its own session state. Records have to come in the order of
/// the log, from the first on.
///
/// # Limits
/// Events are those that happened: one that the other policy would have stopped is still followed by its result. Facts
/// that were not recorded are not known. A session that was set back keeps the state that it had.
pub struct WhatIfPolicy {
    policy: Policy,
    sessions: BTreeMap<String, BTreeMap<String, Value>>,
}

/// What another policy would have decided.
#[derive(Debug, Clone)]
pub struct ProjectedDecision {
    /// The decision.
    pub decision: Decision,
    /// Facts that it asked for and that were not recorded.
    pub unknown: Vec<FactKey>,
}

impl WhatIfPolicy {
    /// A policy with empty sessions.
    pub fn new(policy: Policy) -> Self {
        WhatIfPolicy { policy, sessions: BTreeMap::new() }
    }

    /// What the policy would have decided in place of this record. `None`: there was nothing to decide.
    pub fn next(&mut self, record: &Record) -> Option<ProjectedDecision> {
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
            sent_bytes: record.facts.sent_bytes,
            overlong: record.facts.overlong,
            ..Facts::default()
        };
        // Of a call it is always known what it does.
        if record.event.tool.is_some() {
            facts
                .known
                .extend(recorded_fact(&FactKey::Action, record).map(|action| (FactKey::Action, action)));
        }
        let mut unknown = Vec::new();
        let mut evaluation = evaluate(&self.policy, &session, &facts, &record.event, &NoMeter);
        for _ in 0..MAX_ROUNDS {
            if evaluation.needs.is_empty() {
                break;
            }
            for key in std::mem::take(&mut evaluation.needs.slices) {
                let value = slices.get(&key).cloned();
                session.load(key, value);
            }
            for key in std::mem::take(&mut evaluation.needs.facts) {
                let fact = fact_about(&key, record, evaluation.rewritten.as_ref()).unwrap_or_else(|| {
                    unknown.push(key.clone());
                    Fact::Unavailable("it was not recorded".to_owned())
                });
                facts.insert(key, fact);
            }
            evaluation = evaluate(&self.policy, &session, &facts, &record.event, &NoMeter);
        }
        for (key, value) in &evaluation.decision.changes.0 {
            match value {
                Some(value) => slices.insert(key.clone(), value.clone()),
                None => slices.remove(key),
            };
        }
        Some(ProjectedDecision { decision: evaluation.decision, unknown })
    }
}

/// Whether the record has a decision. Answers of people and variables are recorded without one.
fn is_decided(record: &Record) -> bool {
    // Every decision reads whether the run is halted.
    record.event.kind != EventKind::ApprovalDecided && record.slices.contains_key(HALTED)
}

/// The same as [`recorded_fact`], also about a call whose arguments guardrails changed.
fn fact_about(key: &FactKey, record: &Record, modified: Option<&Event>) -> Option<Fact> {
    match (key, modified) {
        (FactKey::Modified(inner), Some(event)) => {
            let facts = Facts { action_digest: record.facts.action_digest.clone(), ..Facts::default() };
            let of_call = || Record { event: event.clone(), facts, ..record.clone() };
            record.facts.get(key).cloned().or_else(|| recorded_fact(inner, &of_call()))
        }
        _ => recorded_fact(key, record),
    }
}

/// A fact as it was when the record was made, if that is known.
pub(crate) fn recorded_fact(key: &FactKey, record: &Record) -> Option<Fact> {
    let recorded = record.facts.get(key).cloned();
    recorded.or_else(|| match key {
        FactKey::Action => Some(Fact::from_action(action::derive(&record.event))),
        FactKey::Modified(_) => None,
        // An event with secrets has a digest of its own, because its record does not show it as it was.
        FactKey::Secrets if record.facts.action_digest.is_none() => Some(Fact::Secrets(Vec::new())),
        // Without a file system no link is followed.
        FactKey::Place(_) => Some(Fact::Unavailable("where its links led is not on record".to_owned())),
        // The record shows every text but its secrets. Nothing is fingerprinted: the key is the store's.
        FactKey::PersonalData => found(record, scan_event::find_personal_data),
        FactKey::Injections => {
            let action = action::derive(&record.event).ok();
            let origin = text_origin(&record.event, action.as_ref(), record.facts.root.as_deref());
            found(record, |event, key| scan_event::find_injections(event, origin, key))
        }
        // Names and destinations without the key have the same digests among themselves.
        FactKey::Names => {
            let event = serde_json::to_value(&record.event).ok()?;
            Some(Fact::Names(names::digests_in_event(&event, &[])))
        }
        FactKey::Destination(text) => Some(Fact::Names(names::destination_digests(text, &[]))),
        // No sandbox was there, or no guardrail asked for one.
        FactKey::Sandbox => Some(Fact::Sandbox(None)),
        FactKey::Secrets
        | FactKey::Script(_)
        | FactKey::File(_)
        | FactKey::Command(_)
        | FactKey::Tree(_)
        | FactKey::Count(_)
        | FactKey::Contents(_)
        | FactKey::Text(_)
        | FactKey::Git
        | FactKey::Hook(_)
        | FactKey::Deep(_)
        | FactKey::Unsaved(_)
        | FactKey::Answer(_) => None,
    })
}

fn found(record: &Record, detector: impl Fn(&Value, &[u8]) -> Vec<Finding>) -> Option<Fact> {
    let event = serde_json::to_value(&record.event).ok()?;
    Some(Fact::Findings(detector(&event, &[])))
}

/// The answer of a person applies to the same guardrail and action under every policy.
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
