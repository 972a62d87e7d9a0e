//! circuit-breaker: blocks a tool for a while after repeated failures, so that failures do not cascade.

use jiff::Timestamp;
use midrail_core::{
    Category, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, ToolResult, Verdict, denied_key,
};
use midrail_scan::secrets::redact;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::builtin::Builtin;
use crate::seconds::{Seconds, to_the_second};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<CircuitBreaker>("circuit-breaker", Category::Safety, 10, &[EventKind::BeforeTool]);

/// The settings of circuit-breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CircuitBreaker {
    /// Failures in a row that open the circuit.
    #[serde(deserialize_with = "up_to_100")]
    #[schemars(range(min = 1, max = 100))]
    pub failures: u32,
    /// The time within which they must happen.
    pub window: Seconds,
    /// How long the circuit stays open. Then one trial call is allowed.
    pub cooldown: Seconds,
    /// Which failures are counted together.
    pub per: FailureScope,
    /// Whether a program that ends with an error code counts as a failure. Failing tests are everyday work.
    pub exit_codes: bool,
}

/// A number from 1 to 100.
fn up_to_100<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        count @ 1..=100 => Ok(count),
        count => Err(D::Error::custom(format!("`{count}` is not a number from 1 to 100"))),
    }
}

/// Which failures are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailureScope {
    /// Per tool.
    #[default]
    Tool,
    /// Per session.
    Session,
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        CircuitBreaker {
            failures: 5,
            window: Seconds(300.0),
            cooldown: Seconds(60.0),
            per: FailureScope::Tool,
            exit_codes: false,
        }
    }
}

/// The stored state of a circuit. Its size is bounded by the number of failures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Circuit {
    /// The last failures in a row.
    failed: Vec<Timestamp>,
    /// The last failed call, so that a failure that is reported twice counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// Its error message.
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    /// When the circuit opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Timestamp>,
    /// When a trial call was allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<Timestamp>,
}

/// Characters of an error that are stored.
const MAX_ERROR: usize = 200;

/// The state of a circuit.
#[derive(Debug, PartialEq, Eq)]
enum CircuitState {
    Closed,
    /// Open until then.
    Open(Timestamp),
    /// The next call is the trial.
    HalfOpen,
}

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
enum CallResult {
    Success,
    Failure(String),
    /// It shows nothing about the tool.
    Neither,
}

impl CircuitBreaker {
    fn key(&self, context: &Context<'_>) -> Option<String> {
        match self.per {
            FailureScope::Session => Some("circuit".to_owned()),
            FailureScope::Tool => context
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

    fn standing(&self, circuit: &Circuit, now: Timestamp) -> CircuitState {
        let Some(opened) = circuit.opened else { return CircuitState::Closed };
        // A trial without a reported result expires as well.
        let since = circuit.trial.map_or(opened, |trial| trial.max(opened));
        let until = self.cooldown.after(since);
        if now < until { CircuitState::Open(until) } else { CircuitState::HalfOpen }
    }

    fn outcome(&self, context: &Context<'_>) -> Result<CallResult, Missing> {
        let event = context.event;
        if let Some(id) = event.call_id()
            && context.slice(&denied_key(id))?.is_some()
        {
            // Midrail blocked the call: the tool has not failed.
            return Ok(CallResult::Neither);
        }
        if event.kind == EventKind::OnError {
            let message = event.error.as_ref().and_then(|error| error.message.clone().or(error.kind.clone()));
            return Ok(CallResult::Failure(message.unwrap_or_default()));
        }
        Ok(match &event.result {
            Some(ToolResult { exit_code: Some(code), .. }) if *code != 0 && !self.exit_codes => {
                CallResult::Neither
            }
            Some(_) if event.is_success() => CallResult::Success,
            Some(result) if result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0) => {
                CallResult::Failure(match &result.content {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                })
            }
            Some(_) | None => CallResult::Neither,
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
            // Only the trial counts; calls that were already running do not.
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

/// The first line of an error, shortened and without secrets.
fn first_line(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().take(MAX_ERROR * 4).collect();
    redact(&line).chars().take(MAX_ERROR).collect()
}

impl Guardrail for CircuitBreaker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(key) = self.key(context) else { return Ok(Verdict::allow()) };
        let Some(circuit) = Self::circuit(context, &key)? else { return Ok(Verdict::allow()) };
        let CircuitState::Open(until) = self.standing(&circuit, context.now()?) else {
            return Ok(Verdict::allow());
        };
        let count = self.failures;
        let what = match self.per {
            FailureScope::Tool => format!("`{}` failed", context.event.tool_name().unwrap_or_default()),
            FailureScope::Session => "Tools failed".to_owned(),
        };
        let last = match circuit.error.as_str() {
            "" => String::new(),
            error => format!(" The last error: {error}"),
        };
        let end = to_the_second(&until.to_string());
        let left = until.duration_since(context.now()?).as_secs_f64().ceil();
        Ok(Verdict::block(format!("{what} {count} times in a row and is blocked until {end}.{last}"))
            .advise("Find the cause before you try again, or use another approach.")
            .with("until", until.to_string())
            .with("retry_after_s", left))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(key) = self.key(context) else { return Ok(()) };
        let circuit = Self::circuit(context, &key)?;
        let next = match context.event.kind {
            EventKind::BeforeTool => match circuit {
                Some(mut circuit) if effect.allows() && circuit.opened.is_some() => {
                    circuit.trial = Some(context.now()?);
                    Some(circuit)
                }
                _ => None,
            },
            _ => match self.outcome(context)? {
                CallResult::Success => {
                    if circuit.is_some() {
                        changes.remove(context.key(&key));
                    }
                    None
                }
                CallResult::Failure(error) => self.failed(circuit.unwrap_or_default(), context, &error)?,
                CallResult::Neither => None,
            },
        };
        if let Some(next) = next
            && let Ok(value) = serde_json::to_value(next)
        {
            changes.set(context.key(&key), value);
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool, EventKind::OnError]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not call a tool that keeps failing; find the cause.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{ErrorInfo, Event, ToolCall};
    use serde_json::json;

    struct Fixture(Run, i64);

    impl Fixture {
        fn new(settings: Value) -> Self {
            let guardrail: CircuitBreaker = serde_json::from_value(settings).unwrap();
            Fixture(Run::of(guardrail), 1_800_000_000)
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
    fn repeated_failures_open_the_circuit_for_a_while() {
        let mut fixture = Fixture::new(json!({}));
        fixture.fail("fetch", 4);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.fail("fetch", 1);
        assert_eq!(fixture.before("fetch"), Effect::Block);
        assert_eq!(fixture.before("read"), Effect::Allow);
        let event = fixture.at(Event::before_tool("fetch", json!({})));
        let decision = fixture.0.decide(&event);
        assert!(decision.reason.ends_with("The last error: connection refused"), "{}", decision.reason);
        fixture.wait(58);
        assert_eq!(fixture.before("fetch"), Effect::Block);
        fixture.wait(1);
        assert_eq!(fixture.before("fetch"), Effect::Allow, "one call tries");
        assert_eq!(fixture.before("fetch"), Effect::Block, "the others wait for it");
    }

    #[test]
    fn trial_closes_or_reopens_the_circuit() {
        let mut fixture = Fixture::new(json!({"failures": 2, "cooldown": "10s"}));
        fixture.fail("fetch", 2);
        fixture.wait(10);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.fail("fetch", 1);
        assert_eq!(fixture.before("fetch"), Effect::Block, "open again");
        fixture.wait(10);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.after("fetch", ToolResult::ok("fine"));
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.fail("fetch", 1);
        assert_eq!(fixture.before("fetch"), Effect::Allow, "a success closes it, and begins anew");
    }

    #[test]
    fn trial_without_a_result_is_followed_by_another() {
        let mut fixture = Fixture::new(json!({"failures": 1, "cooldown": 10}));
        fixture.fail("fetch", 1);
        fixture.wait(10);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.wait(9);
        assert_eq!(fixture.before("fetch"), Effect::Block);
        fixture.wait(1);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
    }

    #[test]
    fn success_and_time_reset_the_count() {
        let mut fixture = Fixture::new(json!({"failures": 3, "window": 60}));
        fixture.fail("fetch", 2);
        fixture.after("fetch", ToolResult::ok("fine"));
        fixture.fail("fetch", 2);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.wait(60);
        fixture.fail("fetch", 2);
        assert_eq!(fixture.before("fetch"), Effect::Allow);
    }

    #[test]
    fn error_codes_count_only_if_configured() {
        let failed = || ToolResult { exit_code: Some(1), ..ToolResult::failed("1 test failed") };
        for (counts, expected) in [(false, Effect::Allow), (true, Effect::Block)] {
            let mut fixture = Fixture::new(json!({"failures": 2, "exit_codes": counts}));
            fixture.after("Bash", failed());
            fixture.after("Bash", failed());
            assert_eq!(fixture.before("Bash"), expected);
        }
    }

    #[test]
    fn failure_counts_once_per_call_and_not_if_blocked() {
        let mut fixture = Fixture::new(json!({"failures": 2}));
        let call = |id: &str| ToolCall { call_id: Some(id.into()), ..ToolCall::new("fetch", json!({})) };
        let report = |fixture: &mut Fixture, id: &str| {
            let error = Some(ErrorInfo { message: Some("down".into()), ..ErrorInfo::default() });
            let event = fixture.at(Event { tool: Some(call(id)), error, ..Event::new(EventKind::OnError) });
            fixture.0.decide(&event);
            let result = Some(ToolResult::failed("down"));
            let event =
                fixture.at(Event { tool: Some(call(id)), result, ..Event::new(EventKind::AfterTool) });
            fixture.0.decide(&event);
        };
        report(&mut fixture, "c-1");
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        fixture.0.set(&denied_key("c-2"), json!(true));
        report(&mut fixture, "c-2");
        assert_eq!(fixture.before("fetch"), Effect::Allow);
        report(&mut fixture, "c-3");
        assert_eq!(fixture.before("fetch"), Effect::Block);
    }

    #[test]
    fn session_scope_counts_failures_of_all_tools() {
        let mut fixture = Fixture::new(json!({"failures": 2, "per": "session"}));
        fixture.fail("a", 1);
        fixture.fail("b", 1);
        assert_eq!(fixture.before("c"), Effect::Block);
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        for wrong in [json!({"failures": 0}), json!({"failures": 101}), json!({"cooldown": -1})] {
            assert!(serde_json::from_value::<CircuitBreaker>(wrong).is_err());
        }
    }
}
