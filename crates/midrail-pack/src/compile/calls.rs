//! Commands and sets of calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{Condition, Context, Guardrail, Missing};
use midrail_guardrails::{Calls, CommandPattern, Count, CountPer, runs_any_except, started_programs};

use crate::compile::compiler::Compiler;
use crate::diagnostic::excerpt;
use crate::expr::Expected;
use crate::raw::{CallsText, CommandText, CountText, Guard, PerText, PerWord};
use crate::rule::key;

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

    /// The commands that a guardrail does not apply to.
    pub(super) fn exceptions(&mut self, at: &str, guard: &Guard) -> Vec<CommandPattern> {
        if guard.except.is_empty() {
            return Vec::new();
        }
        let at = format!("{at}/except");
        if guard.command.is_empty() {
            let help = "add `command: TEXT`, such as `command: npm publish`; for tools, write `when: tool.name != 'NAME'`";
            self.issue(&at, "`except` needs the commands that it is an exception of", help);
        }
        if guard.count.is_some() || guard.modify.is_some() {
            let help = "name the commands in `command` more exactly";
            self.issue(&at, "`count` and `modify` have no exceptions", help);
        }
        self.commands(&at, &guard.except).unwrap_or_default()
    }

    /// A set of calls. `None`: it is invalid.
    pub(super) fn calls(&mut self, at: &str, calls: &CallsText) -> Option<Calls> {
        match calls {
            CallsText::Tool(tool) => {
                if let Some(help) = not_a_tool(tool) {
                    self.issue(at, format!("`{}` is not the name of a tool", excerpt(tool)), help);
                    return None;
                }
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

    /// A limit for the number of calls that run one of these commands.
    pub(super) fn count(
        &mut self,
        at: &str,
        count: &CountText,
        commands: &[CommandText],
    ) -> Option<Arc<dyn Guardrail>> {
        if !(1..=MAX_COUNT).contains(&count.most) {
            let message = format!("`most` is a number from 1 to {MAX_COUNT}, and is {}", count.most);
            self.issue(format!("{at}/most"), message, "to forbid calls, leave `count` out");
        }
        let per = match &count.per {
            None => CountPer::Session,
            Some(PerText::Word(PerWord::Tool)) => CountPer::Tool,
            Some(PerText::Word(PerWord::Command)) => CountPer::Command,
            Some(PerText::Expression { expression }) => {
                let expression =
                    self.expression(&format!("{at}/per/expression"), expression, Expected::Any)?;
                CountPer::Key(Arc::new(move |context: &Context<'_>| key(&expression, context)))
            }
        };
        let since = match &count.since {
            Some(calls) => Some(self.calls(&format!("{at}/since"), calls)?),
            None => None,
        };
        // Invalid ones were reported with the guardrail.
        let commands = commands.iter().flat_map(CommandText::texts);
        Some(Arc::new(Count {
            most: count.most,
            per,
            result: count.result,
            within_ms: count.within.map(|within| i64::try_from(within.millis()).unwrap_or(i64::MAX)),
            since,
            commands: commands.filter_map(|text| CommandPattern::parse(&text).ok()).collect(),
        }))
    }
}

/// What to write in place of a text that is not the name of a tool: a command, files, or a time.
fn not_a_tool(text: &str) -> Option<String> {
    let text = text.trim();
    let is_file = text.contains('/') || text.contains("**") || (text.starts_with('*') && text.contains('.'));
    let is_time = text.starts_with(|c: char| c.is_ascii_digit())
        && text.trim_start_matches(|c: char| c.is_ascii_digit()).len() == 1;
    if text.contains(' ') {
        Some(format!("a command is written `{{command: {}}}`", excerpt(text)))
    } else if is_file && !text.starts_with("mcp") {
        Some(format!("a change of files is written `{{changes: \"{}\"}}`", excerpt(text)))
    } else if is_time {
        Some(
            "write a tool, `{command: …}` or `{changes: PATTERN}`; `count` has `within` for a time"
                .to_owned(),
        )
    } else if ["last_edit", "edit", "last_change", "change", "changes", "last_write"].contains(&text) {
        Some("a change of files is written `{changes: \"**\"}`".to_owned())
    } else {
        None
    }
}

/// The most calls that a limit can allow.
const MAX_COUNT: u32 = 1_000;

/// A condition that holds for calls that run one of these commands without being an exception, and if another condition holds.
pub(super) fn with_commands(
    patterns: Vec<CommandPattern>,
    except: Vec<CommandPattern>,
    when: Option<Arc<dyn Condition>>,
) -> Arc<dyn Condition> {
    let programs = patterns.iter().map(|pattern| pattern.program().map(str::to_owned)).collect();
    Arc::new(OfCommands { patterns, except, programs, when })
}

struct OfCommands {
    patterns: Vec<CommandPattern>,
    except: Vec<CommandPattern>,
    /// The programs of the patterns, if each has only one.
    programs: Option<Vec<String>>,
    when: Option<Arc<dyn Condition>>,
}

impl Condition for OfCommands {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        match runs_any_except(context, &self.patterns, &self.except) {
            Ok(false) => Ok(false),
            // What is not known counts as true, unless the other condition is known to be false.
            runs => match &self.when {
                Some(when) => match when.holds(context) {
                    Ok(false) => Ok(false),
                    holds => runs.and(holds),
                },
                None => runs,
            },
        }
    }

    fn programs(&self) -> Option<&[String]> {
        self.programs.as_deref()
    }

    fn started_programs(&self, context: &Context<'_>) -> Result<BTreeSet<String>, Missing> {
        started_programs(context)
    }
}
