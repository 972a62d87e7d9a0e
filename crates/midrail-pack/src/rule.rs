//! The guardrail that a pack writes itself: an expression that has to hold. Also the conditions and keys of packs.

use std::sync::Arc;

use midrail_core::{
    Changes, Condition, Context, Effect, EventKind, Fault, Guardrail, Missing, Tools, Verdict,
};

use crate::expr::{Expression, Truth, Value};
use crate::names::EventScope;

/// A custom check. Without an expression it objects whenever it applies.
pub(crate) struct CustomCheck {
    pub(crate) check: Option<Expression>,
    pub(crate) effect: Effect,
    pub(crate) reason: String,
    pub(crate) user_message: Option<String>,
    pub(crate) corrective_message: Option<String>,
}

impl Guardrail for CustomCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if let Some(check) = &self.check {
            match check.evaluate(&EventScope::new(context)) {
                Truth::True => return Ok(Verdict::allow()),
                Truth::False => {}
                Truth::Unknown(names) => return Err(unknown(&names).into()),
            }
        }
        let mut verdict = Verdict::new(self.effect, self.reason.clone());
        if let Some(check) = &self.check {
            verdict = verdict.with("check", check.source());
        }
        verdict.user_message.clone_from(&self.user_message);
        verdict.retry_message.clone_from(&self.corrective_message);
        Ok(verdict)
    }

    fn tools(&self) -> Tools {
        Tools::All
    }

    fn ceiling(&self) -> Effect {
        self.effect
    }

    fn may_retry(&self) -> bool {
        self.effect == Effect::Retry
    }

    fn summary(&self) -> Option<String> {
        Some(self.reason.clone())
    }
}

/// A built-in whose objection goes with words of the pack's own.
pub(crate) struct Worded {
    pub(crate) inner: Arc<dyn Guardrail>,
    pub(crate) user_message: Option<String>,
    pub(crate) corrective_message: Option<String>,
}

impl Guardrail for Worded {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let mut verdict = self.inner.check(context)?;
        if verdict.effect > Effect::Allow {
            verdict.user_message = self.user_message.clone().or(verdict.user_message);
            verdict.retry_message = self.corrective_message.clone().or(verdict.retry_message);
        }
        Ok(verdict)
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.inner.observe(context, effect, changes)
    }

    fn watches(&self) -> &[EventKind] {
        self.inner.watches()
    }

    fn tools(&self) -> Tools {
        self.inner.tools()
    }

    fn ceiling(&self) -> Effect {
        self.inner.ceiling()
    }

    fn has_consequences(&self) -> bool {
        self.inner.has_consequences()
    }

    fn may_retry(&self) -> bool {
        self.inner.may_retry()
    }

    fn summary(&self) -> Option<String> {
        self.inner.summary()
    }
}

fn unknown(names: &[&crate::expr::Name]) -> Missing {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Missing(format!("{} is not known", names.join(", ")))
}

/// `when:` of a guardrail.
pub(crate) struct When(pub(crate) Expression);

impl Condition for When {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        match self.0.evaluate(&EventScope::new(context)) {
            Truth::True => Ok(true),
            Truth::False => Ok(false),
            Truth::Unknown(names) => Err(unknown(&names)),
        }
    }
}

/// Several conditions, all of which have to hold. One that does not settles it, whatever is not known of the others.
pub(crate) struct All(pub(crate) Vec<Arc<dyn Condition>>);

impl Condition for All {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let mut missing = None;
        for condition in &self.0 {
            match condition.holds(context) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => missing = Some(error),
            }
        }
        missing.map_or(Ok(true), Err)
    }
}

/// The key of a call, computed. A value that is not known or nothing is no key.
pub(crate) fn key(expression: &Expression, context: &Context<'_>) -> Option<String> {
    let scope = EventScope::new(context);
    match expression.value(&scope) {
        Value::Unknown | Value::Null => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::Text(text) => Some(text.into_owned()),
        Value::List(texts) => Some(texts.iter().collect::<Vec<_>>().join(" ")),
        Value::Json(serde_json::Value::Null) => None,
        Value::Json(serde_json::Value::String(text)) => Some(text.clone()),
        Value::Json(value) => Some(value.to_string()),
    }
}
