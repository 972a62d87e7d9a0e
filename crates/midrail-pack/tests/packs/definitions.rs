//! Definitions of agents and tasks: what they limit, and the guardrails that are bound to them or to a section.

use midrail_core::{Effect, Event};
use serde_json::{Value, json};

use crate::world::{World, call_by, refused};

fn event(value: Value) -> Event {
    serde_json::from_value(value).unwrap()
}

#[test]
fn guardrail_of_a_definition_applies_to_its_agent() {
    let mut world = World::of(
        "pack: p\nagents:\n  tester:\n    guardrails:\n      - {id: no-deploy, tools: deploy}\n  by-id:\n    id: [bot-*]\n    guardrails:\n      - {id: no-merge, tools: merge}\n",
    );
    for (id, role, tool, expected) in [
        ("x", "tester", "deploy", Effect::Block),
        ("x", "implementer", "deploy", Effect::Allow),
        ("bot-1", "any", "merge", Effect::Block),
        ("human", "any", "merge", Effect::Allow),
    ] {
        assert_eq!(world.decide(&call_by(id, role, tool, json!({}))).effect, expected, "{id} {role} {tool}");
    }
    // An agent that is not named might be any.
    assert_eq!(world.effect("deploy", json!({})), Effect::Block);
}

const SECTIONS: &str = "pack: p
agents:
  dev:
    sections:
      files:
        tools: [fs_write, fs_read]
        guardrails:
          - {id: files-first, sequential: {'*': plan}}
";

#[test]
fn section_applies_to_its_tools_and_observes_all_results() {
    let mut world = World::of(SECTIONS);
    assert_eq!(world.effect("fs_write", json!({})), Effect::Block);
    assert_eq!(world.effect("git_commit", json!({})), Effect::Allow);
    // `plan` is no tool of the section, and satisfies it all the same.
    assert_eq!(world.effect("plan", json!({})), Effect::Allow);
    world.succeed("plan", json!({}));
    assert_eq!(world.effect("fs_write", json!({})), Effect::Allow);
}

#[test]
fn tools_of_a_guardrail_narrow_those_of_its_section() {
    let with =
        |tools: &str| SECTIONS.replace("{id: files-first,", &format!("{{id: files-first, tools: {tools},"));
    let mut world = World::of(&with("'*_write'"));
    assert_eq!(world.effect("fs_read", json!({})), Effect::Allow);
    assert_eq!(world.effect("fs_write", json!({})), Effect::Block);
    assert_eq!(world.effect("db_write", json!({})), Effect::Allow);
    let report = refused(&with("[git_commit]"));
    assert!(report.contains("`git_commit` is not a tool of this section"), "{report}");
    assert!(report.contains("the tools of the section are fs_write, fs_read"), "{report}");
    let report = refused(
        "pack: p\nagents:\n  dev:\n    sections:\n      s: {tools: [], guardrails: [read_before_write]}\n",
    );
    assert!(report.contains("a section needs tools"), "{report}");
}

#[test]
fn allowed_tools_of_definition_and_host_both_apply() {
    let mut world = World::of(
        "pack: p\nagents:\n  tester: {allowed_tools: [Read, 'mcp__*'], additional_tools: [lint]}\n  idle: {allowed_tools: []}\n",
    );
    for (role, tool, expected) in [
        ("tester", "Read", Effect::Allow),
        ("tester", "mcp__db__query", Effect::Allow),
        ("tester", "lint", Effect::Allow),
        ("tester", "Write", Effect::Block),
        ("idle", "Read", Effect::Block),
        ("other", "Write", Effect::Allow),
    ] {
        assert_eq!(world.decide(&call_by("a", role, tool, json!({}))).effect, expected, "{role} {tool}");
    }
    let host = event(json!({
        "kind": "before_tool", "tool": {"name": "Read"}, "agent": {"role": "tester", "allowed_tools": ["Write"]},
    }));
    assert_eq!(world.decide(&host).effect, Effect::Block);
}

#[test]
fn lowest_budget_applies() {
    let mut world = World::of(
        "pack: p\nagents:\n  tester: {token_budget: 1000, time_budget: 10m}\ntasks:\n  t-1: {token_budget: 100}\n  nightly: {id: 'n-*', token_budget: 50}\n",
    );
    let mut effect = |role: &str, task: &str, budget: u64, tokens: u64| {
        world
            .decide(&event(json!({
                "kind": "before_tool", "tool": {"name": "t"}, "agent": {"role": role},
                "task": {"id": task, "token_budget": budget}, "usage": {"tokens": tokens, "elapsed_s": 1.0},
            })))
            .effect
    };
    assert_eq!(effect("other", "t-2", 10_000, 4_000), Effect::Allow);
    assert_eq!(effect("tester", "t-2", 10_000, 5_000), Effect::Block);
    assert_eq!(effect("other", "t-1", 10_000, 100), Effect::Block);
    assert_eq!(effect("tester", "t-1", 10, 10), Effect::Block);
    assert_eq!(effect("other", "n-7", 10_000, 50), Effect::Block);
    assert_eq!(effect("tester", "t-2", 10_000, 639), Effect::Allow);
    let late = event(json!({
        "kind": "before_tool", "tool": {"name": "t"}, "agent": {"role": "tester"}, "usage": {"elapsed_s": 600.0},
    }));
    assert_eq!(world.decide(&late).by.as_deref(), Some("builtin-002"));
}

#[test]
fn scopes_of_agent_and_task_both_apply() {
    let mut world = World::of(
        "pack: p\nagents:\n  dev: {scope: {files: {write: ['src/**', 'docs/**']}}}\ntasks:\n  t: {scope: {files: {write: 'src/**', deny: ['**/.env']}}}\nguardrails:\n  - {id: same, effect: warn, check: action.target_files none match task.scope.files.deny patterns}\n",
    );
    let mut write = |path: &str| {
        let call = event(json!({
            "kind": "before_tool", "tool": {"name": "Write", "args": {"file_path": path}},
            "agent": {"role": "dev"}, "task": {"id": "t", "scope": {"files": {"deny": ["**/*.key"]}}},
        }));
        world.decide(&call)
    };
    assert_eq!(write("src/a.rs").effect, Effect::Allow);
    assert_eq!(write("docs/a.md").effect, Effect::Block);
    // An expression sees the deny lists of the event and of the definitions as one.
    for path in ["src/.env", "src/a.key"] {
        let decision = write(path);
        assert_eq!(decision.by.as_deref(), Some("builtin-003"), "{path}");
    }
}

#[test]
fn problems_in_definitions_are_located() {
    let report = refused(
        "pack: p\nagents:\n  dev:\n    task_ids: ['t-[']\n    allowed_tools: ['{a']\n    scope: {files: {writes: [x]}}\n",
    );
    assert!(report.contains("unknown key `writes`") && report.contains("did you mean `write`?"), "{report}");
    assert!(report.contains("pack.yaml:4:16") && report.contains("pack.yaml:5:21"), "{report}");
}

#[test]
fn completion_in_a_definition_is_a_separate_guardrail() {
    let source = "pack: p\nagents:\n  writer:\n    completion: {files: [a.txt], max_attempts: 1, on_exhausted: block}\n  coder:\n    completion: {files: [b.txt], id: mine}\n";
    let stop = |role: &str| event(json!({"kind": "before_stop", "agent": {"role": role}}));
    let mut world = World::of(source);
    let decision = world.decide(&stop("writer"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Retry, Some("completion:writer")));
    assert_eq!(world.decide(&stop("writer")).effect, Effect::Block);
    let decision = world.decide(&stop("coder"));
    assert_eq!((decision.by.as_deref(), decision.retry.unwrap().max_attempts), (Some("mine"), 10));
    assert_eq!(world.decide(&stop("other")).effect, Effect::Allow);
    assert_eq!(World::of(source).with_file("a.txt", "").decide(&stop("writer")).effect, Effect::Allow);
    // What is kept of a pack is read back as the same.
    let pack = crate::world::read("p.yaml", source).remove(0).pack;
    let written = serde_json::to_value(&pack).unwrap();
    assert_eq!(serde_json::from_value::<midrail_pack::Pack>(written).unwrap(), pack);
}

#[test]
fn earliest_deadline_of_pack_agent_task_and_event_applies() {
    let source = "pack: p\ndeadline: 2026-11-15T18:00:00Z\nagents:\n  dev: {deadline: 2h}\ntasks:\n  t: {deadline: 90m}\n";
    let call = |time: &str, role: &str, task: &str| {
        let time = format!("2026-11-15T{time}Z");
        event(
            json!({"kind": "before_tool", "time": time, "agent": {"role": role}, "task": {"id": task}, "tool": {"name": "x"}}),
        )
    };
    let mut world = World::of(source);
    let mut halts = |event: &Event| world.decide(event).autonomy == Some(midrail_core::Autonomy::Halt);
    assert!(!halts(&call("10:00:00", "other", "other")));
    assert!(!halts(&call("11:29:59", "dev", "t")));
    assert!(halts(&call("11:30:00", "dev", "t")));
    assert!(!halts(&call("11:59:59", "dev", "other")));
    assert!(halts(&call("12:00:00", "dev", "other")));
    assert!(!halts(&call("17:59:59", "other", "other")));
    assert!(halts(&call("18:00:00", "other", "other")));
    let mut early = call("10:30:00", "other", "other");
    early.deadline = Some("2026-11-15T10:30:00Z".parse().unwrap());
    assert!(halts(&early));
    let pack = crate::world::read("p.yaml", source).remove(0).pack;
    let written = serde_json::to_value(&pack).unwrap();
    assert_eq!(serde_json::from_value::<midrail_pack::Pack>(written).unwrap(), pack);
    for wrong in ["soon", "-1", "[]", "2026-13-01T00:00:00Z"] {
        assert!(refused(&format!("pack: p\ndeadline: {wrong}\n")).contains("a duration such as"), "{wrong}");
    }
}

#[test]
fn budgets_of_a_pack_apply_to_every_run() {
    let source = "pack: p\ndeadline: 2h\nbudgets: {tokens: 1000, time: 1h, api_calls: 5, cost: 2.5}\nagents:\n  dev: {token_budget: 100}\n";
    let call = |role: &str, usage: Value| {
        event(json!({"kind": "before_tool", "agent": {"role": role}, "usage": usage, "tool": {"name": "x"},
                     "time": "2026-11-15T10:00:00Z", "task": {"token_budget": 5_000}}))
    };
    let mut world = World::of(source);
    let mut halts =
        |role, usage| world.decide(&call(role, usage)).autonomy == Some(midrail_core::Autonomy::Halt);
    let whole = json!({"tokens": 999, "elapsed_s": 3_599.0, "api_calls": 4, "cost": 2.49});
    assert!(!halts("other", whole.clone()));
    assert!(halts("dev", whole));
    for used in [
        json!({"tokens": 1_000, "elapsed_s": 1.0}),
        json!({"elapsed_s": 3_600.0}),
        json!({"elapsed_s": 1.0, "api_calls": 5}),
        json!({"elapsed_s": 1.0, "cost": 2.5}),
    ] {
        assert!(halts("other", used.clone()), "{used}");
    }
    let pack = crate::world::read("p.yaml", source).remove(0).pack;
    let written = serde_json::to_value(&pack).unwrap();
    assert_eq!(serde_json::from_value::<midrail_pack::Pack>(written).unwrap(), pack);
}

#[test]
fn invalid_amounts_and_texts_are_rejected_and_located() {
    for (source, at, words) in [
        ("pack: p\nagents:\n  dev: {cost_budget: .nan}\n", "3:22", "finite number"),
        ("pack: p\ntasks:\n  t: {cost_budget: -1}\n", "3:20", "finite number"),
        ("pack: p\nbudgets: {cost: .inf}\n", "2:17", "finite number"),
        ("pack: p\nbudgets: {time: 0x}\n", "2:17", "duration"),
        ("pack: p\nbudgets: {token: 5}\n", "2:11", "did you mean `tokens`"),
        ("pack: p\nguardrails:\n  - completion: {files: [a, \"\"]}\n", "3:29", "the file name is empty"),
        (
            "pack: p\nguardrails:\n  - {completion: {files: [a]}, \"on\": before_tool}\n",
            "3:38",
            "`completion` cannot check `before_tool`",
        ),
        ("pack: p\nguardrails:\n  - feedback: {static: x, every_n_calls: 0}\n", "3:42", "0"),
        (
            "pack: p\nguardrails:\n  - feedback: {static: x, every_n_seconds: 0}\n",
            "3:44",
            "the interval must be longer than zero",
        ),
        (
            "pack: p\nguardrails:\n  - feedback: {static: \"\", every_n_calls: 1}\n",
            "3:24",
            "`static` is empty",
        ),
        (
            "pack: p\nguardrails:\n  - feedback: {static: x, on_file_created: \"\"}\n",
            "3:44",
            "`on_file_created` is empty",
        ),
    ] {
        let report = refused(source);
        assert!(report.contains(&format!("pack.yaml:{at}")) && report.contains(words), "{source}\n{report}");
        assert!(report.contains("help"), "{source}\n{report}");
    }
}

#[test]
fn lower_layer_does_not_replace_unnamed_feedback() {
    let pack =
        |text: &str| format!("pack: same\nguardrails:\n  - feedback: {{static: {text}, every_n_calls: 1}}\n");
    let (upper, lower) = (pack("above"), pack("below"));
    let documents = crate::world::in_layers(&[
        (midrail_pack::Layer::Organisation, "org.yaml", &upper),
        (midrail_pack::Layer::Project, "p.yaml", &lower),
    ]);
    let (policy, _) = midrail_pack::compile_policy(&documents).unwrap();
    let ids: Vec<&str> =
        policy.entries().iter().map(|entry| &*entry.spec.id).filter(|id| id.starts_with("same:")).collect();
    assert_eq!(ids, ["same:static", "same:static@same"]);
}
