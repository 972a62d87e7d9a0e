//! Names that a line gives to commands, for itself or for a later one: aliases and functions.

use std::rc::Rc;

use midrail_core::Danger;

use super::super::scope::Scope;
use super::state::Walk;
use super::stream::Stream;

impl Walk {
    /// Code under a name that a later call may use: an alias, a function. It is judged where it is written.
    pub(super) fn later(&mut self, code: &str, scope: &Scope) {
        if self.is_script || self.is_exhausted() {
            return;
        }
        let mut apart = Walk { spent: self.spent, span: self.span, depth: self.depth, ..Walk::default() };
        let mut inner = scope.clone();
        inner.positional = None;
        let _ = apart.code(code, &mut inner, &Stream::default());
        self.spent = apart.spent;
        // What it is called with is not known yet.
        let is_sure = |danger: &Danger| !danger.targets.iter().any(|it| it.contains(['$', '`']));
        let dangers = apart.analysis.dangers.into_iter();
        dangers
            .filter(|danger| danger.rule != "opaque" && is_sure(danger))
            .for_each(|danger| self.tell(danger));
    }

    /// Functions that the line defines and does not call.
    pub(super) fn uncalled(&mut self, scope: &Scope) {
        const MAX_FUNCTIONS: usize = 16;
        let functions = scope.functions.iter().filter(|(name, _)| !self.called.contains(*name));
        let bodies: Vec<_> = functions.map(|(_, body)| Rc::clone(body)).take(MAX_FUNCTIONS).collect();
        bodies.iter().for_each(|body| self.later(body, scope));
    }
}
