//! The filters of the audit and live pages, as their forms send them.

use jiff::Timestamp;
use maud::{Markup, html};
use midrail::store::AuditFilter;
use midrail::{Effect, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record_view;
use super::widgets;
use crate::live::LiveFilter;
use crate::problem::{HandlerResult, Problem};

/// The filters of a list of records. Empty fields do not filter.
#[derive(Debug, Clone, Default, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(default)]
pub(crate) struct Filter {
    session: String,
    tool: String,
    guardrail: String,
    effect: String,
    kind: String,
    since: String,
    until: String,
    /// Show records before this one.
    pub(crate) before: Option<u64>,
    /// Stream records after this one.
    pub(crate) after: Option<u64>,
    /// Whether decisions are streamed as table rows.
    pub(crate) rows: bool,
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// A time as a form sends it (`2026-11-15T10:00`), or in full. It is in UTC.
fn time(text: &str) -> HandlerResult<Option<Timestamp>> {
    if text.is_empty() {
        return Ok(None);
    }
    let found = text.parse().or_else(|_| format!("{text}Z").parse());
    found.or_else(|_| format!("{text}:00Z").parse()).map(Some).map_err(|_| {
        let shown = crate::text::short(text);
        Problem::invalid(format!("`{shown}` is not a valid time; use the format 2026-11-15T10:00"))
    })
}

impl Filter {
    /// The records that match, the newest first.
    pub(crate) fn audit(&self, limit: usize) -> HandlerResult<AuditFilter> {
        let kind = given(&self.kind).map(|kind| kind.parse::<EventKind>());
        Ok(AuditFilter {
            session: given(&self.session),
            tool: given(&self.tool),
            guardrail: given(&self.guardrail),
            effect: self.effect.parse().ok(),
            kind: kind.transpose().map_err(|error| Problem::invalid(error.to_string()))?,
            since: time(&self.since)?,
            until: time(&self.until)?,
            after_seq: self.before,
            limit: Some(limit),
            newest_first: true,
        })
    }

    /// The live events that match.
    pub(crate) fn live(&self) -> LiveFilter {
        LiveFilter {
            effect: self.effect.parse().ok(),
            session: given(&self.session),
            guardrail: given(&self.guardrail),
            tool: given(&self.tool),
            ..LiveFilter::default()
        }
    }

    /// The filters with full times, as the API takes them.
    pub(crate) fn exact(&self) -> HandlerResult<Self> {
        let full =
            |text: &str| Ok::<_, Problem>(time(text)?.map(|time| time.to_string()).unwrap_or_default());
        Ok(Filter { since: full(&self.since)?, until: full(&self.until)?, ..self.clone() })
    }

    /// The filters as a query, with the position in the list.
    pub(crate) fn query(&self, before: Option<u64>) -> String {
        let filter = serde_json::to_value(Filter { before, ..self.clone() }).unwrap_or_default();
        let pairs: Vec<(&str, String)> = filter
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| match value {
                Value::String(text) => Some((name.as_str(), text.clone())),
                Value::Number(number) => Some((name.as_str(), number.to_string())),
                _ => None,
            })
            .collect();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        widgets::query(&pairs)
    }

    /// The fields for session, tool, guardrail and effect of a form.
    pub(crate) fn fields(&self) -> Markup {
        html! {
            @for (name, title, text) in [("session", "Session", &self.session), ("tool", "Tool", &self.tool), ("guardrail", "Guardrail", &self.guardrail)] {
                label { span.label { (title) } input name=(name) value=(text) placeholder="any" data-search[name == "session"] autocomplete="off" spellcheck="false"; }
            }
            label { span.label { "Effect" } select name="effect" {
                option value="" { "any" }
                @for effect in Effect::LADDER { option value=(effect.as_str()) selected[self.effect == effect.as_str()] { (effect.as_str()) } }
            } }
        }
    }

    /// The fields for event kind and period of a form.
    pub(crate) fn more_fields(&self) -> Markup {
        html! {
            label { span.label { "Event" } select name="kind" {
                option value="" { "any" }
                @for kind in EventKind::ALL { option value=(kind.as_str()) selected[self.kind == kind.as_str()] { (record_view::kind(*kind)) } }
            } }
            label { span.label { "From (UTC)" } input type="datetime-local" name="since" value=(self.since); }
            label { span.label { "Until (UTC)" } input type="datetime-local" name="until" value=(self.until); }
        }
    }
}
