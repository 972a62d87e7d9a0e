//! Commands of packs, run by the real engine on a real disk.

use std::fs;
use std::sync::Arc;

use midrail::reproduce::{Reproduction, ReproductionResult};
use midrail::{Decision, Effect, Engine, Event, EventKind};
use serde_json::json;

use crate::sessions::policy;

struct World {
    folder: tempfile::TempDir,
    engine: Arc<Engine>,
}

impl World {
    fn of(guardrails: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let (policy, source) = policy(&format!("pack: t\nguardrails:\n{guardrails}"));
        let engine = Engine::builder(policy, &source).root(folder.path().join("root")).build().unwrap();
        World { folder, engine: Arc::new(engine) }
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join("root").join(name), content).unwrap();
    }

    fn before(&self, tool: &str) -> Decision {
        self.engine.session("s").decide(Event::before_tool(tool, json!({})))
    }

    fn stop(&self) -> Decision {
        self.engine.session("s").decide(Event::new(EventKind::BeforeStop))
    }

    /// How often a command ran that counts in the folder above the root.
    fn count(&self) -> usize {
        fs::read_to_string(self.folder.path().join("count")).unwrap_or_default().lines().count()
    }
}

#[test]
fn the_exit_code_of_a_real_command_decides() {
    let world = World::of("  - {use: command, with: {run: \"echo why; test -e good\"}}\n");
    let decision = world.before("t");
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("exited with code 1") && decision.reason.ends_with("why"));
    world.write("good", "");
    assert_eq!(world.before("t").effect, Effect::Allow);
}

#[test]
fn a_command_out_of_time_blocks() {
    let world = World::of("  - {use: command, with: {run: sleep 60, timeout: 100ms}}\n");
    let decision = world.before("t");
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("did not end within 100ms"), "{}", decision.reason);
    let world = World::of("  - {use: command, with: {run: sleep 60, timeout: 100ms}, on_error: allow}\n");
    assert_eq!(world.before("t").effect, Effect::Allow);
}

#[test]
fn tests_run_only_when_files_changed() {
    let world = World::of(
        "  - {use: quality-003, with: {run: \"echo ran >> ../count; test ! -e bad.rs\", files: [\"*.rs\"]}}\n",
    );
    world.write("a.rs", "1");
    assert_eq!(world.stop().effect, Effect::Allow);
    assert_eq!(world.stop().effect, Effect::Allow);
    world.write("notes.txt", "1");
    assert_eq!((world.stop().effect, world.count()), (Effect::Allow, 1));
    world.write("bad.rs", "1");
    assert_eq!((world.stop().effect, world.count()), (Effect::Escalate, 2));
    assert_eq!((world.stop().effect, world.count()), (Effect::Escalate, 2));
    fs::remove_file(world.folder.path().join("root/bad.rs")).unwrap();
    assert_eq!((world.stop().effect, world.count()), (Effect::Allow, 3));
    // Another session has seen no run yet.
    let other = world.engine.session("other").decide(Event::new(EventKind::BeforeStop));
    assert_eq!((other.effect, world.count()), (Effect::Allow, 4));
}

#[test]
fn one_command_of_two_guardrails_runs_once() {
    let world = World::of(
        "  - {id: a, use: command, with: {run: echo ran >> ../count}}\n  - {id: b, use: command, with: {run: echo ran >> ../count}}\n",
    );
    assert_eq!((world.before("t").effect, world.count()), (Effect::Allow, 1));
}

#[test]
fn commands_of_one_event_run_at_the_same_time() {
    // Each waits for the other, so that one after the other they would run out of time.
    let wait = |own: &str, other: &str| format!("touch {own}; while [ ! -e {other} ]; do sleep 0.01; done");
    let world = World::of(&format!(
        "  - {{id: a, use: command, with: {{run: \"{}\"}}}}\n  - {{id: b, use: command, with: {{run: \"{}\"}}}}\n",
        wait("x", "y"),
        wait("y", "x")
    ));
    assert_eq!(world.before("t").effect, Effect::Allow);
}

#[test]
fn a_call_that_is_stopped_anyway_runs_nothing() {
    let world = World::of(
        "  - {id: no, use: tool-allowlist, with: {deny: [x]}, effect: block}\n  - {use: command, with: {run: echo ran >> ../count}}\n  - read_before_write\n",
    );
    let decision = world.before("x");
    assert_eq!((decision.effect, world.count()), (Effect::Block, 0));
    let skipped = decision.verdicts.iter().any(|said| &*said.guardrail == "command" && said.skipped);
    assert!(skipped, "{:?}", decision.verdicts);
    assert_eq!((world.before("y").effect, world.count()), (Effect::Allow, 1));
}

#[test]
fn command_output_is_recorded_without_secrets_and_replays() {
    let world = World::of(
        "  - {use: command, with: {run: \"echo key AKIA''ABCDEFGHIJKLMNOP; echo seen; exit 4\"}}\n",
    );
    let decision = world.before("t");
    assert!(!decision.reason.contains("AKIAABCDEFGHIJKLMNOP"), "{}", decision.reason);
    let entry = world.engine.store().entry(decision.audit.0.unwrap().seq).unwrap().unwrap();
    assert!(entry.body.contains("seen") && !entry.body.contains("AKIAABCDEFGHIJKLMNOP"), "{}", entry.body);
    let again = Reproduction::new(&**world.engine.store()).reproduce(&entry.record().unwrap()).unwrap();
    assert_eq!(again, Some(ReproductionResult::Same));
}
