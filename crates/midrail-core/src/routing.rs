//! The risks of tools, and how long an event waits for external services because of them.

use crate::effect::Effect;
use crate::event::{Event, EventKind, Risk};
use crate::glob;

/// The risks of tools, and what follows from them for slow guardrails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// The risk of tools, by name or glob pattern: one list for each pack.
    pub tools: Vec<Vec<(String, Risk)>>,
    /// The risk of tools that no list names.
    pub unlisted: Risk,
    /// What follows from low risk.
    pub low: Tier,
    /// What follows from medium risk.
    pub medium: Tier,
    /// What follows from high risk.
    pub high: Tier,
    /// What follows from critical risk.
    pub critical: Tier,
    /// Milliseconds that texts of the model wait if a tool of high risk or above is available.
    pub model_wait_ms: u64,
}

/// What follows from a risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// Milliseconds to wait for an answer. 0: the event does not wait, and the answer counts for the next one.
    pub wait_ms: u64,
    /// The effect if no answer arrives in that time.
    pub on_timeout: Effect,
    /// Guardrails that check such calls in any case.
    pub require: Vec<String>,
}

impl Default for Routing {
    fn default() -> Self {
        let tier = |wait_ms, on_timeout| Tier { wait_ms, on_timeout, require: Vec::new() };
        Routing {
            tools: Vec::new(),
            unlisted: Risk::Medium,
            low: tier(0, Effect::Allow),
            medium: tier(100, Effect::Allow),
            high: tier(200, Effect::Escalate),
            critical: tier(200, Effect::Halt),
            model_wait_ms: 100,
        }
    }
}

/// How long to wait for an external service, and the effect of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRule {
    /// Milliseconds. 0: do not wait.
    pub wait_ms: u64,
    /// The effect.
    pub on_timeout: Effect,
}

impl Routing {
    /// The risk of a tool: the highest that any pack gives. In a pack, a tool that is listed by name has that risk, otherwise the
    /// highest of the matching patterns.
    pub fn tool_risk(&self, tool: &str) -> Risk {
        let of = |tools: &Vec<(String, Risk)>| {
            let named = tools.iter().find(|(name, _)| name == tool);
            let fitting = || tools.iter().filter(|(pattern, _)| glob::name_matches(pattern, tool));
            named.map(|(_, risk)| *risk).or_else(|| fitting().map(|(_, risk)| *risk).max())
        };
        self.tools.iter().filter_map(of).max().unwrap_or(self.unlisted)
    }

    /// What follows from a risk.
    pub fn tier(&self, risk: Risk) -> &Tier {
        match risk {
            Risk::Low => &self.low,
            Risk::Medium => &self.medium,
            Risk::High => &self.high,
            Risk::Critical => &self.critical,
        }
    }

    /// The highest risk of the tools that an event names: the called one, or the available ones.
    pub fn highest_risk(&self, event: &Event) -> Option<Risk> {
        match event.tool_name() {
            Some(tool) => Some(self.tool_risk(tool)),
            None => event.available_tools.as_deref()?.iter().map(|tool| self.tool_risk(tool)).max(),
        }
    }

    /// Whether a guardrail must check a call of this tool.
    pub(crate) fn requires(&self, id: &str, kind: EventKind, tool: Option<&str>) -> bool {
        let tiers = [&self.low, &self.medium, &self.high, &self.critical];
        if kind != EventKind::BeforeTool || tiers.iter().all(|tier| tier.require.is_empty()) {
            return false;
        }
        let requires = |tier: &Tier| tier.require.iter().any(|required| required == id);
        match tool {
            Some(tool) => requires(self.tier(self.tool_risk(tool))),
            // A call without a tool name could be of any tool.
            None => tiers.into_iter().any(requires),
        }
    }

    /// How long an event waits for slow guardrails.
    pub fn wait_rule(&self, event: &Event) -> WaitRule {
        use EventKind::{AfterModel, AfterTool, BeforeModel, BeforeTool, ModelChunk};
        let risk = self.highest_risk(event);
        if matches!(event.kind, BeforeModel | ModelChunk | AfterModel) {
            let wait_ms = if risk >= Some(Risk::High) { self.model_wait_ms } else { 0 };
            return WaitRule { wait_ms, on_timeout: Effect::Allow };
        }
        let is_call = matches!(event.kind, BeforeTool | AfterTool);
        let tier = self.tier(risk.filter(|_| is_call).unwrap_or(Risk::Medium));
        WaitRule { wait_ms: tier.wait_ms, on_timeout: tier.on_timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str) -> Event {
        let mut event = Event::new(EventKind::BeforeTool);
        event.tool = serde_json::from_value(serde_json::json!({"name": tool})).unwrap();
        event
    }

    #[test]
    fn a_name_counts_before_patterns_and_the_highest_pattern_before_others() {
        let routing = Routing {
            tools: vec![
                vec![
                    ("db.*".into(), Risk::High),
                    ("*.drop".into(), Risk::Critical),
                    ("db.read".into(), Risk::Low),
                ],
                // Another pack does not lower it.
                vec![("db.drop".into(), Risk::Low)],
            ],
            ..Routing::default()
        };
        assert_eq!(routing.tool_risk("db.read"), Risk::Low);
        assert_eq!(routing.tool_risk("db.drop"), Risk::Critical);
        assert_eq!(routing.tool_risk("db.write"), Risk::High);
        assert_eq!(routing.tool_risk("other"), Risk::Medium);
        assert_eq!(routing.wait_rule(&call("db.read")), WaitRule { wait_ms: 0, on_timeout: Effect::Allow });
        assert_eq!(routing.wait_rule(&call("db.drop")), WaitRule { wait_ms: 200, on_timeout: Effect::Halt });
    }

    #[test]
    fn texts_are_held_back_if_a_critical_tool_is_available() {
        let routing = Routing { tools: vec![vec![("x".into(), Risk::High)]], ..Routing::default() };
        let mut event = Event::new(EventKind::BeforeModel);
        assert_eq!(routing.wait_rule(&event).wait_ms, 0);
        event.available_tools = Some(vec!["y".into(), "x".into()]);
        assert_eq!(routing.wait_rule(&event).wait_ms, 100);
    }
}
