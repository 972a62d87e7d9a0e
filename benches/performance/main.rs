//! The benchmark: what a decision, a hook process, the service and the detectors cost, next to other engines.
//!
//! `cargo bench` runs everything and prints it; words after `--` select cases by name (`cargo bench -- shell`).
//! `MIDRAIL_WRITE=1 cargo bench` also writes `docs/performance.md` and its plot. `cargo bench -- --case default/shell/memory
//! --times 1000` runs one case alone, for a profiler. No figure is asserted here: `benches/budget.toml` is checked by a test.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_docs,
    reason = "a benchmark"
)]

mod callgrind;
mod cases;
mod events;
mod figures;
mod plot;
#[path = "../../crates/midrail-store/tests/postgres/server.rs"]
mod postgres;
mod processes;
mod report;
mod runner;

use callgrind::is_installed;
use figures::{Setup, Table};
use report::Report;

fn main() {
    if let Some((case, times)) = runner::requested() {
        return runner::run(times, cases::prepare(&case));
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    // It stops when it is dropped.
    let server = postgres::Server::start(&["shared_buffers=256MB"]);
    let setup = Setup { counts: is_installed(), postgres: server.as_ref().map(postgres::Server::url) };
    let mut report = Report::new(setup, wanted);
    decisions(&mut report);
    other_engines(&mut report);
    report.table(Table::new(
        "Detectors",
        "One megabyte of source code, prose and logs without findings.",
        &[
            ("secrets", "detector/secrets"),
            ("personal data", "detector/personal"),
            ("injected instructions", "detector/injections"),
            ("SHA-256, for comparison", "detector/sha256"),
        ],
    ));
    report.processes("hook", processes::hooks);
    report.processes("mcp", processes::proxy);
    report.processes("sandbox", processes::sandbox);
    report.service();
    report.finish();
}

fn decisions(report: &mut Report) {
    for (title, note, pack, place) in [
        (
            "One rule, record in memory",
            "A pack of one rule that forbids `rm -rf` in a shell command.",
            "rm-rf",
            "memory",
        ),
        ("Default pack, decision core", "Pure decisions: no record, all facts known.", "default", "core"),
        (
            "Default pack, record in memory",
            "The engine with its sessions and its audit log.",
            "default",
            "memory",
        ),
        (
            "Default pack, record in SQLite",
            "Each record is on the disk before the answer.",
            "default",
            "sqlite",
        ),
        (
            "Default pack, record in PostgreSQL",
            "A server on the same machine with its default durability. Its own work is not part of the instructions.",
            "default",
            "postgres",
        ),
        ("Strict pack, record in memory", "", "strict", "memory"),
    ] {
        let cases = events::EVENTS.map(|event| (label(event), format!("{pack}/{event}/{place}")));
        let cases: Vec<_> = cases.iter().map(|(label, case)| (*label, case.as_str())).collect();
        report.table(Table::new(title, note, &cases));
    }
    report.table(Table::new(
        "Many rules, scripts and streams",
        "A write with ten rules that apply to it, alone and among 1,000; a read with a JavaScript guardrail; a chunk of 12 bytes of a \
         stream, decided every 4 KB and each by itself.",
        &[
            ("10 rules, decision core", "rules-10/write/core"),
            ("1,000 rules, decision core", "rules-1000/write/core"),
            ("script, record in memory", "script/read/memory"),
            ("stream, decided every 4 KB", "stream/4096"),
            ("stream, every chunk decided", "stream/0"),
        ],
    ));
}

/// The name of an event in tables.
fn label(event: &str) -> &str {
    match event {
        "shell" => "shell command",
        "result-1k" => "result of 1 KB",
        "result-3k" => "result of 3 KB",
        "result-100k" => "result of 100 KB",
        other => other,
    }
}

/// The same rules in Midrail, Cedar and Rego.
fn other_engines(report: &mut Report) {
    let note = "The crates `cedar-policy` and `regorus` with `opt-level = 3`, Midrail with its release profile. Every decision starts \
                with JSON. Cedar and Rego keep no state: the history arrives as entities or input with each request; `kept` keeps it \
                parsed between requests. Midrail keeps the session itself, and with a record it also writes its audit log.";
    for (rule, event, title) in [
        ("rm-rf", "shell", "Forbid `rm -rf`: Midrail, Cedar, Rego"),
        ("read-before-write-20", "write", "Read before write, 20 past calls: Midrail, Cedar, Rego"),
        ("read-before-write-2000", "write", "Read before write, 2,000 past calls: Midrail, Cedar, Rego"),
    ] {
        let mut table = Table::new(title, if rule == "rm-rf" { note } else { "" }, &[]);
        table.add("Midrail, decision core", &format!("{rule}/{event}/core"), None);
        table.add("Midrail, record in memory", &format!("{rule}/{event}/memory"), None);
        if rule == "rm-rf" {
            table.add("Midrail, `destructive-command`", "destructive-command/shell/core", None);
        }
        for (label, case) in [
            ("Cedar", format!("cedar/{rule}")),
            ("Cedar, kept", format!("cedar/{rule}-kept")),
            ("Rego", format!("rego/{rule}")),
            ("Rego, kept", format!("rego/{rule}-kept")),
        ] {
            let has_history = rule != "rm-rf";
            if (has_history || !case.ends_with("kept"))
                && let Some(program) = report.compare_program(&case)
            {
                table.add(label, &case, Some(program));
            }
        }
        report.table(table);
    }
}
