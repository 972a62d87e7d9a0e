//! Alerts: notices about a figure that crosses its bound within a window.

pub(crate) mod rules;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalKind, Effect, Record};
use midrail_store::{
    ActionCounts, Alert, Approval, ApprovalFilter, AuditEntry, AuditFilter, MAX_PAGE, NewNotice,
};
use serde::Deserialize;
use serde_json::json;

use self::rules::AlertWatch;
use crate::engine::Engine;
use crate::error::EngineError;

/// The default cooldown of an alert, in seconds.
const COOLDOWN_S: u64 = 600;

/// The default window of an alert, in seconds.
const WINDOW_S: u64 = 600;

/// The fewest decisions of a rate.
const FEWEST: u64 = 5;

/// The most records of a window that a figure is computed from.
const MOST: usize = 2_000;

/// The latest alerts that are searched for a recent one.
const LATEST: usize = 100;

impl Engine {
    /// Checks the alerts that a decision can raise.
    pub(crate) fn alert_on(&self, record: &Record) {
        let watches = self.alert_watches();
        for watch in watches.iter() {
            let checked = match watch.condition.metric.as_str() {
                "block_rate" => self.check_blocks(watch, record),
                "avg_duration_ms" => self.check_durations(watch, record),
                _ => Ok(()),
            };
            if let Err(error) = checked {
                log::error!(alert:% = watch.rule.name, error:%; "an alert could not be checked");
            }
        }
    }

    /// Checks the alerts that a request can raise.
    pub(crate) fn alert_on_request(&self, asked: &Approval) {
        let watches = self.alert_watches();
        for watch in watches.iter().filter(|watch| watch.condition.metric == "bypass_requests") {
            if let Err(error) = self.check_requests(watch, asked) {
                log::error!(alert:% = watch.rule.name, error:%; "an alert could not be checked");
            }
        }
    }

    fn check_blocks(&self, watch: &AlertWatch, record: &Record) -> Result<(), EngineError> {
        if record.decision.effect < Effect::Block || !ActionCounts::KINDS.contains(&record.event.kind) {
            return Ok(());
        }
        let Some(group) = watch.condition.group_by.as_deref() else {
            let window = self.store().action_counts(self.since(watch))?;
            return self.raise_rate(watch, "", window);
        };
        let keys: Vec<String> = if group == "guardrail" {
            let verdict = record.decision.verdicts.iter().filter(|verdict| !verdict.shadow);
            verdict
                .filter(|verdict| stops(verdict.effect))
                .map(|verdict| verdict.guardrail.to_string())
                .collect()
        } else {
            let agent = record.event.agent.as_ref().and_then(|agent| agent.id.as_deref());
            vec![key_of(group, &record.session, agent, record.event.task_id()).into_owned()]
        };
        for key in keys {
            if !self.is_quiet(watch, &key)? {
                let window = self.window_of(watch, group, &key)?;
                self.raise_rate(watch, &key, window)?;
            }
        }
        Ok(())
    }

    /// The latest actions of one member of a group, and how many were stopped.
    fn window_of(&self, watch: &AlertWatch, group: &str, key: &str) -> Result<ActionCounts, EngineError> {
        let session = (group == "session").then(|| key.to_owned());
        let mut window = ActionCounts::default();
        self.each_recent(
            AuditFilter { session, since: Some(self.since(watch)), ..AuditFilter::default() },
            |entry| {
                if !ActionCounts::KINDS.iter().any(|kind| kind.as_str() == entry.labels.kind) {
                    return;
                }
                let Ok(outline) = serde_json::from_str::<Outline<'_>>(&entry.body) else { return };
                let effect = if group == "guardrail" {
                    let mut verdict = outline.decision.verdicts.iter().filter(|verdict| !verdict.shadow);
                    verdict.find(|verdict| verdict.guardrail == key).and_then(|verdict| verdict.effect)
                } else {
                    let id = |it: &Option<Named<'_>>| {
                        it.as_ref().and_then(|it| it.id.as_deref()).map(str::to_owned)
                    };
                    let (agent, task) = (id(&outline.event.agent), id(&outline.event.task));
                    let its = key_of(
                        group,
                        &entry.labels.session,
                        agent.as_deref(),
                        task.as_deref().unwrap_or_default(),
                    );
                    (its == key).then_some(outline.decision.effect)
                };
                window.decisions += u64::from(effect.is_some());
                window.blocked += u64::from(stops(effect));
            },
        )?;
        Ok(window)
    }

    fn raise_rate(&self, watch: &AlertWatch, key: &str, window: ActionCounts) -> Result<(), EngineError> {
        let rate = window.block_rate();
        if window.decisions >= FEWEST && watch.condition.holds(rate) {
            self.raise(watch, key, rate)?;
        }
        Ok(())
    }

    /// Only a slow guardrail can raise the average above its bound.
    fn check_durations(&self, watch: &AlertWatch, record: &Record) -> Result<(), EngineError> {
        for verdict in &record.decision.verdicts {
            let is_slow = verdict.duration_us.0.is_some_and(|micros| watch.condition.holds(millis(micros)));
            if !is_slow || self.is_quiet(watch, &verdict.guardrail)? {
                continue;
            }
            let (mut count, mut total) = (0_u64, 0_u64);
            self.each_recent(
                AuditFilter { since: Some(self.since(watch)), ..AuditFilter::default() },
                |entry| {
                    let Ok(outline) = serde_json::from_str::<Outline<'_>>(&entry.body) else { return };
                    let mut all = outline.decision.verdicts.iter();
                    let its = all.find(|other| *other.guardrail == *verdict.guardrail);
                    if let Some(micros) = its.and_then(|its| its.duration_us) {
                        count += 1;
                        total = total.saturating_add(micros);
                    }
                },
            )?;
            let average = total.checked_div(count).map_or(0.0, millis);
            if watch.condition.holds(average) {
                self.raise(watch, &verdict.guardrail, average)?;
            }
        }
        Ok(())
    }

    /// Visits the latest records that match a filter.
    fn each_recent(&self, filter: AuditFilter, mut work: impl FnMut(&AuditEntry)) -> Result<(), EngineError> {
        let mut filter = AuditFilter { newest_first: true, ..filter };
        let mut left = MOST;
        while left > 0 {
            filter.limit = Some(left.min(MAX_PAGE));
            let page = self.store().entries(&filter)?;
            let Some(last) = page.last() else { break };
            filter.after_seq = Some(last.seq);
            left = left.saturating_sub(page.len());
            page.iter().for_each(&mut work);
        }
        Ok(())
    }

    /// Whether an alert was raised within its cooldown. The store checks it again.
    fn is_quiet(&self, watch: &AlertWatch, key: &str) -> Result<bool, EngineError> {
        let now = self.now();
        let cooldown = SignedDuration::from_secs(i64::try_from(cooldown(watch)).unwrap_or(i64::MAX));
        let alerts = self.store().alerts(LATEST)?;
        Ok(alerts.iter().any(|alert| {
            alert.name == watch.rule.name
                && alert.key == key
                && now.duration_since(alert.fired_at).abs() < cooldown
        }))
    }

    fn check_requests(&self, watch: &AlertWatch, asked: &Approval) -> Result<(), EngineError> {
        let group = watch.condition.group_by.as_deref().unwrap_or_default();
        // Agents without a name are distinguished by their sessions.
        let by_session = group == "session" || (group == "agent" && asked.requested_by.is_none());
        let filter = ApprovalFilter {
            kind: Some(ApprovalKind::Bypass),
            requested_by: asked.requested_by.clone().filter(|_| group == "agent"),
            session: by_session.then(|| asked.session.clone()),
            created_after: Some(self.since(watch)),
            ..ApprovalFilter::default()
        };
        let mut requests = self.store().approvals(&filter)?;
        let key = |of: &Approval| match group {
            "guardrail" => of.guardrail.clone(),
            _ => {
                key_of(group, &of.session, of.requested_by.as_deref(), of.task.as_deref().unwrap_or_default())
                    .into_owned()
            }
        };
        let own = key(asked);
        requests.retain(|other| key(other) == own);
        let count = u32::try_from(requests.len()).map_or(f64::MAX, f64::from);
        if watch.condition.holds(count) {
            self.raise(watch, &own, count)?;
        }
        Ok(())
    }

    fn raise(&self, watch: &AlertWatch, key: &str, value: f64) -> Result<(), EngineError> {
        let rule = &watch.rule;
        let about = if key.is_empty() { String::new() } else { format!(" for `{key}`") };
        let shown = match watch.condition.metric.as_str() {
            "block_rate" => format!("{:.0}%", value * 100.0),
            _ => format!("{value:.0}"),
        };
        let message = format!(
            "{}{about}: {} is {shown} ({})",
            rule.name,
            watch.condition.metric,
            rule.condition.trim()
        );
        let alert = Alert {
            name: rule.name.clone(),
            key: key.to_owned(),
            fired_at: self.now(),
            value,
            message: message.clone(),
        };
        let body = json!({"alert": rule.name, "key": key, "value": value, "condition": rule.condition});
        let notices: Vec<NewNotice> = recipients(&rule.action)
            .into_iter()
            .map(|to| NewNotice {
                to,
                kind: "alert".to_owned(),
                message: message.clone(),
                body: body.clone(),
            })
            .collect();
        if self.store().fire_alert(&alert, cooldown(watch), &notices)? {
            log::warn!(alert:% = alert.name, about:% = message; "alert");
            self.send_notices(&notices);
        }
        Ok(())
    }

    fn since(&self, watch: &AlertWatch) -> Timestamp {
        let seconds = watch.condition.window_seconds.unwrap_or(WINDOW_S);
        let window = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        self.now().checked_sub(window).unwrap_or(Timestamp::MIN)
    }
}

fn cooldown(watch: &AlertWatch) -> u64 {
    watch.rule.cooldown.map_or(COOLDOWN_S, |time| u64::from(time.whole()))
}

fn stops(effect: Option<Effect>) -> bool {
    effect.is_some_and(|effect| effect >= Effect::Block)
}

/// The member of a group that something belongs to. Agents without a name are distinguished by their sessions.
fn key_of<'k>(group: &str, session: &'k str, agent: Option<&'k str>, task: &'k str) -> Cow<'k, str> {
    match (group, agent) {
        ("session", _) => Cow::Borrowed(session),
        ("agent", Some(agent)) => Cow::Borrowed(agent),
        ("agent", None) => Cow::Owned(format!("session:{session}")),
        ("task", _) => Cow::Borrowed(task),
        _ => Cow::Borrowed(""),
    }
}

/// The parts of a record that alerts need.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    event: OutlineEvent<'a>,
    #[serde(borrow)]
    decision: OutlineDecision<'a>,
}

#[derive(Deserialize)]
struct OutlineEvent<'a> {
    #[serde(default, borrow)]
    agent: Option<Named<'a>>,
    #[serde(default, borrow)]
    task: Option<Named<'a>>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct OutlineDecision<'a> {
    effect: Effect,
    #[serde(default, borrow)]
    verdicts: Vec<OutlineVerdict<'a>>,
}

#[derive(Deserialize)]
struct OutlineVerdict<'a> {
    #[serde(borrow)]
    guardrail: Cow<'a, str>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    shadow: bool,
    #[serde(default)]
    duration_us: Option<u64>,
}

/// The recipients of an action: those after `notify`, else the log.
fn recipients(action: &str) -> Vec<String> {
    let lower = action.to_lowercase();
    let mut recipients = Vec::new();
    for clause in lower.split([',', ';']).flat_map(|clause| clause.split(" and ")) {
        let clause = clause.trim();
        let whom = clause.strip_prefix("notify").map(str::trim).or_else(|| {
            // `notify architect and human operator` continues with a bare role.
            (!recipients.is_empty() && !clause.starts_with("log")).then_some(clause)
        });
        if let Some(whom) = whom.map(|whom| whom.trim_start_matches("the ").replace([' ', '-'], "_"))
            && !whom.is_empty()
        {
            recipients.push(whom);
        }
    }
    if recipients.is_empty() {
        recipients.push("log".to_owned());
    }
    recipients
}

/// Microseconds as milliseconds.
fn millis(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_name_their_recipients() {
        assert_eq!(recipients("notify orchestrator"), ["orchestrator"]);
        assert_eq!(recipients("notify human operator"), ["human_operator"]);
        assert_eq!(recipients("log warning, consider optimization"), ["log"]);
        assert_eq!(recipients("notify architect and human operator"), ["architect", "human_operator"]);
        assert_eq!(recipients("log it and notify the team"), ["team"]);
    }
}
