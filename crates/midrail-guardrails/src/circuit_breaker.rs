//! circuit-breaker: a tool that fails again and again is left alone for a while, so that failures do not cascade.

use jiff::Timestamp;
use midrail_core::{
    Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, ToolResult, Verdict, denied_key,
};
use midrail_detect::secrets::shown;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::seconds::{Seconds, to_the_second};

/// The settings of circuit-breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CircuitBreaker {
    /// How many failures in a row open the circuit.
    #[serde(deserialize_with = "up_to_100")]
    #[schemars(range(min = 1, max = 100))]
    pub failures: u32,
    /// The time within which they have to happen.
    pub window: Seconds,
    /// How long it stays open. Then one call is let through to try.
    pub cooldown: Seconds,
    /// Whose failures count together.
    pub per: Per,
    /// Whether a program that ran and ended with an error code counts. Tests that fail do so all day.
    pub exit_codes: bool,
}

/// A number from 1 to 100.
fn up_to_100<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        count @ 1..=100 => Ok(count),
        count => Err(D::Error::custom(format!("`{count}` is no number from 1 to 100"))),
    }
}

/// Whose failures count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Those of one tool.
    #[default]
    Tool,
    /// Those of all tools of the session.
    Session,
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        CircuitBreaker {
            failures: 5,
            window: Seconds(300.0),
            cooldown: Seconds(60.0),
            per: Per::Tool,
            exit_codes: false,
        }
    }
}

/// What is kept of a circuit. Its size is bounded by the number of failures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Circuit {
    /// The last failures in a row.
    failed: Vec<Timestamp>,
    /// The call that failed last, so that one that is told twice counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// What it said.
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    /// When the circuit opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Timestamp>,
    /// When a call was let through to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<Timestamp>,
}

/// How much of an error is kept.
const MAX_ERROR: usize = 200;

/// Where a circuit stands.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Closed,
    /// Open until then.
    Open(Timestamp),
    /// The next call tries.
    HalfOpen,
}

/// How a call came out.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure(String),
    /// It says nothing of the tool.
    Neither,
}

impl CircuitBreaker {
    fn key(&self, context: &Context<'_>) -> Option<String> {
        match self.per {
            Per::Session => Some("circuit".to_owned()),
            Per::Tool => context
                .event
                .tool_name()
                .filter(|name| !name.is_empty())
                .map(|name| format!("circuit/{name}")),
        }
    }

    fn circuit(context: &Context<'_>, key: &str) -> Result<Option<Circuit>, Missing> {
        let slice = context.state(key)?.cloned();
        Ok(slice.and_then(|slice| serde_json::from_value(slice).ok()))
    }

    fn standing(&self, circuit: &Circuit, now: Timestamp) -> Standing {
        let Some(opened) = circuit.opened else { return Standing::Closed };
        // A trial that nobody reports back on is over after a while, too.
        let since = circuit.trial.map_or(opened, |trial| trial.max(opened));
        let until = self.cooldown.after(since);
        if now < until { Standing::Open(until) } else { Standing::HalfOpen }
    }

    fn outcome(&self, context: &Context<'_>) -> Result<Outcome, Missing> {
        let event = context.event;
        if let Some(id) = event.call_id()
            && context.slice(&denied_key(id))?.is_some()
        {
            // It was stopped here: the tool has not failed.
            return Ok(Outcome::Neither);
        }
        if event.kind == EventKind::OnError {
            let message = event.error.as_ref().and_then(|error| error.message.clone().or(error.kind.clone()));
            return Ok(Outcome::Failure(message.unwrap_or_default()));
        }
        Ok(match &event.result {
            Some(ToolResult { exit_code: Some(code), .. }) if *code != 0 && !self.exit_codes => {
                Outcome::Neither
            }
            Some(_) if event.is_success() => Outcome::Success,
            Some(result) if result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0) => {
                Outcome::Failure(match &result.content {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                })
            }
            Some(_) | None => Outcome::Neither,
        })
    }

    fn failed(
        &self,
        mut circuit: Circuit,
        context: &Context<'_>,
        error: &str,
    ) -> Result<Option<Circuit>, Missing> {
        let now = context.now()?;
        let call = context.event.call_id();
        if call.is_some() && circuit.call.as_deref() == call {
            return Ok(None);
        }
        circuit.call = call.map(str::to_owned);
        circuit.error = first_line(error);
        if circuit.opened.is_some() {
            // Only the trial says something; calls that were under way do not.
            if circuit.trial.take().is_some() {
                circuit.opened = Some(now);
            }
            return Ok(Some(circuit));
        }
        circuit.failed.push(now);
        circuit.failed.retain(|failed| self.window.after(*failed) > now);
        let most = usize::try_from(self.failures).unwrap_or(1);
        if circuit.failed.len() >= most {
            circuit.failed.clear();
            circuit.opened = Some(now);
        }
        Ok(Some(circuit))
    }
}

/// The first line of an error, in short and without secrets.
fn first_line(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().take(MAX_ERROR * 4).collect();
    shown(&line).chars().take(MAX_ERROR).collect()
}

impl Guardrail for CircuitBreaker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(key) = self.key(context) else { return Ok(Verdict::allow()) };
        let Some(circuit) = Self::circuit(context, &key)? else { return Ok(Verdict::allow()) };
        let Standing::Open(until) = self.standing(&circuit, context.now()?) else {
            return Ok(Verdict::allow());
        };
        let count = self.failures;
        let what = match self.per {
            Per::Tool => format!("`{}` failed", context.event.tool_name().unwrap_or_default()),
            Per::Session => "Tools failed".to_owned(),
        };
        let last = match circuit.error.as_str() {
            "" => String::new(),
            error => format!(" The last error: {error}"),
        };
        let rests = to_the_second(&until.to_string());
        let left = until.duration_since(context.now()?).as_secs_f64().ceil();
        Ok(Verdict::block(format!("{what} {count} times in a row and rests until {rests}.{last}"))
            .advise("Find the cause before you try again, or go another way.")
            .with("until", until.to_string())
            .with("retry_after_s", left))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(key) = self.key(context) else { return Ok(()) };
        let circuit = Self::circuit(context, &key)?;
        let next = match context.event.kind {
            EventKind::BeforeTool => match circuit {
                Some(mut circuit) if effect.goes_on() && circuit.opened.is_some() => {
                    circuit.trial = Some(context.now()?);
                    Some(circuit)
                }
                _ => None,
            },
            _ => match self.outcome(context)? {
                Outcome::Success => {
                    if circuit.is_some() {
                        changes.remove(context.key(&key));
                    }
                    None
                }
                Outcome::Failure(error) => self.failed(circuit.unwrap_or_default(), context, &error)?,
                Outcome::Neither => None,
            },
        };
        if let Some(next) = next
            && let Ok(value) = serde_json::to_value(next)
        {
            changes.set(context.key(&key), value);
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool, EventKind::OnError]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Leave a tool alone that keeps failing, and find the cause.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{ErrorInfo, Event, ToolCall};
    use serde_json::json;

    struct World(Run, i64);

    impl World {
        fn new(settings: Value) -> Self {
            let guardrail: CircuitBreaker = serde_json::from_value(settings).unwrap();
            World(Run::of(guardrail), 1_800_000_000)
        }

        fn wait(&mut self, seconds: i64) {
            self.1 += seconds;
        }

        fn at(&self, event: Event) -> Event {
            Event { time: Timestamp::from_second(self.1).ok(), ..event }
        }

        fn before(&mut self, tool: &str) -> Effect {
            let event = self.at(Event::before_tool(tool, json!({})));
            self.0.decide(&event).effect
        }

        fn after(&mut self, tool: &str, result: ToolResult) {
            let event = self.at(Event::after_tool(tool, json!({}), result));
            self.0.decide(&event);
        }

        fn fail(&mut self, tool: &str, times: usize) {
            for _ in 0..times {
                self.after(tool, ToolResult::failed("connection refused\nmore"));
                self.wait(1);
            }
        }
    }

    #[test]
    fn a_run_of_failures_opens_the_circuit_for_a_while() {
        let mut world = World::new(json!({}));
        world.fail("fetch", 4);
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.fail("fetch", 1);
        assert_eq!(world.before("fetch"), Effect::Block);
        assert_eq!(world.before("read"), Effect::Allow);
        let event = world.at(Event::before_tool("fetch", json!({})));
        let decision = world.0.decide(&event);
        assert!(decision.reason.ends_with("The last error: connection refused"), "{}", decision.reason);
        world.wait(58);
        assert_eq!(world.before("fetch"), Effect::Block);
        world.wait(1);
        assert_eq!(world.before("fetch"), Effect::Allow, "one call tries");
        assert_eq!(world.before("fetch"), Effect::Block, "the others wait for it");
    }

    #[test]
    fn the_trial_decides() {
        let mut world = World::new(json!({"failures": 2, "cooldown": "10s"}));
        world.fail("fetch", 2);
        world.wait(10);
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.fail("fetch", 1);
        assert_eq!(world.before("fetch"), Effect::Block, "open again");
        world.wait(10);
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.after("fetch", ToolResult::ok("fine"));
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.fail("fetch", 1);
        assert_eq!(world.before("fetch"), Effect::Allow, "a success closes it, and begins anew");
    }

    #[test]
    fn a_trial_without_an_answer_is_followed_by_another() {
        let mut world = World::new(json!({"failures": 1, "cooldown": 10}));
        world.fail("fetch", 1);
        world.wait(10);
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.wait(9);
        assert_eq!(world.before("fetch"), Effect::Block);
        world.wait(1);
        assert_eq!(world.before("fetch"), Effect::Allow);
    }

    #[test]
    fn successes_and_time_break_a_run() {
        let mut world = World::new(json!({"failures": 3, "window": 60}));
        world.fail("fetch", 2);
        world.after("fetch", ToolResult::ok("fine"));
        world.fail("fetch", 2);
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.wait(60);
        world.fail("fetch", 2);
        assert_eq!(world.before("fetch"), Effect::Allow);
    }

    #[test]
    fn programs_that_end_with_an_error_code_count_only_where_set() {
        let failed = || ToolResult { exit_code: Some(1), ..ToolResult::failed("1 test failed") };
        for (counts, expected) in [(false, Effect::Allow), (true, Effect::Block)] {
            let mut world = World::new(json!({"failures": 2, "exit_codes": counts}));
            world.after("Bash", failed());
            world.after("Bash", failed());
            assert_eq!(world.before("Bash"), expected);
        }
    }

    #[test]
    fn errors_count_once_for_each_call_and_not_where_it_was_stopped() {
        let mut world = World::new(json!({"failures": 2}));
        let call = |id: &str| ToolCall { call_id: Some(id.into()), ..ToolCall::new("fetch", json!({})) };
        let told = |world: &mut World, id: &str| {
            let error = Some(ErrorInfo { message: Some("down".into()), ..ErrorInfo::default() });
            let event = world.at(Event { tool: Some(call(id)), error, ..Event::new(EventKind::OnError) });
            world.0.decide(&event);
            let result = Some(ToolResult::failed("down"));
            let event = world.at(Event { tool: Some(call(id)), result, ..Event::new(EventKind::AfterTool) });
            world.0.decide(&event);
        };
        told(&mut world, "c-1");
        assert_eq!(world.before("fetch"), Effect::Allow);
        world.0.set(&denied_key("c-2"), json!(true));
        told(&mut world, "c-2");
        assert_eq!(world.before("fetch"), Effect::Allow);
        told(&mut world, "c-3");
        assert_eq!(world.before("fetch"), Effect::Block);
    }

    #[test]
    fn failures_of_a_session_count_together_where_set() {
        let mut world = World::new(json!({"failures": 2, "per": "session"}));
        world.fail("a", 1);
        world.fail("b", 1);
        assert_eq!(world.before("c"), Effect::Block);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for wrong in [json!({"failures": 0}), json!({"failures": 101}), json!({"cooldown": -1})] {
            assert!(serde_json::from_value::<CircuitBreaker>(wrong).is_err());
        }
    }
}
