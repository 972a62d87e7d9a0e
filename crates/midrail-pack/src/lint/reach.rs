//! Guardrails that never decide, or that repeat another one.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Effect, EventKind, Mode, Tools};

use crate::expr::Expected;
use crate::issue::Issue;
use crate::layers::{Merged, Placed};
use crate::lint::linter::Findings;
use crate::names::event_expression;
use crate::pattern::{Prefixes, any_covers};
use crate::raw::Guard;

/// Guardrails after one that stops everything that they apply to.
pub(super) fn shadowed(out: &mut Findings<'_>, merged: &Merged<'_>) {
    let mut chain: Vec<&Placed<'_>> = merged.guards.iter().filter(|placed| placed.guard.enabled).collect();
    chain.sort_by_key(|placed| (placed.guard.entry.spec.priority, placed.guard.entry.spec.category));
    let mut walls = Walls::default();
    for (at, later) in chain.iter().enumerate() {
        let wall = walls.before(later).filter_map(|at| chain.get(at)).find(|wall| stops_all_of(wall, later));
        if is_wall(later) {
            walls.add(at, later);
        }
        let Some(wall) = wall.filter(|_| !out.is_redefined(later)) else { continue };
        let (wall, spec) = (&wall.guard.entry.spec.id, &later.guard.entry.spec);
        let message = format!("`{}` never decides: `{wall}` stops everything that it applies to", spec.id);
        let help = format!("remove it, or give `{wall}` a `when` or fewer `tools`");
        let issue = Issue::new(&later.guard.at, message).help(help);
        out.warn("unreachable-guardrail", later.member, issue);
    }
}

/// The walls of a chain by their tools, so that only candidates are checked.
#[derive(Default)]
struct Walls {
    /// Those for all tools, and those for other events than calls.
    wide: Vec<usize>,
    by_tool: Prefixes<usize>,
}

impl Walls {
    fn add(&mut self, at: usize, wall: &Placed<'_>) {
        let spec = &wall.guard.entry.spec;
        match &spec.tools {
            Tools::Only(patterns) if spec.on.iter().all(has_tool) => {
                for pattern in patterns {
                    self.by_tool.add(pattern, at);
                }
            }
            Tools::Only(_) | Tools::All => self.wide.push(at),
        }
    }

    /// Indexes in the chain of the walls that could stop all of a guardrail, in order.
    fn before(&self, later: &Placed<'_>) -> impl Iterator<Item = usize> {
        let entry = &later.guard.entry;
        let governed = entry.guardrail.tools();
        let firsts = [&entry.spec.tools, &governed].into_iter().filter_map(|tools| match tools {
            Tools::All => None,
            // A wall that covers all of them covers the first.
            Tools::Only(patterns) => patterns.first(),
        });
        let near = firsts.flat_map(|first| self.by_tool.may_cover(first));
        let places: BTreeSet<usize> = near.copied().collect();
        let mut wide = self.wide.iter().copied().peekable();
        let mut near = places.into_iter().peekable();
        std::iter::from_fn(move || match (wide.peek(), near.peek()) {
            (Some(left), Some(right)) if left > right => near.next(),
            (None, _) => near.next(),
            (Some(_), _) => wide.next(),
        })
    }
}

fn has_tool(kind: &EventKind) -> bool {
    matches!(kind, EventKind::BeforeTool | EventKind::AfterTool)
}

/// Whether a guardrail stops everything that it applies to.
fn is_wall(placed: &Placed<'_>) -> bool {
    let Guard { check, when, command, agents, tasks, effect, .. } = placed.guard.guard;
    placed.guard.builtin.is_none()
        && placed.guard.agent.is_none()
        && check.is_none()
        && when.is_none()
        && command.is_empty()
        && agents.is_empty()
        && tasks.is_empty()
        && effect.unwrap_or(Effect::Block) >= Effect::Block
        && placed.guard.entry.spec.mode == Mode::Enforce
}

/// Whether a wall stops everything that another guardrail applies to, so that the other is skipped.
fn stops_all_of(wall: &Placed<'_>, later: &Placed<'_>) -> bool {
    let effect = wall.guard.guard.effect.unwrap_or(Effect::Block);
    let (wall, later) = (&wall.guard.entry, &later.guard.entry);
    let strongest = later.spec.effect.unwrap_or_else(|| later.guardrail.max_effect());
    strongest <= effect
        && !later.guardrail.has_consequences()
        && !later.spec.on.is_empty()
        && later.spec.on.iter().all(|kind| wall.spec.on.contains(kind) && *kind != EventKind::OnError)
        && covers_tools(&wall.spec.tools, &later.spec.tools, &later.guardrail.tools(), &later.spec.on)
}

/// Whether a set of tools contains every tool of another guardrail: those in both of its own sets.
fn covers_tools(wall: &Tools, asked: &Tools, governed: &Tools, on: &[EventKind]) -> bool {
    let Tools::Only(wall) = wall else { return true };
    let within = |tools: &Tools| match tools {
        Tools::All => false,
        Tools::Only(tools) => tools.iter().all(|tool| any_covers(wall, tool)),
    };
    !on.iter().any(has_tool) || within(asked) || within(governed)
}

/// Guardrails with the same check for the same events.
pub(super) fn duplicates(out: &mut Findings<'_>, merged: &Merged<'_>) {
    let mut seen: BTreeMap<String, Vec<&Placed<'_>>> = BTreeMap::new();
    for later in merged.guards.iter().filter(|placed| placed.guard.enabled) {
        let alike = seen.entry(likeness(later)).or_default();
        let Some(twin) = alike.iter().find(|twin| twin.guard.agent == later.guard.agent) else {
            alike.push(later);
            continue;
        };
        if out.is_redefined(later) {
            continue;
        }
        let (twin, spec) = (&twin.guard.entry.spec.id, &later.guard.entry.spec);
        let message = format!("`{}` checks the same as `{twin}`", spec.id);
        let issue = Issue::new(&later.guard.at, message).help("keep one of them, with the stronger effect");
        out.warn("duplicate-guardrail", later.member, issue);
    }
}

/// The check of a guardrail and its events, as a text that is equal for duplicates.
fn likeness(placed: &Placed<'_>) -> String {
    let spec = &placed.guard.entry.spec;
    let occasion = (spec.mode, &spec.on, &spec.tools, spec.per_prompt);
    let builtin = placed.guard.builtin.map(|builtin| builtin.id);
    format!("{occasion:?} {builtin:?} {:?}", essence(placed.guard.guard))
}

/// A guardrail without its names, messages, place in the chain and effect.
fn essence(guard: &Guard) -> Guard {
    let normal = |source: &Option<String>| {
        let source = source.as_ref()?;
        let parsed = event_expression(source, Expected::Bool);
        Some(parsed.map_or_else(|_| source.clone(), |expression| expression.meaning()))
    };
    Guard {
        with: guard.with.clone(),
        check: normal(&guard.check),
        when: normal(&guard.when),
        read_before_write: guard.read_before_write.clone(),
        require_before: guard.require_before.clone(),
        sequential: guard.sequential.clone(),
        keyed: guard.keyed.clone(),
        rules: guard.rules.clone(),
        count: guard.count.clone(),
        flow: guard.flow.clone(),
        redact: guard.redact.clone(),
        modify: guard.modify.clone(),
        feedback: guard.feedback.clone(),
        completion: guard.completion.clone(),
        script: guard.script.clone(),
        cedar: guard.cedar.clone(),
        deep: guard.deep.clone(),
        command: guard.command.clone(),
        except: guard.except.clone(),
        agents: guard.agents.clone(),
        tasks: guard.tasks.clone(),
        ..Guard::default()
    }
}
