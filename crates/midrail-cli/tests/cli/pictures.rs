//! The picture in the README: `midrail demo` as an SVG, made from the program's real output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::world::World;

/// Columns of the terminal.
const WIDTH: usize = 108;
/// Height of a line, in pixels.
const LINE: usize = 18;
const BACKGROUND: &str = "#0d1117";
const FOREGROUND: &str = "#e6edf3";

/// A run of text with its style, as SVG attributes.
type Span = (String, String);

#[test]
fn demo_picture_is_current() {
    let world = World::new();
    fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.command(&["demo", "--color", "always"]);
    command.env("TMPDIR", world.path("tmp"));
    let out = crate::world::ended(&mut command, Vec::new()).code(0).out;

    let picture = svg(&screen(&out));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images/demo.svg");
    if std::env::var_os("MIDRAIL_WRITE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &picture).unwrap();
    }
    let how = "MIDRAIL_WRITE=1 cargo test -p midrail-cli --test cli pictures";
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == picture, "docs/images/demo.svg is stale; regenerate it with `{how}`");
}

/// The lines that the picture shows: the first four scenes and the summary, without what differs from run to run.
fn screen(out: &str) -> Vec<String> {
    let mut seconds = 0;
    let mut stable = |line: &str| -> String {
        let line = if let Some(rest) = line.strip_prefix("\x1b[2m").filter(|rest| rest.as_bytes()[2] == b':')
        {
            seconds += 5;
            format!("\x1b[2m10:00:{:02}{}", seconds % 60, &rest[8..])
        } else {
            line.to_owned()
        };
        match line.find("-key#") {
            Some(at) => format!("{}7f3a{}", &line[..at + 5], &line[at + 9..]),
            None => line,
        }
    };
    let lines: Vec<&str> = out.lines().collect();
    let is_title = |line: &&str| line.starts_with("\x1b[1m");
    let titles: Vec<usize> = (0..lines.len()).filter(|at| is_title(&lines[*at])).collect();
    let summary = lines.iter().position(|line| line.contains(" decisions: ")).unwrap();
    let mut shown = vec!["\x1b[32m$\x1b[0m midrail demo".to_owned(), String::new()];
    shown.extend(lines[titles[1]..titles[5]].iter().map(|line| stable(line)));
    shown.push("\x1b[2m…\x1b[0m".to_owned());
    shown.push(String::new());
    shown.extend(lines[summary..summary + 3].iter().map(|line| (*line).to_owned()));
    shown
}

fn svg(lines: &[String]) -> String {
    let rows: Vec<Vec<Span>> = lines.iter().flat_map(|line| wrap(&spans(line))).collect();
    let (width, height) = (WIDTH * 78 / 10 + 32, rows.len() * LINE + 56);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#ff5f56\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#ffbd2e\"/><circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#27c93f\"/>\n",
    );
    for (index, row) in rows.iter().enumerate() {
        let y = 50 + index * LINE;
        let _ = write!(svg, "<text x=\"16\" y=\"{y}\" xml:space=\"preserve\" fill=\"{FOREGROUND}\">");
        for (style, text) in row {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            let _ = write!(svg, "<tspan{style}>{text}</tspan>");
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Splits a line with ANSI colours into styled spans.
fn spans(line: &str) -> Vec<Span> {
    let mut style = String::new();
    let mut spans = Vec::new();
    for (index, part) in line.split("\x1b[").enumerate() {
        let text = match part.split_once('m').filter(|_| index > 0) {
            Some((code, text)) => {
                style = attributes(code);
                text
            }
            None => part,
        };
        if !text.is_empty() {
            spans.push((style.clone(), text.to_owned()));
        }
    }
    spans
}

fn attributes(code: &str) -> String {
    code.split(';')
        .map(|code| match code {
            "1" => " font-weight=\"bold\"",
            "2" => " fill-opacity=\"0.55\"",
            "31" => " fill=\"#ff7b72\"",
            "32" => " fill=\"#3fb950\"",
            "33" => " fill=\"#d29922\"",
            "35" => " fill=\"#bc8cff\"",
            "36" => " fill=\"#79c0ff\"",
            _ => "",
        })
        .collect()
}

/// Breaks a line at the terminal's width.
fn wrap(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut rows = vec![Vec::new()];
    let mut column = 0;
    for (style, text) in spans {
        let mut rest: Vec<char> = text.chars().collect();
        while !rest.is_empty() {
            if column == WIDTH {
                rows.push(Vec::new());
                column = 0;
            }
            let tail = rest.split_off(rest.len().min(WIDTH - column));
            column += rest.len();
            rows.last_mut().unwrap().push((style.clone(), rest.into_iter().collect()));
            rest = tail;
        }
    }
    rows
}
