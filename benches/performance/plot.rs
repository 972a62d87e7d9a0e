//! The plot of `docs/performance.md`: times on a logarithmic scale, as SVG.

use std::fmt::Write as _;

use crate::events::EVENTS;
use crate::figures::{Spread, Table};
use crate::label;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 190.0;
const ROW: f64 = 26.0;

const STYLE: &str = "<style>\
    text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}.dim{fill:#59636e}\
    .page{fill:#ffffff}.grid{stroke:#d1d9e0}\
    .s0{fill:#0969da;stroke:#0969da}.s1{fill:#1a7f37;stroke:#1a7f37}.s2{fill:#bc4c00;stroke:#bc4c00}.s3{fill:#8250df;stroke:#8250df}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#3d444d}\
    .s0{fill:#58a6ff;stroke:#58a6ff}.s1{fill:#3fb950;stroke:#3fb950}.s2{fill:#f0883e;stroke:#f0883e}.s3{fill:#bc8cff;stroke:#bc8cff}}\
    </style>";

/// Times of some series, row by row.
struct Panel {
    title: &'static str,
    series: [&'static str; 4],
    rows: Vec<(String, Vec<Option<Spread>>)>,
}

pub(crate) fn svg(tables: &[Table]) -> String {
    let time = |case: String| {
        // A case of two tables: the one that was measured right before the other engines.
        let row = tables.iter().flat_map(|table| &table.rows).rfind(|row| row.case == case)?;
        Some(row.figures.as_ref()?.time)
    };
    let events = EVENTS.map(|event| {
        let times =
            ["core", "memory", "sqlite", "postgres"].map(|place| time(format!("default/{event}/{place}")));
        (label(event).to_owned(), times.to_vec())
    });
    let rules = [
        ("rm-rf", "shell", "forbid rm -rf"),
        ("read-before-write-20", "write", "read first, 20 calls"),
        ("read-before-write-2000", "write", "read first, 2,000 calls"),
    ];
    let rules = rules.map(|(rule, event, label)| {
        let names = [
            format!("{rule}/{event}/core"),
            format!("{rule}/{event}/memory"),
            format!("cedar/{rule}"),
            format!("rego/{rule}"),
        ];
        (label.to_owned(), names.map(time).to_vec())
    });
    let panels = [
        Panel {
            title: "Time per decision, default pack",
            series: ["decision core", "record in memory", "SQLite", "PostgreSQL"],
            rows: events.to_vec(),
        },
        Panel {
            title: "Time per decision, one rule",
            series: ["Midrail, decision core", "Midrail, record in memory", "Cedar", "Rego"],
            rows: rules.to_vec(),
        },
    ];
    let (mut body, mut top) = (String::new(), 0.0);
    for panel in &panels {
        top = draw(panel, top, &mut body);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" role=\"img\">\n\
         <title>Time per decision</title>\n{STYLE}\n<rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n{body}</svg>\n"
    )
}

/// Draws a panel below a line, and returns where it ends.
fn draw(panel: &Panel, top: f64, body: &mut String) -> f64 {
    let all = || panel.rows.iter().flat_map(|(_, times)| times.iter().flatten());
    let first = all().map(|time| time.low).fold(f64::INFINITY, f64::min).log10().floor();
    let last = all().map(|time| time.high).fold(1.0, f64::max).log10().ceil();
    let x = |nanoseconds: f64| {
        LEFT + (nanoseconds.log10() - first) / (last - first).max(1.0) * (WIDTH - LEFT - 40.0)
    };
    let _ = writeln!(body, "<text class=\"title\" x=\"20\" y=\"{}\">{}</text>", top + 30.0, panel.title);
    let mut at = LEFT;
    for (index, name) in panel.series.iter().enumerate() {
        // A series without a time was not measured.
        if panel.rows.iter().any(|(_, times)| times[index].is_some()) {
            let y = top + 54.0;
            let _ = writeln!(body, "<circle class=\"s{index}\" cx=\"{at}\" cy=\"{}\" r=\"5\"/>", y - 4.0);
            let _ = writeln!(body, "<text x=\"{}\" y=\"{y}\">{name}</text>", at + 11.0);
            at += 40.0 + 7.0 * name.len() as f64;
        }
    }
    let (start, end) = (top + 70.0, top + 70.0 + ROW * panel.rows.len() as f64);
    let mut power = first;
    while power <= last {
        let (x, text) = (x(10_f64.powf(power)), tick(power));
        let _ =
            writeln!(body, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{start}\" y2=\"{end}\"/>");
        let _ = writeln!(
            body,
            "<text class=\"dim\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            end + 18.0
        );
        power += 1.0;
    }
    for (row, (label, times)) in panel.rows.iter().enumerate() {
        let y = start + ROW * (row as f64 + 0.5);
        let _ = writeln!(
            body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>",
            LEFT - 14.0,
            y + 4.0
        );
        for (series, time) in times.iter().enumerate() {
            let Some(time) = time else { continue };
            let (low, high) = (x(time.low), x(time.high));
            let _ = writeln!(
                body,
                "<line class=\"s{series}\" stroke-width=\"2\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>"
            );
            let _ = writeln!(
                body,
                "<circle class=\"s{series}\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"/>",
                x(time.median)
            );
        }
    }
    end + 36.0
}

/// A power of ten of nanoseconds.
fn tick(power: f64) -> String {
    match power {
        ..3.0 => format!("{} ns", 10_f64.powf(power)),
        ..6.0 => format!("{} µs", 10_f64.powf(power - 3.0)),
        _ => format!("{} ms", 10_f64.powf(power - 6.0)),
    }
}
