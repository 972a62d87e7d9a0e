//! Alerts: a figure over a window passes its bound, and somebody is told, once in a while.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalKind, Effect, Record};
use midrail_pack::{AlertCondition, AlertRule, PolicySource};
use midrail_store::{Alert, Approval, ApprovalFilter, Entry, Filter, MAX_PAGE, NewNotice, Window};
use serde::Deserialize;
use serde_json::json;

use crate::engine::{Engine, EngineError};

/// Seconds that an alert stays quiet after it was raised, where its pack does not say.
const COOLDOWN_S: u64 = 600;

/// Seconds that an alert looks back, where its condition does not say.
const WINDOW_S: u64 = 600;

/// Decisions that a rate is made of at least: one block is not a rate.
const FEWEST: u64 = 5;

/// Records that a figure of a group is made of at most: the latest ones of its window.
const MOST: usize = 2_000;

/// Alerts that are looked through for one that was raised just now.
const LATEST: usize = 100;

/// An alert of a pack, ready to be looked at.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    rule: AlertRule,
    condition: AlertCondition,
}

/// The alerts of all packs. Of two with the same name, that of the higher layer holds.
pub(crate) fn of(source: &PolicySource) -> Vec<Watch> {
    let mut names = BTreeSet::new();
    let rules = source.0.iter().flat_map(|layered| &layered.pack.alerts);
    rules
        .filter(|rule| names.insert(rule.name.as_str()))
        .filter_map(|rule| {
            Some(Watch { rule: rule.clone(), condition: AlertCondition::of(&rule.condition)? })
        })
        .collect()
}

impl Engine {
    /// Looks at the alerts that a decision can have raised.
    pub(crate) fn alert_on(&self, record: &Record) {
        let watches = self.watches();
        for watch in watches.iter() {
            let looked = match watch.condition.metric.as_str() {
                "block_rate" => self.look_at_blocks(watch, record),
                "avg_duration_ms" => self.look_at_durations(watch, record),
                _ => Ok(()),
            };
            if let Err(error) = looked {
                log::error!(alert:% = watch.rule.name, error:%; "an alert could not be looked at");
            }
        }
    }

    /// Looks at the alerts that a request to people can have raised.
    pub(crate) fn alert_on_request(&self, asked: &Approval) {
        let watches = self.watches();
        for watch in watches.iter().filter(|watch| watch.condition.metric == "bypass_requests") {
            if let Err(error) = self.look_at_requests(watch, asked) {
                log::error!(alert:% = watch.rule.name, error:%; "an alert could not be looked at");
            }
        }
    }

    fn look_at_blocks(&self, watch: &Watch, record: &Record) -> Result<(), EngineError> {
        if record.decision.effect < Effect::Block || !Window::KINDS.contains(&record.event.kind) {
            return Ok(());
        }
        let Some(group) = watch.condition.group_by.as_deref() else {
            let window = self.store().window(self.since(watch))?;
            return self.raise_rate(watch, "", window);
        };
        let keys: Vec<String> = if group == "guardrail" {
            let said = record.decision.verdicts.iter().filter(|said| !said.shadow);
            said.filter(|said| stops(said.effect)).map(|said| said.guardrail.to_string()).collect()
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

    /// How many of the latest actions of one member of a group were stopped.
    fn window_of(&self, watch: &Watch, group: &str, key: &str) -> Result<Window, EngineError> {
        let session = (group == "session").then(|| key.to_owned());
        let mut window = Window::default();
        self.each_recent(Filter { session, since: Some(self.since(watch)), ..Filter::default() }, |entry| {
            if !Window::KINDS.iter().any(|kind| kind.word() == entry.labels.kind) {
                return;
            }
            let Ok(outline) = serde_json::from_str::<Outline<'_>>(&entry.body) else { return };
            let effect = if group == "guardrail" {
                let mut said = outline.decision.verdicts.iter().filter(|said| !said.shadow);
                said.find(|said| said.guardrail == key).and_then(|said| said.effect)
            } else {
                let id =
                    |it: &Option<Named<'_>>| it.as_ref().and_then(|it| it.id.as_deref()).map(str::to_owned);
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
        })?;
        Ok(window)
    }

    fn raise_rate(&self, watch: &Watch, key: &str, window: Window) -> Result<(), EngineError> {
        let rate = window.block_rate();
        if window.decisions >= FEWEST && watch.condition.holds(rate) {
            self.raise(watch, key, rate)?;
        }
        Ok(())
    }

    /// An average can only have risen above its bound by something that took longer.
    fn look_at_durations(&self, watch: &Watch, record: &Record) -> Result<(), EngineError> {
        for said in &record.decision.verdicts {
            let is_slow = said.duration_us.0.is_some_and(|micros| watch.condition.holds(millis(micros)));
            if !is_slow || self.is_quiet(watch, &said.guardrail)? {
                continue;
            }
            let (mut count, mut total) = (0_u64, 0_u64);
            self.each_recent(Filter { since: Some(self.since(watch)), ..Filter::default() }, |entry| {
                let Ok(outline) = serde_json::from_str::<Outline<'_>>(&entry.body) else { return };
                let mut all = outline.decision.verdicts.iter();
                let its = all.find(|other| *other.guardrail == *said.guardrail);
                if let Some(micros) = its.and_then(|its| its.duration_us) {
                    count += 1;
                    total = total.saturating_add(micros);
                }
            })?;
            let average = total.checked_div(count).map_or(0.0, millis);
            if watch.condition.holds(average) {
                self.raise(watch, &said.guardrail, average)?;
            }
        }
        Ok(())
    }

    /// Goes through the latest records that a filter lets pass.
    fn each_recent(&self, filter: Filter, mut work: impl FnMut(&Entry)) -> Result<(), EngineError> {
        let mut filter = Filter { newest_first: true, ..filter };
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

    /// Whether an alert was raised so lately that it would not be raised again. Only a help: the store has the say.
    fn is_quiet(&self, watch: &Watch, key: &str) -> Result<bool, EngineError> {
        let now = self.now();
        let cooldown = SignedDuration::from_secs(i64::try_from(cooldown(watch)).unwrap_or(i64::MAX));
        let alerts = self.store().alerts(LATEST)?;
        Ok(alerts.iter().any(|alert| {
            alert.name == watch.rule.name
                && alert.key == key
                && now.duration_since(alert.fired_at).abs() < cooldown
        }))
    }

    fn look_at_requests(&self, watch: &Watch, asked: &Approval) -> Result<(), EngineError> {
        let group = watch.condition.group_by.as_deref().unwrap_or_default();
        // Agents without a name are told apart by their sessions.
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

    fn raise(&self, watch: &Watch, key: &str, value: f64) -> Result<(), EngineError> {
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
        let notices: Vec<NewNotice> = told(&rule.action)
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
            self.tell_others(&notices);
        }
        Ok(())
    }

    fn since(&self, watch: &Watch) -> Timestamp {
        let seconds = watch.condition.window_seconds.unwrap_or(WINDOW_S);
        let window = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        self.now().checked_sub(window).unwrap_or(Timestamp::MIN)
    }
}

fn cooldown(watch: &Watch) -> u64 {
    watch.rule.cooldown.map_or(COOLDOWN_S, |time| u64::from(time.whole()))
}

fn stops(effect: Option<Effect>) -> bool {
    effect.is_some_and(|effect| effect >= Effect::Block)
}

/// The member of a group that something belongs to. Agents without a name are told apart by their sessions.
fn key_of<'k>(group: &str, session: &'k str, agent: Option<&'k str>, task: &'k str) -> Cow<'k, str> {
    match (group, agent) {
        ("session", _) => Cow::Borrowed(session),
        ("agent", Some(agent)) => Cow::Borrowed(agent),
        ("agent", None) => Cow::Owned(format!("session:{session}")),
        ("task", _) => Cow::Borrowed(task),
        _ => Cow::Borrowed(""),
    }
}

/// What alerts need of a record.
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
    verdicts: Vec<OutlineSaid<'a>>,
}

#[derive(Deserialize)]
struct OutlineSaid<'a> {
    #[serde(borrow)]
    guardrail: Cow<'a, str>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    shadow: bool,
    #[serde(default)]
    duration_us: Option<u64>,
}

/// Whom an action tells: everyone after `notify`, else whoever reads the log.
fn told(action: &str) -> Vec<String> {
    let lower = action.to_lowercase();
    let mut told = Vec::new();
    for clause in lower.split([',', ';']).flat_map(|clause| clause.split(" and ")) {
        let clause = clause.trim();
        let whom = clause.strip_prefix("notify").map(str::trim).or_else(|| {
            // `notify architect and human operator` goes on with a bare role.
            (!told.is_empty() && !clause.starts_with("log")).then_some(clause)
        });
        if let Some(whom) = whom.map(|whom| whom.trim_start_matches("the ").replace([' ', '-'], "_"))
            && !whom.is_empty()
        {
            told.push(whom);
        }
    }
    if told.is_empty() {
        told.push("log".to_owned());
    }
    told
}

/// Microseconds as milliseconds.
fn millis(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_name_whom_they_tell() {
        assert_eq!(told("notify orchestrator"), ["orchestrator"]);
        assert_eq!(told("notify human operator"), ["human_operator"]);
        assert_eq!(told("log warning, consider optimization"), ["log"]);
        assert_eq!(told("notify architect and human operator"), ["architect", "human_operator"]);
        assert_eq!(told("log it and notify the team"), ["team"]);
    }
}
