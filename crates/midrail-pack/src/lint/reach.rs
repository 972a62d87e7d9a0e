//! Guardrails that never have a say, or say what another says already.

use midrail_core::{Effect, EventKind, Mode, Tools};

use super::{Issue, Linter, Severity};
use crate::expr::{Expected, Expression};
use crate::layers::{Merged, Placed};
use crate::names::{EVENT_NAMES, GLOBS};
use crate::pattern::any_covers;
use crate::raw::Guard;

/// Guardrails behind one that stops everything they are asked about.
pub(super) fn shadowed(linter: &mut Linter<'_>, merged: &Merged<'_>) {
    let mut chain: Vec<&Placed<'_>> = merged.guards.iter().filter(|placed| placed.guard.enabled).collect();
    chain.sort_by_key(|placed| (placed.guard.entry.spec.priority, placed.guard.entry.spec.category));
    for (at, later) in chain.iter().enumerate() {
        let earlier = chain.get(..at).unwrap_or_default();
        let Some(wall) = earlier.iter().find(|wall| stops_all_of(wall, later)) else { continue };
        let (wall, spec) = (&wall.guard.entry.spec.id, &later.guard.entry.spec);
        let message =
            format!("`{}` never has a say: `{wall}` stops everything that it is asked about", spec.id);
        let help = format!("take it out, or give `{wall}` a `when` or fewer `tools`");
        let issue = Issue::new(&later.guard.at, message).help(help);
        linter.found("unreachable-guardrail", Severity::Warning, later.member, issue);
    }
}

/// Whether the first always stops what the second is asked about, so that the second is skipped.
fn stops_all_of(wall: &Placed<'_>, later: &Placed<'_>) -> bool {
    let Guard { check, when, agents, tasks, effect, .. } = wall.guard.guard;
    let effect = effect.unwrap_or(Effect::Block);
    let is_wall = wall.guard.page.is_none()
        && wall.guard.agent.is_none()
        && check.is_none()
        && when.is_none()
        && agents.is_empty()
        && tasks.is_empty()
        && effect >= Effect::Block
        && wall.guard.entry.spec.mode == Mode::Enforce;
    let (wall, later) = (&wall.guard.entry, &later.guard.entry);
    let strongest = later.spec.effect.unwrap_or_else(|| later.guardrail.ceiling());
    is_wall
        && strongest <= effect
        && !later.guardrail.has_consequences()
        && !later.spec.on.is_empty()
        && later.spec.on.iter().all(|kind| wall.spec.on.contains(kind) && *kind != EventKind::OnError)
        && covers_tools(&wall.spec.tools, &later.spec.tools, &later.guardrail.tools(), &later.spec.on)
}

/// Whether a set of tools holds every tool that another guardrail is asked about: those in both of its own sets.
fn covers_tools(wall: &Tools, asked: &Tools, governed: &Tools, on: &[EventKind]) -> bool {
    let has_tool = |kind: &EventKind| matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
    let Tools::Only(wall) = wall else { return true };
    let within = |tools: &Tools| match tools {
        Tools::All => false,
        Tools::Only(tools) => tools.iter().all(|tool| any_covers(wall, tool)),
    };
    !on.iter().any(has_tool) || within(asked) || within(governed)
}

/// Guardrails that check the same on the same occasions.
pub(super) fn duplicates(linter: &mut Linter<'_>, merged: &Merged<'_>) {
    let enabled: Vec<&Placed<'_>> = merged.guards.iter().filter(|placed| placed.guard.enabled).collect();
    for (at, later) in enabled.iter().enumerate() {
        let earlier = enabled.get(..at).unwrap_or_default();
        let Some(twin) = earlier.iter().find(|twin| is_twin(twin, later)) else { continue };
        let (twin, spec) = (&twin.guard.entry.spec.id, &later.guard.entry.spec);
        let message = format!("`{}` checks the same as `{twin}`", spec.id);
        let issue = Issue::new(&later.guard.at, message).help("keep one of them, with the stronger effect");
        linter.found("duplicate-guardrail", Severity::Warning, later.member, issue);
    }
}

fn is_twin(one: &Placed<'_>, other: &Placed<'_>) -> bool {
    let occasion = |placed: &Placed<'_>| {
        let spec = &placed.guard.entry.spec;
        (spec.mode, spec.on.clone(), spec.tools.clone(), spec.per_prompt)
    };
    one.guard.agent == other.guard.agent
        && occasion(one) == occasion(other)
        && one.guard.page.map(|page| page.id) == other.guard.page.map(|page| page.id)
        && essence(one.guard.guard) == essence(other.guard.guard)
}

/// A guardrail without its name, its words, its place in the chain and what its objection leads to.
fn essence(guard: &Guard) -> Guard {
    let normal = |source: &Option<String>| {
        let source = source.as_ref()?;
        let parsed = Expression::parse(source, &EVENT_NAMES, Expected::Bool, GLOBS);
        Some(parsed.map_or_else(|_| source.clone(), |expression| expression.to_string()))
    };
    Guard {
        check: normal(&guard.check),
        when: normal(&guard.when),
        read_before_write: guard.read_before_write.clone(),
        require_before: guard.require_before.clone(),
        sequential: guard.sequential.clone(),
        keyed: guard.keyed.clone(),
        rules: guard.rules.clone(),
        agents: guard.agents.clone(),
        tasks: guard.tasks.clone(),
        ..Guard::default()
    }
}
