//! The secrets of an event: where they are, and how they are replaced in everything that is recorded.

use std::borrow::Cow;

use midrail_core::{Event, Finding, Policy, RESERVED_IDS, builtin_slice_keys};
use midrail_scan::secrets::{self, Mask};
use serde_json::Value;

use crate::chunks::StreamChunk;
use crate::error::EngineResult;

/// The secrets that were found in an event.
pub(super) struct SecretScan {
    /// The event without its secrets. `None`: it has none.
    masked: Option<Event>,
    pub(super) findings: Vec<Finding>,
    /// Where the tags of the findings are in the masked event.
    pub(super) tags: Vec<Finding>,
    pub(super) mask: Mask,
}

/// The key for fingerprints, and the policy whose ids must not be masked.
#[derive(Clone, Copy)]
pub(super) struct ScanContext<'e> {
    pub(super) key: &'e [u8],
    pub(super) policy: &'e Policy,
}

impl SecretScan {
    /// Scans an event.
    pub(super) fn new(event: Value, context: ScanContext<'_>) -> EngineResult<Self> {
        SecretScan::with_chunk(event, None, context)
    }

    /// The scan of an event that cannot have secrets.
    pub(super) fn none() -> Self {
        let mask = Mask::new(&Value::Null, &[]);
        SecretScan { masked: None, findings: Vec::new(), tags: Vec::new(), mask }
    }

    /// Scans an event. The secrets in the text of a chunk are those that its stream has found.
    pub(super) fn with_chunk(
        mut value: Value,
        joined: Option<&StreamChunk>,
        ScanContext { key, policy }: ScanContext<'_>,
    ) -> EngineResult<Self> {
        let findings = match joined {
            Some(joined) => {
                let text = value.as_object_mut().and_then(|event| event.remove("text"));
                let mut findings = secrets::scan_json(&value, key);
                findings.extend(joined.secrets.iter().cloned());
                if let (Some(event), Some(text)) = (value.as_object_mut(), text) {
                    event.insert("text".to_owned(), text);
                }
                findings
            }
            None => secrets::scan_json(&value, key),
        };
        let mask = Mask::new(&value, &findings);
        if findings.is_empty() {
            return Ok(SecretScan { masked: None, findings, tags: Vec::new(), mask });
        }
        let tags = secrets::mask(&mut value, &findings);
        let named: Event = serde_json::from_value(value.clone())?;
        let slice_keys = builtin_slice_keys(&named, named.session.as_deref().unwrap_or_default());
        let names = names(&named).into_iter().chain(slice_keys.iter().map(String::as_str));
        let ids = policy.entries().iter().map(|entry| &*entry.spec.id).chain(RESERVED_IDS.iter().copied());
        let mask =
            mask.with_exempt_names(&names.chain(ids).filter(|name| !name.is_empty()).collect::<Vec<_>>());
        // The session's name is masked only by what was found in it.
        let masked = Event { session: named.session, ..serde_json::from_value(mask.value(value))? };
        Ok(SecretScan { masked: Some(masked), findings, tags, mask })
    }

    /// The event without its secrets.
    pub(super) fn masked<'s>(&'s self, event: &'s Event) -> &'s Event {
        self.masked.as_ref().unwrap_or(event)
    }

    /// The key under which a slice is stored: without secrets.
    pub(super) fn stored_key<'k>(&self, key: &'k str, store_key: &[u8]) -> Cow<'k, str> {
        if self.mask.is_empty() { key.into() } else { self.mask.key(key, store_key).into() }
    }
}

/// The names of the session, the agent, the task and the call of an event.
fn names(event: &Event) -> Vec<&str> {
    let agent = event.agent.as_ref().and_then(|agent| agent.id.as_deref());
    let task = event.task.as_ref().and_then(|task| task.id.as_deref());
    let (prompt, parent) = (event.prompt.as_deref(), event.parent.as_deref());
    let names = [event.session.as_deref(), agent, task, prompt, parent, event.tool_name(), event.call_id()];
    names.into_iter().flatten().collect()
}
