//! Layers: default, organisation, user, project. All apply; a lower layer can add and tighten guardrails, but not loosen what
//! a higher layer locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use midrail_core::{
    Authorities, Definition, Mode, Policy, PolicyEntry, SandboxRules, StrikeRule, shipped_box, to_json,
};
use midrail_guardrails::{builtin, guardrail_id};
use serde::{Deserialize, Serialize};

use crate::compile::{CompiledGuard, Trust, always_on, compile, routing, unknown_ids, unknown_labels};
use crate::diagnostic::DiagnosticReport;
use crate::document::PackDocument;
use crate::issue::Issue;
use crate::narrowing::{is_same_kind, losses};
use crate::raw::{Guard, Pack};

/// The origin of a pack, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The default pack, which all others add to.
    Default,
    /// The organisation, for all users of this machine.
    Organisation,
    /// The user.
    User,
    /// The project.
    Project,
}

impl Layer {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Default => "default",
            Layer::Organisation => "organisation",
            Layer::User => "user",
            Layer::Project => "project",
        }
    }
}

/// A pack in its layer, as a part of a policy. It is stored for replays and cached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayeredPack {
    /// Its layer.
    pub layer: Layer,
    /// The file it was read from.
    pub path: String,
    /// The file of the pack that `extends` it, if it was read for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_of: Option<String>,
    /// The pack, without its tests and overlays.
    pub pack: Pack,
}

/// The packs of a policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PolicySource(pub Vec<LayeredPack>);

/// Problems of packs that were valid when they were read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct SourceError(Vec<String>);

impl PolicySource {
    /// The packs of documents, highest layer first, otherwise in order.
    pub fn from_documents(documents: &[(Layer, PackDocument)]) -> Self {
        let packs = documents.iter().map(|(layer, document)| LayeredPack {
            layer: *layer,
            path: document.path.clone(),
            base_of: document.base_of.clone(),
            pack: Pack { tests: Vec::new(), env: Default::default(), ..document.pack.clone() },
        });
        let mut packs: Vec<LayeredPack> = packs.collect();
        packs.sort_by_key(|pack| pack.layer);
        PolicySource(packs)
    }

    /// The text from which the same policy can be compiled again.
    pub fn to_json(&self) -> String {
        to_json(self).unwrap_or_default()
    }

    /// Compiles the policy. The packs were checked when they were read; one that does not compile is an error.
    pub fn compile(&self) -> Result<Policy, SourceError> {
        Ok(self.merged()?.policy(Identity::Source(&self.identity())))
    }

    /// Compiles a policy whose revision is known. The hash is not computed again.
    pub fn compile_with_revision(&self, revision: &str) -> Result<Policy, SourceError> {
        Ok(self.merged()?.policy(Identity::Revision(revision.into())))
    }

    /// The guardrails of another source, such as the default pack, that this one does not enforce to the same extent: their ids,
    /// and what is lost. Nothing in the list: the guardrail is missing.
    pub fn losses(&self, default: &PolicySource) -> Result<Vec<(String, Vec<String>)>, SourceError> {
        let (default, own) = (default.merged()?, self.merged()?);
        let lost = default.guards.iter().filter(|placed| placed.guard.enabled).filter_map(|before| {
            let alike = own.guards.iter().filter(|it| is_same_kind(&before.guard, &it.guard));
            let found = alike.map(|after| losses(&before.guard, &after.guard)).min_by_key(Vec::len);
            let id = before.guard.entry.spec.id.to_string();
            match found {
                Some(losses) if losses.is_empty() => None,
                Some(losses) => Some((id, losses)),
                None => Some((id, Vec::new())),
            }
        });
        Ok(lost.collect())
    }

    fn merged(&self) -> Result<Merged<'_>, SourceError> {
        let mut merged = Merged::default();
        let problems: Vec<String> = merged
            .add_all(self.members())
            .into_iter()
            .map(|(at, issue)| {
                let path = self.0.get(at).map(|pack| pack.path.as_str()).unwrap_or_default();
                format!("{path}: {} ({})", issue.message, issue.at)
            })
            .collect();
        if problems.is_empty() { Ok(merged) } else { Err(SourceError(problems)) }
    }

    fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.0.iter().map(|LayeredPack { layer, path, base_of, pack }| Member {
            layer: *layer,
            path,
            base_of: base_of.as_deref(),
            pack,
        })
    }

    /// The text whose hash is the revision: the packs and their relations, without their folder.
    fn identity(&self) -> String {
        let place = |path: &String| self.0.iter().position(|pack| pack.path == *path);
        let packs = self.0.iter().map(|pack| {
            let mut body = pack.pack.clone();
            // The content of a script is in its digest.
            for script in body.scripts_mut() {
                script.file = script.file.take().filter(|_| script.digest.is_none());
                script.belongs.clear();
            }
            for (_, cedar) in body.cedar_mut() {
                cedar.belongs.clear();
            }
            (pack.layer, pack.base_of.as_ref().map(place), body)
        });
        serde_json::to_string(&packs.collect::<Vec<_>>()).unwrap_or_default()
    }
}

/// Compiles the policy of documents, or reports their contradictions.
pub fn compile_policy(
    documents: &[(Layer, PackDocument)],
) -> Result<(Policy, PolicySource), Vec<DiagnosticReport>> {
    let mut merged = Merged::default();
    let issues = merged.add_all(members(documents));
    if issues.is_empty() {
        let source = PolicySource::from_documents(documents);
        let policy = merged.policy(Identity::Source(&source.identity()));
        return Ok((policy, source));
    }
    let report = |(at, issue): (usize, Issue)| {
        let (_, document) = documents.get(at)?;
        Some(document.report(issue))
    };
    Err(issues.into_iter().filter_map(report).collect())
}

/// The identity of a policy.
pub(crate) enum Identity<'s> {
    /// The text of its packs.
    Source(&'s str),
    /// Its revision.
    Revision(Arc<str>),
}

pub(crate) fn members(documents: &[(Layer, PackDocument)]) -> impl Iterator<Item = Member<'_>> {
    documents.iter().map(|(layer, document)| Member {
        layer: *layer,
        path: &document.path,
        base_of: document.base_of.as_deref(),
        pack: &document.pack,
    })
}

/// A pack of a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'p> {
    pub(crate) layer: Layer,
    pub(crate) path: &'p str,
    pub(crate) base_of: Option<&'p str>,
    pub(crate) pack: &'p Pack,
}

/// The guardrails and definitions of several packs.
#[derive(Default)]
pub(crate) struct Merged<'p> {
    members: Vec<Member<'p>>,
    /// The ids that guardrails have in their packs.
    ids: BTreeSet<String>,
    pub(crate) guards: Vec<Placed<'p>>,
    definitions: Vec<Definition>,
    authorities: Option<(Layer, Authorities)>,
    strikes: Vec<StrikeRule>,
    boxes: BTreeMap<String, SandboxRules>,
}

/// A guardrail and its pack.
pub(crate) struct Placed<'p> {
    pub(crate) guard: CompiledGuard<'p>,
    /// The index of its pack.
    pub(crate) member: usize,
    /// Its id in its pack, which can differ from its id in the policy.
    id: String,
}

impl<'p> Merged<'p> {
    /// Adds the boxes of a pack.
    fn add_boxes(&mut self, boxes: BTreeMap<String, SandboxRules>, is_of_project: bool) {
        for (name, rules) in boxes {
            let shipped = || shipped_box(&name).filter(|_| is_of_project);
            // INVARIANT: no lower layer permits more than a higher one, and no project more than the shipped boxes.
            let rules = match self.boxes.get(&name).cloned().or_else(shipped) {
                Some(above) => above.and(&rules),
                None => rules,
            };
            self.boxes.insert(name, rules);
        }
    }

    /// Adds packs, highest layer first. Problems are returned with the index of their pack.
    pub(crate) fn add_all(&mut self, members: impl Iterator<Item = Member<'p>>) -> Vec<(usize, Issue)> {
        self.members = members.collect();
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|at| self.members.get(*at).map(|member| member.layer));
        let mut issues = Vec::new();
        for at in order {
            let Some(Member { pack, .. }) = self.members.get(at).copied() else { continue };
            let compiled = match compile(pack, Trust::CheckedBefore) {
                Ok(compiled) => compiled,
                Err(found) => {
                    issues.extend(found.into_iter().map(|issue| (at, issue)));
                    continue;
                }
            };
            let layer = self.members.get(at).map(|member| member.layer);
            // INVARIANT: a project does not decide what its user is asked.
            let vouches = |guard: &CompiledGuard<'_>| {
                guard.guard.uses.as_deref().and_then(builtin).is_some_and(|it| it.id == "vouch")
            };
            let is_project = layer == Some(Layer::Project);
            for guard in compiled.entries.into_iter().filter(|guard| !is_project || !vouches(guard)) {
                let id = guard.entry.spec.id.to_string();
                if let Err(issue) = self.place(Placed { guard, member: at, id }) {
                    issues.push((at, issue));
                }
            }
            self.definitions.extend(compiled.definitions);
            self.strikes.extend(compiled.strikes);
            self.add_boxes(compiled.boxes, is_project);
            if let (Some(authorities), Some(layer)) = (compiled.authorities, layer)
                && self.authorities.as_ref().is_none_or(|(above, _)| *above == layer)
            {
                // INVARIANT: no lower layer changes the authorities of a higher one.
                self.authorities = Some((layer, authorities));
            }
        }
        let is_always_on = |id: &str| midrail_guardrails::builtin(id).is_some_and(|page| page.always_on);
        let is_known = |id: &str| {
            is_always_on(id)
                || self.guards.iter().any(|placed| placed.guard.enabled && *placed.guard.entry.spec.id == *id)
        };
        let packs: Vec<&Pack> = self.members.iter().map(|member| member.pack).collect();
        for (at, member) in self.members.iter().enumerate() {
            issues.extend(unknown_labels(member.pack, &packs).into_iter().map(|issue| (at, issue)));
            issues.extend(unknown_ids(member.pack, is_known).into_iter().map(|issue| (at, issue)));
        }
        issues
    }

    fn place(&mut self, mut placed: Placed<'p>) -> Result<(), Issue> {
        if self.ids.insert(placed.id.clone()) {
            // The id is new; so packs of a thousand guardrails are placed in linear time.
            self.guards.push(placed);
            return Ok(());
        }
        let is_other = |other: &Placed<'_>| other.id == placed.id && other.member != placed.member;
        let mut replaced = Vec::new();
        for (at, other) in self.guards.iter().enumerate().filter(|(_, other)| is_other(other)) {
            if self.is_same(other, &placed) {
                return Ok(());
            }
            let required = self.requiring(&placed);
            match (self.is_above(other.member, placed.member), other.guard.locked || required.is_some()) {
                (true, true) if loosens(&placed.guard) => return Err(self.locked(other, &placed, required)),
                // A generated name does not refer to another guardrail.
                (true, false) if is_unnamed(placed.guard.guard) => {}
                (true, false) => replaced.push(at),
                // Both apply: adding a guardrail never weakens a policy.
                (true, true) | (false, _) => {}
            }
        }
        let at = replaced.first().copied().unwrap_or(self.guards.len());
        for gone in replaced.into_iter().rev() {
            self.guards.remove(gone);
        }
        placed.guard.entry.spec.id = self.free_id(&placed).into();
        self.guards.insert(at.min(self.guards.len()), placed);
        Ok(())
    }

    /// Whether two guardrails are equal in every respect, so that one of them is enough.
    pub(crate) fn is_same(&self, other: &Placed<'_>, placed: &Placed<'_>) -> bool {
        let defaults = |at: usize| self.members.get(at).map(|member| &member.pack.defaults);
        let (left, right) = (&other.guard, &placed.guard);
        left.guard == right.guard
            && left.agent == right.agent
            && left.section == right.section
            && left.entry.spec.mode == right.entry.spec.mode
            && (left.locked || !right.locked)
            && defaults(other.member) == defaults(placed.member)
    }

    /// Whether a pack is above another one, which can replace its guardrails: of a higher layer, or a base of it.
    pub(crate) fn is_above(&self, upper: usize, lower: usize) -> bool {
        let (Some(mut base), Some(lower)) = (self.members.get(upper), self.members.get(lower)) else {
            return false;
        };
        if base.layer < lower.layer {
            return true;
        }
        // A base can have a base. The number of packs limits the steps, also if they form a cycle.
        for _ in &self.members {
            let Some(path) = base.base_of else { return false };
            let extends = |member: &&Member<'_>| {
                member.path == path && member.layer == base.layer && !member.pack.extends.is_empty()
            };
            let Some(next) = self.members.iter().find(extends) else { return false };
            if next.path == lower.path && !lower.pack.extends.is_empty() {
                return true;
            }
            base = next;
        }
        false
    }

    /// The pack above that requires the guardrail with this id, which lower packs then cannot replace.
    fn requiring(&self, placed: &Placed<'_>) -> Option<&Member<'p>> {
        let requires = |member: &Member<'_>| {
            member
                .pack
                .risk_router
                .require
                .values()
                .flat_map(|ids| ids.iter())
                .any(|id| guardrail_id(id) == placed.id)
        };
        let above = self.members.iter().enumerate().filter(|(_, member)| requires(member));
        above.filter(|(at, _)| self.is_above(*at, placed.member)).map(|(_, member)| member).next()
    }

    fn locked(&self, other: &Placed<'_>, placed: &Placed<'_>, required: Option<&Member<'_>>) -> Issue {
        let holder = required.or_else(|| self.members.get(other.member));
        let (layer, name) =
            holder.map(|member| (member.layer.as_str(), member.pack.pack.as_str())).unwrap_or_default();
        let key = if placed.guard.guard.enabled == Some(false) { "enabled" } else { "mode" };
        let how = if required.is_some() { "required" } else { "locked" };
        Issue::new(
            format!("{}/{key}", placed.guard.at),
            format!("`{}` is {how} by the {layer} pack `{name}`", placed.id),
        )
        .help("a lower layer can add to it and tighten it, but not disable it; ask the owner of that pack")
    }

    /// A unique id: its own, or with the name of its pack.
    fn free_id(&self, placed: &Placed<'_>) -> String {
        let is_free = |id: &str| !self.guards.iter().any(|other| *other.guard.entry.spec.id == *id);
        if is_free(&placed.id) {
            return placed.id.clone();
        }
        let clean = |c: char| if c.is_whitespace() || c.is_control() || c == '/' { '-' } else { c };
        let name = self.members.get(placed.member).map(|member| member.pack.pack.as_str());
        let name: String = name.unwrap_or_default().chars().map(clean).collect();
        let named = format!("{}@{name}", placed.id);
        // There are more candidates than guardrails, so one is free.
        let numbered = (2..self.guards.len() + 3).map(|number| format!("{named}-{number}"));
        std::iter::once(named.clone()).chain(numbered).find(|id| is_free(id)).unwrap_or(named)
    }

    pub(crate) fn policy(self, identity: Identity<'_>) -> Policy {
        let mut entries: Vec<PolicyEntry> = self
            .guards
            .into_iter()
            .filter(|placed| placed.guard.enabled)
            .map(|placed| placed.guard.entry)
            .collect();
        let is_shadow = !entries.is_empty() && entries.iter().all(|entry| entry.spec.mode == Mode::Shadow);
        // INVARIANT: an entry with the id of an always-on built-in is that built-in, and no looser (see `compile`).
        for entry in always_on() {
            if !entries.iter().any(|known| known.spec.id == entry.spec.id) {
                entries.push(entry);
            }
        }
        let authorities = self.authorities.map(|(_, authorities)| authorities).unwrap_or_default();
        let mut members: Vec<Member<'_>> = self.members;
        members.sort_by_key(|member| member.layer);
        let policy = match identity {
            Identity::Source(source) => Policy::new(entries, self.definitions, source.as_bytes()),
            Identity::Revision(revision) => Policy::with_revision(entries, self.definitions, revision),
        };
        let policy = policy
            .with_authorities(authorities)
            .with_routing(routing(members.iter().map(|member| member.pack)))
            .with_strike_rules(self.strikes)
            .with_boxes(self.boxes);
        if is_shadow { policy.with_mode(Mode::Shadow) } else { policy }
    }
}

/// Whether it is a feedback provider with a generated id.
fn is_unnamed(guard: &Guard) -> bool {
    let feedback = guard.feedback.as_ref();
    feedback.is_some_and(|feedback| feedback.name.is_none()) && guard.id.is_none() && guard.name.is_none()
}

fn loosens(guard: &CompiledGuard<'_>) -> bool {
    !guard.enabled || guard.entry.spec.mode == Mode::Shadow
}
