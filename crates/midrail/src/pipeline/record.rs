//! Makes the record of a decision, without the secrets that were found.

use midrail_core::{
    Changes, Decision, Effect, Event, EventKind, Fact, FactKey, HookAnswer, HookOutcome, PolicyDenied, Record,
};
use midrail_guardrails::{is_message_key, message_from_event};
use midrail_scan::secrets::{self, Mask};
use serde_json::Value;

use super::Pipeline;
use super::inputs::DecisionInputs;
use super::secret_scan::{ScanContext, SecretScan};
use crate::error::EngineResult;
use crate::ids::unique_id;
use crate::session_slices::{LAST_POLICY, ROOT};

/// The fields of a record that show commands as they would run.
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

impl Pipeline<'_> {
    /// The record of a decision, with every secret replaced by its tag.
    pub(super) fn record(&self, mut decision: Decision, inputs: DecisionInputs) -> EngineResult<Record> {
        let changes = std::mem::take(&mut decision.changes);
        let requests = std::mem::take(&mut decision.requests);
        // Where scripts replaced the result, all other guardrails saw the replaced one.
        let rewritten = inputs.rewritten.as_ref().map(|event| self.scan_rewritten(event)).transpose()?;
        let scan = rewritten.as_ref().unwrap_or(&self.scan);
        let mut facts = inputs.facts;
        for (key, fact) in &mut facts.known {
            // What was known about a call before its arguments were changed is about the call as it arrived.
            let is_of_rewritten =
                self.event.kind != EventKind::BeforeTool || matches!(key, FactKey::Modified(_));
            let scan = if is_of_rewritten { scan } else { &self.scan };
            match (fact, &inputs.rewritten) {
                (Fact::Secrets(findings), _) => findings.clone_from(&scan.tags),
                (Fact::Findings(findings), _) => {
                    secrets::shift_findings(findings, &scan.findings, &scan.tags);
                }
                // The record shows the replaced result as the findings refer to it.
                (Fact::Hook(HookOutcome { answer: HookAnswer::Replace { result, .. }, .. }), Some(event))
                    if content(event) == Some(result) =>
                {
                    *result = content(scan.masked(event)).cloned().unwrap_or_default();
                }
                _ => {}
            }
        }
        let masks: Vec<&Mask> = rewritten
            .iter()
            .map(|scan| &scan.mask)
            .chain([&self.scan.mask])
            .filter(|mask| !mask.is_empty())
            .collect();
        let masked = |value: Value| masks.iter().fold(value, |value, mask| mask.value(value));
        // Only decisions that stop something have an id.
        let id = if decision.effect >= Effect::Block { unique_id() } else { String::new() };
        let denied = PolicyDenied::from_decision(&self.event, &decision, &self.session, self.now, id);
        let mut record = Record {
            time: self.now,
            session: self.session.clone(),
            event: self.scan.masked(&self.event).clone(),
            slices: inputs.session.slices,
            facts,
            decision,
            denied,
        };
        if !masks.is_empty() {
            record = self.parse_masked(masked(serde_json::to_value(&record)?))?;
        }
        self.mask_resolved_secrets(&mut record)?;
        let shown = scan.masked(inputs.rewritten.as_ref().unwrap_or(&self.event));
        let mask_slice = |key: &str, value| match key {
            // The engine's own slices do not come from events.
            ROOT | LAST_POLICY => Some(value),
            // A secret that is too short to search for is replaced only where it was found.
            _ if !masks.is_empty() && is_message_key(key) => {
                message_from_event(shown).map(Value::from).map(&masked)
            }
            _ => Some(masked(value)),
        };
        let stored = |(key, value): (String, Option<Value>)| {
            let value = value.and_then(|value| mask_slice(&key, value));
            (self.stored_key(&key).into_owned(), value)
        };
        record.decision.changes = Changes(changes.0.into_iter().map(stored).collect());
        record.decision.requests = requests;
        Ok(record)
    }

    pub(super) fn scan_rewritten(&self, event: &Event) -> EngineResult<SecretScan> {
        let context = ScanContext { key: &self.engine.fingerprint_key, policy: self.policy };
        SecretScan::new(serde_json::to_value(event)?, context)
    }

    /// Masks secrets that appear only after quotes, encodings and variables of commands and scripts are resolved.
    fn mask_resolved_secrets(&self, record: &mut Record) -> EngineResult {
        let is_resolved = |fact: &Fact| match fact {
            Fact::Action(action) => !action.dangers.is_empty(),
            Fact::Script(_) => true,
            _ => false,
        };
        if !record.facts.known.values().any(is_resolved) {
            return Ok(());
        }
        let mut value = serde_json::to_value(&*record)?;
        let mut found = secrets::scan_json(&value, &self.engine.fingerprint_key);
        found.retain(|finding| RESOLVED.iter().any(|place| finding.at.starts_with(place)));
        if !found.is_empty() {
            let mask = Mask::new(&value, &found);
            secrets::mask(&mut value, &found);
            *record = self.parse_masked(mask.value(value))?;
        }
        Ok(())
    }

    /// A masked record with the name of its session, which masks do not apply to.
    fn parse_masked(&self, masked: Value) -> EngineResult<Record> {
        let mut record: Record = serde_json::from_value(masked)?;
        record.session.clone_from(&self.session);
        record.event.session = Some(self.session.clone());
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
