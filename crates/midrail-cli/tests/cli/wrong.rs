//! `midrail wrong`: a false stop becomes a test case with an exception.

use serde_json::json;

use crate::world::World;

#[test]
fn wrong_stop_becomes_a_test_that_passes_with_its_exception() {
    let world = World::with_pack("pack: mine\nextends: none\nguardrails: [safety-001, safety-002]\n");
    let call = |command: &str| json!({"kind": "before_tool", "tool": {"name": "Bash", "args": {"command": command}}});
    world.check(&call("git push --force origin main"));
    world.check(&call("cat .env"));
    world.check(&call("ls"));
    let ended = world.run(&["wrong", "1"]).code(0);
    for part in [
        "# record 1: safety-001",
        "passes with it",
        "- use: safety-001",
        "git push --force origin main",
        "tests:",
    ] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
    let pack = world.write("exceptions.yaml", &ended.out);
    world.run(&["test", &pack]).code(0);
    let value = world.run(&["wrong", "2", "--json"]).code(0).json();
    let entries = value["exception"]["entries"].as_array().unwrap();
    // An own list replaces the default one, so the default exceptions stay.
    assert!(entries.contains(&json!(".env")) && entries.contains(&json!("*.example")));
    assert_eq!((&value["is_verified"], &value["exception"]["setting"]), (&json!(true), &json!("except")));
    world.run(&["wrong", "3"]).code(1).complains("the call was not stopped");
    world.run(&["wrong", "99"]).code(1).complains("there is no record 99");
}

#[test]
fn agents_do_not_run_it() {
    let world = World::new();
    let call =
        json!({"kind": "before_tool", "tool": {"name": "Bash", "args": {"command": "midrail wrong 1"}}});
    let ended = world.check(&call).code(2);
    assert!(ended.out.contains("self-protection"), "{}", ended.out);
}
