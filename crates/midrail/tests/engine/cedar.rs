//! Cedar policies in packs: their files, reloads, replays and order. Without the feature, packs that use them do not load.

use std::fs;
use std::path::Path;

use midrail::Load;

use crate::scripts::write;

const PACK: &str = r#"
pack: corporate
guardrails:
  - id: corporate
    cedar:
      policies: [corp.cedar]
      entities: corp.entities.json
      principal: 'Agent::"{agent.id}"'
      action: 'Action::"{tool.name}"'
      resource: 'Project::"{session.project}"'
      context: tool.args
"#;

const POLICIES: &str = r#"
permit (principal in Team::"payments", action, resource);

@id("no-prod") @reason("Production is deployed by the pipeline.")
forbid (principal, action == Action::"deploy", resource) when { context.target == "prod" };
"#;

const ENTITIES: &str = r#"[{"uid": {"type": "Agent", "id": "ann"}, "attrs": {}, "parents": [{"type": "Team", "id": "payments"}]}]"#;

fn files(folder: &Path) {
    write(folder, "corp.yaml", PACK);
    write(folder, "corp.cedar", POLICIES);
    write(folder, "corp.entities.json", ENTITIES);
}

fn error(folder: &Path) -> String {
    let load = Load { packs: vec![folder.to_owned()], ..Load::default() };
    load.load().err().unwrap().to_string()
}

#[cfg(not(feature = "cedar"))]
#[test]
fn build_without_the_feature_refuses_the_pack() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let error = error(folder.path());
    assert!(error.contains("corp.yaml:6:7"), "{error}");
    assert!(error.contains("it was built without the feature `cedar`"), "{error}");
    assert!(error.contains("cargo build --release -p midrail-cli --features cedar"), "{error}");
}

#[cfg(not(feature = "cedar"))]
#[test]
fn guide_is_refused_with_the_same_words() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/cedar.md");
    let text = fs::read_to_string(&path).unwrap();
    let error = midrail::cases::read(&path, &text).unwrap_err().to_string();
    assert!(error.contains("it was built without the feature `cedar`"), "{error}");
}

#[cfg(feature = "cedar")]
mod with_feature {
    use std::sync::Arc;

    use midrail::core::{Decision, EventKind, PolicyEntry};
    use midrail::store::AuditFilter;
    use midrail::{Effect, Engine, Event, LoadedPolicy};
    use serde_json::{Value, json};

    use super::*;

    fn load(folder: &Path) -> Load {
        Load { packs: vec![folder.to_owned()], ..Load::default() }
    }

    fn engine(folder: &Path) -> Arc<Engine> {
        let loaded = load(folder).load().unwrap_or_else(|error| panic!("{error}"));
        let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap());
        engine.session("s").set("project", json!("shop")).unwrap();
        engine
    }

    fn call(agent: &str, tool: &str, args: Value) -> Event {
        let event = json!({"kind": "before_tool", "session": "s", "agent": {"id": agent}, "tool": {"name": tool, "args": args}});
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn files_next_to_the_pack_decide() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let engine = engine(folder.path());
        let decide = |agent: &str, tool: &str, args: Value| engine.decide(call(agent, tool, args));
        assert_eq!(decide("ann", "refund", json!({})).effect, Effect::Allow);
        assert_eq!(decide("ann", "deploy", json!({"target": "test"})).effect, Effect::Allow);
        let denied = decide("ann", "deploy", json!({"target": "prod"}));
        assert_eq!((denied.effect, denied.by.as_deref()), (Effect::Block, Some("corporate")));
        assert_eq!(
            denied.reason,
            "The Cedar policy `no-prod` forbids Action::\"deploy\": Production is deployed by the pipeline."
        );
        let denied = decide("bob", "refund", json!({}));
        assert_eq!(
            denied.reason,
            "No Cedar policy permits Action::\"refund\" for Agent::\"bob\" on Project::\"shop\"."
        );
        let denied = decide("ann", "deploy", json!({}));
        assert!(
            denied.reason.starts_with("The Cedar policy `no-prod` could not be evaluated"),
            "{}",
            denied.reason
        );
    }

    #[test]
    fn records_replay_to_the_same_decision() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let engine = engine(folder.path());
        for args in [json!({}), json!({"target": "prod"}), json!({"target": "test"}), json!({"target": 1.5})]
        {
            for agent in ["ann", "bob", "x\" || Agent::\"ann"] {
                engine.decide(call(agent, "deploy", args.clone()));
            }
        }
        let entries = engine.store().entries(&AuditFilter::default()).unwrap();
        assert!(entries.len() >= 12);
        for entry in entries {
            let record = entry.record().unwrap();
            if record.event.kind != EventKind::BeforeTool {
                continue;
            }
            let (again, then) = (record.replay(&engine.policy()), record.decision);
            // A record does not repeat the changes of its slices.
            let essence = |decision: &Decision| {
                let Decision { effect, by, reason, advice, metadata, .. } = decision.clone();
                (effect, by, reason, advice, metadata)
            };
            assert_eq!(essence(&again), essence(&then), "record {}", entry.seq);
            assert_eq!(again.verdicts, then.verdicts, "record {}", entry.seq);
        }
    }

    /// The packs in the store contain the policies, so a replay needs no file.
    #[test]
    fn source_compiles_again_without_files() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let LoadedPolicy { policy, source, .. } = load(folder.path()).load().unwrap();
        let text = source.to_json();
        drop(folder);
        let again: midrail::pack::PolicySource = serde_json::from_str(&text).unwrap();
        assert_eq!(again.compile().unwrap().revision(), policy.revision());
    }

    #[test]
    fn revision_depends_on_the_policies_and_not_on_the_folder() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let revision = |folder: &Path| load(folder).load().unwrap().policy.revision().to_owned();
        folders.iter().for_each(|folder| files(folder.path()));
        let [first, second] = [folders[0].path(), folders[1].path()];
        assert_eq!(revision(first), revision(second));
        write(second, "corp.cedar", &format!("{POLICIES}// changed\n"));
        assert_ne!(revision(first), revision(second));
    }

    #[test]
    fn changed_and_missing_files_are_noticed() {
        use midrail::{Reload, Reloader};
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let load = load(folder.path());
        let LoadedPolicy { policy, source, mark, .. } = load.load().unwrap();
        let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
        engine.session("s").set("project", json!("shop")).unwrap();
        let (sender, reloads) = std::sync::mpsc::channel();
        let listener = move |reload: &Reload| sender.send(reload.clone()).unwrap();
        let _reloader = Reloader::start(&engine, load, mark, listener).unwrap();
        let effect = || engine.decide(call("bob", "refund", json!({}))).effect;
        assert_eq!(effect(), Effect::Block);
        write(folder.path(), "corp.entities.json", &ENTITIES.replace("ann", "bob"));
        assert!(matches!(reloads.recv().unwrap(), Reload::Applied(_)));
        assert_eq!(effect(), Effect::Allow);
        write(folder.path(), "corp.cedar", "permit (");
        assert!(
            matches!(reloads.recv().unwrap(), Reload::Refused(why) if why.contains("`corp.cedar`, line 1"))
        );
        assert_eq!(effect(), Effect::Allow);
        write(folder.path(), "corp.cedar", &POLICIES.replace("payments", "finance"));
        assert!(matches!(reloads.recv().unwrap(), Reload::Applied(_)));
        assert_eq!(effect(), Effect::Block);
        fs::remove_file(folder.path().join("corp.entities.json")).unwrap();
        assert!(matches!(reloads.recv().unwrap(), Reload::Refused(_)));
        assert_eq!(effect(), Effect::Block);
    }

    #[test]
    fn problems_of_files_have_their_places() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        write(
            folder.path(),
            "corp.cedar",
            "permit (principal, action, resource);\nforbid (principal, action);",
        );
        let broken = error(folder.path());
        assert!(
            broken.contains("corp.yaml:6:18") && broken.contains("`corp.cedar`, line 2, column "),
            "{broken}"
        );
        fs::remove_file(folder.path().join("corp.cedar")).unwrap();
        let missing = error(folder.path());
        assert!(missing.contains("could not read") && missing.contains("corp.cedar"), "{missing}");
        assert!(missing.contains("name a file relative to this one"), "{missing}");
        for (text, part) in [
            (PACK.replace("agent.id", "agnt.id"), "has braces without a known name"),
            (PACK.replace("agent.id", "agent.idd"), "unknown name"),
            (PACK.replace("tool.args", "tool.name ==="), "corp.yaml:11"),
            (PACK.replace("Agent::", "{agent.role}::"), "is not an entity"),
        ] {
            files(folder.path());
            write(folder.path(), "corp.yaml", &text);
            let wrong = error(folder.path());
            assert!(wrong.contains(part), "{wrong}");
        }
    }

    #[test]
    fn agents_cannot_change_the_policies() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let engine = engine(folder.path());
        for name in ["corp.cedar", "corp.entities.json", "corp.yaml"] {
            let path = folder.path().join(name).display().to_string();
            let denied = engine.decide(call("ann", "Write", json!({"file_path": path, "content": ""})));
            assert_eq!(
                (denied.effect, denied.by.as_deref()),
                (Effect::Block, Some("self-protection")),
                "{name}"
            );
        }
    }

    #[test]
    fn effect_and_on_error_apply() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        for (keys, denied, failed) in [
            ("effect: warn", Effect::Warn, Effect::Block),
            ("effect: escalate", Effect::Escalate, Effect::Block),
            ("effect: warn\n    on_error: allow", Effect::Warn, Effect::Warn),
            ("effect: halt\n    on_error: allow", Effect::Halt, Effect::Halt),
            ("on_error: escalate", Effect::Block, Effect::Block),
        ] {
            write(folder.path(), "corp.yaml", &format!("{PACK}    {keys}\n"));
            let decide = |args| {
                let decision = engine(folder.path()).decide(call("ann", "deploy", args));
                decision.effect
            };
            assert_eq!(decide(json!({"target": "prod"})), denied, "{keys}");
            assert_eq!(decide(json!({})), failed, "{keys}");
        }
    }

    /// The verdict of the guardrail is added to the others, wherever it is declared.
    #[test]
    fn order_never_changes_the_effect() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        let others =
            "\n  - {id: nag, tools: '*', effect: warn}\n  - {id: ask, tools: refund, effect: escalate}\n";
        let with_order = |is_first: bool| {
            let (head, own) = PACK.split_once("  - id: corporate").unwrap();
            let own = format!("  - id: corporate{own}");
            let text = if is_first {
                format!("{head}{own}{others}")
            } else {
                format!("{head}{}{own}", &others[1..])
            };
            write(folder.path(), "corp.yaml", &text);
            engine(folder.path())
        };
        let without: Arc<Engine> = {
            write(folder.path(), "corp.yaml", &format!("pack: p\nguardrails:{others}"));
            engine(folder.path())
        };
        let engines = [with_order(true), with_order(false)];
        for (agent, tool, args) in [
            ("ann", "refund", json!({})),
            ("bob", "refund", json!({})),
            ("ann", "deploy", json!({"target": "prod"})),
            ("ann", "deploy", json!({})),
            ("ann", "Read", json!({"a": null})),
        ] {
            let [first, second] =
                engines.clone().map(|engine| engine.decide(call(agent, tool, args.clone())).effect);
            assert_eq!(first, second, "{agent} {tool}");
            assert!(without.decide(call(agent, tool, args)).effect <= first);
        }
        let entries = |engine: &Engine| engine.policy().entries().iter().map(id).collect::<Vec<_>>();
        fn id(entry: &PolicyEntry) -> String {
            entry.spec.id.to_string()
        }
        assert_eq!(entries(&engines[0]).len(), entries(&engines[1]).len());
    }

    /// The feature enables `preserve_order` of serde_json. Digests do not depend on it.
    #[test]
    fn order_of_keys_changes_neither_revisions_nor_approvals() {
        let pack = |with: &str| {
            let text = format!("pack: p\nguardrails:\n  - {{use: safety-002, with: {with}}}\n");
            let documents = midrail::pack::PackDocument::read("p.yaml", &text, None).unwrap();
            let documents: Vec<_> =
                documents.into_iter().map(|document| (midrail::pack::Layer::Project, document)).collect();
            midrail::pack::compile_policy(&documents).unwrap().0.revision().to_owned()
        };
        assert_eq!(pack("{paths: [a], except: [b]}"), pack("{except: [b], paths: [a]}"));
        let text = |args: &str| {
            let event: Event = serde_json::from_str(&format!(
                r#"{{"kind": "before_tool", "tool": {{"name": "x", "args": {args}}}}}"#
            ))
            .unwrap();
            midrail::core::action_text(&event, "s")
        };
        assert_eq!(text(r#"{"b": {"d": 1, "c": 2}, "a": 3}"#), text(r#"{"a": 3, "b": {"c": 2, "d": 1}}"#));
    }
}
