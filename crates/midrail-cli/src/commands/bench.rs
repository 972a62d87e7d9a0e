//! `midrail bench`: accuracy and speed of detectors on your own data.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use midrail::Effect;
use midrail::detection::Detector;
use midrail::detection::corpus::{self, Half, Score};
use serde_json::{Value, json};

use crate::commands::detect::detector;
use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{Table, cell, styled};

/// Measure the accuracy and speed of detectors on your own data.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    Detect(Detect),
}

/// Measure the detectors on labelled texts.
///
/// A corpus is a file of JSON lines with `text` (or `command`) and `label`. To be found are block, ask, secret, pii,
/// injection, jailbreak; not to be found are allow, benign, harmful; other labels only count for the flag rate. The
/// beginning of a file's name selects its detector: cmd-, cmd-sql, sql-, sec-, pii-, inj-, jb-, harm-.
#[derive(Debug, clap::Args)]
struct Detect {
    /// A corpus, or a directory of corpora. Can be given several times
    #[arg(long, value_name = "DIR", required = true)]
    corpus: Vec<PathBuf>,
    /// The detector of all files, regardless of their names
    #[arg(long, value_name = "WHAT", value_parser = detector())]
    only: Option<Detector>,
    /// Measure the two halves of each corpus apart, split by this field: texts with the same value stay in one half. Tune with
    /// the first half, and report the second
    #[arg(long, value_name = "FIELD")]
    halves: Option<String>,
    /// Show up to this many wrong results per file
    #[arg(long, value_name = "N", default_value_t = 0)]
    wrong: usize,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let Subject::Detect(args) = &args.what;
    let mut measured = Vec::new();
    for file in files(&args.corpus)? {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let detector = args.only.or_else(|| corpus::detector_for_file(&name));
        let Some(detector) = detector else { continue };
        let parts: Vec<(String, Part<'_>)> = match args.halves.as_deref() {
            None => vec![(name, None)],
            Some(field) => vec![
                (format!("{name} (tuning)"), Some((field, Half::Tuning))),
                (format!("{name} (reporting)"), Some((field, Half::Reporting))),
            ],
        };
        for (name, part) in parts {
            let (score, wrong) = measure(&file, detector, part, args.wrong, output)?;
            output.show(&as_json(&name, detector, &score, &wrong), |output| {
                let name = output.paint.style(Style::Dim, &name);
                let line = |(label, text): &(&str, String)| {
                    let text = text.replace('\n', "⏎");
                    format!("{name}  {label:<10} {}", short(&text, output.width.saturating_sub(24)))
                };
                wrong.iter().map(line).collect()
            })?;
            measured.push((name, detector, score));
        }
    }
    if measured.is_empty() {
        return Err(CliError::new("there is no corpus to measure")
            .help("name files by their detector, such as `cmd-mine.jsonl`, or give `--only WHAT`"));
    }
    if !output.is_json {
        table(&measured).print(0, output)?;
    }
    Ok(Exit::Good)
}

/// The files of folders and the files that are named, in order.
fn files(paths: &[PathBuf]) -> CliResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let cannot = |error| CliError::new(format!("could not read {}: {error}", input::quoted(path)));
        let mut found = Vec::new();
        for entry in fs::read_dir(path).map_err(cannot)? {
            let file = entry.map_err(cannot)?.path();
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                found.push(file);
            }
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

type Wrong = Vec<(&'static str, String)>;

/// The field that splits a corpus, and the half that is measured. `None`: all of it.
type Part<'a> = Option<(&'a str, Half)>;

fn measure(
    file: &Path,
    detector: Detector,
    part: Part<'_>,
    shown: usize,
    output: &Output,
) -> CliResult<(Score, Wrong)> {
    let size = fs::metadata(file).map(|metadata| metadata.len()).unwrap_or_default();
    let mut progress = output.progress("measuring");
    let mut score = Score::default();
    let mut wrong = Vec::new();
    // The first use builds automata, which is not measured.
    detector.detect("password = x; rm -rf /; ignore previous instructions; a@b.example");
    let mut read = 0;
    for text in corpus::texts(BufReader::new(input::open(Some(file))?)) {
        let text = text.map_err(|error| CliError::from_error(&error).about(input::quoted(file)))?;
        if part.is_some_and(|(field, half)| text.half(field) != Some(half)) {
            continue;
        }
        let is_flagged = score.add(detector, &text).effect > Effect::Allow;
        if let (Some(expected), true) = (corpus::expected(text.label.as_deref()), wrong.len() < shown)
            && expected != is_flagged
        {
            wrong.push((if expected { "missed" } else { "false alarm" }, text.text.clone()));
        }
        read += u64::try_from(text.text.len()).unwrap_or_default();
        progress.show(read.min(size), size);
    }
    Ok((score, wrong))
}

fn table(measured: &[(String, Detector, Score)]) -> Table {
    let share = |share: Option<f64>| cell(share.map_or("-".to_owned(), |share| format!("{share:.3}")));
    let percent =
        |share: Option<f64>| cell(share.map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0)));
    Table::of(
        measured,
        &[
            ("corpus", &|(name, ..)| styled(name, Style::Strong)),
            ("detector", &|(_, detector, _)| cell(detector.word())),
            ("texts", &|(.., score)| cell(score.texts.to_string())),
            ("precision", &|(.., score)| share(score.precision())),
            ("recall", &|(.., score)| share(score.recall())),
            ("F1", &|(.., score)| share(score.f1())),
            ("false alarms", &|(.., score)| percent(score.false_positive_rate())),
            ("flagged", &|(.., score)| percent(score.flag_rate())),
            ("MB/s", &|(.., score)| cell(format!("{:.1}", score.megabytes_per_second()))),
            ("texts/s", &|(.., score)| cell(format!("{:.0}", score.texts_per_second()))),
        ],
    )
}

fn as_json(name: &str, detector: Detector, score: &Score, wrong: &Wrong) -> Value {
    let wrong: Vec<Value> = wrong.iter().map(|(what, text)| json!({"what": what, "text": text})).collect();
    json!({
        "corpus": name, "detector": detector.word(), "texts": score.texts, "bytes": score.bytes,
        "hits": score.hits, "misses": score.misses, "false_alarms": score.false_alarms, "passed": score.passed,
        "precision": score.precision(), "recall": score.recall(), "f1": score.f1(),
        "false_positive_rate": score.false_positive_rate(), "flag_rate": score.flag_rate(),
        "megabytes_per_second": score.megabytes_per_second(), "texts_per_second": score.texts_per_second(),
        "wrong": wrong,
    })
}
