//! Reports what guardrails in shadow mode would have done, for a team that considers enforcing them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::{Effect, Record, VerdictRecord};
use midrail_store::{AuditFilter, Result, Store, pages};
use serde::Serialize;

/// The records and guardrails of a report.
#[derive(Debug, Clone, Default)]
pub struct ShadowQuery {
    /// Decisions at or after this time.
    pub since: Option<Timestamp>,
    /// Decisions before this time.
    pub until: Option<Timestamp>,
    /// Only this guardrail.
    pub guardrail: Option<String>,
    /// Examples of each guardrail, the latest ones.
    pub examples: usize,
    /// Reads the latest records until there are so many decisions. `None`: reads all records.
    pub at_most: Option<u64>,
}

/// What guardrails in shadow mode would have done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ShadowReport {
    /// The decisions that were read. For a single guardrail: those that it evaluated.
    pub decisions: u64,
    /// Those that would have been stricter if all guardrails, or that one, had been enforced.
    pub stricter: u64,
    /// By guardrail, those that would have stopped most first.
    pub guardrails: Vec<ShadowedGuardrail>,
    /// Every guardrail of the decisions that were read, in any mode.
    #[serde(skip)]
    pub guardrails_seen: BTreeSet<String>,
}

/// What one guardrail in shadow mode would have done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ShadowedGuardrail {
    /// The guardrail.
    pub guardrail: String,
    /// How often it was evaluated.
    pub asked: u64,
    /// How often it failed.
    pub failed: u64,
    /// How often it requested which effect, from `warn` on.
    pub effects: BTreeMap<Effect, u64>,
    /// How often it would have stopped an event that was allowed.
    pub stopped: u64,
    /// How often it would have stopped each tool.
    pub tools: BTreeMap<String, u64>,
    /// The number of sessions.
    pub sessions: u64,
    /// Examples of what it would have stopped, the latest first.
    pub examples: Vec<ShadowExample>,
}

impl ShadowedGuardrail {
    /// How often it requested more than `allow`.
    pub fn objections(&self) -> u64 {
        self.effects.values().sum()
    }
}

/// An event that would have been stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ShadowExample {
    /// The number of the audit record.
    pub seq: u64,
    /// The time of the decision.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// The session.
    pub session: String,
    /// The tool, or the kind of event.
    pub what: String,
    /// The effect that it would have had.
    pub effect: Effect,
    /// The reason.
    pub reason: String,
}

/// Reports on the audit log. `progress` receives the number of records that were read.
pub fn shadow_report(
    store: &dyn Store,
    query: &ShadowQuery,
    progress: &mut dyn FnMut(u64),
) -> Result<ShadowReport> {
    let mut report = ShadowReport::default();
    let mut looked = 0;
    let mut found: BTreeMap<String, (ShadowedGuardrail, BTreeSet<String>)> = BTreeMap::new();
    let filter =
        AuditFilter { since: query.since, until: query.until, newest_first: true, ..AuditFilter::default() };
    for page in pages(store, filter, usize::MAX) {
        for entry in &page? {
            let record = entry.record()?;
            if record.event.kind.is_internal() {
                continue;
            }
            looked += 1;
            if query.guardrail.is_none() {
                report.decisions += 1;
                report.stricter += u64::from(record.decision.would.is_some());
            }
            for verdict in &record.decision.verdicts {
                if !report.guardrails_seen.contains(&*verdict.guardrail) {
                    report.guardrails_seen.insert(verdict.guardrail.to_string());
                }
            }
            let is_meant = |verdict: &&VerdictRecord| {
                let is_wanted = query.guardrail.as_ref().is_none_or(|wanted| **wanted == *verdict.guardrail);
                verdict.shadow && !verdict.skipped && is_wanted
            };
            let verdicts = || record.decision.verdicts.iter().filter(is_meant);
            // One guardrail can have two verdicts: about this event and about an earlier one.
            if query.guardrail.is_some() {
                let is_stricter = |verdict: &VerdictRecord| verdict.effect > Some(record.decision.effect);
                report.decisions += u64::from(verdicts().next().is_some());
                report.stricter += u64::from(verdicts().any(is_stricter));
            }
            for verdict in verdicts() {
                let (shadowed, sessions) = found.entry(verdict.guardrail.to_string()).or_default();
                shadowed.asked += 1;
                shadowed.failed += u64::from(verdict.error.is_some());
                let Some(effect) = verdict.effect.filter(|effect| *effect > Effect::Allow) else { continue };
                *shadowed.effects.entry(effect).or_default() += 1;
                sessions.insert(record.session.clone());
                if effect.allows() || !record.decision.effect.allows() {
                    continue;
                }
                shadowed.stopped += 1;
                let what = what(&record);
                *shadowed.tools.entry(what.clone()).or_default() += 1;
                if shadowed.examples.len() < query.examples {
                    shadowed.examples.push(ShadowExample {
                        seq: entry.seq,
                        time: record.time,
                        session: record.session.clone(),
                        what,
                        effect,
                        reason: verdict.reason.clone(),
                    });
                }
            }
        }
        progress(looked);
        if query.at_most.is_some_and(|most| looked >= most) {
            break;
        }
    }
    report.guardrails = found
        .into_iter()
        .map(|(guardrail, (shadowed, sessions))| ShadowedGuardrail {
            guardrail,
            sessions: u64::try_from(sessions.len()).unwrap_or(u64::MAX),
            ..shadowed
        })
        .collect();
    report.guardrails.sort_by_key(|shadowed| std::cmp::Reverse((shadowed.stopped, shadowed.objections())));
    Ok(report)
}

fn what(record: &Record) -> String {
    record.event.tool_name().unwrap_or_else(|| record.event.kind.as_str()).to_owned()
}
