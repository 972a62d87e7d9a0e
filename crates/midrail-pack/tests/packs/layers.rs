//! Several packs as one policy: what replaces what, what is locked, what is always on, and when the revision changes.

use midrail_core::{Effect, Event};
use midrail_pack::{Layer, PolicySource, compile_policy};
use serde_json::json;

use crate::world::{World, in_layers, policy_of, project, read, read_in, refused};

const ORGANISATION: &str =
    "pack: org\nguardrails:\n  - {id: no-deploy, tools: deploy, reason: Not on Fridays.}\n";

fn effect_under(packs: &[(Layer, &str, &str)], tool: &str) -> (Effect, Option<String>) {
    let decision = World::under(&in_layers(packs)).before(tool, json!({}));
    (decision.effect, decision.by.map(|by| by.to_string()))
}

#[test]
fn lower_layer_replaces_unlocked_guardrails() {
    let project = "pack: mine\nguardrails:\n  - {id: no-deploy, tools: deploy, effect: warn}\n";
    let packs = [(Layer::Organisation, "org.yaml", ORGANISATION), (Layer::Project, "mine.yaml", project)];
    assert_eq!(effect_under(&packs, "deploy"), (Effect::Warn, Some("no-deploy".to_owned())));
    // The order in which packs are given does not matter, only their layers do.
    let turned = [packs[1], packs[0]];
    assert_eq!(effect_under(&turned, "deploy"), (Effect::Warn, Some("no-deploy".to_owned())));
    assert_eq!(policy_of(&in_layers(&packs)).revision(), policy_of(&in_layers(&turned)).revision());
}

#[test]
fn lower_layer_can_disable_unlocked_guardrails() {
    let project = "pack: mine\nguardrails:\n  - {id: no-deploy, enabled: false}\n";
    let packs = [(Layer::Organisation, "org.yaml", ORGANISATION), (Layer::Project, "mine.yaml", project)];
    assert_eq!(effect_under(&packs, "deploy"), (Effect::Allow, None));
}

#[test]
fn locked_guardrail_cannot_be_loosened() {
    let locked = format!("{ORGANISATION}lock: true\n");
    for (project, line, column) in [
        ("pack: mine\nguardrails:\n  - {id: no-deploy, enabled: false}\n", 3, 30),
        ("pack: mine\nguardrails:\n  - {id: no-deploy, mode: shadow}\n", 3, 27),
        ("pack: mine\nmode: shadow\nguardrails:\n  - id: no-deploy\n    tools: deploy\n", 4, 5),
    ] {
        let documents =
            in_layers(&[(Layer::Organisation, "org.yaml", &locked), (Layer::Project, "mine.yaml", project)]);
        let Err(reports) = compile_policy(&documents) else { panic!("{project} was accepted") };
        assert_eq!(reports.len(), 1);
        let problem = &reports[0].plain()[0];
        assert_eq!(problem.message, "`no-deploy` is locked by the organisation pack `org`");
        assert!(problem.help.as_deref().unwrap().contains("not disable it"));
        assert_eq!((problem.file.as_str(), problem.line, problem.column), ("mine.yaml", line, column));
    }
}

#[test]
fn additions_to_a_locked_guardrail_apply() {
    let locked = format!("{ORGANISATION}lock: true\n");
    let project = "pack: mine\nguardrails:\n  - {id: no-deploy, tools: [build], effect: halt}\n";
    let packs = [(Layer::Organisation, "org.yaml", locked.as_str()), (Layer::Project, "mine.yaml", project)];
    assert_eq!(effect_under(&packs, "deploy"), (Effect::Block, Some("no-deploy".to_owned())));
    assert_eq!(effect_under(&packs, "build"), (Effect::Halt, Some("no-deploy@mine".to_owned())));
}

#[test]
fn required_guardrail_cannot_be_replaced() {
    let org = "pack: org\nguardrails:\n  - {id: fraud, tools: refund, effect: block}\n\
        risk_router: {require: {critical: [fraud]}}\ntool_risks: {refund: critical, pay: critical}\n";
    let under = |project: &'static str| {
        [(Layer::Organisation, "org.yaml", org), (Layer::Project, "mine.yaml", project)]
    };
    // One that has its id stands beside it.
    let replaces = under("pack: mine\nguardrails:\n  - {id: fraud, tools: other, effect: warn}\n");
    for tool in ["refund", "pay"] {
        assert_eq!(effect_under(&replaces, tool), (Effect::Block, Some("fraud".to_owned())), "{tool}");
    }
    assert_eq!(effect_under(&replaces, "other"), (Effect::Warn, Some("fraud@mine".to_owned())));
    for project in [
        "pack: mine\nguardrails:\n  - {id: fraud, enabled: false}\n",
        "pack: mine\nguardrails:\n  - {id: fraud, mode: shadow, tools: refund}\n",
    ] {
        let Err(reports) = compile_policy(&in_layers(&under(project))) else {
            panic!("{project} was accepted")
        };
        let problem = &reports[0].plain()[0];
        assert_eq!(problem.message, "`fraud` is required by the organisation pack `org`");
        assert_eq!((problem.file.as_str(), problem.line), ("mine.yaml", 3));
    }
    // Nor is the time that it has.
    let hasty = under(
        "pack: mine\nrisk_router: {critical_risk_wait_ms: 0, high_risk_wait_ms: 0, on_timeout: {critical: allow}}\n",
    );
    let policy = policy_of(&in_layers(&hasty));
    let tier = &policy.routing().critical;
    assert_eq!((tier.wait_ms, tier.on_timeout), (200, Effect::Halt));
    assert_eq!(policy.routing().high.wait_ms, 0, "the project sets what no layer requires");
    let patient = under("pack: mine\nrisk_router: {critical_risk_wait_ms: 900}\n");
    assert_eq!(policy_of(&in_layers(&patient)).routing().critical.wait_ms, 900);
    // Who requires it may change it.
    let own = "pack: mine\nguardrails:\n  - {id: fraud, tools: other, effect: warn}\n\
        risk_router: {require: {critical: [fraud]}}\n";
    let plain = org.replace("risk_router: {require: {critical: [fraud]}}\n", "");
    let packs = [(Layer::Organisation, "org.yaml", plain.as_str()), (Layer::Project, "mine.yaml", own)];
    assert_eq!(effect_under(&packs, "refund"), (Effect::Warn, Some("fraud".to_owned())));
}

#[test]
fn packs_with_the_same_name_keep_all_guardrails() {
    let locked = format!("{ORGANISATION}lock: true\n");
    let more = |tool: &str| format!("pack: same\nguardrails:\n  - {{id: no-deploy, tools: {tool}}}\n");
    let (one, two, three) = (more("a"), more("b"), more("c"));
    let packs = [
        (Layer::Organisation, "org.yaml", locked.as_str()),
        (Layer::User, "1.yaml", one.as_str()),
        (Layer::Project, "2.yaml", two.as_str()),
        (Layer::Project, "3.yaml", three.as_str()),
    ];
    for tool in ["deploy", "b", "c"] {
        assert_eq!(effect_under(&packs, tool).0, Effect::Block, "{tool}");
    }
    // The user's is not locked, and so the project's replaced it.
    assert_eq!(effect_under(&packs, "a").0, Effect::Allow);
}

#[test]
fn two_packs_of_one_layer_both_apply() {
    let other = "pack: other\nguardrails:\n  - {id: no-deploy, tools: build}\n";
    let packs = [(Layer::Project, "a.yaml", ORGANISATION), (Layer::Project, "b.yaml", other)];
    assert_eq!(effect_under(&packs, "deploy"), (Effect::Block, Some("no-deploy".to_owned())));
    assert_eq!(effect_under(&packs, "build"), (Effect::Block, Some("no-deploy@other".to_owned())));
}

#[test]
fn pack_replaces_guardrails_of_its_base() {
    let base = read("base.yaml", ORGANISATION).remove(0).as_base_of("mine.yaml");
    let mine =
        "pack: mine\nextends: base.yaml\nguardrails:\n  - {id: no-deploy, tools: deploy, effect: warn}\n";
    let mine = read("mine.yaml", mine).remove(0);
    let documents = [(Layer::Project, base.clone()), (Layer::Project, mine.clone())];
    assert_eq!(World::under(&documents).effect("deploy", json!({})), Effect::Warn);

    // The base of the base is replaced too.
    let middle = "pack: middle\nextends: base.yaml\nguardrails:\n  - {id: other, tools: build}\n";
    let middle = read("middle.yaml", middle).remove(0).as_base_of("mine.yaml");
    let base = read("base.yaml", ORGANISATION).remove(0).as_base_of("middle.yaml");
    let documents = [(Layer::Project, base), (Layer::Project, middle), (Layer::Project, mine)];
    let mut world = World::under(&documents);
    assert_eq!(world.effect("deploy", json!({})), Effect::Warn);
    assert_eq!(world.effect("build", json!({})), Effect::Block);
}

#[test]
fn pack_cannot_loosen_its_locked_base() {
    let locked = format!("{ORGANISATION}lock: true\n");
    let base = read("base.yaml", &locked).remove(0).as_base_of("mine.yaml");
    let mine = "pack: mine\nextends: base.yaml\nguardrails:\n  - {id: no-deploy, enabled: false}\n";
    let documents = [(Layer::Project, base), (Layer::Project, read("mine.yaml", mine).remove(0))];
    assert!(compile_policy(&documents).is_err());
}

#[test]
fn enforced_copy_replaces_a_higher_one_in_shadow_mode() {
    let shadow = format!("{ORGANISATION}mode: shadow\n");
    let packs =
        [(Layer::Organisation, "org.yaml", shadow.as_str()), (Layer::Project, "p.yaml", ORGANISATION)];
    assert_eq!(effect_under(&packs, "deploy").0, Effect::Block);
}

#[test]
fn overlay_is_merged_deeply() {
    let source = "pack: p\nmode: shadow\nguardrails:\n  - {id: a, tools: [x, y], reason: no}\n  - {id: b, tools: z}\nenv:\n  \
                  prod:\n    mode: enforce\n    guardrails:\n      - {id: a, tools: [x]}\n      - {id: c, tools: w}\n";
    let effects = |env: Option<&str>| {
        let documents: Vec<_> =
            read_in("p.yaml", source, env).into_iter().map(|document| (Layer::Project, document)).collect();
        let mut world = World::under(&documents);
        ["x", "y", "z", "w"].map(|tool| world.effect(tool, json!({})))
    };
    assert_eq!(effects(None), [Effect::Allow; 4]);
    assert_eq!(effects(Some("dev")), [Effect::Allow; 4]);
    assert_eq!(effects(Some("prod")), [Effect::Block, Effect::Allow, Effect::Block, Effect::Block]);
}

#[test]
fn overlay_of_a_policy_pack_is_merged() {
    let source = "policy_pack: p\ngateway: {mode: shadow}\nsync_rules:\n  - {id: injection-patterns}\nenv:\n  prod:\n    \
                  gateway: {mode: enforce}\n    sync_rules:\n      - {id: injection-patterns, enabled: false}\n      - {id: secret-redaction}\n";
    let document = read_in("p.yaml", source, Some("prod")).remove(0);
    let rules: Vec<_> = document
        .pack
        .guardrails
        .iter()
        .map(|guard| (guard.uses.as_deref().unwrap(), guard.enabled))
        .collect();
    assert_eq!(rules, [("injection-patterns", Some(false)), ("secret-redaction", Some(true))]);
    assert_eq!(document.pack.mode, Some(midrail_core::Mode::Enforce));
    // The gateway's own name for the overlays.
    let source = source.replace("env:", "environments:");
    let document = read_in("p.yaml", &source, Some("prod")).remove(0);
    assert_eq!(document.pack.mode, Some(midrail_core::Mode::Enforce));
    let document = read_in("p.yaml", &source, None).remove(0);
    assert_eq!(document.pack.mode, Some(midrail_core::Mode::Shadow));
}

#[test]
fn problem_of_any_overlay_is_reported() {
    let source = "pack: p\nguardrails:\n  - {id: a, check: agent.roll == 'x'}\nenv:\n  prod:\n    guardrails:\n      - {id: a, effect: explode}\n";
    let report = refused(source);
    assert!(report.contains("pack.yaml:3:20") && report.contains("pack.yaml:7:25"), "{report}");
    assert_eq!(report.matches("error:").count(), 2, "{report}");
}

#[test]
fn always_on_built_ins_are_in_every_policy() {
    let call: Event = serde_json::from_value(json!({
        "kind": "before_tool", "tool": {"name": "Write", "args": {"file_path": "docs/a.md"}},
        "agent": {"allowed_tools": ["Write"]}, "task": {"scope": {"files": {"write": ["src/**"]}}},
    }))
    .unwrap();
    for source in [
        "pack: p\n",
        "pack: p\nmode: shadow\nguardrails: [builtin-003]\n",
        "pack: p\ndefaults: {on_error: allow, on_missing: allow}\nguardrails: [builtin-003]\n",
        "pack: p\nguardrails:\n  - {id: copy, use: builtin-003, effect: warn, tools: Edit}\n",
        "pack: p\nguardrails:\n  - {use: builtin-003, reason: Stay in your lane., on: [before_tool, after_tool]}\n",
    ] {
        let decision = World::of(source).decide(&call);
        assert_eq!(
            (decision.effect, decision.by.as_deref()),
            (Effect::Block, Some("builtin-003")),
            "{source}"
        );
    }
    let none = World::under(&[]).decide(&call);
    assert_eq!((none.effect, none.by.as_deref()), (Effect::Block, Some("builtin-003")));
    // What they would have to know and do not fails closed, also in a pack that fails open.
    let blind: Event = serde_json::from_value(json!({
        "kind": "before_tool", "tool": {"name": "apply_patch", "args": {}}, "task": {"scope": {"files": {"write": []}}},
    }))
    .unwrap();
    let open = "pack: p\ndefaults: {on_error: allow, on_missing: allow}\nguardrails: [builtin-003]\n";
    assert_ne!(World::of(open).decide(&blind).effect, Effect::Allow);
}

#[test]
fn built_ins_cannot_be_disabled() {
    for (guard, at) in [
        ("{use: builtin-003, enabled: false}", "3:33"),
        ("{use: builtin-003, mode: shadow}", "3:30"),
        ("{use: builtin-003, when: \"tool.name == 'x'\"}", "3:30"),
        ("{use: builtin-003, tools: x}", "3:31"),
        ("{use: builtin-003, agents: x}", "3:32"),
        ("{use: builtin-003, on: after_tool}", "3:28"),
        ("{use: builtin-003, effect: warn}", "3:32"),
        ("{use: builtin-003, on_error: allow}", "3:34"),
        ("{id: builtin-003, check: \"true\"}", "3:10"),
        ("{id: builtin-003, use: secret-redaction}", "3:10"),
    ] {
        let report = refused(&format!("pack: p\nguardrails:\n  - {guard}\n"));
        assert!(
            report.contains("`builtin-003` is ") && report.contains(&format!("pack.yaml:{at}\n")),
            "{report}"
        );
    }
    let bound = "pack: p\nagents:\n  tester:\n    guardrails:\n      - builtin-003\n";
    assert!(refused(bound).contains("for all agents, not for `tester` only"));
}

#[test]
fn revision_changes_only_with_content() {
    let revision = |source: &str| policy_of(&project(source)).revision().to_string();
    let source = "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: no}\n";
    let same = [
        "# A comment.\npack: p\nguardrails: [{reason: no, id: a, tools: x}]\n",
        "{\"pack\": \"p\", \"guardrails\": [{\"id\": \"a\", \"tools\": [\"x\"], \"reason\": \"no\"}]}",
        "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: no}\ntests:\n  - {id: t}\nenv:\n  prod: {mode: shadow}\n",
    ];
    for other in same {
        assert_eq!(revision(other), revision(source), "{other}");
    }
    let different = [
        "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: yes}\n",
        "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: no, effect: warn}\n",
        "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: no}\nagents: {tester: {token_budget: 5}}\n",
        "pack: p\nguardrails:\n  - {id: a, tools: [x], reason: no}\n  - {id: b}\n",
    ];
    for other in different {
        assert_ne!(revision(other), revision(source), "{other}");
    }
    // The same packs in another folder are the same policy; in another layer they are not.
    let at =
        |layer: Layer, path: &str| policy_of(&in_layers(&[(layer, path, source)])).revision().to_string();
    assert_eq!(at(Layer::Project, "/home/a/p.yaml"), at(Layer::Project, "/home/b/p.yaml"));
    assert_ne!(at(Layer::Project, "p.yaml"), at(Layer::User, "p.yaml"));
}

#[test]
fn policy_is_compiled_again_from_its_source() {
    let documents = in_layers(&[
        (
            Layer::Organisation,
            "org.yaml",
            "pack: org\nlock: true\nguardrails:\n  - {id: a, tools: x, approval_timeout: 15m}\n",
        ),
        (
            Layer::Project,
            "p.yaml",
            "pack: p\nversion: 1.0\ndefaults: {on_error: escalate}\nguardrails:\n  - {id: a, tools: y, check: \"tool.args.n > 3\"}\n  \
             - read_before_write:\n  - require_before: {tool: merge, requires: [a, b], key: {expression: tool.args.pr}}\n  \
             - {sequential: {deploy: [test]}, on: PreToolUse}\nagents:\n  tester: {time_budget: 2h, scope: {files: {write: 'tests/**'}}}\ntests:\n  - {id: t}\n",
        ),
    ]);
    let (policy, source) = compile_policy(&documents).unwrap_or_else(|reports| panic!("{}", reports[0]));
    let again: PolicySource = serde_json::from_str(&source.to_json()).unwrap();
    assert_eq!(again, source);
    let compiled = again.compile().unwrap();
    assert_eq!(compiled.revision(), policy.revision());
    let ids = |policy: &midrail_core::Policy| {
        policy.entries().iter().map(|entry| entry.spec.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&compiled), ids(&policy));
    assert!(again.0.iter().all(|pack| pack.pack.tests.is_empty()));
}
