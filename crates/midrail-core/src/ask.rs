//! Asks one guardrail. Whatever it does (err, panic, lack a fact), an answer comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::context::{Context, World};
use crate::decision::{Decision, VerdictRecord};
use crate::definition::fits;
use crate::effect::Effect;
use crate::event::Risk;
use crate::guardrail::{Fault, Spec};
use crate::policy::PolicyEntry;
use crate::rewrite::Rewrite;
use crate::session::Changes;
use crate::verdict::Verdict;

/// A verdict, and the failure that it stands for where `on_error` or `on_missing` spoke.
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) error: Option<String>,
}

/// Asks for a verdict. `None`: it has nothing to do with this event.
pub(crate) fn ask(entry: &PolicyEntry, world: &World<'_>) -> Option<Answer> {
    let context = Context::new(world, &entry.spec);
    world.asks_too_early.set(false);
    world.within_ms.set(entry.spec.within_ms);
    match guarded(|| {
        if concerns(entry, &context) && holds(entry, &context) {
            entry.guardrail.check(&context).map(Some)
        } else {
            Ok(None)
        }
    }) {
        Ok(None) => None,
        Ok(Some(verdict)) => Some(Answer { verdict: dressed(entry, context.risk(), verdict), error: None }),
        Err(fault) => Some(faulted(entry, context.risk(), fault)),
    }
}

/// What a guardrail puts in place of the result, where it is asked about the event and has something to put there.
pub(crate) fn rewrite(entry: &PolicyEntry, context: &Context<'_>) -> Option<Rewrite> {
    let answer = guarded(|| {
        if concerns(entry, context) && holds(entry, context) {
            entry.guardrail.rewrite(context)
        } else {
            Ok(None)
        }
    });
    answer.ok().flatten()
}

/// What a guardrail says of an answer that came too late for the event that it was asked about.
pub(crate) fn late(entry: &PolicyEntry, world: &World<'_>, late: &Value) -> Answer {
    let context = Context::new(world, &entry.spec);
    world.asks_too_early.set(false);
    let heard = guarded(|| match (late.get("answer"), late.get("error")) {
        (Some(answer), _) => entry.guardrail.check_late_answer(&context, answer),
        (None, error) => {
            Err(Fault::Failed(error.and_then(Value::as_str).unwrap_or("no answer came").to_owned()))
        }
    });
    match heard {
        Ok(verdict) => {
            let mut verdict = dressed(entry, context.risk(), verdict);
            if verdict.effect != Effect::Allow {
                verdict.reason = format!("{} (found about an earlier event of this run)", verdict.reason);
            }
            Answer { verdict, error: None }
        }
        Err(fault) => faulted(entry, context.risk(), fault),
    }
}

/// What a guardrail's fault leads to.
fn faulted(entry: &PolicyEntry, risk: Option<Risk>, fault: Fault) -> Answer {
    let id = &entry.spec.id;
    let error = Some(fault.to_string());
    let (on_fault, reason, said) = match fault {
        Fault::Missing(missing) => {
            (entry.spec.on_missing, format!("`{id}` could not be checked: {missing}"), None)
        }
        Fault::Failed(why) => (entry.spec.on_error, format!("`{id}` failed: {why}"), None),
        Fault::FailedAfter(said, why) => (entry.spec.on_error, format!("`{id}` failed: {why}"), Some(*said)),
    };
    let said = said.map(|said| dressed(entry, risk, said)).filter(|said| said.effect >= on_fault.effect());
    Answer { verdict: said.unwrap_or_else(|| Verdict::new(on_fault.effect(), reason)), error }
}

/// Lets a guardrail learn from a decided event. A failure is recorded, and changes nothing.
pub(crate) fn observe(entry: &PolicyEntry, world: &World<'_>, decision: &mut Decision) {
    let context = Context::new(world, &entry.spec);
    let mut changes = Changes::default();
    world.within_ms.set(None);
    let effect = decision.effect;
    let outcome = guarded(|| {
        if holds(entry, &context) { entry.guardrail.observe(&context, effect, &mut changes) } else { Ok(()) }
    });
    match outcome {
        Ok(()) => decision.changes.0.extend(changes.0),
        Err(fault) => decision.verdicts.push(VerdictRecord {
            guardrail: entry.spec.id.clone(),
            error: Some(format!("could not learn from this event: {fault}")),
            ..VerdictRecord::default()
        }),
    }
}

/// Whether a guardrail is asked about this agent and task. What a host does not name might be any.
fn concerns(entry: &PolicyEntry, context: &Context<'_>) -> bool {
    let spec = &entry.spec;
    let event = context.event;
    fits(&spec.agents, event.agent.as_ref().and_then(|agent| agent.id.as_deref()))
        && fits(&spec.tasks, event.task.as_ref().and_then(|task| task.id.as_deref()))
        && spec.bound.as_ref().is_none_or(|definition| definition.applies_to(event))
        && is_asked_at(spec, context.risk())
}

/// Whether it is asked at a level of risk. Without one, everyone is.
fn is_asked_at(spec: &Spec, risk: Option<Risk>) -> bool {
    match (spec.from_risk, risk) {
        (Some(from), Some(risk)) => risk >= from,
        _ => true,
    }
}

/// Whether its condition holds. What is not known counts as true. A guardrail learns from everyone while it holds,
/// whoever it is asked about.
fn holds(entry: &PolicyEntry, context: &Context<'_>) -> bool {
    entry.spec.when.as_ref().is_none_or(|when| when.holds(context).unwrap_or(true))
}

/// The verdict with what the spec replaces in it.
fn dressed(entry: &PolicyEntry, risk: Option<Risk>, mut verdict: Verdict) -> Verdict {
    let spec = &entry.spec;
    // One that only takes notes stops nothing, whether it is answered or not.
    let is_unanswered = verdict.timed_out && spec.effect != Some(Effect::Allow);
    if verdict.effect == Effect::Allow || is_unanswered {
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
    if spec.advice.is_some() {
        verdict.advice.clone_from(&spec.advice);
    }
    verdict
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let why = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(Fault::Failed(format!("it panicked: {why}")))
    })
}
