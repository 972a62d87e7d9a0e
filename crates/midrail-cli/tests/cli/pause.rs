//! `midrail pause`: by a person with a key, for a while, shown everywhere.

use serde_json::{Value, json};

use crate::approvals::{call, world_of};
use crate::world::{Ended, World};

const PACK: &str = "pack: shop
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday}
";

fn pause(world: &World, role: &str, args: &[&str]) -> Ended {
    let key = world.read(&format!("../keys/{role}"));
    let name = format!("{role}-1");
    world.feed(&[&["pause"], args, &["--as", &name, "--key-fd", "0"]].concat(), key)
}

/// A call in the folder of the project.
fn deploy(world: &World) -> Value {
    let mut event = call("deploy", json!({}));
    event["cwd"] = json!(world.project());
    event
}

#[test]
fn pause_allows_reports_and_expires() {
    let world = world_of(PACK);
    world.stand_at("2026-11-15T10:00:00Z".parse().unwrap());
    world.run(&["pause"]).code(0).says("no guardrails are paused");
    world.check(&deploy(&world)).code(2);

    let ended = pause(&world, "human_operator", &["10m", "--reason", "the shop is down"]).code(0);
    let ended = ended
        .says("is paused until 2026-11-15 10:10:00Z (10 min left), by human_operator-1: the shop is down");
    ended.says("self-protection");
    world.run(&["pause"]).code(0).says("the shop is down");
    let decision = world.feed(&["check", "--json"], deploy(&world).to_string()).code(0).json();
    assert_eq!(
        (&decision["effect"], &decision["would"], &decision["mode"]),
        (&json!("allow"), &json!("block"), &json!("shadow"))
    );
    assert_eq!(decision["paused"]["by"], "human_operator-1");
    world.run(&["stats"]).code(0).says("is paused until");
    assert_eq!(world.run(&["stats", "--json"]).code(0).json()["paused"][0]["reason"], "the shop is down");
    world
        .run(&["log"])
        .code(0)
        .says("would be block (paused by human_operator-1) friday: It is Friday")
        .says("by human_operator-1: the shop is down");
    world.run(&["shadow", "report"]).code(0).says("friday");

    world.seconds(600);
    world.check(&deploy(&world)).code(2);
    world.run(&["pause"]).code(0).says("no guardrails are paused");
    world.run(&["audit", "verify"]).code(0);
    world.run(&["audit", "replay"]).code(0);
}

#[test]
fn pause_is_ended_early_and_can_cover_all_projects() {
    let world = world_of(PACK);
    pause(&world, "human_operator", &["1h", "--everywhere", "--reason", "all of it", "--json"]).code(0);
    world.check(&deploy(&world)).code(0);
    world.run(&["pause", "--end"]).code(1).complains("every project is paused, which `--everywhere` ends");
    world.run(&["pause", "--end", "--everywhere"]).code(0).says("every project is enforced again");
    world.check(&deploy(&world)).code(2);
    assert_eq!(world.run(&["pause", "--json"]).code(0).json(), json!({"pauses": []}));
}

#[test]
fn pause_requires_approver_key_and_reason() {
    let world = World::with_pack(PACK);
    let no_one = world.feed(&["pause", "5m", "--reason", "x", "--as", "ann", "--key-fd", "0"], "mrk_1");
    no_one.code(1).complains("there is no approver").complains("midrail approver add");
    let world = world_of(PACK);
    pause(&world, "architect", &["5m", "--reason", "x"]).code(1).complains("only a human_operator");
    pause(&world, "human_operator", &["2h", "--reason", "x"]).code(1).complains("60 minutes at most");
    pause(&world, "human_operator", &["5m", "--reason", " "]).code(1).complains("needs a reason");
    pause(&world, "human_operator", &["soon", "--reason", "x"]).code(1).complains("use 30m");
    world.run(&["pause", "5m", "--reason", "x"]).code(1).complains("--as");
    let wrong = ["pause", "5m", "--reason", "x", "--as", "human_operator-1", "--key-fd", "0"];
    world.feed(&wrong, "mrk_wrong").code(1).complains("with this key");
    pause(&world, "human_operator", &["5m", "--reason", "x", "--project", "/nowhere/at/all"])
        .code(1)
        .complains("is not a directory");
    world.run(&["pause"]).code(0).says("no guardrails are paused");
}

#[test]
fn agent_cannot_pause() {
    let world = world_of(PACK);
    for command in [
        "midrail pause 10m --reason x --as human_operator-1",
        "midrail pause --end",
        "env X=1 midrail --json pause 1h",
    ] {
        world.check(&call("Bash", json!({"command": command}))).code(2);
    }
    // Not even while everything else is paused.
    pause(&world, "human_operator", &["1h", "--everywhere", "--reason", "x"]).code(0);
    world.check(&call("Bash", json!({"command": "midrail pause 1h --reason more --as me"}))).code(2);
}
