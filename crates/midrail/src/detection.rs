//! Detectors for texts, without a session: what they find, and the effect that their guardrails have by default.

use midrail_core::{Confidence, Danger, Effect, Hit, Severity};
pub use midrail_scan::secrets::is_secret_variable;
use midrail_scan::{injection, personal, secrets};
use midrail_shell::{command, sql};
use serde::Serialize;

pub mod corpus;
pub mod redact;

/// A detector of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detector {
    /// Command lines and scripts that destroy.
    Command,
    /// Statements of SQL that destroy.
    Sql,
    /// Secrets.
    Secrets,
    /// Personal data.
    PersonalData,
    /// Attempts to take over a model.
    Injection,
}

impl Detector {
    /// All of them.
    pub const ALL: [Detector; 5] =
        [Detector::Command, Detector::Sql, Detector::Secrets, Detector::PersonalData, Detector::Injection];

    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Detector::Command => "command",
            Detector::Sql => "sql",
            Detector::Secrets => "secrets",
            Detector::PersonalData => "pii",
            Detector::Injection => "injection",
        }
    }

    /// What it finds in a text.
    pub fn detect(self, text: &str) -> Detection {
        match self {
            Detector::Command => Detection::from_dangers(command::analyse(text).dangers),
            Detector::Sql => {
                Detection::from_dangers(sql::scan(text).iter().map(|hit| sql::danger(text, hit)).collect())
            }
            Detector::Secrets => Detection::from_hits(secrets::scan(text), Effect::Redact),
            Detector::PersonalData => Detection::from_hits(personal::scan(text), Effect::Redact),
            Detector::Injection => Detection::from_hits(injection::scan(text), Effect::Halt),
        }
    }
}

/// What a detector found in one text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Detection {
    /// The findings, in order.
    pub findings: Vec<DetectedSpan>,
    /// What the guardrail on this detector would answer with its defaults.
    pub effect: Effect,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DetectedSpan {
    /// The rule that found it.
    pub kind: String,
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the detector is.
    pub confidence: Confidence,
    /// What it is or does, in words.
    pub explanation: String,
    /// The command as it would run, with quotes and variables resolved.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The files that it would hit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub safer: String,
}

impl Detection {
    fn from_dangers(dangers: Vec<Danger>) -> Self {
        let found: Vec<DetectedSpan> = dangers
            .into_iter()
            .filter(|danger| !danger.is_inside)
            .map(|danger| DetectedSpan {
                kind: danger.rule,
                start: danger.start,
                end: danger.end,
                severity: danger.severity,
                confidence: danger.confidence,
                explanation: danger.reason,
                command: danger.command,
                targets: danger.targets,
                safer: danger.safer,
            })
            .collect();
        let is_blocked =
            |found: &DetectedSpan| found.severity >= Severity::High && found.confidence > Confidence::Low;
        let effect = if found.iter().any(is_blocked) {
            Effect::Block
        } else if found.is_empty() {
            Effect::Allow
        } else {
            Effect::Escalate
        };
        Detection { findings: found, effect }
    }

    fn from_hits(hits: Vec<Hit>, effect: Effect) -> Self {
        // Guardrails ignore findings of low confidence by default.
        let is_sure = hits.iter().any(|hit| hit.confidence > Confidence::Low);
        let effect = if is_sure { effect } else { Effect::Allow };
        let found = hits.into_iter().map(|hit| DetectedSpan {
            kind: hit.kind.to_owned(),
            start: hit.start,
            end: hit.end,
            severity: hit.severity,
            confidence: hit.confidence,
            explanation: hit.explanation.into_owned(),
            command: String::new(),
            targets: Vec::new(),
            safer: String::new(),
        });
        Detection { findings: found.collect(), effect }
    }
}
