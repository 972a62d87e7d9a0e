//! Wraps one guardrail in another: to look at what it says, or to change the effect of it.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{Changes, Context, Effect, EventKind, Fault, Guardrail, Rewrite, Tools, Verdict};
use serde_json::Value;

/// Makes a guardrail of a guardrail. Several are stacked by wrapping again.
pub trait Middleware {
    /// The wrapped guardrail.
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail>;
}

/// Shows each verdict to a function: for logging and counting.
#[derive(Clone)]
pub struct Inspect {
    look: Arc<Look>,
}

type Look = dyn Fn(&Context<'_>, &Result<Verdict, Fault>) + Send + Sync;

impl Inspect {
    /// With the function that looks.
    pub fn new(look: impl Fn(&Context<'_>, &Result<Verdict, Fault>) + Send + Sync + 'static) -> Self {
        Inspect { look: Arc::new(look) }
    }
}

impl Middleware for Inspect {
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        let look = self.look.clone();
        let change = move |context: &Context<'_>, verdict: Result<Verdict, Fault>| {
            look(context, &verdict);
            verdict
        };
        Arc::new(Wrapped { inner, change, ceiling: None })
    }
}

/// Lets a function change what the guardrail says. It must not say anything stronger than the guardrail could.
#[derive(Clone)]
pub struct Adjust<F>(pub F);

impl<F> Middleware for Adjust<F>
where
    F: Fn(&Context<'_>, Result<Verdict, Fault>) -> Result<Verdict, Fault> + Clone + Send + Sync + 'static,
{
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        Arc::new(Wrapped { inner, change: self.0.clone(), ceiling: None })
    }
}

/// Changes the effect of every objection: a block that only warns, a warning that blocks.
#[derive(Debug, Clone, Copy)]
pub struct Recast(pub Effect);

impl Middleware for Recast {
    fn wrap(&self, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        let effect = self.0;
        let change = move |_: &Context<'_>, verdict: Result<Verdict, Fault>| {
            verdict.map(|verdict| match verdict.effect {
                Effect::Allow => verdict,
                _ => Verdict { effect, ..verdict },
            })
        };
        Arc::new(Wrapped { inner, change, ceiling: Some(effect) })
    }
}

struct Wrapped<F> {
    inner: Arc<dyn Guardrail>,
    change: F,
    ceiling: Option<Effect>,
}

impl<F> Guardrail for Wrapped<F>
where
    F: Fn(&Context<'_>, Result<Verdict, Fault>) -> Result<Verdict, Fault> + Send + Sync,
{
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        (self.change)(context, self.inner.check(context))
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
        self.ceiling.unwrap_or_else(|| self.inner.ceiling())
    }

    fn unanswered(&self, then: Effect) -> Effect {
        self.inner.unanswered(then)
    }

    fn objection(&self) -> Effect {
        self.ceiling.unwrap_or_else(|| self.inner.objection())
    }

    fn has_consequences(&self) -> bool {
        self.inner.has_consequences()
    }

    fn may_retry(&self, at: EventKind) -> bool {
        self.ceiling == Some(Effect::Retry) || self.inner.may_retry(at)
    }

    fn rewrites(&self) -> bool {
        self.inner.rewrites()
    }

    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        self.inner.rewrite(context)
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.outside()
    }

    fn may_be_late(&self) -> bool {
        self.inner.may_be_late()
    }

    fn late(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        (self.change)(context, self.inner.late(context, answer))
    }

    fn summary(&self) -> Option<String> {
        self.inner.summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequentialDependency;
    use crate::testing::Run;
    use serde_json::json;
    use std::sync::Mutex;

    #[test]
    fn a_stack_looks_and_changes_the_effect() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let inspect = Inspect::new(move |context, verdict| {
            let tool = context.event.tool_name().unwrap_or_default().to_owned();
            log.lock().unwrap().push((tool, verdict.as_ref().map(|verdict| verdict.effect).ok()));
        });
        let policy = Recast(Effect::Warn).wrap(Arc::new(SequentialDependency::new("deploy", ["build"])));
        let mut run = Run::shared(inspect.wrap(policy));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Warn);
        assert_eq!(seen.lock().unwrap().last(), Some(&("deploy".to_owned(), Some(Effect::Warn))));
        run.succeed("build", json!({}));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Allow);
    }
}
