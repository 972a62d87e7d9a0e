//! The settings of `cedar`, and the expressions in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::prelude::*;
use crate::shared::one_or_many::OneOrMany;
use crate::shared::settings::SettingsProblem;

/// Cedar policies, and the request that they decide.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CedarSettings {
    /// Files with policies, relative to the pack's file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: OneOrMany,
    /// Policies as a text, in addition to files or instead of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The entities: a file in the JSON format of Cedar, or the list itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<CedarEntities>,
    /// A file with the schema, in the format of Cedar or (`.json`) as JSON. Policies, entities and requests are validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Who acts, such as `Agent::"{agent.id}"`.
    pub principal: String,
    /// What is done, such as `Action::"{tool.name}"`.
    pub action: String,
    /// What it is done to, such as `Project::"{session.project}"`.
    pub resource: String,
    /// The context: `tool.args`, or names with expressions. Default: empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CedarContext>,
    /// The texts of the files, by their names. Set by the loader.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub files: BTreeMap<String, String>,
    /// The paths of the files. Set by the loader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub belongs: Vec<String>,
}

/// The entities that policies know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the name of a file, or a list of entities in the JSON format of Cedar"
)]
pub enum CedarEntities {
    /// A file, relative to the pack's file.
    File(String),
    /// The entities.
    List(Vec<BTreeMap<String, Value>>),
}

/// The context of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `tool.args`, or names with expressions such as `{input: tool.args}`")]
pub enum CedarContext {
    /// An expression whose value is a map: its members are the context.
    Whole(String),
    /// An expression for each member of the context.
    Members(BTreeMap<String, String>),
}

/// Computes a text of an event.
pub type ComputeText = Arc<dyn Fn(&Context<'_>) -> Result<String, Missing> + Send + Sync>;

/// Computes a JSON value of an event.
pub type ComputeValue = Arc<dyn Fn(&Context<'_>) -> Result<Value, Missing> + Send + Sync>;

/// Compiles the expressions in the settings. It reports invalid ones itself and returns `None` for them.
pub trait CedarExpressions {
    /// Compiles a text with placeholders, at a place in the settings.
    fn template(&mut self, at: &str, text: &str) -> Option<ComputeText>;

    /// Compiles an expression, at a place in the settings.
    fn value(&mut self, at: &str, expression: &str) -> Option<ComputeValue>;
}

impl CedarSettings {
    /// The files that the settings name: their places in the settings, and their names.
    pub fn file_names(&self) -> Vec<(String, String)> {
        let policies = self.policies.iter().enumerate();
        let policies = policies.map(|(i, name)| (format!("/policies/{i}"), name.clone()));
        let entities = match &self.entities {
            Some(CedarEntities::File(name)) => Some(("/entities".to_owned(), name.clone())),
            _ => None,
        };
        let schema = self.schema.iter().map(|name| ("/schema".to_owned(), name.clone()));
        policies.chain(entities).chain(schema).collect()
    }

    /// The problems that need no parser.
    pub(super) fn problems(&self, is_loaded: bool) -> Vec<SettingsProblem> {
        let mut problems = Vec::new();
        if self.policies.is_empty() && self.code.is_none() {
            let help = "add `policies: [FILE]`, or the policies themselves as `code`";
            problems.push(SettingsProblem::with_help("", "the policies are missing", help));
        }
        for (at, name) in self.file_names() {
            if name.trim().is_empty() {
                let help = "name a file relative to the pack's file";
                problems.push(SettingsProblem::with_help(at, "the file name is empty", help));
            } else if is_loaded && !self.files.contains_key(&name) {
                let message = format!("the file `{name}` was not read");
                let help = "load the pack from its file, or write policies as `code` and entities as a list";
                problems.push(SettingsProblem::with_help(at, message, help));
            }
        }
        let entities =
            [("principal", &self.principal), ("action", &self.action), ("resource", &self.resource)];
        for (key, _) in entities.into_iter().filter(|(_, text)| text.trim().is_empty()) {
            let help = format!("write its type and its id: `{key}: 'TYPE::\"ID\"'`");
            problems.push(SettingsProblem::with_help(format!("/{key}"), format!("`{key}` is empty"), help));
        }
        problems
    }
}
