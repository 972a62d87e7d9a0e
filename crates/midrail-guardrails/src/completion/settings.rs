//! The settings of completion: what a pack writes, and what is wrong with it.

use std::fmt;
use std::sync::Arc;

use midrail_core::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deep::DeepSettings;
use crate::json_form::JsonForm;
use crate::ran::{CommandLine, Timeout};
use crate::settings::Pattern;

/// How deep `all` and `any` may be nested.
const MAX_DEPTH: usize = 8;

/// How many commands may be asked, one after the other.
const MAX_COMMANDS: usize = 3;

macro_rules! with_checks {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Files that have to be there: paths below the root. One that ends with `/` is a folder.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub files: Option<Vec<String>>,
            /// A glob pattern that files below the root have to fit.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub glob: Option<Pattern>,
            /// How many files have to fit `glob`: 1 unless set.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub at_least: Option<u64>,
            /// `none_open`: nothing on the agent's to-do list is left to be done.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub todos: Option<Todos>,
            /// What the agent ends with has this form.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub output: Option<Output>,
            /// An expression that has to hold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub check: Option<Holds>,
            /// All of these have to be complete. The first that is not is told.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub all: Option<Vec<Checks>>,
            /// One of these has to be complete.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub any: Option<Vec<Checks>>,
            /// A command that has to exit with 0. It runs once all that stands beside it is complete.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub command: Option<CommandLine>,
            /// How long `command` may take: ten minutes unless set.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub timeout: Option<Timeout>,
            /// `command` runs again once one of these files changed: all files unless set; empty: every time.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub when_changed: Option<Vec<Pattern>>,
            /// Somebody outside who judges whether it is done, asked once all that stands beside it is complete. One in all.
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
    /// What has to be complete. Several things in one map have to be complete together.
    Checks {}
}

with_checks! {
    /// The settings of `completion`. Several things in one map have to be complete together.
    Completion {
        /// After each call the agent is told what is still missing, whenever that changed. Commands are not run for it.
        also_after_tool: bool,
        /// Whether the stops of sub-agents are checked.
        sub_agents: SubAgents,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What is asked of a to-do list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Todos {
    /// Nothing is left to be done.
    NoneOpen,
}

/// The form of an output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its JSON Schema.
    pub schema: JsonForm,
}

/// Whether the stops of sub-agents are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubAgents {
    /// They are not: what the run has to bring is not for each of its helpers to bring.
    #[default]
    Exempt,
    /// They are.
    Check,
}

/// An expression, and what it was compiled to.
#[derive(Clone)]
pub struct Holds {
    /// As it is written.
    pub source: String,
    pub(super) condition: Option<Arc<dyn Condition>>,
}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Holds").field(&self.source).finish()
    }
}

impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Holds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Holds { source: String::deserialize(deserializer)?, condition: None })
    }
}

impl JsonSchema for Holds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expression".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Makes a condition of an expression that stands at a place of the settings, given as a JSON pointer.
pub type Bind<'b> = dyn FnMut(&str, &str) -> Option<Arc<dyn Condition>> + 'b;

/// Something wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionProblem {
    /// Where, as a JSON pointer.
    pub at: String,
    /// What.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl CompletionProblem {
    fn new(at: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        CompletionProblem { at: at.into(), message: message.into(), help: help.into() }
    }
}

impl Completion {
    /// Everything that has to be complete.
    fn checks(&self) -> Checks {
        let Completion {
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
            also_after_tool: _,
            sub_agents: _,
        } = self.clone();
        Checks { files, glob, at_least, todos, output, check, all, any, command, timeout, when_changed, ask }
    }

    /// What has to be complete, with its expressions made into conditions, or all that is wrong with the settings.
    pub(super) fn bound(&self, bind: &mut Bind<'_>) -> Result<Checks, Vec<CompletionProblem>> {
        let mut checks = self.checks();
        let mut problems = Vec::new();
        checks.problems("", 0, &mut problems);
        let commands = checks.count_commands();
        if commands > MAX_COMMANDS {
            let message = format!("there are {commands} commands, and {MAX_COMMANDS} are run at most");
            problems.push(CompletionProblem::new("", message, "join them: `make lint && make test`"));
        }
        if checks.count_asks() > 1 {
            let message = "several are asked whether it is done, and one can be";
            problems.push(CompletionProblem::new("", message, "make it a guardrail of its own for each"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        checks.bind("", bind);
        Ok(checks)
    }

    /// Whether nothing at all has to be complete.
    pub fn is_empty(&self) -> bool {
        self.checks().is_empty()
    }
}

impl Checks {
    /// Whether nothing has to be complete.
    fn is_empty(&self) -> bool {
        let Checks {
            files,
            glob,
            at_least: _,
            todos,
            output,
            check,
            all,
            any,
            command,
            timeout: _,
            when_changed: _,
            ask,
        } = self;
        let is_single = glob.is_some()
            || todos.is_some()
            || output.is_some()
            || check.is_some()
            || command.is_some()
            || ask.is_some()
            || files.as_ref().is_some_and(|files| !files.is_empty());
        let asks = |parts: &Vec<Checks>| parts.iter().any(|part| !part.is_empty());
        let asks_all = |parts: &Vec<Checks>| parts.iter().all(|part| !part.is_empty());
        // One of several that asks for nothing is enough for `any`.
        !is_single && !all.as_ref().is_some_and(asks) && !any.as_ref().is_some_and(asks_all)
    }

    fn problems(&self, at: &str, depth: usize, problems: &mut Vec<CompletionProblem>) {
        let mut wrong = |name: &str, what: &str, help: &str| {
            problems.push(CompletionProblem::new(format!("{at}/{name}"), what, help));
        };
        if depth > MAX_DEPTH {
            return wrong(
                "all",
                "this is nested too deep",
                "put what has to be complete together into one map",
            );
        }
        for (i, file) in self.files.iter().flatten().enumerate() {
            if file.trim().is_empty() {
                wrong(
                    &format!("files/{i}"),
                    "a file needs a name",
                    "write its path from the root, or leave it out",
                );
            }
        }
        if self.at_least.is_some() && self.glob.is_none() {
            wrong("at_least", "`at_least` goes with `glob`", "add `glob: PATTERN`, or leave it out");
        }
        if self.at_least == Some(0) {
            wrong("at_least", "no file at all always fits", "write a number from 1 on, or leave it out");
        }
        if self.timeout.is_some() && self.command.is_none() {
            wrong("timeout", "`timeout` goes with `command`", "put it beside the command that it is for");
        }
        if self.when_changed.is_some() && self.command.is_none() {
            wrong(
                "when_changed",
                "`when_changed` goes with `command`",
                "put it beside the command that it is for",
            );
        }
        if self.any.as_ref().is_some_and(Vec::is_empty) {
            wrong("any", "one of none can never be complete", "name what may be complete, or leave it out");
        }
        for (name, parts) in [("all", &self.all), ("any", &self.any)] {
            for (i, part) in parts.iter().flatten().enumerate() {
                part.problems(&format!("{at}/{name}/{i}"), depth.saturating_add(1), problems);
            }
        }
    }

    fn count_commands(&self) -> usize {
        let below = self.all.iter().chain(&self.any).flatten().map(Checks::count_commands);
        usize::from(self.command.is_some()).saturating_add(below.sum())
    }

    fn count_asks(&self) -> usize {
        let below = self.all.iter().chain(&self.any).flatten().map(Checks::count_asks);
        usize::from(self.ask.is_some()).saturating_add(below.sum())
    }

    fn bind(&mut self, at: &str, bind: &mut Bind<'_>) {
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
