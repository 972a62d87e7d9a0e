//! Prints tables while they are measured, and writes them as `docs/performance.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::callgrind::Instructions;
use crate::figures::{Figures, RUNS, Setup, Table, duration, grouped, instructions, measure};
use crate::{plot, processes};

pub(crate) struct Report {
    setup: Setup,
    /// Parts of names; empty: all cases.
    wanted: Vec<String>,
    /// Instructions of SHA-256 per byte, without the instructions of the processor.
    sha256_per_byte: Option<f64>,
    tables: Vec<Table>,
    /// What was printed.
    text: String,
    /// The program with the other engines, once it is built.
    compare: Option<Option<PathBuf>>,
}

impl Report {
    pub(crate) fn new(setup: Setup, wanted: Vec<String>) -> Self {
        let sha256_per_byte = setup
            .counts
            .then(|| instructions(&itself(), "detector/sha256", 1e9, &setup).sha256() as f64 / 1e6);
        let mut report =
            Report { setup, wanted, sha256_per_byte, tables: Vec::new(), text: String::new(), compare: None };
        if !report.setup.counts {
            report.print("\nvalgrind is not installed: instructions were not counted.\n");
        }
        if report.setup.postgres.is_none() {
            report.print("\nPostgreSQL is not installed: it was not measured.\n");
        }
        report
    }

    fn wants(&self, case: &str) -> bool {
        let is_possible = self.setup.postgres.is_some() || !case.ends_with("/postgres");
        is_possible && (self.wanted.is_empty() || self.wanted.iter().any(|word| case.contains(word.as_str())))
    }

    fn print(&mut self, text: &str) {
        println!("{text}");
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn print_head(&mut self, title: &str, note: &str) {
        let note = if note.is_empty() { String::new() } else { format!("{note}\n") };
        self.print(&format!("\n## {title}\n\n{note}"));
    }

    /// Measures the rows of a table, and prints each.
    pub(crate) fn table(&mut self, mut table: Table) {
        table.rows.retain(|row| self.wants(&row.case));
        if table.rows.is_empty() {
            return;
        }
        self.print_head(&table.title, &table.note);
        self.print(&table.head());
        for row in &mut table.rows {
            let program = row.program.clone().unwrap_or_else(itself);
            row.figures = Some(measure(&program, &row.case, &self.setup));
            self.print(&row.line(self.sha256_per_byte));
        }
        self.tables.push(table);
    }

    /// A table of whole processes, if the benchmark is asked for it.
    pub(crate) fn processes(&mut self, name: &str, measure: impl FnOnce(bool) -> Table) {
        if !self.wants(name) {
            return;
        }
        let table = measure(self.setup.counts);
        self.print_head(&table.title, &table.note);
        self.print(&table.head());
        for row in &table.rows {
            self.print(&row.line(self.sha256_per_byte));
        }
        self.tables.push(table);
    }

    /// The program with the cases of Cedar and Rego, or `None` if the case is not wanted or the program cannot be built.
    pub(crate) fn compare_program(&mut self, case: &str) -> Option<PathBuf> {
        if !self.wants(case) {
            return None;
        }
        if self.compare.is_none() {
            let built = processes::compare_program();
            if built.is_none() {
                self.print("\nbenches/compare could not be built: Cedar and Rego were not measured.\n");
            }
            self.compare = Some(built);
        }
        self.compare.clone().flatten()
    }

    pub(crate) fn service(&mut self) {
        if !self.wants("service") {
            return;
        }
        let note = "`POST /v1/decide` with the default pack, next to a handler that only parses the body and responds. The last columns \
                    are the server's processor time per request and the rate relative to the bare handler \
                    (`cargo bench -p midrail-service --bench service`).";
        self.print_head("Service", note);
        match processes::service(self.setup.postgres.as_deref()) {
            Ok(text) => self.print(&format!("```text\n{}\n```", text.trim())),
            Err(why) => self.print(&format!("It could not be measured: {}", why.trim())),
        }
    }

    pub(crate) fn finish(mut self) {
        self.shares();
        if std::env::var_os("MIDRAIL_WRITE").is_none() {
            return;
        }
        if !self.wanted.is_empty() {
            return eprintln!("docs/performance.md is written only if all cases are measured");
        }
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        fs::write(docs.join("performance.md"), self.document()).unwrap();
        fs::write(docs.join("images/performance.svg"), plot::svg(&self.tables)).unwrap();
        println!("\nwrote docs/performance.md and docs/images/performance.svg");
    }

    fn figures(&self, case: &str) -> Option<&Figures> {
        self.tables.iter().flat_map(|table| &table.rows).find(|row| row.case == case)?.figures.as_ref()
    }

    /// Prints which code the instructions of some decisions belong to.
    fn shares(&mut self) {
        let cases = ["shell", "write", "result-3k", "prompt"].map(|event| format!("default/{event}/memory"));
        let found: Vec<(String, BTreeMap<&str, i64>)> = cases
            .iter()
            .filter_map(|case| Some((case.clone(), by_part(self.figures(case)?.instructions.as_ref()?))))
            .collect();
        if found.is_empty() {
            return;
        }
        self.print_head("Where the instructions go", "Default pack, record in memory, without SHA-256.");
        let names: Vec<&str> = found.iter().filter_map(|(case, _)| case.split('/').nth(1)).collect();
        self.print(&format!("| code | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len())));
        for part in PARTS.iter().map(|(part, _)| *part).chain([OTHER]) {
            let share = |(_, parts): &(String, BTreeMap<&str, i64>)| {
                let all: i64 = parts.values().sum();
                format!("{:.0}%", parts.get(part).copied().unwrap_or(0) as f64 * 100.0 / all as f64)
            };
            let shares: Vec<String> = found.iter().map(share).collect();
            self.print(&format!("| {part} | {} |", shares.join(" | ")));
        }
    }

    fn document(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let cost = |case: &str| match self.figures(case) {
            Some(Figures { instructions: Some(instructions), time, .. }) => {
                format!(
                    "{} instructions and {}",
                    grouped(instructions.without_sha256() as f64),
                    duration(time.median)
                )
            }
            Some(figures) => duration(figures.time.median),
            None => "not measured".to_owned(),
        };
        let (core, memory) = (cost("default/shell/core"), cost("default/shell/memory"));
        let (sqlite, result) = (cost("default/shell/sqlite"), cost("default/result-100k/memory"));
        let hook = cost("hook/hook before a call");
        let bare = cost("hook/bare program");
        format!(
            "<!-- Generated by `MIDRAIL_WRITE=1 cargo bench`. -->\n\n# Performance\n\n\
             `cargo bench` measures all figures of this page in one run. They are from a machine with {cores} cores, and times vary \
             between machines: compare ratios, and instructions rather than times.\n\n\
             ![Time per decision by event, and next to other engines](images/performance.svg)\n\n\
             With the default pack, a decision about a shell command costs {core} in the decision core, {memory} with its record in \
             memory, and {sqlite} with a durable record in SQLite. The decision core parses the command and runs the guardrails. The engine \
             adds the facts (files, sessions), the audit record with secrets replaced, and its hash chain. A durable record adds the \
             transaction and the wait for the disk.\n\n\
             The detectors read every text once, so a result costs more the longer it is: {result} for 100 KB. The table of detectors \
             shows each of them per megabyte.\n\n\
             A hook is one process per event: {hook} of processor time before a call. A bare program that commits the same JSON to SQLite \
             takes {bare}. What it needs in addition is mostly page faults: the system maps the program in pieces of 64 KB when their \
             code or tables are first used, and gives memory in pieces of 4 KB. `perf record -e page-faults -c 1 -d` shows where they \
             happen, and `strace -c` counts the calls of the system.\n\n\
             ## How it is measured\n\n\
             - Every decision starts with the JSON text of an event, and no two events that an engine records are equal.\n\
             - Times are medians over {RUNS} processes that each repeat the case for 150 ms after a warm-up; the spread is the fastest and \
             the slowest of them. Hook processes are measured one by one.\n\
             - Instructions are counted by callgrind as the difference of a long and a short run. They do not include SHA-256: callgrind \
             does not know the SHA instructions of the processor, so their number would mislead. The column SHA-256 bytes shows how much \
             is hashed.\n\
             - Allocations and bytes are counted by the allocator of the benchmark.\n\
             - `cargo bench -- shell` measures the cases with `shell` in their names: `default/shell/memory` is the default pack, \
             a shell command, a record in memory.\n\
             - A test compares the instructions of important cases with [`benches/budget.toml`](../benches/budget.toml).\n\
             {}",
            self.text
        )
    }
}

/// This program, which runs single cases, too.
fn itself() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Parts of the program, and the names of crates and functions that belong to them.
const PARTS: &[(&str, &[&str])] = &[
    (
        "allocator",
        &[
            "malloc",
            "free",
            "realloc",
            "calloc",
            "_int_malloc",
            "_int_free",
            "_int_realloc",
            "unlink_chunk",
            "__rust_",
        ],
    ),
    ("copying and comparing memory", &["__mem", "memcpy", "memmove", "memset", "memcmp", "bcmp", "__str"]),
    ("JSON and serialisation", &["serde_json", "serde", "itoa", "ryu"]),
    ("shell analysis", &["midrail_shell"]),
    ("detectors", &["midrail_scan", "aho_corasick", "memchr", "regex_automata", "unicode_normalization"]),
    ("guardrails and expressions", &["midrail_guardrails", "midrail_pack", "globset"]),
    ("decision core", &["midrail_core"]),
    ("engine", &["midrail::", "midrail["]),
    ("store", &["midrail_store"]),
];
const OTHER: &str = "standard library and other crates";

/// The instructions of each part. A function belongs to the part that its name starts with or mentions first.
fn by_part(instructions: &Instructions) -> BTreeMap<&'static str, i64> {
    let mut parts = BTreeMap::new();
    let without_sha256 =
        instructions.0.iter().filter(|(name, _)| !name.contains("sha2") && !name.contains("compress256"));
    for (name, count) in without_sha256 {
        let first = |words: &[&str]| words.iter().filter_map(|word| name.find(word)).min();
        let part = PARTS.iter().filter_map(|(part, words)| Some((first(words)?, *part))).min();
        *parts.entry(part.map_or(OTHER, |(_, part)| part)).or_default() += count;
    }
    parts
}
