//! `midrail demo`: it goes as planned, verifies, and leaves nothing behind.

use crate::world::World;

#[test]
fn demo_succeeds_and_removes_its_files() {
    let world = World::new();
    std::fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.command(&["demo"]);
    command.env("TMPDIR", world.path("tmp"));
    let ended = crate::world::ended(&mut command, Vec::new()).code(0);
    for part in ["✗ block", "~ redact", "? escalate", "✓ the audit log is intact", "What to do next"] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
    assert!(!ended.out.contains("AKIAIOSFODNN7EXAMPLE"));
    assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    assert!(!world.default_store().exists());
}

#[test]
fn kept_demo_store_can_be_inspected() {
    let world = World::new();
    std::fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.command(&["demo", "--keep", "--json"]);
    command.env("TMPDIR", world.path("tmp"));
    let ended = crate::world::ended(&mut command, Vec::new()).code(0);
    assert_eq!(ended.json_lines()[0]["effect"], "block");
    let folder = std::fs::read_dir(world.path("tmp")).unwrap().next().unwrap().unwrap().path();
    let store = folder.join("midrail.db").display().to_string();
    world.run(&["audit", "verify", "--store", &store]).code(0);
    world.run(&["audit", "replay", "--store", &store]).code(0).says("28 decisions: 28 reproduced");
    world.run(&["explain", "--decision", "1", "--store", &store]).code(0);
    // The same pack on the same events comes to the same, with a state of its own: reads, results and Ada's answer.
    let pack = folder.join("shop/.midrail/shop.yaml").display().to_string();
    world
        .run(&["audit", "replay", "--store", &store, "--pack", &pack])
        .code(0)
        .says("28 decisions: 28 as before");
}
