//! Wrappers around a guardrail that observe or change its verdicts.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{
    ArgumentChange, Changes, Context, Effect, EventKind, Fault, Guardrail, Rewrite, Tools, Verdict,
};
use serde_json::Value;

/// Wraps a guardrail. Wrappers can be stacked.
pub trait Middleware {
    /// The wrapped guardrail.
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail>;
}

/// Passes each verdict to a function, for logging and counting.
#[derive(Clone)]
pub struct VerdictObserver {
    observe: Arc<Observe>,
}

type Observe = dyn Fn(&Context<'_>, &Result<Verdict, Fault>) + Send + Sync;

impl VerdictObserver {
    /// Observes verdicts with a function.
    pub fn new(observe: impl Fn(&Context<'_>, &Result<Verdict, Fault>) + Send + Sync + 'static) -> Self {
        VerdictObserver { observe: Arc::new(observe) }
    }
}

impl Middleware for VerdictObserver {
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        let observe = self.observe.clone();
        let change = move |context: &Context<'_>, verdict: Result<Verdict, Fault>| {
            observe(context, &verdict);
            verdict
        };
        Arc::new(WrappedGuardrail { inner, change, ceiling: None })
    }
}

/// Changes verdicts with a function. The result must not be stronger than the guardrail's ceiling.
#[derive(Clone)]
pub struct VerdictMapper<F>(pub F);

impl<F> Middleware for VerdictMapper<F>
where
    F: Fn(&Context<'_>, Result<Verdict, Fault>) -> Result<Verdict, Fault> + Clone + Send + Sync + 'static,
{
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        Arc::new(WrappedGuardrail { inner, change: self.0.clone(), ceiling: None })
    }
}

/// Replaces the effect of every objection, for example a block by a warning.
#[derive(Debug, Clone, Copy)]
pub struct EffectOverride(pub Effect);

impl Middleware for EffectOverride {
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        let effect = self.0;
        let change = move |_: &Context<'_>, verdict: Result<Verdict, Fault>| {
            verdict.map(|verdict| match verdict.effect {
                Effect::Allow => verdict,
                _ => Verdict { effect, ..verdict },
            })
        };
        Arc::new(WrappedGuardrail { inner, change, ceiling: Some(effect) })
    }
}

struct WrappedGuardrail<F> {
    inner: Arc<dyn Guardrail>,
    change: F,
    ceiling: Option<Effect>,
}

impl<F> Guardrail for WrappedGuardrail<F>
where
    F: Fn(&Context<'_>, Result<Verdict, Fault>) -> Result<Verdict, Fault> + Send + Sync,
{
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        (self.change)(context, self.inner.check(context))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.inner.observe(context, effect, changes)
    }

    fn observes(&self) -> &[EventKind] {
        self.inner.observes()
    }

    fn tools(&self) -> Tools {
        self.inner.tools()
    }

    fn max_effect(&self) -> Effect {
        self.ceiling.unwrap_or_else(|| self.inner.max_effect())
    }

    fn timeout_effect(&self, then: Effect) -> Effect {
        self.inner.timeout_effect(then)
    }

    fn default_effect(&self) -> Effect {
        self.ceiling.unwrap_or_else(|| self.inner.default_effect())
    }

    fn has_consequences(&self) -> bool {
        self.inner.has_consequences()
    }

    fn can_retry(&self, at: EventKind) -> bool {
        self.ceiling == Some(Effect::Retry) || self.inner.can_retry(at)
    }

    fn can_rewrite(&self) -> bool {
        self.inner.can_rewrite()
    }

    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        self.inner.rewrite(context)
    }

    fn can_modify(&self) -> bool {
        self.inner.can_modify()
    }

    fn modify(&self, context: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        self.inner.modify(context)
    }

    fn held_words(&self) -> usize {
        self.inner.held_words()
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.external_request()
    }

    fn has_late_answers(&self) -> bool {
        self.inner.has_late_answers()
    }

    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        (self.change)(context, self.inner.check_late_answer(context, answer))
    }

    fn summary(&self) -> Option<String> {
        self.inner.summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prerequisites;
    use crate::tests::Run;
    use serde_json::json;
    use std::sync::Mutex;

    #[test]
    fn stacked_wrappers_observe_and_override() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let inspect = VerdictObserver::new(move |context, verdict| {
            let tool = context.event.tool_name().unwrap_or_default().to_owned();
            log.lock().unwrap().push((tool, verdict.as_ref().map(|verdict| verdict.effect).ok()));
        });
        let policy = EffectOverride(Effect::Warn).wrap(Arc::new(Prerequisites::new("deploy", ["build"])));
        let mut run = Run::shared(inspect.wrap(policy));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Warn);
        assert_eq!(seen.lock().unwrap().last(), Some(&("deploy".to_owned(), Some(Effect::Warn))));
        run.succeed("build", json!({}));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Allow);
    }
}
