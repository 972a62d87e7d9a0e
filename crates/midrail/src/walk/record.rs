//! The end of a walk: the record of a decision, without anything that was found secret.

use midrail_core::{
    Changes, Decision, Effect, Event, Fact, FactKey, HookAnswer, HookEnd, PolicyDenied, Record,
};
use midrail_detect::secrets::{self, Mask};
use midrail_guardrails::{is_message, message_of};
use serde_json::Value;

use super::settle::Known;
use super::{Of, ROOT, Searched, Walk};
use crate::engine::{EngineError, unique_id};
use crate::kept::POLICY;

/// Where a record tells of commands as they would run.
const RESOLVED: &[&str] = &[
    "/facts/known/action",
    "/facts/known/script",
    "/decision/reason",
    "/decision/advice",
    "/decision/metadata",
    "/decision/verdicts",
    "/decision/approval",
    "/decision/user_message",
    "/denied",
];

impl Walk<'_> {
    /// What commands and scripts do is told with their quotes, encodings and variables resolved, and that may hold
    /// secrets which the event did not show.
    fn hide_what_came_to_light(&self, record: &mut Record) -> Result<(), EngineError> {
        let resolves = |fact: &Fact| match fact {
            Fact::Action(action) => !action.dangers.is_empty(),
            Fact::Script(_) => true,
            _ => false,
        };
        if !record.facts.known.values().any(resolves) {
            return Ok(());
        }
        let mut value = serde_json::to_value(&*record)?;
        let mut found = secrets::scan_json(&value, self.engine.fingerprint_key());
        found.retain(|finding| RESOLVED.iter().any(|place| finding.at.starts_with(place)));
        if !found.is_empty() {
            let mask = Mask::of(&value, &found);
            secrets::mask(&mut value, &found);
            *record = self.read_back(mask.value(value))?;
        }
        Ok(())
    }

    /// A record that was masked. Whose it is does not follow from what is secret in it.
    fn read_back(&self, masked: Value) -> Result<Record, EngineError> {
        let mut record: Record = serde_json::from_value(masked)?;
        record.session.clone_from(&self.session);
        record.event.session = Some(self.session.clone());
        Ok(record)
    }

    /// The record of a decision, with everything that was found secret replaced by its tag.
    pub(super) fn record(&self, mut decision: Decision, known: Known) -> Result<Record, EngineError> {
        let changes = std::mem::take(&mut decision.changes);
        let requests = std::mem::take(&mut decision.requests);
        // Where scripts replaced the result, everyone else looked at what they left.
        let rewritten = match &known.rewritten {
            Some(event) => {
                let of = Of { engine: self.engine, policy: self.policy };
                Some(Searched::of(serde_json::to_value(event)?, of)?)
            }
            None => None,
        };
        let searched = rewritten.as_ref().unwrap_or(&self.searched);
        let mut facts = known.facts;
        if let Some(Fact::Secrets(findings)) = facts.known.get_mut(&FactKey::Secrets) {
            findings.clone_from(&searched.tags);
        }
        for fact in facts.known.values_mut() {
            match (fact, &known.rewritten) {
                (Fact::Findings(findings), _) => {
                    secrets::follow(findings, &searched.findings, &searched.tags);
                }
                // The record shows what they left as everyone's findings have it.
                (Fact::Hook(HookEnd { answer: HookAnswer::Replace { result, .. }, .. }), Some(event))
                    if content(event) == Some(result) =>
                {
                    *result = content(searched.masked(event)).cloned().unwrap_or_default();
                }
                _ => {}
            }
        }
        let masks: Vec<&Mask> = rewritten
            .iter()
            .map(|searched| &searched.mask)
            .chain([&self.searched.mask])
            .filter(|mask| !mask.is_empty())
            .collect();
        let hidden = |value: Value| masks.iter().fold(value, |value, mask| mask.value(value));
        // Most decisions stop nothing, and need no name for it.
        let id = if decision.effect >= Effect::Block { unique_id() } else { String::new() };
        let denied = PolicyDenied::of(&self.event, &decision, &self.session, self.now, id);
        let mut record = Record {
            time: self.now,
            session: self.session.clone(),
            event: self.searched.masked(&self.event).clone(),
            slices: known.session.slices,
            facts,
            decision,
            denied,
        };
        if !masks.is_empty() {
            record = self.read_back(hidden(serde_json::to_value(&record)?))?;
        }
        self.hide_what_came_to_light(&mut record)?;
        let shown = searched.masked(known.rewritten.as_ref().unwrap_or(&self.event));
        let hide = |key: &str, value| match key {
            // What the engine knows of a session does not come from its events.
            ROOT | POLICY => Some(value),
            // A secret that is too short to be looked for is replaced only where it was found.
            _ if !masks.is_empty() && is_message(key) => message_of(shown).map(Value::from).map(&hidden),
            _ => Some(hidden(value)),
        };
        let kept = |(key, value): (String, Option<Value>)| {
            let value = value.and_then(|value| hide(&key, value));
            (self.kept_key(&key), value)
        };
        record.decision.changes = Changes(changes.0.into_iter().map(kept).collect());
        record.decision.requests = requests;
        Ok(record)
    }
}

/// The text of an event's result.
fn content(event: &Event) -> Option<&String> {
    match event.result.as_ref()?.content.as_ref()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}
