//! Calls that were made without a question to the user, by their grounds.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maud::{Markup, html};
use midrail::Store;
use midrail::core::EventKind;
use midrail::store::AuditFilter;

use super::charts;
use super::widgets::{count, short_line};
use crate::problem::HandlerResult;

/// Grounds that are shown.
const MOST: usize = 6;

/// The latest calls since a time: how many were made without a question, and why.
pub(super) fn card(store: &dyn Store, since: Timestamp) -> HandlerResult<Markup> {
    let calls = store.entries(&AuditFilter {
        kind: Some(EventKind::BeforeTool),
        since: Some(since),
        newest_first: true,
        ..AuditFilter::default()
    })?;
    let mut grounds: BTreeMap<String, u64> = BTreeMap::new();
    for entry in calls.iter().filter(|entry| entry.body.contains("\"vouched\":true")) {
        let reason = entry.record().ok().and_then(|record| record.decision.grounds);
        let number = grounds.entry(reason.unwrap_or_default()).or_default();
        *number = number.saturating_add(1);
    }
    let all: u64 = grounds.values().sum();
    let mut rows: Vec<(String, u64)> = grounds.into_iter().collect();
    rows.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let most = rows.first().map_or(0, |(_, number)| *number);
    Ok(html! {
        @if all > 0 {
            section.card {
                div.card-head {
                    h2 { "Made without a question" }
                    span.muted { (count(all)) " of the last " (calls.len()) " calls" }
                }
                ul.bars {
                    @for (reason, number) in rows.iter().take(MOST) {
                        li {
                            span.bars-name title=(reason) { (short_line(reason, 60)) }
                            (charts::meter(*number, most, "fill-accent"))
                            span.num { b { (count(*number)) } }
                        }
                    }
                }
            }
        }
    })
}
