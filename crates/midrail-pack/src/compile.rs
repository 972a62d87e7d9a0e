//! Compiles a raw pack to guardrails. Problems are reported with their place in the pack.

mod approvals;
mod boxes;
mod calls;
mod cedar;
mod check;
mod compiler;
mod definitions;
mod flow;
mod modify;
mod routing;
mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Authorities, Definition, PolicyEntry, SandboxRules, Spec, StrikeRule};
use midrail_guardrails::{Builtin, CATALOGUE, MissingClassifier};

pub(crate) use check::{feedback_place, provider_name};
pub(crate) use compiler::{CompiledGuard, Trust, to_id};
pub(crate) use flow::unknown_labels;
pub(crate) use routing::{UNLISTED, routing, unknown_ids};

use crate::compile::compiler::{Binding, Compiler, builtin_spec};
use crate::issue::Issue;
use crate::raw::Pack;

/// A compiled pack.
pub(crate) struct Compiled<'p> {
    pub(crate) entries: Vec<CompiledGuard<'p>>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) authorities: Option<Authorities>,
    pub(crate) strikes: Vec<StrikeRule>,
    pub(crate) boxes: BTreeMap<String, SandboxRules>,
}

/// Compiles a pack, or lists all of its problems.
pub(crate) fn compile(pack: &Pack, trust: Trust) -> Result<Compiled<'_>, Vec<Issue>> {
    let mut compiler = Compiler::new(pack, trust);
    if pack.pack.trim().is_empty() {
        compiler.issue("/pack", "a pack needs a name", "write `pack: NAME`");
    }
    compiler.surroundings();
    for (at, guard) in pack.guardrails.iter().enumerate() {
        compiler.guard(&format!("/guardrails/{at}"), guard, &Binding::default());
    }
    if let Some(guard) = &pack.mcp {
        compiler.guard("/mcp", guard, &Binding::default());
    }
    if let Some(guard) = &pack.vouch {
        compiler.guard("/vouch", guard, &Binding::default());
    }
    let mut definitions = Vec::new();
    for (name, agent) in &pack.agents {
        definitions.push(compiler.agent(name, agent));
    }
    definitions.extend(definitions::for_all_runs(pack));
    for (name, task) in &pack.tasks {
        definitions.push(compiler.task(name, task));
    }
    let authorities = pack.approvals.as_ref().map(|rules| compiler.authorities(rules));
    compiler.channels(&pack.notify);
    compiler.alerts(&pack.alerts);
    compiler.tool_risks();
    compiler.labels();
    let strikes = compiler.strikes();
    let boxes = compiler.boxes();
    let entries = compiler.finish()?;
    Ok(Compiled { entries, definitions, authorities, strikes, boxes })
}

/// The always-on built-ins of every policy.
pub(crate) fn always_on() -> Vec<PolicyEntry> {
    let builtins = CATALOGUE.iter().filter(|builtin| builtin.always_on);
    let entry = |builtin: &'static Builtin| {
        // A test checks that every built-in can be created without settings; otherwise it would fail closed.
        let guardrail = builtin.settings.default().unwrap_or_else(|| Arc::new(MissingClassifier));
        PolicyEntry::new(Spec { always_on: true, ..builtin_spec(builtin) }, guardrail)
    };
    builtins.map(entry).collect()
}
