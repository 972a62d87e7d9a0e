//! The slice `flow/labels`: what the agent has seen in this session. Labels only rise.

use std::collections::BTreeMap;

use midrail_core::{Context, Key, Missing, PRIVATE, UNTRUSTED};
use serde::{Deserialize, Serialize};

use crate::shared::text::shorten;

/// The most sources of a label; the latest are kept.
const MAX_SOURCES: usize = 8;

/// The most labels of a session that are not built in. A policy defines few.
const MAX_LABELS: usize = 32;

/// The most bytes of the name of a source.
const MAX_NAME: usize = 200;

/// The labels of a session, each with its sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Labels(BTreeMap<String, Label>);

/// A label that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Label {
    /// How many texts set it.
    count: u64,
    /// The latest of their sources, without repetition.
    sources: Vec<Source>,
}

/// The source of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    /// The tool, or `prompt`, or `hand-off`.
    pub(crate) tool: String,
    /// The host or the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The call, as the host names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
}

impl Source {
    /// A source with names of a limited length.
    pub(crate) fn new(tool: &str, from: Option<&str>, call: Option<&str>) -> Self {
        let short = |text: &str| shorten(text, MAX_NAME);
        Source { tool: short(tool), from: from.map(short), call: call.map(short) }
    }

    fn describe(&self) -> String {
        match &self.from {
            Some(from) => format!("`{}`, {from}", self.tool),
            None => format!("`{}`", self.tool),
        }
    }
}

impl Labels {
    /// The slice.
    pub(crate) fn key() -> Key<Labels> {
        Key::new("flow/labels")
    }

    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key().read(context)?.unwrap_or_default())
    }

    pub(crate) fn contains(&self, label: &str) -> bool {
        self.0.contains_key(label)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn source_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for source in self.0.values().flat_map(|label| &label.sources) {
            let name = source.from.as_ref().unwrap_or(&source.tool);
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Sets a label because of a text.
    pub(crate) fn raise(&mut self, label: &str, source: &Source) {
        let is_built_in = matches!(label, UNTRUSTED | PRIVATE);
        if self.0.len() >= MAX_LABELS && !is_built_in && !self.contains(label) {
            return;
        }
        let set = self.0.entry(label.to_owned()).or_default();
        set.count = set.count.saturating_add(1);
        set.sources.retain(|known| (&known.tool, &known.from) != (&source.tool, &source.from));
        set.sources.push(source.clone());
        let old = set.sources.len().saturating_sub(MAX_SOURCES);
        set.sources.drain(..old);
    }

    /// What set a label: "The agent read 1 untrusted text before (`mail_read`)."
    pub(crate) fn describe(&self, label: &str) -> String {
        let Some(set) = self.0.get(label) else { return String::new() };
        let noun = if set.count == 1 { "text" } else { "texts" };
        let latest: Vec<String> = set.sources.iter().rev().take(3).map(Source::describe).collect();
        format!("The agent read {} {label} {noun} before ({}).", set.count, latest.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_bounded_and_the_latest_are_kept() {
        let mut labels = Labels::default();
        for n in 0..100 {
            labels.raise("untrusted", &Source::new("WebFetch", Some(&format!("h{n}.example")), None));
        }
        assert_eq!(labels.source_names().len(), MAX_SOURCES);
        assert!(
            labels
                .describe("untrusted")
                .starts_with("The agent read 100 untrusted texts before (`WebFetch`, h99.example;")
        );
        labels.raise("untrusted", &Source::new("WebFetch", Some("h99.example"), Some("c-1")));
        assert_eq!(labels.source_names().len(), MAX_SOURCES);
        (0..100).for_each(|n| labels.raise(&format!("l{n}"), &Source::default()));
        assert_eq!(labels.names().count(), MAX_LABELS);
        assert!(labels.contains("untrusted") && !labels.contains("private"));
        // Labels that others invent leave room for those that are built in.
        labels.raise("private", &Source::default());
        assert!(labels.contains("private"));
    }
}
