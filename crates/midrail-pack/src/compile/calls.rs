//! Commands and sets of calls.

use std::sync::Arc;

use midrail_core::{Condition, Context};
use midrail_guardrails::{Calls, CommandPattern, runs_any};

use crate::compile::compiler::Compiler;
use crate::diagnostic::excerpt;
use crate::raw::{CallsText, CommandText};

impl Compiler<'_> {
    /// The patterns of commands. `None`: one of them is invalid.
    pub(super) fn commands(&mut self, at: &str, commands: &[CommandText]) -> Option<Vec<CommandPattern>> {
        let mut patterns = Vec::new();
        let mut is_valid = true;
        for (i, text) in commands.iter().enumerate().flat_map(|(i, command)| {
            let texts = command.texts();
            texts.into_iter().map(move |text| (i, text))
        }) {
            match CommandPattern::parse(&text) {
                Ok(pattern) => patterns.push(pattern),
                Err(why) => {
                    is_valid = false;
                    let message = format!("the command `{}` {why}", excerpt(&text));
                    let help = "write the program and its first words, such as `git push` or `npm run test*`";
                    self.issue(format!("{at}/{i}"), message, help);
                }
            }
        }
        if patterns.is_empty() && is_valid {
            self.issue(at, "the list of commands is empty", "add a command such as `git push`");
        }
        Some(patterns).filter(|patterns| is_valid && !patterns.is_empty())
    }

    /// A set of calls. `None`: it is invalid.
    pub(super) fn calls(&mut self, at: &str, calls: &CallsText) -> Option<Calls> {
        match calls {
            CallsText::Tool(tool) => {
                self.pattern(at, tool);
                Some(Calls::Tool(tool.clone()))
            }
            CallsText::Command { command } => {
                self.commands(&format!("{at}/command"), command).map(Calls::Commands)
            }
            CallsText::Changes { changes } => {
                self.patterns(&format!("{at}/changes"), changes);
                Some(Calls::Changes(changes.0.clone()))
            }
        }
    }
}

/// A condition that holds for calls that run one of these commands, and if another condition holds.
pub(super) fn with_commands(
    patterns: Vec<CommandPattern>,
    when: Option<Arc<dyn Condition>>,
) -> Arc<dyn Condition> {
    Arc::new(move |context: &Context<'_>| match runs_any(context, &patterns) {
        Ok(false) => Ok(false),
        // What is not known counts as true, unless the other condition is known to be false.
        runs => match &when {
            Some(when) => match when.holds(context) {
                Ok(false) => Ok(false),
                holds => runs.and(holds),
            },
            None => runs,
        },
    })
}
