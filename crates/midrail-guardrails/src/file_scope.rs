//! file-scope (scope-002): blocks access to files outside the patterns of the task and of the pack.

use midrail_core::FileScope;

use crate::prelude::*;
use crate::shared::file_scopes::{FileScopeSettings, scope_violation, task_scopes};

pub(crate) const BUILTIN: Builtin =
    SCOPE.builtin::<FileScopeGuard>("scope-002", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of file-scope. They apply in addition to the scopes of tasks and definitions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct FileScopeGuard(pub FileScopeSettings);

impl Guardrail for FileScopeGuard {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let own = &self.0.0;
        let is_set = *own != FileScope::default();
        let scopes: Vec<&FileScope> = task_scopes(context).chain(is_set.then_some(own)).collect();
        let found = scope_violation(context, &scopes)?;
        Ok(found.map_or_else(Verdict::allow, |it| it.verdict("is not among the files of this task")))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let list = self.0.0.write.as_ref()?;
        Some(match list.as_slice() {
            [] => "Change no files.".to_owned(),
            list => format!("Change only files that match one of: {}.", list.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Scope, Task};
    use serde_json::{Value, json};

    fn guard(settings: Value) -> FileScopeGuard {
        serde_json::from_value(settings).unwrap()
    }

    fn effect(settings: Value, tool: &str, args: Value) -> Effect {
        Run::of(guard(settings)).before(tool, args).effect
    }

    #[test]
    fn each_setting_applies() {
        let write = |file: &str| json!({"file_path": file});
        assert_eq!(effect(json!({"write": ["src/**"]}), "Write", write("src/a.rs")), Effect::Allow);
        assert_eq!(effect(json!({"write": ["src/**"]}), "Write", write("srcs/a.rs")), Effect::Block);
        assert_eq!(effect(json!({"write": ["src/**"]}), "Read", write("docs/a.md")), Effect::Allow);
        assert_eq!(effect(json!({"read": ["src/**"]}), "Read", write("docs/a.md")), Effect::Block);
        assert_eq!(effect(json!({"deny": ["*.env"]}), "Read", write("a/b.env")), Effect::Block);
        assert_eq!(effect(json!({"write": []}), "Write", write("a")), Effect::Block);
        assert_eq!(effect(json!({}), "Write", write("a")), Effect::Allow);
    }

    #[test]
    fn every_access_to_a_file_counts() {
        let bash = |line: &str| effect(json!({"write": ["src/**"]}), "Bash", json!({"command": line}));
        assert_eq!(bash("sed -i s/a/b/ src/a.rs"), Effect::Allow);
        assert_eq!(bash("sed -i s/a/b/ tests/a.rs"), Effect::Block);
        assert_eq!(bash("cat tests/a.rs"), Effect::Allow);
        assert_eq!(bash("cd tests && touch a.rs"), Effect::Block);
        assert_eq!(bash("bash -c 'echo x | tee src/../b'"), Effect::Block);
        for formatter in
            ["npx prettier --write", "black", "rustfmt", "gofmt -w", "eslint --fix", "ruff format"]
        {
            assert_eq!(bash(&format!("{formatter} src/a.rs")), Effect::Allow, "{formatter}");
            assert_eq!(bash(&format!("{formatter} src")), Effect::Allow, "{formatter}");
            assert_eq!(bash(&format!("{formatter} tests/a.rs")), Effect::Block, "{formatter}");
            assert_eq!(bash(&format!("{formatter} .")), Effect::Block, "{formatter}");
        }
        assert_eq!(bash("cargo fmt"), Effect::Block);
        assert_eq!(bash("cargo fmt --check && prettier --check tests && black --diff tests"), Effect::Allow);
        assert_eq!(bash("rm -r src"), Effect::Block);
        assert_eq!(
            effect(json!({"write": ["**"]}), "Bash", json!({"command": "cargo fmt && black ."})),
            Effect::Allow
        );
        let mut run = Run::of(guard(json!({"write": ["src/**"]}))).with_link("src/l", "etc/hosts", "x");
        assert_eq!(run.before("Write", json!({"file_path": "src/l"})).effect, Effect::Block);
    }

    #[test]
    fn scopes_of_the_task_and_of_the_pack_both_apply() {
        let files = serde_json::from_value(json!({"write": ["src/**"]})).unwrap();
        let task = Task { scope: Some(Scope { files }), ..Task::default() };
        let mut run = Run::of(guard(json!({"write": ["**/*.rs"]})));
        let mut effect = |file: &str| {
            let event = Event::before_tool("Write", json!({"file_path": file}));
            run.decide(&Event { task: Some(task.clone()), ..event }).effect
        };
        assert_eq!(effect("src/a.rs"), Effect::Allow);
        assert_eq!(effect("src/a.py"), Effect::Block);
        assert_eq!(effect("a.rs"), Effect::Block);
    }

    #[test]
    fn settings_are_checked() {
        for wrong in [json!({"write": ["src/{a"]}), json!({"writes": []}), json!({"deny": "x"})] {
            assert!(serde_json::from_value::<FileScopeGuard>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
