//! Custom guardrails of packs: an expression that must hold. Also the conditions and keys of packs.

use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;
use midrail_core::{Condition, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict};
use midrail_guardrails::{Middleware, VerdictMapper};

use crate::expr::{Expected, Expression, Name, Scope, Value};
use crate::names::{EventScope, event_expression};

/// An expression of a pack. In a pack that was checked before, it is parsed on first use: a process that decides one event
/// evaluates few of many.
pub(crate) struct Deferred {
    source: String,
    expected: Expected,
    parsed: OnceLock<Option<Expression>>,
    /// The time zone of its pack.
    zone: Option<TimeZone>,
}

impl Deferred {
    /// A parsed expression.
    pub(crate) fn ready(expression: Expression, expected: Expected) -> Self {
        Deferred {
            source: expression.source().to_owned(),
            expected,
            parsed: Some(expression).into(),
            zone: None,
        }
    }

    /// An expression that was checked before.
    pub(crate) fn later(source: &str, expected: Expected) -> Self {
        Deferred { source: source.to_owned(), expected, parsed: OnceLock::new(), zone: None }
    }

    /// The same, with times in a time zone.
    pub(crate) fn in_zone(self, zone: Option<TimeZone>) -> Self {
        Deferred { zone, ..self }
    }

    /// The text of the user.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    fn scope<'a>(&'a self, context: &'a Context<'a>) -> EventScope<'a> {
        EventScope::new(context).in_zone(self.zone.as_ref())
    }

    fn get(&self) -> Result<&Expression, Missing> {
        let parse = || event_expression(&self.source, self.expected).ok();
        let parsed = self.parsed.get_or_init(parse).as_ref();
        parsed.ok_or_else(|| Missing(format!("the expression `{}` cannot be parsed", self.source)))
    }

    /// Whether it holds for every target file of the action, or for one of them.
    fn holds_for(&self, every: bool, context: &Context<'_>) -> Result<bool, Missing> {
        let expression = self.get()?;
        let holds = |scope: &EventScope<'_>| {
            expression.evaluate(scope).map_err(|names| unknown(expression, &names, scope))
        };
        let scope = self.scope(context);
        if expression.names().iter().any(|name| name.term() == "action.target_file") {
            scope.for_each_file(every, holds)
        } else {
            holds(&scope)
        }
    }
}

/// A condition: a guardrail applies if it holds for one of the target files.
impl Condition for Deferred {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        self.holds_for(false, context)
    }
}

/// A check, which must hold for every target file.
pub(crate) struct Required(pub(crate) Deferred);

impl Condition for Required {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        self.0.holds_for(true, context)
    }
}

/// A custom check. Without an expression, every event that it applies to is a violation.
pub(crate) struct CustomCheck {
    pub(crate) check: Option<Required>,
    pub(crate) effect: Effect,
    pub(crate) reason: String,
    pub(crate) user_message: Option<String>,
    pub(crate) corrective_message: Option<String>,
}

impl Guardrail for CustomCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if let Some(check) = &self.check
            && check.holds(context)?
        {
            return Ok(Verdict::allow());
        }
        let mut verdict = Verdict::new(self.effect, self.reason.clone());
        if let Some(check) = &self.check {
            verdict = verdict.with("check", check.0.source());
        }
        verdict.user_message.clone_from(&self.user_message);
        verdict.retry_message.clone_from(&self.corrective_message);
        Ok(verdict)
    }

    fn max_effect(&self) -> Effect {
        self.effect
    }

    fn can_retry(&self, _: EventKind) -> bool {
        self.effect == Effect::Retry
    }

    fn summary(&self) -> Option<String> {
        Some(self.reason.clone())
    }
}

/// A built-in with messages of the pack.
pub(crate) fn with_messages(
    inner: Arc<dyn Guardrail>,
    user_message: Option<String>,
    corrective_message: Option<String>,
) -> Arc<dyn Guardrail> {
    VerdictMapper(move |_: &Context<'_>, verdict: Result<Verdict, Fault>| {
        let mut verdict = verdict?;
        if verdict.effect > Effect::Allow {
            verdict.user_message = user_message.clone().or(verdict.user_message);
            verdict.retry_message = corrective_message.clone().or(verdict.retry_message);
        }
        Ok(verdict)
    })
    .wrap(inner)
}

/// Why an expression is undetermined: a value is unknown, or has another type than the expression needs.
fn unknown(expression: &Expression, names: &[&Name], scope: &EventScope<'_>) -> Missing {
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    for name in names {
        let value = scope.lookup(name).plain();
        if let Some(path) = value.open_path().filter(|_| name.is_path()) {
            wrong.push(format!("which files `{path}` in `{name}` stands for is not known; name each file"));
            continue;
        }
        match (value.noun(), expression.wanted(name)) {
            (Some(found), Some(wanted)) if found != wanted => {
                wrong.push(format!("`{name}` is {found}, where {wanted} is needed"));
            }
            _ => missing.push(format!("`{name}`")),
        }
    }
    if !missing.is_empty() {
        wrong.insert(0, format!("{} is not known", missing.join(", ")));
    }
    Missing(wrong.join("; "))
}

/// The computed key of a call. Unknown and null are not keys.
pub(crate) fn key(expression: &Deferred, context: &Context<'_>) -> Result<Option<String>, Missing> {
    Ok(as_text(&expression.get()?.value(&expression.scope(context)), " "))
}

/// The value of an expression for people. `None`: it is not known.
pub(crate) fn shown_value(expression: &Deferred, context: &Context<'_>) -> Option<String> {
    as_text(&expression.get().ok()?.value(&expression.scope(context)), ", ")
}

/// The largest whole number that expressions represent exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of an expression as the id of something: a text, a whole number, or true or false.
pub(crate) fn identifier(expression: &Deferred, context: &Context<'_>) -> Result<String, Missing> {
    match json_value(expression, context)? {
        serde_json::Value::String(text) => Ok(text),
        serde_json::Value::Bool(value) => Ok(value.to_string()),
        serde_json::Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        other => {
            let found = Value::Json(&other).noun().unwrap_or("unknown");
            let found = if other.is_number() { "not a whole number" } else { found };
            Err(Missing(format!("`{}` is {found}, and an id needs a text", expression.source())))
        }
    }
}

/// The value of an expression as JSON.
pub(crate) fn json_value(expression: &Deferred, context: &Context<'_>) -> Result<serde_json::Value, Missing> {
    use serde_json::Value as Json;
    let scope = expression.scope(context);
    Ok(match expression.get()?.value(&scope) {
        Value::Unknown | Value::Partial(_) | Value::AtLeast(_) => {
            return Err(Missing(format!("`{}` is not known", expression.source())));
        }
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < MAX_EXACT => {
            // Its text has neither a fraction nor an exponent.
            number.to_string().parse::<i64>().map_or(Json::Null, Json::from)
        }
        Value::Number(number) => Json::from(number),
        Value::Text(text) => Json::String(text.into_owned()),
        Value::List(texts) => Json::Array(texts.iter().map(|text| Json::from(text.as_ref())).collect()),
        Value::Json(value) => value.clone(),
    })
}

/// A value as a text. `None`: it is not known, or null.
fn as_text(value: &Value<'_>, separator: &str) -> Option<String> {
    match value {
        Value::Unknown | Value::Partial(_) | Value::AtLeast(_) | Value::Null => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::Text(text) => Some(text.clone().into_owned()),
        Value::List(texts) => Some(texts.join(separator)),
        Value::Json(serde_json::Value::Null) => None,
        Value::Json(serde_json::Value::String(text)) => Some(text.clone()),
        Value::Json(value) => Some(value.to_string()),
    }
}
