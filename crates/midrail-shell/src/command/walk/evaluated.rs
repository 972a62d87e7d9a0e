//! Texts that a shell evaluates once more: subscripts, arithmetic and prompts. A substitution in them runs a command.

use std::borrow::Cow;

use super::super::invocation::Arg;
use super::super::scope::Scope;
use super::state::{Stream, Walk};

/// How many variables lead from a text to another one: `x=y; y='a[$(…)]'; echo $((x))`.
const MAX_STEPS: usize = 4;

/// The line that ends a text.
const END: &str = "END_OF_TEXT";

impl Walk {
    /// What a subscript runs: `echo ${a[$(make)]}`.
    pub(crate) fn subscript(&mut self, index: Option<&str>, scope: &Scope) {
        let Some(index) = index else { return };
        self.substitutions(index, scope);
        self.evaluated_within(index, scope, MAX_STEPS);
    }

    /// What a text runs as arithmetic or as the name of a variable: the substitutions in its subscripts, and in those of the values
    /// that it names.
    pub(crate) fn evaluated(&mut self, arg: &Arg, scope: &Scope) {
        self.evaluated_within(&known_text(arg), scope, MAX_STEPS);
    }

    fn evaluated_within(&mut self, text: &str, scope: &Scope, steps: usize) {
        if has_code(text) {
            self.substitutions(text, scope);
        }
        let Some(steps) = steps.checked_sub(1) else { return };
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for name in names.filter(|name| name.starts_with(|letter: char| !letter.is_ascii_digit())) {
            self.spend(1);
            if let Some(value) = scope.first_value(name).map(known_text).filter(|value| value != text) {
                self.evaluated_within(&value, scope, steps);
            }
        }
    }

    /// What a text runs if it is expanded: `${x@P}`.
    pub(crate) fn substitutions(&mut self, text: &str, scope: &Scope) {
        if text.contains(['$', '`']) {
            let _ = self.unchecked(&format!(": <<{END}\n{text}\n{END}\n"), scope);
        }
    }

    /// Walks code of a shell of its own on whose status the line does not depend.
    pub(crate) fn unchecked(&mut self, code: &str, scope: &Scope) -> Stream {
        let was_unchecked = std::mem::replace(&mut self.is_unchecked, true);
        let (mut inner, traps) = (scope.clone(), self.traps.len());
        let stream = self.code(code, &mut inner, &Stream::default());
        self.end_shell(traps, &inner);
        self.is_unchecked = was_unchecked;
        stream
    }

    /// What the arguments of a command of the shell run if they are names or arithmetic: `unset 'a[$(make)]'`.
    pub(super) fn evaluated_arguments(&mut self, args: &[Arg], scope: &Scope) {
        for arg in args {
            self.evaluated(arg, scope);
        }
    }
}

/// The known parts of a word. What is in the other parts was seen where they were written.
fn known_text(arg: &Arg) -> Cow<'_, str> {
    if arg.is_known() {
        return Cow::Borrowed(&arg.text);
    }
    arg.pieces().filter(|(_, is_known)| *is_known).map(|(text, _)| text).collect()
}

/// Whether a text has a substitution in a subscript.
fn has_code(text: &str) -> bool {
    let inner = text.find('[').and_then(|at| text.get(at..)).unwrap_or_default();
    inner.contains("$(") || inner.contains('`') || inner.contains("${")
}
