//! `midrail detect`: runs the detectors on texts.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use midrail::detection::corpus::{self, CorpusError, LabelledText};
use midrail::detection::{Detection, Detector};
use midrail::pack::diagnostic::visible;
use serde_json::{Value, json};

use crate::error::{CliError, CliResult, InvalidValue, count, without_nulls};
use crate::exit::{self, Exit};
use crate::input;
use crate::output::{Output, short, wrap};
use crate::paint::{Style, effect_style};

/// Find destructive commands, secrets, personal data and injected instructions in text.
///
/// The input is one text, or JSON lines such as {"id":1,"text":"..."}; the first line decides which. With --json,
/// and for JSON lines, the output is one line per text: {"id":1,"findings":[...],"effect":"block"}. The effect is
/// that of the detector's guardrail with default settings (pii: secret-redaction with personal_data).
#[derive(Debug, clap::Args)]
#[command(after_help = exit::DETECT)]
pub(crate) struct Args {
    /// What to look for
    #[arg(value_name = "WHAT", value_parser = detector())]
    detector: Detector,
    /// The file to scan; `-`: standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The text to scan, in place of a file
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Treat the input as one text, even if its first line is JSON
    #[arg(long)]
    plain: bool,
}

/// The detectors, and what they find.
const DETECTORS: [(Detector, &str); 5] = [
    (Detector::Command, "Destructive commands and scripts"),
    (Detector::Sql, "Destructive SQL statements"),
    (Detector::Secrets, "Keys, tokens, passwords"),
    (Detector::PersonalData, "Personal data"),
    (Detector::Injection, "Injected instructions"),
];

/// Parses the name of a detector.
pub(crate) fn detector() -> impl TypedValueParser<Value = Detector> {
    let value = |(detector, help): (Detector, &'static str)| PossibleValue::new(detector.word()).help(help);
    PossibleValuesParser::new(DETECTORS.map(value)).try_map(|word| {
        let found = DETECTORS.into_iter().find(|(detector, _)| detector.word() == word);
        found
            .map(|(detector, _)| detector)
            .ok_or_else(|| InvalidValue("there is no such detector".to_owned()))
    })
}

/// The longest text.
const MAX_TEXT: u64 = 256 << 20;

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let detector = args.detector;
    if let Some(text) = &args.text {
        return scan(detector, text, output);
    }
    let input = input::open_or(args.file.as_deref(), "to scan a text, use `--text TEXT`")?;
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut first = Vec::new();
    input.read_until(b'\n', &mut first).map_err(|error| cannot_read(args, &error))?;
    let is_lines = !args.plain && serde_json::from_slice::<LabelledText>(&first).is_ok();
    let mut whole = BufReader::new(first.as_slice().chain(input));
    if is_lines {
        for text in corpus::texts(whole) {
            let text = text.map_err(|error| bad_line(&error))?;
            let detection = detector.detect(&text.text);
            output.json(&as_line(text.id, &detection))?;
        }
        return Ok(Exit::Good);
    }
    let mut bytes = Vec::new();
    whole.by_ref().take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(|error| cannot_read(args, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_TEXT) {
        return Err(CliError::new("the text is longer than 256 MB")
            .help("split it into JSON lines with a `text` each"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = if matches!(detector, Detector::Command) { text.trim_end_matches('\n') } else { &text };
    scan(detector, text, output)
}

/// Scans one text, and prints what is found.
fn scan(detector: Detector, text: &str, output: &mut Output) -> CliResult {
    let detection = detector.detect(text);
    if output.is_json {
        output.json(&as_line(Value::Null, &detection))?;
    } else {
        show(detector, text, &detection, output)?;
    }
    Ok(Exit::good_if(detection.findings.is_empty()))
}

fn as_line(id: Value, detection: &Detection) -> Value {
    without_nulls(json!({"findings": detection.findings, "effect": detection.effect, "id": id}))
}

fn show(detector: Detector, text: &str, detection: &Detection, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    if detection.findings.is_empty() {
        return output.line(paint.style(Style::Good, "✓ no findings"));
    }
    for found in &detection.findings {
        let (line, column) = place(text, found.start);
        let head = format!("{}:{}", line, column);
        output.line(format!(
            "{}  {}  {}",
            paint.style(Style::Strong, &found.kind),
            paint.style(effect_style(detection.effect), found.severity.as_str()),
            paint.style(Style::Dim, head),
        ))?;
        // A secret is never shown, only its position.
        if !found.command.is_empty() && matches!(detector, Detector::Command | Detector::Sql) {
            output.line(format!("  {}", visible(&short(&found.command, output.width.saturating_sub(4)))))?;
        }
        for (mark, text) in [("", &found.explanation), ("→ ", &found.safer)] {
            for line in wrap(&visible(text), output.width.saturating_sub(4)) {
                output.line(format!("  {mark}{line}"))?;
            }
        }
    }
    let number = count(detection.findings.len(), "finding");
    output.line(format!("\n{number}: {}", paint.effect(detection.effect)))
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

fn cannot_read(args: &Args, error: &std::io::Error) -> CliError {
    let name = args.file.as_deref().map_or("standard input".to_owned(), input::quoted);
    CliError::new(format!("could not read {name}: {error}"))
}

fn bad_line(error: &CorpusError) -> CliError {
    CliError::from_error(error)
        .help("every line is an object with a `text` or a `command`; --plain treats the input as one text")
}
