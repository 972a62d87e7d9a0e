//! cedar: evaluates Cedar policies. This file has the settings; with the feature `cedar`, `cedar/` evaluates them.

#[cfg(feature = "cedar")]
mod context_values;
#[cfg(feature = "cedar")]
mod decision;
#[cfg(feature = "cedar")]
mod policy_files;
#[cfg(all(test, feature = "cedar"))]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::missing_classifier::MissingClassifier;
use crate::shared::one_or_many::OneOrMany;
use crate::shared::settings::SettingsProblem;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Cedar,
    ..Builtin::without_settings::<MissingClassifier>(
        "cedar",
        Category::Compliance,
        90,
        &[EventKind::BeforeTool],
    )
    .supports(&[
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::BeforeModel,
        EventKind::AfterModel,
        EventKind::BeforeHandoff,
    ])
};

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

    /// The guardrail. Before the loader has read the files (`is_loaded` is false), only the rest is checked.
    pub fn compiled(
        &self,
        expressions: &mut dyn CedarExpressions,
        is_loaded: bool,
    ) -> Result<Arc<dyn Guardrail>, Vec<SettingsProblem>> {
        let problems = self.problems(is_loaded);
        if !problems.is_empty() {
            return Err(problems);
        }
        self.evaluator(expressions, is_loaded)
    }

    /// The problems that need no parser.
    fn problems(&self, is_loaded: bool) -> Vec<SettingsProblem> {
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
        problems
    }

    #[cfg(not(feature = "cedar"))]
    fn evaluator(
        &self,
        _: &mut dyn CedarExpressions,
        _: bool,
    ) -> Result<Arc<dyn Guardrail>, Vec<SettingsProblem>> {
        let message =
            "this build of Midrail cannot evaluate Cedar policies: it was built without the feature `cedar`";
        let help = "build the program with `cargo build --release -p midrail-cli --features cedar`, or use the \
                    crate `midrail` with the feature `cedar`";
        Err(vec![SettingsProblem::with_help("", message, help)])
    }

    #[cfg(feature = "cedar")]
    fn evaluator(
        &self,
        expressions: &mut dyn CedarExpressions,
        is_loaded: bool,
    ) -> Result<Arc<dyn Guardrail>, Vec<SettingsProblem>> {
        let request = decision::RequestTemplate::compile(self, expressions);
        let is_complete = self.file_names().iter().all(|(_, name)| self.files.contains_key(name));
        if !is_complete && !is_loaded {
            // The loader compiles it again with the files.
            return request.map(|_| -> Arc<dyn Guardrail> { Arc::new(MissingClassifier) });
        }
        let loaded = policy_files::PolicyFiles::parse(self);
        match (request, loaded) {
            (Ok(request), Ok(loaded)) => Ok(Arc::new(decision::CedarGuardrail::new(self, request, loaded))),
            (request, loaded) => Err([request.err(), loaded.err()].into_iter().flatten().flatten().collect()),
        }
    }
}

#[cfg(all(test, not(feature = "cedar")))]
mod tests {
    use super::*;

    struct NoExpressions;

    impl CedarExpressions for NoExpressions {
        fn template(&mut self, _: &str, _: &str) -> Option<ComputeText> {
            None
        }

        fn value(&mut self, _: &str, _: &str) -> Option<ComputeValue> {
            None
        }
    }

    #[test]
    fn build_without_the_feature_rejects_policies() {
        let settings = CedarSettings {
            code: Some("permit (principal, action, resource);".to_owned()),
            ..CedarSettings::default()
        };
        for is_loaded in [false, true] {
            let problems = settings.compiled(&mut NoExpressions, is_loaded).err().unwrap();
            assert!(problems[0].message.contains("the feature `cedar`"), "{problems:?}");
            assert!(problems[0].help.contains("--features cedar"), "{problems:?}");
        }
    }
}
