//! Benchmarks of text detection, with clean, sensitive and hostile input.
//!
//! Run it: `cargo bench -p midrail-scan --bench scan`, with words after `--` to select benchmarks by name. No figure is
//! asserted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod measure;
#[path = "scan/texts.rs"]
mod texts;

use std::hint::black_box;

use measure::{through, times};
use midrail_scan::{injection, personal, secrets};
use texts::{log, prose, source};

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
