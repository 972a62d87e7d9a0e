//! The guardrail that asks somebody outside, and what it makes of the answer.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{
    Condition, Context, DeepEnd, Effect, EventKind, Fault, Guardrail, Missing, Patience, Verdict,
};
use serde_json::Value;

use super::settings::{DeepKind, DeepSettings, WINDOWS, WINDOWS_OF};

/// A guardrail that asks somebody outside.
pub struct Deep {
    settings: Arc<DeepSettings>,
    /// What has to hold of the answer. `None`: what its kind says.
    passes: Option<Arc<dyn Condition>>,
    /// The same in words, for whoever is told that it does not hold.
    described: Option<String>,
}

/// Characters of what somebody outside said that are passed on.
const MAX_SAID: usize = 500;

impl Deep {
    /// One that lets pass what `passes` holds of, or without it what its kind of answer says.
    pub fn new(settings: DeepSettings, passes: Option<Arc<dyn Condition>>) -> Self {
        let settings = DeepSettings { by_kind: passes.is_none(), ..settings };
        Deep { settings: Arc::new(settings), passes, described: None }
    }

    /// The same, with what has to hold in words.
    pub fn described(mut self, check: Option<String>) -> Self {
        self.described = check;
        self
    }

    /// What it makes of an answer. Of several about the windows of one text the strongest counts: an objection before a
    /// failure, and a failure before what lets pass.
    pub(crate) fn judged(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let Some(windows) = answer.get(WINDOWS) else { return self.judged_once(context, answer) };
        let windows = windows.as_array().filter(|windows| !windows.is_empty());
        let windows = windows.ok_or_else(|| Fault::Failed("it was asked about no window".to_owned()))?;
        let all = answer.get(WINDOWS_OF).and_then(Value::as_u64).and_then(|all| usize::try_from(all).ok());
        let all = all.unwrap_or(windows.len()).max(windows.len());
        let mut failed = None;
        for (index, answer) in windows.iter().enumerate() {
            match self.judged_once(context, answer) {
                Ok(verdict) if verdict.effect == Effect::Allow => {}
                Ok(mut verdict) => {
                    let part = index + 1;
                    verdict.reason = format!("{} (in part {part} of {all} of the text)", verdict.reason);
                    return Ok(verdict);
                }
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        // Asking ends with an objection. Where another policy finds none, the rest has been seen by nobody.
        let unseen =
            || Fault::Failed(format!("it was asked about {} of {all} parts of the text", windows.len()));
        match failed.or_else(|| (windows.len() < all).then(unseen)) {
            Some(fault) => Err(fault),
            None => Ok(Verdict::allow()),
        }
    }

    /// What it makes of one answer.
    fn judged_once(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let said = |name: &str| {
            let text = answer.get(name).and_then(Value::as_str).unwrap_or_default().trim();
            text.chars().take(MAX_SAID).collect::<String>()
        };
        let passes = match &self.passes {
            Some(passes) => {
                let held = passes.holds(&context.with_answer(answer));
                held.map_err(|missing| Missing(format!("{missing}; {}", unfit(answer))))?
            }
            None => match self.settings.kind.unsaid(answer) {
                Some(why) => return Err(Fault::Failed(why)),
                None => self.settings.kind.passes(answer),
            },
        };
        if passes {
            return Ok(Verdict::allow());
        }
        let reason = match &self.settings.kind {
            DeepKind::Judge(_) => said("reason"),
            DeepKind::Moderation(_) => {
                let categories = answer.get("categories").and_then(Value::as_array);
                let names = categories.into_iter().flatten().filter_map(Value::as_str);
                names.collect::<Vec<_>>().join(", ")
            }
            DeepKind::Http(_) | DeepKind::Command(_) => said("reason"),
        };
        let id = &context.spec.id;
        let reason = match (reason.is_empty(), &self.described) {
            (true, Some(check)) => format!("`{id}` objects to it: `{check}` does not hold of the answer"),
            (true, None) => format!("`{id}` objects to it"),
            (false, _) => format!("`{id}` objects to it: {reason}"),
        };
        Ok(Verdict::block(reason))
    }
}

/// Members of an answer that are named where a check does not fit it.
const MAX_NAMED: usize = 8;

/// What an answer is that a check cannot be held against, and what to do about it.
fn unfit(answer: &Value) -> String {
    let found = match answer {
        Value::Object(members) if members.is_empty() => "the answer is empty".to_owned(),
        Value::Object(members) => {
            let short = |name: &String| format!("`{}`", name.chars().take(40).collect::<String>());
            let names: Vec<String> = members.keys().take(MAX_NAMED).map(short).collect();
            let more = if members.len() > MAX_NAMED { ", …" } else { "" };
            format!("the answer has {}{more}", names.join(", "))
        }
        _ => "the answer is no JSON object".to_owned(),
    };
    format!("{found}; mend `check`, or what is answered")
}

impl Guardrail for Deep {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let own = self.settings.timeout.0;
        let Patience { wait_ms, then } = context.patience();
        // Where nobody hears a later answer, there is nothing but this one.
        let is_required = self.settings.required || context.is_last();
        let wait_ms = if is_required { own } else { wait_ms.min(own) };
        match context.deep(wait_ms)? {
            DeepEnd::Answered(answer) => self.judged(context, answer),
            DeepEnd::Late if is_required => {
                Err(Fault::Failed(format!("nobody answered within {wait_ms} ms")))
            }
            DeepEnd::Late => {
                let reason = match wait_ms {
                    0 => "the answer counts for a later event".to_owned(),
                    _ => format!("`{}` was not answered within {wait_ms} ms", context.spec.id),
                };
                let verdict = Verdict { unanswered: true, ..Verdict::new(then, reason) };
                Ok(verdict.with("code", "GUARDRAIL_TIMEOUT"))
            }
        }
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.settings.clone())
    }

    fn may_be_late(&self) -> bool {
        true
    }

    fn late(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        self.judged(context, answer)
    }

    fn ceiling(&self) -> Effect {
        Effect::Halt
    }

    fn unanswered(&self, then: Effect) -> Effect {
        then
    }

    fn objection(&self) -> Effect {
        Effect::Block
    }

    fn may_retry(&self, _: EventKind) -> bool {
        false
    }
}
