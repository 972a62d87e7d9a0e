//! What guardrails in shadow mode would have done: for a team that has to decide whether to enforce them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::{Effect, Record};
use midrail_store::{AuditFilter, Store, StoreError};
use serde::Serialize;

/// What a report is made of.
#[derive(Debug, Clone, Default)]
pub struct ShadowQuery {
    /// Decisions at or after this time.
    pub since: Option<Timestamp>,
    /// Decisions before this time.
    pub until: Option<Timestamp>,
    /// This guardrail alone.
    pub guardrail: Option<String>,
    /// Examples of each guardrail, the latest ones.
    pub examples: usize,
    /// Looks at the latest records, and at no more pages than it takes for so many decisions. `None`: at all.
    pub at_most: Option<u64>,
}

/// What guardrails in shadow mode would have done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ShadowReport {
    /// Decisions that were looked at. Of one guardrail alone: those that it was asked about.
    pub decisions: u64,
    /// Those that would have been stricter, had everything been enforced, or that one guardrail.
    pub stricter: u64,
    /// By guardrail, those that would have stopped most first.
    pub guardrails: Vec<ShadowedGuardrail>,
    /// Every guardrail of the chains that were looked at, whatever its mode.
    #[serde(skip)]
    pub guardrails_seen: BTreeSet<String>,
}

/// What one guardrail in shadow mode would have done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ShadowedGuardrail {
    /// The guardrail.
    pub guardrail: String,
    /// How often it was asked.
    pub asked: u64,
    /// How often it failed.
    pub failed: u64,
    /// How often it would have verdict what, from `warn` on.
    pub effects: BTreeMap<Effect, u64>,
    /// How often it would have stopped something that went on.
    pub stopped: u64,
    /// The tools that it would have stopped, with how often.
    pub tools: BTreeMap<String, u64>,
    /// In how many sessions.
    pub sessions: u64,
    /// Some of what it would have stopped, the latest first.
    pub examples: Vec<ShadowExample>,
}

impl ShadowedGuardrail {
    /// How often it objected at all.
    pub fn objections(&self) -> u64 {
        self.effects.values().sum()
    }
}

/// Something that would have been stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ShadowExample {
    /// The number of the audit record.
    pub seq: u64,
    /// When.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// In which session.
    pub session: String,
    /// What the agent was about to do: the kind of event, or the tool.
    pub what: String,
    /// What would have been verdict.
    pub effect: Effect,
    /// Why.
    pub reason: String,
}

/// Makes a report of what is on record. `progress` is told how many records have been looked at.
pub fn shadow_report(
    store: &dyn Store,
    query: &ShadowQuery,
    progress: &mut dyn FnMut(u64),
) -> Result<ShadowReport, StoreError> {
    let mut report = ShadowReport::default();
    let mut looked = 0;
    let mut found: BTreeMap<String, (ShadowedGuardrail, BTreeSet<String>)> = BTreeMap::new();
    let mut filter =
        AuditFilter { since: query.since, until: query.until, newest_first: true, ..AuditFilter::default() };
    loop {
        let page = store.entries(&filter)?;
        let Some(last) = page.last() else { break };
        filter.after_seq = Some(last.seq);
        for entry in &page {
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
            let (mut is_counted, mut is_counted_stricter) = (false, false);
            for verdict in
                record.decision.verdicts.iter().filter(|verdict| verdict.shadow && !verdict.skipped)
            {
                if query.guardrail.as_ref().is_some_and(|wanted| **wanted != *verdict.guardrail) {
                    continue;
                }
                // Of one guardrail alone, only where it spoke, and only what it would have changed. It may speak twice,
                // about this event and about an earlier one.
                if query.guardrail.is_some() {
                    report.decisions += u64::from(!std::mem::replace(&mut is_counted, true));
                    let is_stricter = verdict.effect > Some(record.decision.effect);
                    report.stricter +=
                        u64::from(is_stricter && !std::mem::replace(&mut is_counted_stricter, true));
                }
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
