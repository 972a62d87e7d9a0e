//! Prints the findings of each text of a JSON lines file, one line for each text: `findings DETECTOR < FILE`.
//!
//! Each line is a JSON object with the `id` of the text and `hits`: kind, start, end in bytes, and confidence. Programs that measure
//! detection on collections of texts read it.
#![allow(clippy::disallowed_methods, reason = "a program for developers: it reads its input")]

use std::io::{BufRead, Error, Write};

use midrail_scan::injection::{self, Origin};
use midrail_scan::{personal, secrets};
use serde_json::{Value, json};

fn main() -> Result<(), Error> {
    let detector = std::env::args().nth(1).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let record: Value = serde_json::from_str(&line?)?;
        let text = ["text", "command"].iter().find_map(|name| record.get(name)?.as_str()).unwrap_or_default();
        let hits = match detector.as_str() {
            "secrets" => secrets::scan(text),
            "personal" => personal::scan(text),
            "injections" => injection::scan_from(text, Origin::Outside),
            "phrases" => injection::scan_from(text, Origin::Project),
            _ => Vec::new(),
        };
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| json!([hit.kind, hit.start, hit.end, format!("{:?}", hit.confidence)]))
            .collect();
        writeln!(out, "{}", json!({"id": record.get("id"), "hits": hits}))?;
    }
    Ok(())
}
