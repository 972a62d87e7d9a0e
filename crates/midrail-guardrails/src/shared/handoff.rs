//! Helpers for the hand-off guardrails: the parts of a hand-off in the formats of different hosts.

use midrail_core::{Context, Handoff};
use serde_json::Value;

/// A part of the hand-off by name: a standard field, a field of the host, or a field of its context.
pub(crate) fn part(handoff: &Handoff, name: &str) -> Option<Value> {
    match name {
        "to" => handoff.to.clone().map(Value::from),
        "context" => handoff.context.clone(),
        "artifacts" => handoff.artifacts.clone().map(Value::from),
        "rationale" => handoff.rationale.clone().map(Value::from),
        "receiver" => handoff.receiver.clone(),
        _ => extra(handoff, &[name]).cloned(),
    }
}

/// The value under one of these names in the host's fields or in the context.
pub(crate) fn extra<'h>(handoff: &'h Handoff, names: &[&str]) -> Option<&'h Value> {
    let own = names.iter().find_map(|name| handoff.extra.get(*name));
    own.or_else(|| names.iter().find_map(|name| handoff.context.as_ref()?.get(*name)))
        .filter(|value| !value.is_null())
}

/// The receiving agent, if it is named.
pub(crate) fn receiver<'a>(context: &Context<'a>) -> Option<&'a str> {
    let handoff = context.event.handoff.as_ref()?;
    let id = || handoff.receiver.as_ref()?.get("id")?.as_str();
    handoff.to.as_deref().or_else(id).map(str::trim).filter(|to| !to.is_empty())
}

/// The agent that hands over: `from` of the hand-off, otherwise the acting agent.
pub(crate) fn sender(context: &Context<'_>) -> String {
    let named = context.event.handoff.as_ref().and_then(|handoff| handoff.extra.get("from")?.as_str());
    named.map_or_else(|| context.actor(), str::to_owned)
}

/// Whether a value contains no text, number or boolean at any depth.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(map) => map.values().all(is_empty),
    }
}

/// The texts of a value that is a text or a list of texts.
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
