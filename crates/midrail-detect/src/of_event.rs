//! What the detectors find in the texts of an event.

use midrail_core::Finding;
use serde_json::Value;

use crate::finding::Hit;
use crate::{injection, personal, secrets, texts};

/// Where an event holds what someone said or a tool put out: texts that may tell personal data.
const TOLD: &[&str] = &["/text", "/result/content", "/output", "/handoff", "/error/message", "/tool/args"];

/// Where an event holds what a model is going to read.
const READ: &[&str] = &["/text", "/result/content", "/handoff"];

/// Personal data in an event, which is given as JSON. Fingerprints are made under `key`.
pub fn personal_data(event: &Value, key: &[u8]) -> Vec<Finding> {
    find(event, TOLD, key, &|text| personal::scan(text))
}

/// Attempts to take over a model in an event.
pub fn injections(event: &Value, key: &[u8]) -> Vec<Finding> {
    find(event, READ, key, &|text| injection::scan(text))
}

fn find(event: &Value, places: &[&str], key: &[u8], scan: &dyn Fn(&str) -> Vec<Hit>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in places {
        let Some(value) = event.pointer(place) else { continue };
        texts::for_each(value, &mut |at| {
            let text = at.text;
            findings.extend(scan(text).into_iter().map(|hit| Finding {
                kind: hit.kind.to_owned(),
                at: format!("{place}{}", at.pointer),
                start: hit.start,
                end: hit.end,
                severity: hit.severity,
                confidence: hit.confidence,
                explanation: hit.explanation.into_owned(),
                fingerprint: secrets::fingerprint(text.get(hit.start..hit.end).unwrap_or_default(), key),
            }));
        });
    }
    findings
}
