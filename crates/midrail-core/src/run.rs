//! Runs one guardrail. An error, a panic or a missing value becomes a verdict, too.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::chain::{Link, StartedPrograms};
use crate::context::Context;
use crate::decision::{Decision, VerdictRecord};
use crate::definition::fits;
use crate::effect::Effect;
use crate::event::{EventKind, Risk};
use crate::guardrail::{ArgumentChange, Fault, Rewrite};
use crate::inputs::{Inputs, Missing};
use crate::policy::{Policy, PolicyEntry};
use crate::sandbox::SandboxRequest;
use crate::session::Changes;
use crate::spec::Spec;
use crate::verdict::Verdict;

/// A verdict, and the failure behind it if `on_error` or `on_missing` applied.
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) error: Option<String>,
}

/// The outcome of a check.
pub(crate) enum CheckOutcome {
    /// The guardrail allows the event, and nothing else follows. This is the usual case, and verdicts are large.
    PlainAllow,
    /// Any other answer.
    Answer(Box<Answer>),
}

/// Checks the event with a guardrail. `None`: the guardrail does not apply to it.
pub(crate) fn check(entry: &PolicyEntry, inputs: &Inputs<'_>) -> Option<CheckOutcome> {
    let context = Context::new(inputs, &entry.spec);
    inputs.start_guardrail(&entry.spec);
    inputs.within_ms.set(entry.spec.within_ms);
    let unknown = Cell::new(None);
    let verdict = catch(|| {
        let applies = match context.event.kind == EventKind::BeforeTool && entry.guardrail.can_modify() {
            // It applies to the call as it was before it changed it.
            true => inputs.modifications.iter().any(|modification| modification.by == entry.spec.id),
            false => applies(entry, &context).unwrap_or_else(|missing| {
                unknown.set(Some(missing));
                true
            }),
        };
        if !applies {
            return Ok(None);
        }
        let verdict = entry.guardrail.check(&context)?;
        Ok(Some(if verdict.is_plain_allow() { None } else { Some(Box::new(verdict)) }))
    });
    let verdict = match verdict.transpose()? {
        Ok(None) => return Some(CheckOutcome::PlainAllow),
        Ok(Some(verdict)) => Ok(*verdict),
        Err(fault) => Err(fault),
    };
    let mut answer = answer(&entry.spec, context.risk(), verdict);
    if let Some(missing) = unknown.take().filter(|_| answer.verdict.effect != Effect::Allow) {
        answer.verdict.reason.push_str(&format!(" (This applies because {missing}.)"));
    }
    Some(CheckOutcome::Answer(Box::new(answer)))
}

/// The guardrail's replacement of the result, if it applies and has one.
pub(crate) fn rewrite(entry: &PolicyEntry, context: &Context<'_>) -> Option<Rewrite> {
    let rewrites = || if may_apply(entry, context) { entry.guardrail.rewrite(context) } else { Ok(None) };
    catch(rewrites).ok().flatten()
}

/// The guardrail's changes of the call's arguments. `None`: it does not apply.
pub(crate) fn modify(
    entry: &PolicyEntry,
    context: &Context<'_>,
) -> Option<Result<Vec<ArgumentChange>, Fault>> {
    context.start_guardrail(&entry.spec);
    catch(|| if may_apply(entry, context) { entry.guardrail.modify(context).map(Some) } else { Ok(None) })
        .transpose()
}

/// Checks an answer that arrived too late for its event.
pub(crate) fn check_late_answer(entry: &PolicyEntry, inputs: &Inputs<'_>, late: &Value) -> Answer {
    let context = Context::new(inputs, &entry.spec);
    inputs.start_guardrail(&entry.spec);
    let verdict = catch(|| match (late.get("answer"), late.get("error")) {
        (Some(answer), _) => entry.guardrail.check_late_answer(&context, answer),
        (None, error) => {
            Err(Fault::Failed(error.and_then(Value::as_str).unwrap_or("no answer came").to_owned()))
        }
    });
    let mut answer = answer(&entry.spec, context.risk(), verdict);
    if answer.error.is_none() && answer.verdict.effect != Effect::Allow {
        answer.verdict.reason.push_str(" (found about an earlier event of this run)");
    }
    answer
}

/// Lets a guardrail update its state after a decision. After a failure, which is recorded, the decision vouches for nothing.
pub(crate) fn observe(entry: &PolicyEntry, inputs: &Inputs<'_>, decision: &mut Decision) {
    let context = Context::new(inputs, &entry.spec);
    let mut changes = Changes::default();
    inputs.within_ms.set(None);
    let effect = decision.effect;
    let result = catch(|| {
        let holds = holds(entry, &context).unwrap_or(true);
        if holds { entry.guardrail.observe(&context, effect, &mut changes) } else { Ok(()) }
    });
    match result {
        Ok(()) => decision.changes.0.extend(changes.0),
        Err(fault) => {
            (decision.vouched, decision.grounds) = (false, None);
            decision.verdicts.push(VerdictRecord {
                guardrail: entry.spec.id.clone(),
                error: Some(format!("could not learn from this event: {fault}")),
                ..VerdictRecord::default()
            });
        }
    }
}

/// The guardrails of the policy that can apply to the event of the inputs, in order. `is_last`: it is not evaluated again, whatever is
/// missing.
pub(crate) fn links(policy: &Policy, inputs: &Inputs<'_>, is_last: bool) -> Vec<Link> {
    let chain = policy.chain(inputs.event);
    let reader = chain.program_reader().and_then(|at| policy.entries().get(at));
    chain.links_for(&match reader.map_or(StartedPrograms::Unknown, |entry| started_programs(entry, inputs)) {
        StartedPrograms::Pending if is_last => StartedPrograms::Unknown,
        started => started,
    })
}

/// The programs that the event starts, as the condition of a guardrail reads them.
fn started_programs(entry: &PolicyEntry, inputs: &Inputs<'_>) -> StartedPrograms {
    let context = Context::new(inputs, &entry.spec);
    inputs.start_guardrail(&entry.spec);
    let Some(condition) = &entry.when else { return StartedPrograms::Unknown };
    match catch(|| Ok(condition.started_programs(&context)?)) {
        Ok(names) => StartedPrograms::Known(names),
        Err(_) if context.has_pending_needs() => StartedPrograms::Pending,
        Err(_) => StartedPrograms::Unknown,
    }
}

/// Whether a guardrail checks this agent and task, and its condition holds. An agent or task without a name could be any.
fn applies(entry: &PolicyEntry, context: &Context<'_>) -> Result<bool, Missing> {
    let (spec, event) = (&entry.spec, context.event);
    let is_risky_enough = match (spec.from_risk, context.risk()) {
        (Some(from), Some(risk)) => risk >= from,
        _ => true,
    };
    let is_concerned = fits(&spec.agents, event.agent.as_ref().and_then(|agent| agent.id.as_deref()))
        && fits(&spec.tasks, event.task.as_ref().and_then(|task| task.id.as_deref()))
        && spec.bound.as_ref().is_none_or(|definition| definition.applies_to(event))
        && is_risky_enough;
    if is_concerned { holds(entry, context) } else { Ok(false) }
}

/// The same, where a condition that cannot be evaluated is treated as true.
fn may_apply(entry: &PolicyEntry, context: &Context<'_>) -> bool {
    applies(entry, context).unwrap_or(true)
}

/// Whether a guardrail's condition holds. Observing depends on nothing else: a guardrail observes all agents.
fn holds(entry: &PolicyEntry, context: &Context<'_>) -> Result<bool, Missing> {
    entry.when.as_ref().map_or(Ok(true), |when| when.holds(context))
}

/// The answer for a verdict or a fault.
fn answer(spec: &Spec, risk: Option<Risk>, verdict: Result<Verdict, Fault>) -> Answer {
    let id = &spec.id;
    let fault = match verdict {
        Ok(verdict) => return Answer { verdict: apply_overrides(spec, risk, verdict), error: None },
        Err(fault) => fault,
    };
    let error = Some(fault.to_string());
    let (on_fault, reason, verdict) = match fault {
        Fault::Missing(missing) => (spec.on_missing, format!("`{id}` could not be checked: {missing}"), None),
        Fault::Failed(why) => (spec.on_error, format!("`{id}` failed: {why}"), None),
        Fault::FailedAfter(verdict, why) => {
            (spec.on_error, format!("`{id}` failed: {why}"), Some(apply_overrides(spec, risk, *verdict)))
        }
    };
    let stronger = verdict.filter(|verdict| verdict.effect >= on_fault.effect());
    Answer { verdict: stronger.unwrap_or_else(|| Verdict::new(on_fault.effect(), reason)), error }
}

/// Replaces the parts of an objection that the spec overrides.
fn apply_overrides(spec: &Spec, risk: Option<Risk>, mut verdict: Verdict) -> Verdict {
    // A timeout is no objection. A guardrail whose effect is `allow` stops nothing either way.
    let is_timeout = verdict.timed_out && spec.effect != Some(Effect::Allow);
    // A box that a guardrail names is its answer to code that it does not know, and no objection.
    let is_box = verdict.effect == Effect::Contain && verdict.sandbox.is_some();
    if verdict.effect == Effect::Allow || is_timeout || is_box {
        return verdict;
    }
    if let Some(risk) = risk.filter(|_| spec.effect_by_risk) {
        verdict.effect = match risk {
            Risk::Low => Effect::Warn,
            Risk::Medium => Effect::Escalate,
            Risk::High | Risk::Critical => Effect::Block,
        };
    }
    if let Some(effect) = spec.effect {
        verdict.effect = effect;
    }
    if let Some(reason) = &spec.reason {
        verdict.reason.clone_from(reason);
    }
    for effect in &spec.effects {
        if !verdict.effects.contains(effect) {
            verdict.effects.push(effect.clone());
        }
    }
    if verdict.effect == Effect::Contain {
        verdict.sandbox = spec.sandbox.clone().map(SandboxRequest::Box);
    }
    if spec.advice.is_some() {
        verdict.advice.clone_from(&spec.advice);
    }
    verdict
}

fn catch<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let why = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(Fault::Failed(format!("it panicked: {why}")))
    })
}
