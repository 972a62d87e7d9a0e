//! Measures a case in processes of its own, and holds the figures.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::callgrind::{self, Instructions};
use crate::cases::POSTGRES;

/// Runs of a case. Each is a process that repeats the case for about `RUN` nanoseconds.
pub(crate) const RUNS: usize = 7;
const RUN: f64 = 150e6;

/// The median and the extent of some durations, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The extent leaves out a share of the durations at both ends.
    pub(crate) fn new(mut all: Vec<f64>, left_out: f64) -> Self {
        all.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
        Spread { low: at(left_out), median: at(0.5), high: at(1.0 - left_out) }
    }
}

/// What one repetition of a case costs.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// Without valgrind they are unknown.
    pub(crate) instructions: Option<Instructions>,
    /// Allocations and bytes allocated, or the elapsed time of a process.
    pub(crate) more: More,
    /// Elapsed time, or the processor time of a process.
    pub(crate) time: Spread,
}

#[derive(Debug, Clone)]
pub(crate) enum More {
    Memory { allocations: f64, bytes: f64 },
    Elapsed(Spread),
}

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) case: String,
    /// The program that has the case, if it is not this one.
    pub(crate) program: Option<PathBuf>,
    pub(crate) figures: Option<Figures>,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(title: &str, note: &str, cases: &[(&str, &str)]) -> Self {
        let mut table = Table { title: title.to_owned(), note: note.to_owned(), rows: Vec::new() };
        cases.iter().for_each(|(label, case)| table.add(label, case, None));
        table
    }

    pub(crate) fn add(&mut self, label: &str, case: &str, program: Option<PathBuf>) {
        let (label, case) = (label.to_owned(), case.to_owned());
        self.rows.push(Row { label, case, program, figures: None });
    }

    /// The head of the table in Markdown.
    pub(crate) fn head(&self) -> String {
        let is_process =
            self.rows.iter().any(|row| matches!(row.figures, Some(Figures { more: More::Elapsed(_), .. })));
        let cells = match is_process {
            true => {
                ["instructions", "SHA-256 bytes", "elapsed", "80% of runs", "processor time", "80% of runs"]
            }
            false => ["instructions", "SHA-256 bytes", "allocations", "bytes allocated", "time", "spread"],
        };
        format!("{}\n|---|{}", line("", &cells), "---:|".repeat(cells.len()))
    }
}

impl Row {
    /// The line of the table in Markdown.
    pub(crate) fn line(&self, sha256_per_byte: Option<f64>) -> String {
        let Some(figures) = &self.figures else { return String::new() };
        let mut cells = vec![String::new(), String::new()];
        if let Some(instructions) = &figures.instructions {
            cells[0] = grouped(instructions.without_sha256() as f64);
            cells[1] =
                sha256_per_byte.map_or(String::new(), |each| grouped(instructions.sha256() as f64 / each));
        }
        match figures.more {
            More::Memory { allocations, bytes } => cells.extend([grouped(allocations), grouped(bytes)]),
            More::Elapsed(elapsed) => cells.extend([duration(elapsed.median), extent(elapsed)]),
        }
        cells.extend([duration(figures.time.median), extent(figures.time)]);
        line(&self.label, &cells.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// How cases are measured.
pub(crate) struct Setup {
    /// Whether valgrind can count instructions.
    pub(crate) counts: bool,
    /// The PostgreSQL server.
    pub(crate) postgres: Option<String>,
}

/// Measures a case of a program.
pub(crate) fn measure(program: &Path, case: &str, setup: &Setup) -> Figures {
    let run = |times: u64| -> [f64; 3] {
        let mut command = Command::new(program);
        add_arguments(&mut command, case, times, setup);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{case}: {text}{}", String::from_utf8_lossy(&output.stderr));
        let mut figures = text.split_whitespace().map(|figure| figure.parse::<f64>().unwrap() / times as f64);
        std::array::from_fn(|_| figures.next().unwrap())
    };
    let [once, ..] = run(10);
    let times = (RUN / once).clamp(3.0, 20_000.0) as u64;
    let runs: Vec<[f64; 3]> = (0..RUNS).map(|_| run(times)).collect();
    let all = |figure: usize| runs.iter().map(|run| run[figure]).collect::<Vec<f64>>();
    let time = Spread::new(all(0), 0.0);
    let more =
        More::Memory { allocations: Spread::new(all(1), 0.0).median, bytes: Spread::new(all(2), 0.0).median };
    Figures {
        instructions: setup.counts.then(|| instructions(program, case, time.median, setup)),
        more,
        time,
    }
}

/// Counts the instructions of one repetition: the difference of a long and a short run.
pub(crate) fn instructions(program: &Path, case: &str, nanoseconds: f64, setup: &Setup) -> Instructions {
    let (short, long) = match nanoseconds {
        // As many as a stream collects before a decision, and thrice as many.
        ..10e3 => (342, 1026),
        ..200e3 => (20, 120),
        ..2e6 => (5, 25),
        _ => (1, 4),
    };
    let count = |times: u64| {
        callgrind::count(b"", |valgrind| {
            add_arguments(valgrind.arg(program), case, times, setup);
        })
    };
    let mut difference = count(long).per_repetition(&count(short), (long - short) as i64);
    // What counts allocations is no part of the case.
    difference.0.retain(|name, _| !name.contains("stats_alloc"));
    difference
}

fn add_arguments(command: &mut Command, case: &str, times: u64, setup: &Setup) {
    command.args(["--case", case, "--times", &times.to_string()]);
    if let Some(url) = &setup.postgres {
        command.env(POSTGRES, url);
    }
}

fn line(label: &str, cells: &[&str]) -> String {
    let mut line = format!("| {label:<34} |");
    for cell in cells {
        let _ = write!(line, " {cell:>14} |");
    }
    line
}

fn extent(spread: Spread) -> String {
    format!("{} – {}", duration(spread.low), duration(spread.high))
}

pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e4 => format!("{:.2} µs", nanoseconds / 1e3),
        ..1e5 => format!("{:.1} µs", nanoseconds / 1e3),
        ..1e6 => format!("{:.0} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

/// A number with separators of thousands.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
