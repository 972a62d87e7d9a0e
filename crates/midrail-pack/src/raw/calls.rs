//! Commands and sets of calls in packs: raw types that mirror the text.

use midrail_guardrails::{CallResult, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalar::OneOrMany;

/// A command: a text such as `git push`, or a program with its subcommands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "this is not a command; write `git push`, or `{program: git, subcommand: push}`; an option is one of the words: `git push --force`"
)]
pub enum CommandText {
    /// The program and its leading words. Further arguments may follow; `*` is any text within a word; a word that begins with `-`
    /// must be among the options.
    Text(String),
    /// A program with its subcommands.
    Words {
        /// The programs, one of which is called: names or glob patterns.
        program: OneOrMany,
        /// Their subcommands, one of which is called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        subcommand: OneOrMany,
    },
}

impl CommandText {
    /// The same as texts, one of which is meant.
    pub fn texts(&self) -> Vec<String> {
        match self {
            CommandText::Text(text) => vec![text.clone()],
            CommandText::Words { program, subcommand } if subcommand.is_empty() => program.0.clone(),
            CommandText::Words { program, subcommand } => {
                let words = |program: &String| {
                    subcommand.iter().map(|words| format!("{program} {words}")).collect::<Vec<_>>()
                };
                program.iter().flat_map(words).collect()
            }
        }
    }
}

/// A set of calls: a tool, commands, or changes of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "these are not calls; write the name of a tool, `{command: …}` or `{changes: PATTERN}`"
)]
pub enum CallsText {
    /// A tool: a name or glob pattern.
    Tool(String),
    /// Commands.
    Command {
        /// The commands, any of which counts.
        command: OneOrMany<CommandText>,
    },
    /// Changes of files.
    Changes {
        /// The files that are created, changed or removed: path patterns.
        changes: OneOrMany,
    },
}

impl CallsText {
    /// The tool, if it is one.
    pub fn tool(&self) -> Option<&String> {
        match self {
            CallsText::Tool(tool) => Some(tool),
            CallsText::Command { .. } | CallsText::Changes { .. } => None,
        }
    }
}

/// A limit for the number of calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountText {
    /// The number of calls that are allowed.
    #[schemars(range(min = 1, max = 1_000))]
    pub most: u32,
    /// What is counted together: `tool`, `command`, or `{expression: …}`. Otherwise all calls of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<PerText>,
    /// Only calls with this result count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CallResult>,
    /// Only calls within this time count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Seconds>,
    /// Calls after which counting starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<CallsText>,
}

/// What is counted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "this cannot be counted; write `tool`, `command` or `{expression: tool.args.NAME}`, or leave `per` out"
)]
pub enum PerText {
    /// A word.
    Word(PerWord),
    /// The value of an expression.
    Expression {
        /// The expression; its value is the key.
        expression: String,
    },
}

/// What is counted together, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PerWord {
    /// The calls of each tool.
    Tool,
    /// The calls with the same command.
    Command,
}
