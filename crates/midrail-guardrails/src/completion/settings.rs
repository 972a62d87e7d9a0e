//! The settings of completion, and their validation.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Condition, WantedText};

use crate::deep::DeepSettings;
use crate::prelude::*;
use crate::shared::compiled_schema::CompiledSchema;
use crate::shared::durations::Timeout;
use crate::shared::one_or_many::OneOrMany;
use crate::shared::settings::{CommandLine, Pattern, SettingsProblem};

/// Maximum depth of nested `all` and `any`.
const MAX_DEPTH: usize = 8;

/// Maximum number of commands.
const MAX_COMMANDS: usize = 3;

/// The settings of `completion`: checks that must all pass.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Completion {
    /// Required files: paths below the root. A path that ends with `/` is a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// A glob pattern that files below the root must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glob: Option<Pattern>,
    /// How many files must match `glob`. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// Files whose content must differ from that at the beginning of the session: paths below the root, or glob patterns. A path
    /// that ends with `/` is a folder. Of each, at least one file must have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<OneOrMany<Pattern>>,
    /// Files whose content must be the same as at the beginning of the session: paths below the root, or glob patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<OneOrMany<Pattern>>,
    /// Texts that files must contain, by the path of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<BTreeMap<String, OneOrMany>>,
    /// Text patterns, by the path of a file: a line of it must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<BTreeMap<String, OneOrMany<Pattern>>>,
    /// `none_open`: the agent's to-do list has no open item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<TodoCheck>,
    /// The schema of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputCheck>,
    /// An expression that must be true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Checks that must all pass. The first that fails is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<Completion>>,
    /// Checks of which one must pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<Completion>>,
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
    /// Report what is still missing after each call, if that changed. Runs no commands. Only in the outermost map.
    #[serde(skip_serializing_if = "is_default")]
    pub also_after_tool: bool,
    /// Whether stops of sub-agents are checked. Only in the outermost map.
    #[serde(skip_serializing_if = "is_default")]
    pub sub_agents: SubAgentStops,
}

impl PartialEq for Completion {
    fn eq(&self, other: &Self) -> bool {
        serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
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

/// Compiles an expression at a place of the settings, given as a JSON pointer.
pub type CompileCondition<'b> = dyn FnMut(&str, &str) -> Option<Arc<dyn Condition>> + 'b;

/// The compiled expressions, by the places of their maps.
pub(super) type Conditions = BTreeMap<String, Arc<dyn Condition>>;

impl Completion {
    /// This map of checks and all maps below it, each with its place, as a JSON pointer.
    pub fn maps(&self) -> Vec<(String, &Completion)> {
        self.maps_at(String::new())
    }

    fn maps_at(&self, at: String) -> Vec<(String, &Completion)> {
        let mut maps = vec![(at.clone(), self)];
        for (name, parts) in [("all", &self.all), ("any", &self.any)] {
            let parts = parts.iter().flatten().enumerate();
            maps.extend(parts.flat_map(|(i, part)| part.maps_at(format!("{at}/{name}/{i}"))));
        }
        maps
    }

    /// The texts that files must have, by path.
    pub(super) fn wanted_texts(&self) -> Vec<(&str, WantedText)> {
        let contains = self.contains.iter().flatten().flat_map(|(file, texts)| {
            texts.iter().map(move |text| (file.as_str(), WantedText::Contains(text.clone())))
        });
        let matches = self.matches.iter().flatten().flat_map(|(file, patterns)| {
            patterns.iter().map(move |pattern| (file.as_str(), WantedText::Matches(pattern.0.clone())))
        });
        contains.chain(matches).collect()
    }

    /// The compiled expressions, or all errors in the settings.
    pub(super) fn conditions(
        &self,
        bind: &mut CompileCondition<'_>,
    ) -> Result<Conditions, Vec<SettingsProblem>> {
        let maps = self.maps();
        let mut problems = Vec::new();
        for (at, checks) in &maps {
            checks.problems(at, &mut problems);
        }
        let commands = maps.iter().filter(|(_, checks)| checks.command.is_some()).count();
        if commands > MAX_COMMANDS {
            let message = format!("there are {commands} commands; at most {MAX_COMMANDS} are allowed");
            problems.push(SettingsProblem::with_help("", message, "combine them: `make lint && make test`"));
        }
        if maps.iter().filter(|(_, checks)| checks.ask.is_some()).count() > 1 {
            let message = "there are several `ask`; at most one is allowed";
            problems.push(SettingsProblem::with_help("", message, "write a separate guardrail for each"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let bound = maps.into_iter().filter_map(|(at, checks)| {
            let condition = bind(&format!("{at}/check"), checks.check.as_ref()?)?;
            Some((at, condition))
        });
        Ok(bound.collect())
    }

    /// The errors in this map, without those below it.
    fn problems(&self, at: &str, problems: &mut Vec<SettingsProblem>) {
        let mut wrong = |name: &str, what: &str, help: &str| {
            problems.push(SettingsProblem::with_help(format!("{at}/{name}"), what, help));
        };
        match at.matches('/').count() / 2 {
            ..=MAX_DEPTH => {}
            // Deeper ones are consequences.
            depth if depth > MAX_DEPTH + 1 => return,
            _ => return wrong("all", "the nesting is too deep", "merge nested checks into one map"),
        }
        for (i, file) in self.files.iter().flatten().enumerate() {
            if file.trim().is_empty() {
                let help = "write its path relative to the root, or remove it";
                wrong(&format!("files/{i}"), "the file name is empty", help);
            }
        }
        self.content_problems(&mut wrong);
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
        for (name, is_set) in
            [("also_after_tool", self.also_after_tool), ("sub_agents", !is_default(&self.sub_agents))]
        {
            if is_set && !at.is_empty() {
                let message = format!("`{name}` applies to all checks");
                wrong(name, &message, "move it to the outermost map");
            }
        }
    }

    /// The errors in settings about the content of files.
    fn content_problems(&self, wrong: &mut dyn FnMut(&str, &str, &str)) {
        const RELATIVE: &str = "write a path relative to the root";
        for (name, patterns) in [("changed", &self.changed), ("unchanged", &self.unchanged)] {
            for (i, pattern) in patterns.iter().flat_map(|it| it.iter()).enumerate() {
                let (at, path) = (format!("{name}/{i}"), pattern.0.as_str());
                if path.trim().is_empty() {
                    wrong(&at, "the file name is empty", RELATIVE);
                } else if path.starts_with(['~', '/']) || path.split('/').any(|part| part == "..") {
                    wrong(&at, &format!("`{path}` is outside of the project"), RELATIVE);
                }
            }
        }
        let contains =
            self.contains.iter().flatten().map(|(file, texts)| ("contains", file, texts.0.clone()));
        let matches = self.matches.iter().flatten().map(|(file, patterns)| {
            ("matches", file, patterns.iter().map(|pattern| pattern.0.clone()).collect())
        });
        for (name, file, texts) in contains.chain(matches) {
            let at = format!("{name}/{}", file.replace('~', "~0").replace('/', "~1"));
            if file.trim().is_empty() || file.starts_with('~') {
                wrong(&at, &format!("`{file}` does not name a file of the project"), RELATIVE);
            } else if file.contains(['*', '?']) {
                let help = "write the path of one file; for several files, write each of them";
                wrong(&at, &format!("`{name}` does not take a pattern of files: `{file}`"), help);
            }
            if texts.is_empty() || texts.iter().any(String::is_empty) {
                wrong(&at, "the text is empty", "write the text that the file must have");
            } else if name == "matches" && texts.iter().any(|text| text.trim_end().contains('\n')) {
                let help = "write a list with a pattern for each line, or use `contains`";
                wrong(&at, "the pattern has several lines, and it is compared with one line", help);
            }
        }
    }
}
