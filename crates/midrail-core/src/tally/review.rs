//! One verdict while its consequences are determined.

use super::hold::About;
use crate::effect::Effect;
use crate::inputs::Missing;
use crate::run::Answer;
use crate::spec::Spec;
use crate::verdict::Verdict;

pub(super) struct Review<'s> {
    pub(super) spec: &'s Spec,
    pub(super) verdict: Verdict,
    /// Why `on_error` or `on_missing` applies.
    pub(super) error: Option<String>,
    /// What the verdict is about, if that is an earlier event.
    pub(super) about: Option<About>,
    /// Whether an approver is asked about that earlier event.
    pub(super) is_about_run: bool,
    /// The digest that an approval is bound to, if it follows from the finding and not from the event alone.
    pub(super) finding_digest: Option<String>,
    /// Whether an approval was requested before and is not denied.
    pub(super) was_requested: bool,
}

impl<'s> Review<'s> {
    pub(super) fn new(spec: &'s Spec, Answer { verdict, error }: Answer, about: Option<About>) -> Self {
        Review {
            spec,
            verdict,
            error,
            about,
            is_about_run: false,
            finding_digest: None,
            was_requested: false,
        }
    }

    pub(super) fn set(&mut self, effect: Effect, reason: String) {
        self.verdict.effect = effect;
        self.verdict.reason = reason;
    }

    /// Applies `on_missing` if it is stronger than the verdict. Returns whether it is.
    pub(super) fn apply_missing(&mut self, missing: &Missing) -> bool {
        let effect = self.spec.on_missing.effect();
        let is_stronger = effect > self.verdict.effect;
        if is_stronger {
            self.error = Some(missing.to_string());
            self.set(effect, format!("`{}` could not be checked: {missing}", self.spec.id));
        }
        is_stronger
    }
}
