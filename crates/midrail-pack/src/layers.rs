//! Layers: organisation, user, project. All apply; a lower one may add and tighten, and may not loosen what a higher
//! one locks.

use midrail_core::{Definition, Entry, Mode, Policy};
use serde::{Deserialize, Serialize};

use crate::compile::{CompiledGuard, Issue, always_on, compile};
use crate::diagnostic::Report;
use crate::document::Document;
use crate::raw::Pack;

/// Where a pack comes from, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The organisation's, for everyone on this machine.
    Organisation,
    /// The user's own.
    User,
    /// The project's.
    Project,
}

impl Layer {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Organisation => "organisation",
            Layer::User => "user",
            Layer::Project => "project",
        }
    }
}

/// A pack in its layer, as a policy is made of it, kept for replay and cached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayeredPack {
    /// Its layer.
    pub layer: Layer,
    /// The file it was read from.
    pub path: String,
    /// The pack, without its tests.
    pub pack: Pack,
}

/// What a policy is made of. Serialised, it is what the revision is the hash of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PolicySource(pub Vec<LayeredPack>);

impl PolicySource {
    /// The packs of documents that were read, in order.
    pub fn of(documents: &[(Layer, Document)]) -> Self {
        let packs = documents.iter().map(|(layer, document)| LayeredPack {
            layer: *layer,
            path: document.path.clone(),
            pack: Pack { tests: Vec::new(), env: Default::default(), ..document.pack.clone() },
        });
        PolicySource(packs.collect())
    }

    /// The text that the revision is the hash of.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The policy. Packs that were read have been checked; one that does not compile after all is an error.
    pub fn compile(&self) -> Result<Policy, String> {
        let mut merged = Merged::default();
        for (at, pack) in self.0.iter().enumerate() {
            let conflicts = merged.add(at, pack).map_err(|issues| in_words(&pack.path, &issues))?;
            if !conflicts.is_empty() {
                return Err(in_words(&pack.path, &conflicts));
            }
        }
        Ok(merged.policy(&self.to_json()))
    }
}

fn in_words(path: &str, issues: &[Issue]) -> String {
    let lines: Vec<String> =
        issues.iter().map(|issue| format!("{path}: {} ({})", issue.message, issue.at)).collect();
    lines.join("\n")
}

/// The policy of documents, or everything that does not fit between them.
pub fn policy(documents: &[(Layer, Document)]) -> Result<(Policy, PolicySource), Vec<Report>> {
    let source = PolicySource::of(documents);
    let mut merged = Merged::default();
    let mut reports = Vec::new();
    for (at, (pack, (_, document))) in source.0.iter().zip(documents).enumerate() {
        let issues = match merged.add(at, pack) {
            Ok(conflicts) => conflicts,
            Err(issues) => issues,
        };
        reports.extend(issues.into_iter().map(|issue| document.report(issue)));
    }
    if reports.is_empty() { Ok((merged.policy(&source.to_json()), source)) } else { Err(reports) }
}

#[derive(Default)]
struct Merged {
    guards: Vec<Placed>,
    definitions: Vec<Definition>,
}

struct Placed {
    guard: CompiledGuard,
    layer: Layer,
    pack: usize,
    name: String,
    /// The raw text of it, to see whether two are the same.
    raw: String,
}

impl Merged {
    /// Adds a pack. `Ok` tells where it tries to loosen what is locked.
    fn add(
        &mut self,
        at: usize,
        LayeredPack { layer, pack, .. }: &LayeredPack,
    ) -> Result<Vec<Issue>, Vec<Issue>> {
        let compiled = compile(pack)?;
        let mut conflicts = Vec::new();
        for guard in compiled.entries {
            let raw = raw_text(pack, &guard.at);
            let placed = Placed { guard, layer: *layer, pack: at, name: pack.pack.clone(), raw };
            if let Err(issue) = self.place(placed) {
                conflicts.push(issue);
            }
        }
        self.definitions.extend(compiled.definitions);
        Ok(conflicts)
    }

    fn place(&mut self, mut placed: Placed) -> Result<(), Issue> {
        let id = placed.guard.entry.spec.id.clone();
        let same_id = |other: &&mut Placed| other.guard.entry.spec.id == id && other.pack != placed.pack;
        let Some(other) = self.guards.iter_mut().find(same_id) else {
            self.guards.push(placed);
            return Ok(());
        };
        if other.raw == placed.raw {
            return Ok(());
        }
        let is_lower = placed.layer > other.layer;
        if is_lower && other.guard.locked {
            let loosens = !placed.guard.enabled || placed.guard.entry.spec.mode == Mode::Shadow;
            if loosens {
                let message = format!("`{id}` is locked by the {} pack `{}`", other.layer.word(), other.name);
                return Err(Issue::new(&placed.guard.at, message)
                    .help("a lower layer can add to it and tighten it, not switch it off; ask whoever keeps that pack"));
            }
            // Both apply: adding never weakens.
            placed.guard.entry.spec.id = format!("{id}@{}", placed.name).into();
            self.guards.push(placed);
            return Ok(());
        }
        if is_lower {
            *other = placed;
            return Ok(());
        }
        // Two packs of one layer, or a base and the pack that extends it: both apply, unless this one replaces it.
        placed.guard.entry.spec.id = format!("{id}@{}", placed.name).into();
        self.guards.push(placed);
        Ok(())
    }

    fn policy(self, source: &str) -> Policy {
        let mut entries: Vec<Entry> = self
            .guards
            .into_iter()
            .filter(|placed| placed.guard.enabled)
            .map(|placed| placed.guard.entry)
            .collect();
        for entry in always_on() {
            if !entries.iter().any(|known| known.spec.id == entry.spec.id) {
                entries.push(entry);
            }
        }
        Policy::new(entries, self.definitions, source.as_bytes())
    }
}

fn raw_text(pack: &Pack, at: &str) -> String {
    let value = serde_json::to_value(pack).unwrap_or_default();
    value.pointer(at).map(ToString::to_string).unwrap_or_default()
}
