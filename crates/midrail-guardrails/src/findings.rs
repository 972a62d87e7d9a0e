//! Which findings of the detectors a guardrail goes by: where they are, of which kind, how sure, and not let pass.

use midrail_core::{Confidence, Context, Finding, Missing};
use midrail_detect::of_event::ANSWERED;
use midrail_detect::personal;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::settings::Pattern;

/// The text of a model's answer or prompt.
pub(crate) const TEXT: &str = "/text";
/// What of a tool's result passes on.
pub(crate) const CONTENT: &str = "/result/content";
/// A tool's result, with all that its host tells beside the content: its streams, what went wrong.
const RESULT: &str = "/result";
/// What an agent hands over when it stops.
const OUTPUT: &str = "/output";
/// What went wrong.
const ERROR: &str = "/error";

/// Which secrets and personal data count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sensitive {
    /// Whether secrets count.
    pub secrets: bool,
    /// Whether personal data counts.
    pub personal_data: bool,
    /// Countries whose national formats count, by their two letters: `de`, `us`. Absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locales: Option<Vec<Country>>,
    /// Kinds that do not count: names such as `email`, or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<Pattern>,
    /// Values that may be shown, by their whole fingerprint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Findings that are less sure do not count.
    pub min_confidence: Confidence,
}

/// A country that has formats of its own here, by its two letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Country(String);

impl<'de> Deserialize<'de> for Country {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?.to_lowercase();
        let known = personal::countries();
        // A country that is not known would leave out formats without a word.
        match known.contains(&code.as_str()) {
            true => Ok(Country(code)),
            false => Err(D::Error::custom(format!(
                "no formats are known of the country `{code}`, only of {}",
                known.join(", ")
            ))),
        }
    }
}

impl Default for Sensitive {
    fn default() -> Self {
        Sensitive {
            secrets: true,
            personal_data: true,
            locales: None,
            ignore: Vec::new(),
            allow: Vec::new(),
            min_confidence: Confidence::Medium,
        }
    }
}

impl Sensitive {
    /// Secrets alone.
    pub(crate) fn secrets_only() -> Self {
        Sensitive { personal_data: false, ..Sensitive::default() }
    }

    /// What counts in the texts that an event puts out, in order, none overlapping another.
    pub(crate) fn in_output(&self, context: &Context<'_>) -> Result<Vec<Finding>, Missing> {
        let (secrets, personal) = (
            if self.secrets { context.secrets() } else { Ok(&[][..]) },
            if self.personal_data { context.personal_data() } else { Ok(&[][..]) },
        );
        let found =
            secrets?.iter().chain(personal?.iter().filter(|finding| self.is_of_locale(&finding.kind)));
        let mut found: Vec<Finding> = found
            .filter(|finding| is_output(&finding.at) && finding.confidence >= self.min_confidence)
            .filter(|finding| !self.ignore.iter().any(|pattern| pattern.fits_name(&finding.kind)))
            .filter(|finding| !self.allow.contains(&finding.fingerprint))
            .cloned()
            .collect();
        found.sort_by(|one, other| (&one.at, one.start, other.end).cmp(&(&other.at, other.start, one.end)));
        // Of what overlaps, nothing stays to be seen.
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
        let countries = personal::countries_of(kind);
        let is_wanted = |locales: &Vec<Country>| {
            countries.iter().any(|country| locales.iter().any(|it| it.0 == **country))
        };
        countries.is_empty() || self.locales.as_ref().is_none_or(is_wanted)
    }
}

fn is_output(at: &str) -> bool {
    [TEXT, RESULT, OUTPUT, ERROR].iter().chain(ANSWERED).any(|place| {
        at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '~']))
    })
}

/// The kinds of findings, each once: `aws-access-key, email`.
pub(crate) fn kinds(findings: &[Finding]) -> Vec<&str> {
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
