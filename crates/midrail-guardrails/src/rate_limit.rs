//! rate-limit: limits the number of actions per minute and per second.

use midrail_core::SHARED_PREFIX;

use crate::prelude::*;
use crate::shared::settings::within;

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<RateLimit>("rate-limit", Category::Budget, 30, &[EventKind::BeforeTool]).supports(&[
        EventKind::BeforeTool,
        EventKind::BeforeModel,
        EventKind::BeforeHandoff,
    ]);

/// The settings of rate-limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RateLimit {
    /// Actions within any 60 seconds. Absent: no limit; 0: no action is allowed.
    #[schemars(range(max = 10_000))]
    pub per_minute: Option<ActionCount>,
    /// Actions within any second. Absent: no limit; 0: no action is allowed.
    #[schemars(range(max = 10_000))]
    pub burst: Option<ActionCount>,
    /// Which actions are counted together.
    pub per: RateSubject,
}

/// A number of actions, small enough to store each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActionCount(#[serde(deserialize_with = "within::<_, _, 0, 10_000>")] pub usize);

/// Which actions are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RateSubject {
    /// Per agent in all its sessions, or per session if agents have no ids.
    #[default]
    Agent,
    /// Per session.
    Session,
    /// Per tool of a session.
    Tool,
}

const MINUTE_MS: i64 = 60_000;
const SECOND_MS: i64 = 1_000;

impl RateLimit {
    /// The slice with the times of allowed actions.
    fn key(&self, context: &Context<'_>) -> Key<Vec<i64>> {
        match self.per {
            RateSubject::Agent => {
                Key::new(format!("{SHARED_PREFIX}rate/{}{}", context.key(""), context.actor()))
            }
            RateSubject::Session => Key::own(context, "times"),
            RateSubject::Tool => {
                Key::own(context, &format!("tool/{}", context.event.tool_name().unwrap_or_default()))
            }
        }
    }

    /// The times within the last minute, in milliseconds, and the current time. A clock that was set back frees no action.
    fn recent(&self, context: &Context<'_>) -> Result<(Vec<i64>, i64), Missing> {
        let times = self.key(context).read(context);
        let now = context.now()?.as_millisecond();
        let recent = times?.unwrap_or_default().into_iter().map(|time| time.min(now));
        Ok((recent.filter(|time| now.saturating_sub(*time) < MINUTE_MS).collect(), now))
    }

    /// Whether it applies to the event's kind and tool.
    fn applies(&self, context: &Context<'_>) -> bool {
        let spec = context.spec;
        let is_set = self.per_minute.is_some() || self.burst.is_some();
        let is_tools = context.event.tool_name().is_none_or(|tool| spec.tools.contains(tool));
        is_set && spec.on.contains(&context.event.kind) && is_tools
    }

    fn subject(&self, context: &Context<'_>) -> String {
        match self.per {
            RateSubject::Agent => "this agent".to_owned(),
            RateSubject::Session => "this session".to_owned(),
            RateSubject::Tool => format!("the tool '{}'", context.event.tool_name().unwrap_or_default()),
        }
    }
}

impl Guardrail for RateLimit {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if !self.applies(context) {
            return Ok(Verdict::allow());
        }
        let (recent, now) = self.recent(context)?;
        let minute = (self.per_minute, MINUTE_MS, "minute", "per_minute");
        let second = (self.burst, SECOND_MS, "second", "burst");
        for (limit, window, unit, name) in [second, minute] {
            let Some(ActionCount(limit)) = limit else { continue };
            let within = recent.iter().filter(|time| now.saturating_sub(**time) < window);
            if within.clone().count() < limit {
                continue;
            }
            // The next action is allowed when the oldest of the last `limit` actions leaves the window.
            let leaves = within.rev().nth(limit.saturating_sub(1)).map(|time| window - (now - time));
            let advice = match leaves {
                Some(wait) => format!("Wait {} s, then continue.", (wait.max(1) + 999) / 1_000),
                None => "Actions of this kind are not allowed.".to_owned(),
            };
            let verdict = Verdict::block(format!(
                "The rate limit of {} is reached: {limit} per {unit}.",
                self.subject(context)
            ));
            let verdict = verdict.advise(advice).with("limit", name).with("count", limit);
            return Ok(match leaves {
                Some(wait) => verdict.with("retry_after_ms", wait),
                None => verdict,
            });
        }
        Ok(Verdict::allow())
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !self.applies(context) || !effect.allows() {
            return Ok(());
        }
        let (mut recent, now) = self.recent(context)?;
        recent.push(now);
        // INVARIANT: the number of stored times is at most the larger limit.
        let most = [self.per_minute, self.burst].into_iter().flatten().map(|it| it.0).max().unwrap_or(0);
        let excess = recent.len().saturating_sub(most.max(1));
        Ok(self.key(context).write(changes, &recent.split_off(excess))?)
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::BeforeModel, EventKind::BeforeHandoff]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let part = |limit: Option<ActionCount>, unit| Some(format!("{} actions per {unit}", limit?.0));
        let parts: Vec<String> =
            [part(self.per_minute, "minute"), part(self.burst, "second")].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Perform at most {}.", parts.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use jiff::{SignedDuration, Timestamp};
    use midrail_core::{Agent, Event};
    use serde_json::{Value, json};

    fn at(ms: i64, tool: &str, agent: Option<&str>) -> Event {
        let start: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        Event {
            time: Some(start + SignedDuration::from_millis(ms)),
            agent: agent.map(|id| Agent { id: Some(id.to_owned()), ..Agent::default() }),
            ..Event::before_tool(tool, json!({}))
        }
    }

    fn run(settings: Value) -> Run {
        Run::of(serde_json::from_value::<RateLimit>(settings).unwrap())
    }

    #[test]
    fn burst_and_minute_have_separate_limits() {
        let mut run = run(json!({"per_minute": 3, "burst": 2}));
        let mut effect = |ms| run.decide(&at(ms, "t", None)).effect;
        assert_eq!([effect(0), effect(10)], [Effect::Allow, Effect::Allow]);
        assert_eq!(effect(999), Effect::Block);
        assert_eq!(effect(1_000), Effect::Allow);
        assert_eq!(effect(4_000), Effect::Block);
        // The window slides: the first call leaves it after 60 seconds.
        assert_eq!(effect(59_999), Effect::Block);
        assert_eq!(effect(60_000), Effect::Allow);
        assert_eq!(effect(60_009), Effect::Block);
        assert_eq!(effect(60_010), Effect::Allow);
    }

    #[test]
    fn subjects_are_counted_separately() {
        let mut agents = run(json!({"per_minute": 1}));
        assert_eq!(agents.decide(&at(0, "a", Some("u1"))).effect, Effect::Allow);
        assert_eq!(agents.decide(&at(0, "b", Some("u1"))).effect, Effect::Block);
        assert_eq!(agents.decide(&at(0, "a", Some("u2"))).effect, Effect::Allow);
        let mut session = run(json!({"per_minute": 1, "per": "session"}));
        assert_eq!(session.decide(&at(0, "a", Some("u1"))).effect, Effect::Allow);
        assert_eq!(session.decide(&at(0, "a", Some("u2"))).effect, Effect::Block);
        let mut tools = run(json!({"per_minute": 1, "per": "tool"}));
        assert_eq!(tools.decide(&at(0, "a", Some("u1"))).effect, Effect::Allow);
        assert_eq!(tools.decide(&at(0, "a", Some("u2"))).effect, Effect::Block);
        assert_eq!(tools.decide(&at(0, "b", Some("u1"))).effect, Effect::Allow);
    }

    #[test]
    fn advice_says_how_long_to_wait() {
        let mut run = run(json!({"per_minute": 1}));
        run.decide(&at(0, "a", None));
        let decision = run.decide(&at(15_500, "a", None));
        assert_eq!(decision.reason, "The rate limit of this agent is reached: 1 per minute.");
        assert_eq!(decision.advice.as_deref(), Some("Wait 45 s, then continue."));
        assert_eq!(decision.metadata.get("retry_after_ms"), Some(&json!(44_500)));
    }

    #[test]
    fn clock_set_back_frees_no_action() {
        let mut run = run(json!({"per_minute": 1}));
        assert_eq!(run.decide(&at(50_000, "a", None)).effect, Effect::Allow);
        assert_eq!(run.decide(&at(0, "a", None)).effect, Effect::Block);
    }

    #[test]
    fn zero_blocks_and_absent_sets_no_limit() {
        assert_eq!(run(json!({"per_minute": 0})).decide(&at(0, "a", None)).effect, Effect::Block);
        let mut free = run(json!({}));
        assert!((0..20).all(|_| free.decide(&at(0, "a", None)).effect == Effect::Allow));
        assert!(serde_json::from_value::<RateLimit>(json!({"per_minute": 10_001})).is_err());
        assert!(serde_json::from_value::<RateLimit>(json!({"per": "moon"})).is_err());
    }

    #[test]
    fn event_without_a_time_fails_closed() {
        let event = Event { time: None, ..at(0, "a", None) };
        assert_eq!(run(json!({"burst": 5})).decide(&event).effect, Effect::Block);
    }

    #[test]
    fn stored_times_are_bounded() {
        let limit = RateLimit { burst: Some(ActionCount(3)), ..RateLimit::default() };
        let mut run = Run::of(limit);
        for i in 0..50 {
            let decision = run.decide(&at(i * 1_000, "a", None));
            let kept = decision.changes.0.values().flatten().find_map(Value::as_array).unwrap();
            assert!(kept.len() <= 3);
        }
    }
}
