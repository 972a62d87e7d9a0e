//! Commands and sets of calls in packs: raw types that mirror the text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalar::OneOrMany;

/// A command: a text such as `git push`, or a program with its subcommands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a command such as `git push`, or `{program: git, subcommand: push}`"
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
    expecting = "expected the name of a tool, `{command: …}` or `{changes: PATTERN}`"
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
