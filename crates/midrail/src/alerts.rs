//! Alerts: notices about a figure that crosses its bound within a window.

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalKind, Effect, Record};
use midrail_store::{ActionCounts, Alert, Approval, ApprovalFilter, AuditFilter, NewNotice, pages};
use serde_json::json;

use crate::active_policy::AlertWatch;
use crate::admin::event::notice;
use crate::engine::Engine;
use crate::error::EngineResult;

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
        self.check_alerts(|watch| match watch.condition.metric.as_str() {
            "block_rate" => self.check_blocks(watch, record),
            "avg_duration_ms" => self.check_durations(watch, record),
            _ => Ok(()),
        });
    }

    /// Checks the alerts that a request can raise.
    pub(crate) fn alert_on_request(&self, request: &Approval) {
        self.check_alerts(|watch| match watch.condition.metric.as_str() {
            "bypass_requests" => self.check_requests(watch, request),
            _ => Ok(()),
        });
    }

    fn check_alerts(&self, check: impl Fn(&AlertWatch) -> EngineResult) {
        for watch in &self.pack_settings().alerts {
            if let Err(error) = check(watch) {
                log::error!(alert:% = watch.rule.name, error:%; "an alert could not be checked");
            }
        }
    }

    fn check_blocks(&self, watch: &AlertWatch, record: &Record) -> EngineResult {
        if record.decision.effect < Effect::Block || !is_action(record) {
            return Ok(());
        }
        let Some(group) = watch.condition.group_by.as_deref() else {
            let window = self.store().action_counts(self.since(watch))?;
            return self.raise_rate(watch, "", window);
        };
        for (key, _) in members(group, record).into_iter().filter(|(_, effect)| stops(*effect)) {
            if self.is_quiet(watch, &key)? {
                continue;
            }
            let mut window = ActionCounts::default();
            let session = (group == "session").then(|| key.clone());
            self.each_recent(watch, session, |record| {
                let member = members(group, record).into_iter().find(|(other, _)| *other == key);
                let effect = member.filter(|_| is_action(record)).and_then(|(_, effect)| effect);
                window.decisions += u64::from(effect.is_some());
                window.blocked += u64::from(stops(effect));
            })?;
            self.raise_rate(watch, &key, window)?;
        }
        Ok(())
    }

    fn raise_rate(&self, watch: &AlertWatch, key: &str, window: ActionCounts) -> EngineResult {
        let rate = window.block_rate();
        if window.decisions >= FEWEST && watch.condition.holds(rate) {
            self.raise(watch, key, rate)?;
        }
        Ok(())
    }

    /// Only a slow guardrail can raise the average above its bound.
    fn check_durations(&self, watch: &AlertWatch, record: &Record) -> EngineResult {
        for verdict in &record.decision.verdicts {
            let is_slow = verdict.duration_us.0.is_some_and(|micros| watch.condition.holds(millis(micros)));
            if !is_slow || self.is_quiet(watch, &verdict.guardrail)? {
                continue;
            }
            let (mut count, mut total) = (0_u64, 0_u64);
            self.each_recent(watch, None, |record| {
                let mut verdicts = record.decision.verdicts.iter();
                let own = verdicts.find(|other| other.guardrail == verdict.guardrail);
                if let Some(micros) = own.and_then(|own| own.duration_us.0) {
                    count += 1;
                    total = total.saturating_add(micros);
                }
            })?;
            let average = total.checked_div(count).map_or(0.0, millis);
            if watch.condition.holds(average) {
                self.raise(watch, &verdict.guardrail, average)?;
            }
        }
        Ok(())
    }

    /// Visits the latest records of an alert's window, of one session or of all.
    fn each_recent(
        &self,
        watch: &AlertWatch,
        session: Option<String>,
        mut visit: impl FnMut(&Record),
    ) -> EngineResult {
        let since = Some(self.since(watch));
        let filter = AuditFilter { newest_first: true, session, since, ..AuditFilter::default() };
        for page in pages(&**self.store(), filter, MOST) {
            page?.iter().filter_map(|entry| entry.record().ok()).for_each(|record| visit(&record));
        }
        Ok(())
    }

    /// Whether an alert was raised within its cooldown. The store checks it again.
    fn is_quiet(&self, watch: &AlertWatch, key: &str) -> EngineResult<bool> {
        let now = self.now();
        let cooldown = SignedDuration::from_secs(i64::try_from(cooldown(watch)).unwrap_or(i64::MAX));
        let alerts = self.store().alerts(LATEST)?;
        Ok(alerts.iter().any(|alert| {
            alert.name == watch.rule.name
                && alert.key == key
                && now.duration_since(alert.fired_at).abs() < cooldown
        }))
    }

    fn check_requests(&self, watch: &AlertWatch, asked: &Approval) -> EngineResult {
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
            _ => member(group, &of.session, of.requested_by.as_deref(), of.task.as_deref()),
        };
        let own = key(asked);
        requests.retain(|other| key(other) == own);
        let count = u32::try_from(requests.len()).map_or(f64::MAX, f64::from);
        if watch.condition.holds(count) {
            self.raise(watch, &own, count)?;
        }
        Ok(())
    }

    fn raise(&self, watch: &AlertWatch, key: &str, value: f64) -> EngineResult {
        let rule = &watch.rule;
        let about = if key.is_empty() { String::new() } else { format!(" for `{key}`") };
        let shown = match watch.condition.metric.as_str() {
            "block_rate" => format!("{:.0}%", value * 100.0),
            _ => format!("{value:.0}"),
        };
        let (name, metric, condition) = (&rule.name, &watch.condition.metric, rule.condition.trim());
        let message = format!("{name}{about}: {metric} is {shown} ({condition})");
        let alert = Alert {
            name: rule.name.clone(),
            key: key.to_owned(),
            fired_at: self.now(),
            value,
            message: message.clone(),
        };
        let body = json!({"alert": rule.name, "key": key, "value": value, "condition": rule.condition});
        let recipients = recipients(&rule.action).into_iter();
        let notices: Vec<NewNotice> =
            recipients.map(|to| notice(&to, "alert", message.clone(), body.clone())).collect();
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

fn is_action(record: &Record) -> bool {
    ActionCounts::KINDS.contains(&record.event.kind)
}

/// The members of a group that a record belongs to, with what each requested.
fn members(group: &str, record: &Record) -> Vec<(String, Option<Effect>)> {
    let (event, decision) = (&record.event, &record.decision);
    if group == "guardrail" {
        let enforced = decision.verdicts.iter().filter(|verdict| !verdict.shadow);
        return enforced.map(|verdict| (verdict.guardrail.to_string(), verdict.effect)).collect();
    }
    let agent = event.agent.as_ref().and_then(|agent| agent.id.as_deref());
    vec![(member(group, &record.session, agent, Some(event.task_id())), Some(decision.effect))]
}

/// The member of a group. Agents without a name are distinguished by their sessions.
fn member(group: &str, session: &str, agent: Option<&str>, task: Option<&str>) -> String {
    match (group, agent) {
        ("session", _) => session.to_owned(),
        ("agent", Some(agent)) => agent.to_owned(),
        ("agent", None) => format!("session:{session}"),
        ("task", _) => task.unwrap_or_default().to_owned(),
        _ => String::new(),
    }
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
