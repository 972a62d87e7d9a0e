//! Whatever comes in: a clear error, the documented exit code, no panic, and never an allow.

use std::io::Write;
use std::process::Stdio;
use std::thread;

use serde_json::json;

use crate::world::{Ended, World, before};

/// No decision could be made.
#[track_caller]
fn fails(ended: Ended, part: &str) {
    let ended = ended.code(1).complains("error: ").complains(part);
    assert_eq!(ended.out, "");
}

/// A decision could not be recorded, so it is a block.
#[track_caller]
fn blocks(ended: Ended, part: &str) {
    ended.code(2).says("✗ block").says("so the action is blocked").complains("error: ").complains(part);
}

#[test]
fn invalid_events_are_rejected() {
    let world = World::new();
    let deep = format!("{{\"kind\":\"before_tool\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for (input, part) in [
        ("", "no event: the input is empty"),
        ("  \n", "no event: the input is empty"),
        ("nope", "the event is not JSON: line 1, column 2"),
        ("{\"kind\":\"before_tool\"", "the event is not JSON"),
        ("{\"kind\":\"before_tool\"} {}", "the event is not JSON"),
        ("[]", "not a valid event"),
        ("null", "not a valid event"),
        ("{}", "`kind` is missing"),
        ("{\"kind\":\"explode\"}", "unknown kind of event `explode`"),
        ("{\"kind\":7}", "not a valid event"),
        ("{\"kind\":\"before_tool\",\"tool\":\"Write\"}", "not a valid event"),
        ("{\"kind\":\"before_tool\",\"tool\":{\"name\":[]}}", "not a valid event"),
        ("{\"kind\":\"before_tool\",\"tool\":{\"name\":\"x\",\"args\":[]}}", "not a valid event"),
        ("{\"kind\":\"before_tool\",\"time\":\"yesterday\"}", "not a valid event"),
        (&deep, "nested more than 100 levels deep"),
    ] {
        fails(world.feed(&["check"], input), part);
        fails(world.feed(&["check", "-"], input), part);
    }
    fails(world.feed(&["check"], b"\xff\xfe{}".to_vec()), "the event is not UTF-8: byte 0");
    assert!(!world.default_store().exists(), "nothing is recorded of what is no event");
}

#[test]
fn missing_kind_has_no_line_0() {
    let world = World::new();
    for input in [
        "{}",
        "{\"tool\":{\"name\":\"x\"}}",
        "{\"tool_name\":\"Bash\",\"tool_input\":{}}",
        "{\"event\":\"x\"}",
    ] {
        let ended = world.feed(&["check"], input).code(1);
        assert!(!ended.err.contains("line 0"), "{input}: {}", ended.err);
    }
    world.feed(&["check"], "{}").complains("`kind` is missing").complains("add `\"kind\": \"before_tool\"`");
}

#[test]
fn unknown_kind_gets_a_suggestion() {
    World::new()
        .feed(&["check"], "{\"kind\":\"explode\"}")
        .complains("help: the kinds of event are session_start,");
    World::new()
        .feed(&["check"], "{\"kind\":\"befor_tool\"}")
        .complains("unknown kind of event `befor_tool`")
        .complains("did you mean `before_tool`?");
}

#[test]
fn event_errors_name_no_rust_types() {
    let world = World::new();
    for (input, part) in [
        ("[]", "expected a map, found a list"),
        ("{\"kind\":\"before_tool\",\"tool\":\"Write\"}", "expected a map, found a text"),
        (
            "{\"kind\":\"before_tool\",\"usage\":{\"tokens\":\"x\"}}",
            "expected a whole number of 0 or more, found a text",
        ),
    ] {
        let ended = world.feed(&["check"], input).code(1).complains(part);
        assert!(!ended.err.contains("struct") && !ended.err.contains("u64"), "{}", ended.err);
        world.feed(&["replay", "-"], input).code(1).complains(part);
    }
}

#[test]
fn misspelt_names_get_suggestions() {
    let world = World::with_pack("pack: p\nguardrails: [{id: g, tools: x}]\nenv: {prod: {mode: shadow}}\n");
    world.run(&["policy", "--env", "prd"]).code(1).complains("did you mean `prod`?");
    world.run(&["policy", "--env", "elsewhere"]).code(1).complains("there are overlays for prod");
    world.run(&["policy", "--pack", "defualt"]).code(1).complains("did you mean the shipped pack `default`?");
}

#[test]
fn missing_base_is_reported_with_other_problems() {
    let world = World::new();
    world.write("packs/a.yaml", "pack: a\nextends: [default, nowhere]\n");
    world.write("packs/b.yaml", "pack: b\nmode: enforced\n");
    world.run(&["lint", "--pack", "packs"]).code(1).says("a.yaml:2:20").says("b.yaml:2:7").says("2 errors");
}

#[test]
fn script_that_does_not_load_is_reported_and_blocks() {
    let world = World::with_pack("pack: p\n");
    world.write(".midrail/guardrails.js", "export default []");
    world.run(&["lint"]).code(1).says("guardrails.js:1:");
    world.feed(&["check"], before("x", json!({})).to_string()).code(2).says("by          project-script");
    world.write(".midrail/guardrails.js", "export default { input: () => ({ allowed: true }) };");
    world.run(&["lint"]).code(0);
    world.feed(&["check"], before("x", json!({})).to_string()).code(0);
}

#[test]
fn large_event_is_rejected() {
    let world = World::new();
    for subcommand in ["check", "replay"] {
        let mut child = world
            .command(&[subcommand, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = thread::spawn(move || {
            let chunk = vec![b'a'; 1 << 20];
            let _ = stdin.write_all(b"{\"kind\":\"before_tool\",\"text\":\"");
            (0..100).all(|_| stdin.write_all(&chunk).is_ok())
        });
        let ended = Ended::from(child.wait_with_output().unwrap()).code(1);
        writer.join().unwrap();
        let part = if subcommand == "check" { "the event is larger than" } else { "line 1 is longer than" };
        ended.complains(part);
    }
}

#[test]
fn unreadable_event_files_are_reported() {
    let world = World::new();
    fails(world.run(&["check", "no-such-file.json"]), "there is no file `no-such-file.json`");
    fails(world.run(&["check", "."]), "could not read `.`: it is a folder");
    fails(world.run(&["replay", "no-such-file.jsonl"]), "there is no file `no-such-file.jsonl`");
    fails(world.run(&["replay", "."]), "it is a folder");
    let path = world.write("event.json", "nope");
    fails(world.run(&["check", &path]), "event.json`: the event is not JSON");
}

#[test]
fn unreadable_packs_are_reported() {
    let world = World::new();
    let event = before("x", json!({})).to_string();
    let a = world.write("cycle/a.yaml", "pack: a\nextends: b.yaml\n");
    world.write("cycle/b.yaml", "pack: b\nextends: a.yaml\n");
    let latin = world.write("latin.yaml", b"pack: caf\xe9\n");
    let large = world.write("large.yaml", format!("pack: a\n# {}\n", "x".repeat(2 << 20)));
    let text = world.write("pack.txt", "pack: a\n");
    let none = world.write("none.yaml", "pack: a\nextends: nowhere\n");
    let empty = world.write("empty.yaml", "");
    world.write("bare/readme.md", "");
    let (bare, missing) = (world.path("bare"), world.path("missing.yaml"));
    let deep =
        world.write("deep.yaml", format!("pack: a\nenv: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)));
    let bomb: String =
        (1..30).map(|n| format!("  - &l{n} [*l{}, *l{}, *l{}]\n", n - 1, n - 1, n - 1)).collect();
    let bomb = world.write("bomb.yaml", format!("pack: a\nx:\n  - &l0 [a]\n{bomb}"));
    for (pack, part) in [
        (a.as_str(), "packs extend each other in a circle"),
        (&latin, "latin.yaml:1:10: the file is not UTF-8: byte 9"),
        (&large, "is larger than"),
        (&text, "a pack ends in `.yaml`, `.yml` or `.json`"),
        (&none, "none.yaml:2:10"),
        (&empty, "this file contains no pack"),
        (&bare, "there is no pack in"),
        (&missing, "could not read"),
        (&deep, "deep.yaml"),
        (&bomb, "bomb.yaml"),
        ("/dev/null", "is no pack"),
    ] {
        fails(world.feed(&["check", "--pack", pack], event.clone()), part);
        world.feed(&["replay", "--pack", pack, "-"], event.clone()).code(1).complains(part);
    }
}

#[test]
fn pack_problems_are_reported_with_locations() {
    let world = World::with_pack("pack: a\nguardrails:\n  - {id: x, tool: y}\n  - read_befor_write\n");
    let event = before("x", json!({})).to_string();
    let ended = world.feed(&["check"], event.clone()).code(1);
    assert!(ended.err.contains("pack.yaml:3:"), "{}", ended.err);
    assert!(ended.err.contains("did you mean"), "{}", ended.err);
    assert!(ended.err.ends_with("error: 2 problems in 1 file\n"), "{}", ended.err);
    let error = world.feed(&["check", "--json"], event).code(1).json();
    let problems = error["error"]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2);
    assert_eq!((&problems[1]["line"], &problems[1]["column"]), (&json!(4), &json!(5)));
    assert!(problems[1]["file"].as_str().unwrap().ends_with(".midrail/pack.yaml"));
    assert!(problems[1]["help"].as_str().unwrap().contains("read_before_write"));
}

#[test]
fn unusable_store_blocks() {
    let world = World::new();
    let event = before("x", json!({})).to_string();
    let file = world.write("file", "text");
    let garbage = world.write("garbage.db", "this is no database, whatever its name says".repeat(100));
    for (store, part) in [
        (format!("{file}/x.db"), "could not access"),
        ("/proc/x.db".to_owned(), "/proc/x.db"),
        ("/dev/full".to_owned(), "/dev/full"),
        (world.path(""), "cannot be used"),
        (garbage.clone(), "cannot be used"),
    ] {
        blocks(world.feed(&["check", "--store", &store], event.clone()), part);
        let ended = world.feed(&["check", "--json", "--store", &store], event.clone()).code(2);
        assert_eq!(ended.json()["effect"], "block", "{store}");
        assert_eq!(ended.json()["by"], "midrail");
        world.feed(&["replay", "--store", &store, "-"], event.clone()).code(1).complains("error: ");
        world.run(&["audit", "verify", "--store", &store]).code(1).complains("error: ");
        world.run(&["audit", "list", "--store", &store]).code(1).complains("error: ");
    }
    assert!(world.read("garbage.db").starts_with("this is no database"), "what is no store is left as it is");
}

#[test]
fn store_of_a_newer_version_blocks() {
    let world = World::new();
    let event = before("x", json!({})).to_string();
    let store = world.path("s.db");
    world.feed(&["check", "--store", &store], event.clone()).code(0);
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    blocks(world.feed(&["check", "--store", &store], event), "has version 99");
    fails(world.run(&["audit", "list", "--store", &store]), "has version 99");
}

#[test]
fn damaged_store_blocks() {
    let world = World::new();
    let event = before("x", json!({})).to_string();
    let store = world.path("s.db");
    world.feed(&["check", "--store", &store], event.clone()).code(0);
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&store).unwrap();
    let length = bytes.len();
    bytes[100..length].fill(0xa5);
    std::fs::write(&store, bytes).unwrap();
    blocks(world.feed(&["check", "--store", &store], event), "cannot be used");
    world.run(&["audit", "verify", "--store", &store]).code(1).complains("error: ");
}

#[test]
fn missing_home_directory_is_reported() {
    let world = World::new();
    let mut command = world.command(&["check"]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    blocks(crate::world::ended(&mut command, before("x", json!({})).to_string().into()), "`HOME` is not set");
}

#[test]
fn unwritable_output_is_not_an_allow() {
    let world = World::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child =
        world.command(&["check"]).stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(before("x", json!({})).to_string().as_bytes()).unwrap();
    Ended::from(child.wait_with_output().unwrap()).code(1).complains("the output could not be written");
}

#[test]
fn invalid_command_line_fails() {
    let world = World::new();
    for args in [
        &["check", "--bogus"][..],
        &["explode"],
        &[],
        &["audit"],
        &["explain"],
        &["audit", "list", "--since", "soon"],
    ] {
        world.run(args).code(1);
    }
    let ended = world.run(&["audit", "list", "--effect", "explode", "--json"]).code(1);
    assert!(
        ended.json()["error"]["message"].as_str().unwrap().contains("unknown effect `explode`"),
        "{}",
        ended.out
    );
}

#[test]
fn errors_are_json_with_the_option() {
    let world = World::new();
    let ended = world.feed(&["check", "--json"], "nope").code(1).complains("error: the event is not JSON");
    let expected = json!({"error": {"message": "the event is not JSON: line 1, column 2: expected ident"}});
    assert_eq!(ended.json(), expected);
}
