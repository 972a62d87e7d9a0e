//! `midrail lint`: problems and warnings, with places, codes and exit codes.

use crate::world::World;

const CIRCLE: &str = "\
pack: p
guardrails:
  - {id: a-first, require_before: {tool: b, requires: a}}
  - {id: b-first, require_before: {tool: a, requires: b}}
";

#[test]
fn valid_packs_have_no_findings() {
    let ended = World::new().run(&["lint"]).code(0);
    assert_eq!(ended.out, "✓ no issues found\n");
    let result = World::new().run(&["lint", "--json"]).code(0).json();
    assert_eq!(result["errors"], 0);
}

#[test]
fn problems_are_errors() {
    let world = World::with_pack("pack: p\nguardrails:\n  - {id: x, tool: y}\n");
    world.run(&["lint"]).code(1).says("pack.yaml:3:").says("1 error\n");
    let result = world.run(&["lint", "--json"]).code(1).json();
    assert_eq!(result["findings"][0]["code"], "problem");
    assert_eq!(result["findings"][0]["line"], 3);
}

#[test]
fn prerequisites_that_can_never_be_met_are_found() {
    let world = World::with_pack(CIRCLE);
    let ended = world.run(&["lint", "--strict"]).code(1);
    assert!(ended.out.contains("pack.yaml:3:") && ended.out.contains(']'), "{}", ended.out);
    let result = world.run(&["lint", "--json"]).json();
    assert!(!result["findings"].as_array().unwrap().is_empty());
    assert!(result["findings"][0]["help"].is_string(), "{result}");
}

#[test]
fn scripts_that_are_not_read_are_reported() {
    const PASSES: &str = "export default { input: () => ({ allowed: true }) };";
    for (name, help) in [
        ("guardrails.ts", "compile it to `guardrails.js`"),
        ("guardrails.mjs", "call it `guardrails.js`"),
        ("guardrails.cjs", "write it as a module"),
    ] {
        let world = World::with_pack("pack: p\n");
        let file = format!(".midrail/{name}");
        world.write(&file, PASSES);
        world.run(&["lint"]).code(0).says(&file).says("is not in force").says(help).says("1 warning\n");
        world.run(&["lint", "--strict"]).code(1);
        world.run(&["lint", "--pack", ".midrail"]).code(0).says("[unread-script]");
        // Possibly the source of a policy in force.
        world.write(".midrail/guardrails.js", PASSES);
        assert_eq!(world.run(&["lint"]).code(0).out, "✓ no issues found\n");
    }
    let named = "pack: p\nguardrails:\n  - {id: mine, script: guardrails.mjs}\n";
    let world = World::with_pack(named);
    world.write(".midrail/guardrails.mjs", PASSES);
    world.write(".midrail/guardrails.d.ts", "export {};");
    assert_eq!(world.run(&["lint"]).code(0).out, "✓ no issues found\n");
}

#[test]
fn narrowed_guardrails_of_the_default_pack_are_reported() {
    let world = World::with_pack("pack: p\nguardrails:\n  - {use: safety-001, tools: 'mcp__*'}\n");
    let loss = "it checks only the tools `mcp__*`";
    world.run(&["lint", "--strict"]).code(1).says("[narrows-default]").says(loss).says("an `id` of its own");
    world.run(&["policy"]).code(0).says("not protected").says("it checks only the tools");
    let own = "pack: p\nguardrails:\n  - {id: mcp, use: safety-001, tools: 'mcp__*'}\n";
    let world = World::with_pack(own);
    assert_eq!(world.run(&["lint", "--strict"]).code(0).out, "✓ no issues found\n");
}

#[test]
fn packs_that_would_not_be_read_are_reported() {
    const BLOCKS: &str = "pack: p\nguardrails:\n  - {id: no-x, tools: x}\n";
    let world = World::new();
    world.write(".midrail/pack.YAML", BLOCKS);
    world.run(&["policy"]).code(0).says("no-x");
    let world = World::new();
    world.write(".midrail/packs/pack.yaml", BLOCKS);
    world.run(&["lint"]).code(1).complains("are not read").complains("directory above");
    let world = World::new();
    std::os::unix::fs::symlink("nowhere", world.path(".midrail")).unwrap();
    world.run(&["lint"]).code(1).complains("could not read");
}

#[test]
fn file_or_folder_is_given_by_its_name() {
    let world = World::new();
    let problem = "pack: p\nguardrails:\n  - {id: x, tool: y}\n";
    world.write("mine/pack.yaml", problem);
    world.run(&["lint", "mine/pack.yaml"]).code(1).says("mine/pack.yaml:3:").says("1 error\n");
    world.run(&["lint", "mine"]).code(1).says("mine/pack.yaml:3:").says("1 error\n");
    world.run(&["lint"]).code(0);
    world.write("other.yaml", "pack: q\n");
    world.run(&["lint", "other.yaml"]).code(0);
    world.run(&["lint", "other.yaml", "mine"]).code(1).says("1 error\n");
}
