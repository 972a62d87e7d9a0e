//! `midrail check --stream`: an answer a line, and packs that change while it runs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::world::{World, before};

const NO_X: &str = "pack: p\nguardrails:\n  - {id: no-x, tools: x}\n";
const NO_Y: &str = "pack: p\nguardrails:\n  - {id: no-y, tools: y}\n";

/// The program with a stream that stays open.
struct Stream {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
}

impl Stream {
    fn of(world: &World) -> Self {
        let mut command = world.command(&["check", "--stream", "--json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        Stream { child, input, output, errors }
    }

    fn answer(&mut self, line: &str) -> Value {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    fn effect(&mut self, tool: &str) -> String {
        self.answer(&before(tool, json!({})).to_string())["effect"].as_str().unwrap().to_owned()
    }

    /// Repeats a call until it has an effect.
    fn becomes(&mut self, tool: &str, effect: &str) {
        let is_there = (0..100_000).any(|_| self.effect(tool) == effect);
        assert!(is_there, "{tool} never became {effect}");
    }

    fn end(self) -> i32 {
        let Stream { mut child, input, .. } = self;
        drop(input);
        child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn stream_applies_an_edited_pack_to_the_next_line() {
    let world = World::with_pack(NO_X);
    let mut stream = Stream::of(&world);
    assert_eq!((stream.effect("x"), stream.effect("y")), ("block".into(), "allow".into()));
    world.write(".midrail/pack.yaml", NO_Y);
    let mut note = String::new();
    stream.errors.read_line(&mut note).unwrap();
    assert!(note.starts_with("note: the packs changed; the policy sha256:"), "{note}");
    assert_eq!((stream.effect("x"), stream.effect("y")), ("allow".into(), "block".into()));
    assert_eq!(stream.end(), 2);
}

#[test]
fn bad_pack_is_reported_and_the_old_policy_stays() {
    let world = World::with_pack(NO_X);
    let mut stream = Stream::of(&world);
    assert_eq!(stream.effect("x"), "block");
    world.write(".midrail/pack.yaml", "pack: p\nguardrail: []\n");
    let mut report = String::new();
    while !report.contains("pack.yaml:2:1") {
        assert!(stream.errors.read_line(&mut report).unwrap() > 0, "{report}");
    }
    assert!(
        report.starts_with("error: the packs changed and cannot be used; the policy in force stays\n"),
        "{report}"
    );
    assert_eq!(stream.effect("x"), "block");
    // Nor is less enforced because a pack is gone.
    fs::remove_file(world.path(".midrail/pack.yaml")).unwrap();
    while !report.contains("is missing") {
        assert!(stream.errors.read_line(&mut report).unwrap() > 0, "{report}");
    }
    assert_eq!(stream.effect("x"), "block");
    world.write(".midrail/pack.yaml", NO_Y);
    stream.becomes("x", "allow");
}

#[test]
fn every_line_is_answered() {
    let world = World::with_pack(NO_X);
    let lines = [
        before("y", json!({})).to_string(),
        "not json".into(),
        String::new(),
        "{\"kind\":\"restored\"}".into(),
        before("x", json!({})).to_string(),
        before("y", json!({})).to_string(),
    ];
    let ended = world.feed(&["check", "--stream", "--json"], lines.join("\n")).code(2);
    let effects: Vec<Value> = ended.json_lines().into_iter().map(|line| line["effect"].clone()).collect();
    assert_eq!(effects, ["allow", "block", "block", "block", "allow"]);
    let ended = ended.complains("the event is not JSON");
    assert!(ended.err.contains("only the engine creates"), "{}", ended.err);
    world.feed(&["check", "--stream", "--json"], before("y", json!({})).to_string()).code(0);
    assert_eq!(world.feed(&["check", "--stream"], "").code(0).out, "");
    // People read the same as for one event.
    world
        .feed(&["check", "--stream"], before("x", json!({})).to_string())
        .code(2)
        .says("✗ block  before_tool x");
}

#[test]
fn too_long_line_is_blocked_and_skipped() {
    let world = World::with_pack(NO_X);
    let mut input = vec![b'x'; (32 << 20) + 10];
    input.push(b'\n');
    input.extend(before("y", json!({})).to_string().bytes());
    let ended = world.feed(&["check", "--stream", "--json"], input).code(2);
    let effects: Vec<Value> = ended.json_lines().into_iter().map(|line| line["effect"].clone()).collect();
    assert_eq!(effects, ["block", "allow"]);
}

/// A host that sends chunks, to one process or to one a chunk, gets back what may pass on.
#[test]
fn chunks_are_decided_as_one_text_across_processes() {
    let world = World::with_pack("pack: p\nguardrails: [secret-redaction]\n");
    let chunk = |text: &str, last: bool| {
        json!({"kind": "model_chunk", "session": "s", "stream": "m", "text": text, "last": last}).to_string()
    };
    let chunks =
        [chunk("the key is AKIAQ4ZT", false), chunk("X7RK2MPLWN3J, and ", false), chunk("so on", true)];
    let passed =
        |answers: &[Value]| answers.iter().map(|it| it["content"].as_str().unwrap()).collect::<String>();

    let one = world.feed(&["check", "--stream", "--json"], chunks.join("\n")).code(0).json_lines();
    let whole = passed(&one);
    assert!(
        whole.starts_with("the key is [redacted:aws-access-key#") && whole.ends_with("], and so on"),
        "{whole}"
    );
    let effects: Vec<&str> = one.iter().map(|it| it["effect"].as_str().unwrap()).collect();
    assert_eq!(effects, ["allow", "allow", "redact"]);

    let many: Vec<Value> =
        chunks.iter().map(|chunk| world.feed(&["check", "--json"], chunk.clone()).code(0).json()).collect();
    assert_eq!(passed(&many), whole);
    let log = world.run(&["audit", "export"]).code(0).out;
    assert!(log.contains("model_chunk") && !log.contains("AKIA"), "{log}");
}
