//! redact: replaces one's own patterns, and findings of detectors, in answers of tools and models, prompts and arguments.

use std::fmt;

use midrail_core::ArgumentChange;
use midrail_core::json_pointer::KEY;
use midrail_scan::event::each_text;
use midrail_scan::text_pattern::TextPattern;
use midrail_scan::{personal, secrets};
use serde::{Deserializer, Serializer};

use crate::builtin::{PackKey, TEXTS};
use crate::prelude::*;
use crate::shared::replaced_parts::{Part, changed_call, changes, replace};
use crate::shared::sensitive_data::is_passed_on;

pub(crate) const BUILTIN: Builtin = Builtin {
    events: TEXTS,
    redacts: true,
    pack_key: PackKey::Redact,
    ..Builtin::without_settings::<Redact>(
        "redact",
        Category::Compliance,
        63,
        &[EventKind::AfterTool, EventKind::ModelChunk, EventKind::AfterModel],
    )
};

/// What is replaced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Redact(pub Vec<RedactRule>);

/// One thing that is replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactRule {
    /// What is replaced: a text pattern such as `CUST-*`, a kind of finding such as `email`, or all `secrets` or `personal-data`.
    #[serde(rename = "match")]
    pub matches: RedactMatch,
    /// The text that replaces it. Default: `[redacted:ID]`, with the id of the guardrail or the kind of the finding.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

/// What a rule replaces.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "String")]
pub enum RedactMatch {
    /// Texts that match a pattern.
    Pattern(TextPattern),
    /// All secrets.
    Secrets,
    /// All personal data.
    PersonalData,
    /// Findings of one kind.
    Kind(String),
}

impl RedactMatch {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "secrets" => Ok(RedactMatch::Secrets),
            "personal-data" | "personal_data" => Ok(RedactMatch::PersonalData),
            kind if secrets::is_kind(kind) || personal::is_kind(kind) => {
                Ok(RedactMatch::Kind(kind.to_owned()))
            }
            pattern => TextPattern::parse(pattern).map(RedactMatch::Pattern),
        }
    }

    fn is_of(&self, kind: &str) -> bool {
        match self {
            RedactMatch::Pattern(_) => false,
            RedactMatch::Secrets | RedactMatch::PersonalData => true,
            RedactMatch::Kind(own) => own == kind,
        }
    }
}

impl fmt::Display for RedactMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RedactMatch::Pattern(pattern) => write!(f, "{pattern}"),
            RedactMatch::Secrets => f.write_str("secrets"),
            RedactMatch::PersonalData => f.write_str("personal-data"),
            RedactMatch::Kind(kind) => f.write_str(kind),
        }
    }
}

impl Serialize for RedactMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RedactMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let error = |why| {
            let help = "write a text such as `CUST-*`, with `\\` before a literal special character";
            serde::de::Error::custom(format!("the pattern `{}` {why}; {help}", text.trim()))
        };
        RedactMatch::parse(&text).map_err(error)
    }
}

impl Redact {
    fn parts(&self, context: &Context<'_>) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        for RedactRule { matches, replacement } in &self.0 {
            let findings = match matches {
                RedactMatch::Pattern(_) => continue,
                RedactMatch::Secrets => context.secrets()?,
                RedactMatch::PersonalData => context.personal_data()?,
                RedactMatch::Kind(kind) if secrets::is_kind(kind) => context.secrets()?,
                RedactMatch::Kind(_) => context.personal_data()?,
            };
            let found = findings.iter().filter(|finding| matches.is_of(&finding.kind));
            parts.extend(found.map(|finding| Part {
                what: finding.kind.clone(),
                at: finding.at.clone(),
                range: finding.start..finding.end,
                replacement: replacement.clone().unwrap_or_else(|| secrets::tag(finding)),
            }));
        }
        if self.patterns().next().is_some() {
            self.find_patterns(context, &mut parts)?;
        }
        parts.retain(|part| is_passed_on(context.event.kind, &part.at));
        // What was already passed on was replaced then.
        let sent = context.sent_bytes();
        parts.retain(|part| part.range.end > sent || part.range.is_empty());
        Ok(parts)
    }

    fn patterns(&self) -> impl Iterator<Item = (&TextPattern, &RedactRule)> {
        self.0.iter().filter_map(|rule| match &rule.matches {
            RedactMatch::Pattern(pattern) => Some((pattern, rule)),
            _ => None,
        })
    }

    fn find_patterns(&self, context: &Context<'_>, parts: &mut Vec<Part>) -> Result<(), Fault> {
        let event = serde_json::to_value(context.event).map_err(|error| Fault::Failed(error.to_string()))?;
        let default = format!("[redacted:{}]", context.spec.id);
        let mut failed = None;
        each_text(&event, &mut |at, text| {
            // The names of the event's own fields are not a part of its texts.
            let is_field = at.ends_with(KEY) && at.matches('/').count() <= 2;
            if is_field || !is_passed_on(context.event.kind, at) {
                return;
            }
            for (pattern, rule) in self.patterns() {
                match pattern.find_in(text) {
                    Ok(places) => parts.extend(places.into_iter().map(|range| Part {
                        what: pattern.to_string(),
                        at: at.to_owned(),
                        range,
                        replacement: rule.replacement.clone().unwrap_or_else(|| default.clone()),
                    })),
                    Err(why) => failed = Some(why),
                }
            }
        });
        failed.map_or(Ok(()), |why| Err(Fault::Failed(why)))
    }
}

impl Guardrail for Redact {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.kind == EventKind::BeforeTool {
            return changed_call(context, "Parts of the arguments were replaced.");
        }
        let parts = self.parts(context)?;
        let whats = parts.iter().map(|part| format!("`{}`", part.what));
        let whats: std::collections::BTreeSet<String> = whats.collect();
        let whats = whats.into_iter().collect::<Vec<_>>().join(", ");
        Ok(replace(context, &parts, format!("Parts of the text were replaced: {whats}.")))
    }

    fn can_modify(&self) -> bool {
        true
    }

    fn modify(&self, context: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        Ok(changes(&self.parts(context)?))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn default_effect(&self) -> Effect {
        Effect::Redact
    }

    fn held_words(&self) -> usize {
        self.patterns().map(|(pattern, _)| pattern.words()).max().unwrap_or(0)
    }

    fn summary(&self) -> Option<String> {
        let all: Vec<String> = self.0.iter().map(|rule| format!("`{}`", rule.matches)).collect();
        Some(format!("These parts of texts are replaced: {}.", all.join(", ")))
    }
}
