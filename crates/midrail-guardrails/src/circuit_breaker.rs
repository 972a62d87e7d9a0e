//! circuit-breaker: blocks a tool for a while after repeated failures, so that failures do not cascade.

use jiff::Timestamp;

use crate::prelude::*;
use crate::shared::durations::{Seconds, to_the_second};
use crate::shared::outcome::{CallOutcome, error_text};
use crate::shared::settings::within;
use crate::shared::text::first_error_line;

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<CircuitBreaker>("circuit-breaker", Category::Safety, 10, &[EventKind::BeforeTool]);

/// The settings of circuit-breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CircuitBreaker {
    /// Failures in a row that open the circuit.
    #[serde(deserialize_with = "within::<_, _, 1, 100>")]
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

/// The state of a circuit.
#[derive(Debug, PartialEq, Eq)]
enum CircuitState {
    Closed,
    /// Open until then.
    Open(Timestamp),
    /// The next call is the trial.
    HalfOpen,
}

impl CircuitBreaker {
    /// The slice with the circuit of the event's call. `None`: the event names no tool.
    fn key(&self, context: &Context<'_>) -> Option<Key<Circuit>> {
        Some(match self.per {
            FailureScope::Session => Key::own(context, "circuit"),
            FailureScope::Tool => {
                let name = context.event.tool_name().filter(|name| !name.is_empty())?;
                Key::own(context, &format!("circuit/{name}"))
            }
        })
    }

    fn state(&self, circuit: &Circuit, now: Timestamp) -> CircuitState {
        let Some(opened) = circuit.opened else { return CircuitState::Closed };
        // A trial without a reported result expires as well.
        let since = circuit.trial.map_or(opened, |trial| trial.max(opened));
        let until = self.cooldown.after(since);
        if now < until { CircuitState::Open(until) } else { CircuitState::HalfOpen }
    }

    /// The circuit after a failure. `None`: it was counted before.
    fn failed(&self, mut circuit: Circuit, context: &Context<'_>) -> Result<Option<Circuit>, Missing> {
        let now = context.now()?;
        let call = context.event.call_id();
        if call.is_some() && circuit.call.as_deref() == call {
            return Ok(None);
        }
        circuit.call = call.map(str::to_owned);
        circuit.error = first_error_line(&error_text(context.event));
        if circuit.opened.is_some() {
            // Only the trial counts; calls that were already running do not.
            if circuit.trial.take().is_some() {
                circuit.opened = Some(now);
            }
            return Ok(Some(circuit));
        }
        circuit.failed.push(now);
        circuit.failed.retain(|failed| self.window.after(*failed) > now);
        if circuit.failed.len() >= usize::try_from(self.failures).unwrap_or(1) {
            circuit.failed.clear();
            circuit.opened = Some(now);
        }
        Ok(Some(circuit))
    }
}

impl Guardrail for CircuitBreaker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(key) = self.key(context) else { return Ok(Verdict::allow()) };
        let Some(circuit) = key.read(context)? else { return Ok(Verdict::allow()) };
        let CircuitState::Open(until) = self.state(&circuit, context.now()?) else {
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
        let end = to_the_second(until);
        let left = until.duration_since(context.now()?).as_secs_f64().ceil();
        Ok(Verdict::block(format!("{what} {count} times in a row and is blocked until {end}.{last}"))
            .advise("Find the cause before you try again, or use another approach.")
            .with("until", until.to_string())
            .with("retry_after_s", left))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(key) = self.key(context) else { return Ok(()) };
        let circuit = key.read(context)?;
        if context.event.kind == EventKind::BeforeTool {
            if let Some(mut circuit) = circuit.filter(|it| effect.allows() && it.opened.is_some()) {
                circuit.trial = Some(context.now()?);
                key.write(changes, &circuit)?;
            }
            return Ok(());
        }
        let exit_code = context.event.result.as_ref().and_then(|result| result.exit_code);
        let is_error_code = context.event.kind == EventKind::AfterTool && exit_code.unwrap_or(0) != 0;
        match CallOutcome::from_context(context)? {
            CallOutcome::Success if circuit.is_some() => key.remove(changes),
            CallOutcome::Failure if self.exit_codes || !is_error_code => {
                if let Some(circuit) = self.failed(circuit.unwrap_or_default(), context)? {
                    key.write(changes, &circuit)?;
                }
            }
            CallOutcome::Success | CallOutcome::Failure | CallOutcome::Neither => {}
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
    use crate::tests::Run;
    use midrail_core::{ErrorInfo, Event, ToolCall, ToolResult, denied_key};
    use serde_json::{Value, json};

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
        assert_eq!(fixture.before("fetch"), Effect::Allow, "a success closes it and resets the count");
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
