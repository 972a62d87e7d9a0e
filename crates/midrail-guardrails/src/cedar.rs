//! cedar: evaluates Cedar policies. Without the feature `cedar`, its settings are an error of the pack.

#[cfg(feature = "cedar")]
mod context_values;
#[cfg(feature = "cedar")]
mod decision;
#[cfg(feature = "cedar")]
mod policy_files;
mod settings;
#[cfg(test)]
#[cfg(feature = "cedar")]
mod tests;

use std::sync::Arc;

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::missing_classifier::MissingClassifier;
use crate::shared::settings::SettingsProblem;

pub use settings::{CedarContext, CedarEntities, CedarExpressions, CedarSettings, ComputeText, ComputeValue};

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

impl CedarSettings {
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

#[cfg(test)]
#[cfg(not(feature = "cedar"))]
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
            principal: r#"Agent::"a""#.to_owned(),
            action: r#"Action::"b""#.to_owned(),
            resource: r#"Shop::"c""#.to_owned(),
            ..CedarSettings::default()
        };
        for is_loaded in [false, true] {
            let problems = settings.compiled(&mut NoExpressions, is_loaded).err().unwrap();
            assert!(problems[0].message.contains("the feature `cedar`"), "{problems:?}");
            assert!(problems[0].help.contains("--features cedar"), "{problems:?}");
        }
    }
}
