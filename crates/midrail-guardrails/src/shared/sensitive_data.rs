//! Which findings of the detectors count for a guardrail: by place, kind, confidence and allow list.

use midrail_core::{Confidence, Context, EventKind, Finding, Missing, Verdict};
use midrail_scan::event::TOOL_OUTPUT_POINTERS;
use midrail_scan::personal;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::settings::Pattern;

/// The text of a prompt or answer.
pub(crate) const TEXT: &str = "/text";
/// The content of a tool result, which is passed on.
pub(crate) const CONTENT: &str = "/result/content";
/// The arguments of a call.
pub(crate) const ARGUMENTS: &str = "/tool/args";
/// A hand-off to another agent.
const HANDOFF: &str = "/handoff";
/// The whole tool result, including streams and errors next to the content.
const RESULT: &str = "/result";
/// The output of an agent.
const OUTPUT: &str = "/output";
/// The error.
const ERROR: &str = "/error";

/// The secrets and personal data that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SensitiveData {
    /// Whether secrets count.
    pub secrets: bool,
    /// Whether personal data counts.
    pub personal_data: bool,
    /// Countries whose national formats count, as two-letter codes: `de`, `us`. Absent: all.
    pub locales: Option<Vec<CountryCode>>,
    /// Kinds that do not count: names such as `email`, or glob patterns.
    pub ignore: Vec<Pattern>,
    /// Values that may be shown, by their full fingerprint.
    pub allow: Vec<String>,
    /// The minimum confidence of a finding.
    pub min_confidence: Confidence,
}

/// The two-letter code of a country with known formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CountryCode(#[serde(deserialize_with = "country_code")] String);

fn country_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let code = String::deserialize(deserializer)?.to_lowercase();
    let known = personal::countries();
    // An unknown country would silently disable formats.
    if known.contains(&code.as_str()) {
        return Ok(code);
    }
    let known = known.join(", ");
    Err(D::Error::custom(format!(
        "no formats are known for the country `{code}`; the known countries are {known}"
    )))
}

impl Default for SensitiveData {
    fn default() -> Self {
        SensitiveData {
            secrets: true,
            personal_data: true,
            locales: None,
            ignore: Vec::new(),
            allow: Vec::new(),
            min_confidence: Confidence::Medium,
        }
    }
}

impl SensitiveData {
    /// The findings that count in what an event passes on, in order and without overlaps: the arguments of a call, the
    /// content of a hand-off, otherwise the text or output.
    pub(crate) fn in_event(&self, context: &Context<'_>) -> Result<Vec<Finding>, Missing> {
        let (secrets, personal) = (
            if self.secrets { context.secrets() } else { Ok(&[][..]) },
            if self.personal_data { context.personal_data() } else { Ok(&[][..]) },
        );
        let found =
            secrets?.iter().chain(personal?.iter().filter(|finding| self.is_of_locale(&finding.kind)));
        let mut found: Vec<Finding> = found
            .filter(|finding| is_passed_on(context.event.kind, &finding.at))
            .filter(|finding| finding.confidence >= self.min_confidence)
            .filter(|finding| !self.ignore.iter().any(|pattern| pattern.matches_name(&finding.kind)))
            .filter(|finding| !self.allow.contains(&finding.fingerprint))
            .cloned()
            .collect();
        found.sort_by(|one, other| (&one.at, one.start, other.end).cmp(&(&other.at, other.start, one.end)));
        // Overlapping findings are merged.
        found.dedup_by(|next, kept| {
            let overlaps = next.at == kept.at && next.start < kept.end;
            if overlaps {
                kept.end = kept.end.max(next.end);
            }
            overlaps
        });
        Ok(found)
    }

    fn is_of_locale(&self, kind: &str) -> bool {
        let countries = personal::countries_for_kind(kind);
        let is_wanted = |locales: &Vec<CountryCode>| {
            countries.iter().any(|country| locales.iter().any(|it| it.0 == **country))
        };
        countries.is_empty() || self.locales.as_ref().is_none_or(is_wanted)
    }
}

/// Whether a text of an event at this pointer is passed on.
pub(crate) fn is_passed_on(kind: EventKind, at: &str) -> bool {
    match kind {
        EventKind::BeforeTool => return is_at(at, ARGUMENTS),
        EventKind::BeforeHandoff => return is_at(at, HANDOFF),
        _ => {}
    }
    [TEXT, RESULT, OUTPUT, ERROR].iter().chain(TOOL_OUTPUT_POINTERS).any(|place| is_at(at, place))
}

/// Whether a JSON pointer is at a place or below it.
pub(crate) fn is_at(at: &str, place: &str) -> bool {
    at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '~']))
}

/// Adds the kinds and fingerprints of findings to the metadata of a verdict.
pub(crate) fn describe(verdict: Verdict, findings: &[Finding]) -> Verdict {
    let fingerprints: Vec<&str> = findings.iter().map(|finding| finding.fingerprint.as_str()).collect();
    verdict.with("kinds", kinds(findings)).with("fingerprints", fingerprints)
}

/// The kinds of findings, each once: `aws-access-key, email`.
pub(crate) fn kinds(findings: &[Finding]) -> Vec<&str> {
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
