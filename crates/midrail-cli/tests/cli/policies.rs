//! `midrail import --policy` and `midrail export --policy`.

use serde_json::{Value, json};

use crate::world::World;

const SETTINGS: &str = r#"{"permissions": {"deny": ["Bash(git push:*)", "Read(./secrets/**)"], "allow": ["Bash(cargo test:*)", "Write(a)"]}}"#;

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Without files, those of the project and of the user are read, and the pack decides.
#[test]
fn the_usual_files_are_imported_and_the_pack_decides() {
    let world = World::new();
    world.write(".claude/settings.json", SETTINGS);
    world.write("../.claude/settings.json", r#"{"permissions": {"deny": ["Bash(nc:*)"]}}"#);
    let ended = world.run(&["import", "--policy", "claude-code"]).code(0);
    assert!(ended.out.starts_with("# The permission rules of Claude Code"), "{}", ended.out);
    assert!(ended.err.contains("taken: 1 rule\nstricter: 3 rules\n"), "{}", ended.err);
    assert!(ended.err.contains("dead in the original: 1 rule\n"), "{}", ended.err);
    world.write(".midrail/imported.yaml", &ended.out);
    for (command, code) in [("git push", 2), ("nc -l 1", 2), ("cat secrets/a", 2), ("cargo test", 0)] {
        let event = json!({"kind": "before_tool", "tool": {"name": "Bash", "args": {"command": command}}});
        world.check(&event).code(code);
    }
    let lint = world.run(&["lint"]).code(0);
    assert!(lint.out.contains("cannot vouch for itself [vouch-of-project]"), "{}", lint.out);
}

#[test]
fn json_has_the_pack_and_the_report() {
    let world = World::new();
    let file = world.write("settings.json", SETTINGS);
    let ended = world.run(&["import", "--policy", "claude-code", &file, "--json"]).code(0);
    let json = json_of(&ended.out);
    assert_eq!(json["host"], "claude-code");
    assert_eq!(json["pack"]["vouch"]["commands"], json!(["cargo test"]));
    assert_eq!(json["dead"][0]["rule"], "Write(a)");
    assert!(json["yaml"].as_str().unwrap().contains("git push"));
    assert_eq!(json["stricter"].as_array().unwrap().len(), 2);
}

#[test]
fn a_pack_is_written_to_a_file() {
    let world = World::new();
    let file = world.write(
        "team.rules",
        "prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\", match=[\"git push\"])\n",
    );
    let ended = world.run(&["import", "--policy", "codex", &file, "--write", "pack.yaml"]).code(0);
    assert_eq!(ended.out, "");
    assert!(world.read("pack.yaml").contains("command: \"git push\""));
    world.run(&["test", "pack.yaml"]).code(0);
}

#[test]
fn mistakes_on_the_command_line_are_explained() {
    let world = World::new();
    let ended = world.run(&["import", "--policy", "vim"]).code(1);
    assert!(
        ended.err.contains("the hosts are claude-code, codex, copilot, cursor, gemini, opencode"),
        "{}",
        ended.err
    );
    let ended = world.run(&["import", "--policy", "codex"]).code(1);
    assert!(ended.err.contains("found no permission rules of Codex"), "{}", ended.err);
    let ended = world.run(&["import", "--policy", "codex", "no.rules"]).code(1);
    assert!(ended.err.contains("does not exist"), "{}", ended.err);
}

#[test]
fn a_file_without_rules_is_an_error() {
    let world = World::new();
    world.write("empty.json", "{}");
    let ended =
        world.run(&["import", "--policy", "claude-code", "empty.json", "--write", "pack.yaml"]).code(1);
    assert!(ended.err.contains("found no permission rules of Claude Code in `empty.json`"), "{}", ended.err);
    assert!(!world.project().join("pack.yaml").exists(), "a pack without rules protects nothing");
}

#[test]
fn a_pack_is_exported_without_the_default_pack() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: pushes, command: git push, effect: block}\n  - {id: slow, use: safety-001}\nvouch: {commands: [ls]}\n",
    );
    let ended = world.run(&["export", "--policy", "claude-code"]).code(0);
    let rules = json!({"permissions": {"deny": ["Bash(git push:*)"], "allow": ["Bash(ls:*)"]}});
    assert_eq!(json_of(&ended.out), rules);
    assert!(ended.err.contains("written: 2 rules for .claude/settings.json"), "{}", ended.err);
    assert!(ended.err.contains("cannot be expressed: 1 rule"), "{}", ended.err);
    let json = json_of(&world.run(&["export", "--policy", "codex", "--json"]).code(0).out);
    assert_eq!(json["left_out"][0]["rule"], "slow");
}

/// Settings contain more than rules.
#[test]
fn an_export_replaces_no_file() {
    let world = World::with_pack("pack: p\nvouch: {commands: [ls]}\n");
    world.write("settings.json", "{}");
    let ended = world.run(&["export", "--policy", "claude-code", "--write", "settings.json"]).code(1);
    assert!(ended.err.contains("add its rules to this one"), "{}", ended.err);
    assert_eq!(world.read("settings.json"), "{}");
    world.run(&["export", "--policy", "claude-code", "--write", "new.json"]).code(0);
    assert!(world.read("new.json").contains("Bash(ls:*)"));
}
