//! The settings of completion, and their validation.

use std::fmt;
use std::sync::Arc;

use midrail_core::Condition;

use crate::deep::DeepSettings;
use crate::prelude::*;
use crate::shared::compiled_schema::CompiledSchema;
use crate::shared::durations::Timeout;
use crate::shared::settings::{CommandLine, Pattern, SettingsProblem};

/// Maximum depth of nested `all` and `any`.
const MAX_DEPTH: usize = 8;

/// Maximum number of commands.
const MAX_COMMANDS: usize = 3;

macro_rules! with_checks {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Required files: paths below the root. A path that ends with `/` is a folder.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub files: Option<Vec<String>>,
            /// A glob pattern that files below the root must match.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub glob: Option<Pattern>,
            /// How many files must match `glob`. Default: 1.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub at_least: Option<u64>,
            /// `none_open`: the agent's to-do list has no open item.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub todos: Option<TodoCheck>,
            /// The schema of the output.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub output: Option<OutputCheck>,
            /// An expression that must be true.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub check: Option<CheckExpression>,
            /// Checks that must all pass. The first that fails is reported.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub all: Option<Vec<CompletionChecks>>,
            /// Checks of which one must pass.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub any: Option<Vec<CompletionChecks>>,
            /// A command that must exit with 0. It runs after the other checks of the map have passed.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub command: Option<CommandLine>,
            /// The time limit of `command`. Default: ten minutes.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub timeout: Option<Timeout>,
            /// `command` runs again after one of these files changed. Default: all files; empty: every time.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub when_changed: Option<Vec<Pattern>>,
            /// An external judge of the completion, called after the other checks of the map have passed. At most one.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ask: Option<DeepSettings>,
            $($(#[$field_doc])* #[serde(skip_serializing_if = "is_default")] pub $field: $kind,)*
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
            }
        }
    };
}

with_checks! {
    /// Checks that must all pass.
    CompletionChecks {}
}

with_checks! {
    /// The settings of `completion`. All checks in one map must pass.
    Completion {
        /// Report what is still missing after each call, whenever that changed. Commands are not run for it.
        also_after_tool: bool,
        /// Whether stops of sub-agents are checked.
        sub_agents: SubAgentStops,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The requirement for a to-do list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoCheck {
    /// No item is open.
    NoneOpen,
}

/// The requirement for an output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputCheck {
    /// Its JSON Schema.
    pub schema: CompiledSchema,
}

/// Whether stops of sub-agents are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubAgentStops {
    /// They are not checked: the requirements apply to the run, not to each sub-agent.
    #[default]
    Exempt,
    /// They are checked.
    Check,
}

/// An expression.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(rename = "Expression")]
pub struct CheckExpression {
    /// The source text.
    pub source: String,
    /// The compiled expression.
    pub(super) condition: Option<Arc<dyn Condition>>,
}

impl fmt::Debug for CheckExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckExpression").field(&self.source).finish()
    }
}

impl From<String> for CheckExpression {
    fn from(source: String) -> Self {
        CheckExpression { source, condition: None }
    }
}

impl From<CheckExpression> for String {
    fn from(expression: CheckExpression) -> Self {
        expression.source
    }
}

/// Compiles an expression at a place of the settings, given as a JSON pointer.
pub type CompileCondition<'b> = dyn FnMut(&str, &str) -> Option<Arc<dyn Condition>> + 'b;

impl Completion {
    /// All checks.
    pub(super) fn checks(&self) -> CompletionChecks {
        let Completion { files, glob, at_least, todos, output, check, all, any, .. } = self.clone();
        let Completion { command, timeout, when_changed, ask, .. } = self.clone();
        CompletionChecks {
            files,
            glob,
            at_least,
            todos,
            output,
            check,
            all,
            any,
            command,
            timeout,
            when_changed,
            ask,
        }
    }

    /// All checks with compiled expressions, or all errors in the settings.
    pub(super) fn bound(
        &self,
        bind: &mut CompileCondition<'_>,
    ) -> Result<CompletionChecks, Vec<SettingsProblem>> {
        let mut checks = self.checks();
        let mut problems = Vec::new();
        checks.problems("", 0, &mut problems);
        let commands = checks.count(|checks| checks.command.is_some());
        if commands > MAX_COMMANDS {
            let message = format!("there are {commands} commands; at most {MAX_COMMANDS} are allowed");
            problems.push(SettingsProblem::with_help("", message, "combine them: `make lint && make test`"));
        }
        if checks.count(|checks| checks.ask.is_some()) > 1 {
            let message = "there are several `ask`; at most one is allowed";
            problems.push(SettingsProblem::with_help("", message, "write a separate guardrail for each"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        checks.bind("", bind);
        Ok(checks)
    }
}

impl CompletionChecks {
    fn problems(&self, at: &str, depth: usize, problems: &mut Vec<SettingsProblem>) {
        let mut wrong = |name: &str, what: &str, help: &str| {
            problems.push(SettingsProblem::with_help(format!("{at}/{name}"), what, help));
        };
        if depth > MAX_DEPTH {
            return wrong("all", "the nesting is too deep", "merge nested checks into one map");
        }
        for (i, file) in self.files.iter().flatten().enumerate() {
            if file.trim().is_empty() {
                wrong(
                    &format!("files/{i}"),
                    "the file name is empty",
                    "write its path relative to the root, or remove it",
                );
            }
        }
        if self.at_least.is_some() && self.glob.is_none() {
            wrong("at_least", "`at_least` needs `glob`", "add `glob: PATTERN`, or remove it");
        }
        if self.at_least == Some(0) {
            wrong("at_least", "zero files always match", "write a number from 1 on, or remove it");
        }
        if self.timeout.is_some() && self.command.is_none() {
            wrong("timeout", "`timeout` needs `command`", "move it next to its command");
        }
        if self.when_changed.is_some() && self.command.is_none() {
            wrong("when_changed", "`when_changed` needs `command`", "move it next to its command");
        }
        if self.any.as_ref().is_some_and(Vec::is_empty) {
            wrong("any", "an empty `any` can never pass", "add a check, or remove it");
        }
        for (name, parts) in [("all", &self.all), ("any", &self.any)] {
            for (i, part) in parts.iter().flatten().enumerate() {
                part.problems(&format!("{at}/{name}/{i}"), depth.saturating_add(1), problems);
            }
        }
    }

    /// The number of maps with a certain check.
    fn count(&self, has: fn(&CompletionChecks) -> bool) -> usize {
        let below = self.all.iter().chain(&self.any).flatten().map(|checks| checks.count(has));
        usize::from(has(self)).saturating_add(below.sum())
    }

    fn bind(&mut self, at: &str, bind: &mut CompileCondition<'_>) {
        if let Some(check) = &mut self.check {
            check.condition = bind(&format!("{at}/check"), &check.source);
        }
        for (name, parts) in [("all", &mut self.all), ("any", &mut self.any)] {
            for (i, part) in parts.iter_mut().flatten().enumerate() {
                part.bind(&format!("{at}/{name}/{i}"), bind);
            }
        }
    }
}
