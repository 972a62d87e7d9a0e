//! One invocation with its arguments parsed, as conditions see it.

use std::borrow::Cow;

use crate::command::invocation::{Arg, Invocation};
use crate::command::options::Arguments;
use crate::command::programs::Program;

/// An invocation and its arguments.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The invocation.
    pub(super) invocation: &'a Invocation,
    /// Its arguments.
    pub(super) arguments: Arguments,
    /// The words that are neither options nor their values, in order.
    pub(super) operands: Vec<&'a Arg>,
}

impl<'a> Call<'a> {
    /// Parses the arguments of an invocation. The options in `more` take a value as well.
    pub(super) fn new(invocation: &'a Invocation, program: &'static Program, more: &[&str]) -> Call<'a> {
        let arguments = Arguments::parse(program, &invocation.args, more);
        let operands = arguments.operands_in(&invocation.args);
        Call { invocation, arguments, operands }
    }

    /// The text of an operand, as conditions see it.
    pub(super) fn word(&self, index: usize) -> Option<Cow<'a, str>> {
        let text = self.operands.get(index)?.text.as_str();
        Some(if self.arguments.program.ignores_case {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        })
    }
}
