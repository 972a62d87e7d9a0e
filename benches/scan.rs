//! Benchmarks of text detection, with clean, sensitive and hostile input.
//!
//! Run it: `cargo bench -p midrail-scan --bench scan`, with words after `--` to select benchmarks by name. No figure is
//! asserted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod measure;

use std::hint::black_box;

use measure::{through, times};
use midrail_scan::{injection, personal, secrets};

fn main() {
    println!("-- 4 KB without findings");
    for (name, text) in [("source code", source(4096)), ("prose", prose(4096)), ("a log", log(4096))] {
        times(&format!("secrets: {name}"), &text, |text| drop(black_box(secrets::scan(text))));
        times(&format!("personal data: {name}"), &text, |text| drop(black_box(personal::scan(text))));
        times(&format!("both: {name}"), &text, |text| {
            black_box((secrets::scan(text), personal::scan(text)));
        });
        times(&format!("injections: {name}"), &text, |text| drop(black_box(injection::scan(text))));
    }
    println!("-- 10 MB");
    for (name, text) in
        [("source code", source(10 << 20)), ("prose", prose(10 << 20)), ("a log", log(10 << 20))]
    {
        through(9, &format!("secrets and personal data: {name}"), &text, |text| {
            black_box((secrets::scan(text), personal::scan(text)));
        });
        through(3, &format!("injections: {name}"), &text, |text| drop(black_box(injection::scan(text))));
    }
    println!("-- 10 MB of hostile input");
    for part in
        ["password=", "eyJ", "-----BEGIN ", "@", "1", "a@b.", ":", "ignore ", "AKIA", "\u{200b}", "QUJD"]
    {
        let text = part.repeat((10 << 20) / part.len());
        through(1, &format!("all text detectors: {part:?} repeated"), &text, |text| {
            black_box((secrets::scan(text), personal::scan(text), injection::scan(text)));
        });
    }
}

fn source(size: usize) -> String {
    let lines = [
        "fn walk(tree: &Tree, depth: usize) -> Option<Node> {",
        "    let token = self.tokens.next()?; // the next token of the stream",
        "    if depth > MAX_DEPTH { return None; }",
        "    match token.kind { Kind::Open => self.walk(tree, depth + 1), Kind::Close => Some(node), _ => None }",
        "}",
        "const TABLE: [u32; 4] = [0x1f, 0x2e, 0x3d, 0x4c];",
    ];
    fill(size, &lines)
}

fn prose(size: usize) -> String {
    let lines = [
        "The engine reads every event once, and answers before the tool runs.",
        "A person who wants to know why can read in plain words what was found and where.",
        "On 14 March the team measured it again, with 3.5 percent less noise than the week before.",
    ];
    fill(size, &lines)
}

fn log(size: usize) -> String {
    let lines = [
        "2026-11-15T10:00:00.123Z INFO server: GET /v1/items?page=2 200 12ms",
        "2026-11-15T10:00:00.456Z DEBUG pool: 17 connections, 3 idle, took 0.25 ms",
        "2026-11-15T10:00:01.001Z WARN cache: miss for items:8841, commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    ];
    fill(size, &lines)
}

fn fill(size: usize, lines: &[&str]) -> String {
    let mut text = String::with_capacity(size + 128);
    for line in lines.iter().cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
