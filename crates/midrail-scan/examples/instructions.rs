//! Runs one detector over 4 KB of one kind of clean text, so that `callgrind` can count its instructions:
//! `valgrind --tool=callgrind target/release/examples/instructions secrets prose 100`.
//!
//! The difference between two counts of runs is the cost of the detector. `all` runs all as a decision does. Without a detector, nothing is searched.
#![allow(clippy::disallowed_methods, reason = "a program for developers: it reads its arguments and files")]

use std::hint::black_box;

use midrail_scan::event::OutlinedEvent;
use midrail_scan::injection::{self, Origin};
use midrail_scan::{personal, secrets};
use serde_json::json;

#[path = "../../../benches/scan/texts.rs"]
mod texts;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let detector = arguments.next().unwrap_or_default();
    let text = match arguments.next().as_deref() {
        Some("source") => texts::source(4096),
        Some("prose") => texts::prose(4096),
        Some("log") => texts::log(4096),
        Some(file) => std::fs::read_to_string(file).unwrap_or_default(),
        None => String::new(),
    };
    let runs = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    for _ in 0..runs {
        let text = black_box(text.as_str());
        match detector.as_str() {
            "secrets" => _ = black_box(secrets::scan(text)),
            "personal" => _ = black_box(personal::scan(text)),
            "injections" => _ = black_box(injection::scan_from(text, Origin::Project)),
            "all" => {
                let event = OutlinedEvent::new(json!({ "result": text }));
                _ = black_box(secrets::scan(text));
                _ = black_box(event.find_personal_data(b"key"));
                _ = black_box(event.find_injections(Origin::Project, b"key"));
            }
            "outside" => _ = black_box(injection::scan_from(text, Origin::Outside)),
            _ => {}
        }
    }
}
