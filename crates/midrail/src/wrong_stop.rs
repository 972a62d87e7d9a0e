//! Turns a false stop of the audit log into a test case, and proposes the narrowest exception that allows it.

use std::collections::BTreeMap;
use std::path::Path;

use midrail_core::{Effect, Event, EventKind, Fact, FactKey, FileState, Record};
use midrail_guardrails::{guardrail_id, narrowest_exception};
use midrail_pack::DiagnosticReport;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cases;

/// A false stop as a test case, with an exception that would allow it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrongStop {
    /// The guardrail that stopped the call.
    pub guardrail: String,
    /// The effect.
    pub effect: Effect,
    /// Why.
    pub reason: String,
    /// The exception. `None`: no setting of the guardrail allows only calls like this one.
    pub exception: Option<ProposedException>,
    /// The test case, in the format of a pack's `tests`.
    pub case: Value,
    /// Whether the test passes with the exception.
    pub is_verified: bool,
}

/// A setting of a guardrail that allows a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedException {
    /// The guardrail.
    #[serde(rename = "use")]
    pub guardrail: String,
    /// The setting under `with:`, which is a list.
    pub setting: &'static str,
    /// Its entries.
    pub entries: Vec<String>,
}

/// Why a record is no false stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoStop {
    /// It is not about a call.
    #[error("it is not about a tool call")]
    NoCall,
    /// The call was allowed.
    #[error("the call was not stopped")]
    Allowed,
    /// No guardrail decided.
    #[error("no guardrail decided it")]
    NoGuardrail,
}

impl WrongStop {
    /// The false stop of a record with a number.
    pub fn from_record(seq: u64, record: &Record) -> Result<Self, NoStop> {
        let Record { event, decision, .. } = record;
        let effect = decision.effect.max(decision.would.unwrap_or_default());
        if event.kind != EventKind::BeforeTool || event.tool.is_none() {
            return Err(NoStop::NoCall);
        }
        if effect.allows() {
            return Err(NoStop::Allowed);
        }
        let shadowed = decision.verdicts.iter().find(|verdict| verdict.effect == Some(effect));
        let by = decision.by.as_ref().filter(|_| decision.effect == effect);
        let by = by.or(shadowed.map(|verdict| &verdict.guardrail)).ok_or(NoStop::NoGuardrail)?;
        let exception = narrowest_exception(by, event, decision);
        let exception = exception.map(|(setting, entries)| ProposedException {
            guardrail: guardrail_id(by.split('@').next().unwrap_or(by)),
            setting,
            entries,
        });
        let case = case(seq, record, event);
        let mut found = WrongStop {
            guardrail: by.to_string(),
            effect,
            reason: decision.reason.clone(),
            exception,
            case,
            is_verified: false,
        };
        found.is_verified = found.exception.is_some() && found.passes().unwrap_or(false);
        Ok(found)
    }

    /// A pack with the exception and the test.
    pub fn pack(&self) -> String {
        let mut text = String::from("pack: exceptions\n");
        if let Some(exception) = &self.exception {
            let with = json!({ exception.setting: exception.entries });
            text.push_str(&format!("guardrails:\n  - use: {}\n    with: {with}\n", exception.guardrail));
        }
        text.push_str(&format!("tests:\n  - {}\n", self.case));
        text
    }

    fn passes(&self) -> Result<bool, DiagnosticReport> {
        let sets = cases::read(Path::new("exceptions.yaml"), &self.pack())?;
        Ok(sets.iter().flat_map(cases::CaseSet::run).all(|result| result.is_good()))
    }
}

/// The call as a test that expects it to be allowed. Files are empty: the record does not contain their texts.
fn case(seq: u64, record: &Record, event: &Event) -> Value {
    let is_file = |fact: &Fact| matches!(fact, Fact::File(FileState::File { .. }));
    let files = record.facts.known.iter().filter_map(|(key, fact)| match key {
        FactKey::File(place) if is_file(fact) => Some((place.as_str(), "")),
        _ => None,
    });
    let files: BTreeMap<&str, &str> = files.collect();
    let mut step = Map::new();
    if let Some(tool) = &event.tool {
        step.insert("before_tool".to_owned(), json!(tool.name));
        step.insert("args".to_owned(), json!(tool.args));
    }
    if let Some(cwd) = &event.cwd {
        step.insert("cwd".to_owned(), json!(cwd));
    }
    step.insert("expect".to_owned(), json!("allow"));
    json!({"id": format!("record {seq} is allowed"), "files": files, "events": [step]})
}
