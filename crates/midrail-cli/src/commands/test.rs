//! `midrail test`: runs the cases of packs, case files and pages.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use midrail::cases::{self, CaseOutcome, CaseResult, CheckedStep};
use midrail::pack::diagnostic::visible;
use midrail::{paths as locations, shipped};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{CliError, CliResult, count};
use crate::exit::{self, Exit};
use crate::input::quoted;
use crate::output::{Output, short, wrap};
use crate::paint::{Paint, Style};

/// Run the tests of packs, case files and guardrail pages.
///
/// Each expectation has one result. Validated: allowed, as expected. Reported: blocked or changed, as expected.
/// Missing: allowed, but should have been blocked. Noisy: blocked, but should have been allowed. Wrong: another
/// decision than expected.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::TEST)]
pub(crate) struct Args {
    /// Files and folders with `tests:` or `cases:` (.yaml, .yml, .json, .md) [default: the packs of this project, else
    /// the shipped ones]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Run only the cases whose id contains this
    #[arg(long, value_name = "ID")]
    filter: Option<String>,
}

/// The result of one file.
#[derive(Default, Serialize)]
struct FileResult {
    path: String,
    passed: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cases: Vec<CaseResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// The totals of all files.
#[derive(Default)]
struct Totals {
    passed: usize,
    failed: usize,
    unreadable: usize,
    outcomes: BTreeMap<CaseOutcome, usize>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let mut totals = Totals::default();
    let mut results = Vec::new();
    for file in files(&args.paths)? {
        let ran = run_file(&file, args.filter.as_deref()).and_then(|cases| {
            if cases.is_empty() && file.is_named && args.filter.is_none() {
                return Err(CliError::new(format!("there is no case in {}", quoted(&file.name)))
                    .help("add `tests:` to a pack, or `cases:` to a case file"));
            }
            Ok(cases)
        });
        let result = match ran {
            Ok(cases) if cases.is_empty() => {
                if args.filter.is_none() && output.is_verbose() {
                    output.note(&format!("{}: no cases", file.name));
                }
                continue;
            }
            Ok(cases) => {
                let passed = cases.iter().filter(|case| case.is_good()).count();
                FileResult { path: file.name, passed, failed: cases.len() - passed, cases, error: None }
            }
            Err(failure) => {
                totals.unreadable += 1;
                output.remark(&failure);
                FileResult { path: file.name, error: Some(failure.as_json()), ..FileResult::default() }
            }
        };
        totals.add(&result);
        if !output.is_json && result.error.is_none() {
            show(&result, output)?;
        }
        results.push(result);
    }
    let has_none = totals.passed + totals.failed + totals.unreadable == 0;
    if has_none {
        output.remark(&no_cases(args));
    }
    let is_good = totals.failed == 0 && totals.unreadable == 0 && !has_none;
    if output.is_json {
        let outcomes: BTreeMap<&str, usize> =
            totals.outcomes.iter().map(|(outcome, count)| (outcome.word(), *count)).collect();
        output.json(&json!({
            "passed": totals.passed, "failed": totals.failed, "unreadable": totals.unreadable,
            "outcomes": outcomes, "files": results,
        }))?;
    } else {
        output.line(totals.summary(output.paint))?;
    }
    Ok(Exit::good_if(is_good))
}

/// The error of a run without cases.
fn no_cases(args: &Args) -> CliError {
    match &args.filter {
        Some(filter) => CliError::new(format!("no case has `{}` in its id", visible(filter)))
            .help("`midrail test -v` shows the ids"),
        None => CliError::new("there is no case to run")
            .help("add `tests:` to a pack, or name a file or folder with cases"),
    }
}

impl Totals {
    fn add(&mut self, result: &FileResult) {
        self.passed += result.passed;
        self.failed += result.failed;
        for checked in result.cases.iter().flat_map(|case| &case.checks) {
            *self.outcomes.entry(checked.outcome).or_default() += 1;
        }
    }

    fn summary(&self, paint: Paint) -> String {
        let passed = paint.style(Style::Good, format!("{} passed", self.passed));
        let mut parts = vec![passed];
        let failed = format!("{} failed", self.failed);
        parts.push(if self.failed > 0 { paint.style(Style::Bad, failed) } else { failed });
        if self.unreadable > 0 {
            parts.push(paint.style(Style::Bad, format!("{} not run", count(self.unreadable, "file"))));
        }
        let words: Vec<String> =
            self.outcomes.iter().map(|(outcome, count)| format!("{count} {}", outcome.word())).collect();
        let words = if words.is_empty() { String::new() } else { format!("  ({})", words.join(", ")) };
        format!("\n{}{}", parts.join(", "), paint.style(Style::Dim, words))
    }
}

/// A file to run: one on disk, or a shipped pack.
struct TestFile {
    name: String,
    path: PathBuf,
    shipped: Option<&'static str>,
    is_named: bool,
}

fn files(paths: &[PathBuf]) -> CliResult<Vec<TestFile>> {
    let on_disk = |path: PathBuf, is_named| TestFile {
        name: path.display().to_string(),
        path,
        shipped: None,
        is_named,
    };
    let mut paths = paths.to_vec();
    if paths.is_empty() {
        let project = env::current_dir().ok().and_then(|here| locations::project(&here));
        let Some(project) = project else {
            return Ok(shipped::PACKS.iter().map(|(name, text)| shipped_file(name, text, false)).collect());
        };
        paths.push(project.join(locations::PROJECT_FOLDER));
    }
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            below(&path, &mut found)?;
            found.sort();
            files.extend(found.into_iter().map(|path| on_disk(path, false)));
        } else if let Some((name, text)) =
            shipped::pack(&path.to_string_lossy()).filter(|_| path.symlink_metadata().is_err())
        {
            files.push(shipped_file(name, text, true));
        } else {
            files.push(on_disk(path, true));
        }
    }
    Ok(files)
}

fn shipped_file(name: &str, text: &'static str, is_named: bool) -> TestFile {
    let name = format!("midrail:{name}");
    TestFile { path: PathBuf::from(&name), name, shipped: Some(text), is_named }
}

fn is_case_file(ending: &str) -> bool {
    matches!(ending, "yaml" | "yml" | "json" | "md")
}

/// The files that can hold cases, in a folder and in those below it. Links to folders are not followed.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> CliResult<()> {
    let cannot = |error| CliError::new(format!("could not read {}: {error}", quoted(folder)));
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type().map_err(cannot)?.is_dir() {
            if !is_hidden {
                below(&path, found)?;
            }
        } else if path.extension().and_then(|ending| ending.to_str()).is_some_and(is_case_file) {
            found.push(path);
        }
    }
    Ok(())
}

fn run_file(file: &TestFile, filter: Option<&str>) -> CliResult<Vec<CaseResult>> {
    let text = match file.shipped {
        Some(text) => text.to_owned(),
        None => read(file)?,
    };
    let mut results = Vec::new();
    for mut set in cases::read(&file.path, &text).map_err(|report| CliError::problems(vec![report]))? {
        if let Some(filter) = filter {
            set.cases.retain(|case| case.id.contains(filter));
        }
        results.extend(set.run());
    }
    Ok(results)
}

fn read(file: &TestFile) -> CliResult<String> {
    let bytes = fs::read(&file.path).map_err(|error| {
        let is_text = error.kind() == std::io::ErrorKind::NotFound && file.name.contains(char::is_whitespace);
        CliError::new(format!("could not read {}: {error}", quoted(&file.name))).maybe_help(
            is_text
                .then_some("name files with tests; to check one command, use `midrail check --bash COMMAND`"),
        )
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(format!("{} is not UTF-8: byte {at} does not belong there", quoted(&file.name)))
    })
}

fn show(result: &FileResult, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    let is_good = result.failed == 0;
    let mark = if is_good { paint.style(Style::Good, "✓") } else { paint.style(Style::Bad, "✗") };
    let failed =
        if is_good { String::new() } else { paint.style(Style::Bad, format!(", {} failed", result.failed)) };
    output.line(format!("{mark} {}  {} passed{failed}", visible(&result.path), result.passed))?;
    for case in &result.cases {
        if case.checks.is_empty() {
            let id = paint.style(Style::Strong, short(&case.id, 100));
            output.line(format!(
                "  {} {id}: it has no expectations",
                paint.style(Style::Bad, format!("{:<9}", CaseOutcome::Wrong.word()))
            ))?;
        }
        for checked in &case.checks {
            if !checked.outcome.is_good() {
                miss(case, checked, output)?;
            } else if output.is_verbose() {
                let what = format!("{} › {}", short(&case.id, 100), place(checked));
                output.line(format!(
                    "  {} {what}",
                    paint.style(Style::Good, format!("{:<9}", checked.outcome.word()))
                ))?;
            }
        }
    }
    Ok(())
}

fn place(checked: &CheckedStep) -> String {
    match checked.step {
        0 => visible(&checked.what).into_owned(),
        step => format!("step {step}: {}", visible(&checked.what)),
    }
}

/// One expectation that was not met, and the differences.
fn miss(case: &CaseResult, checked: &CheckedStep, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    let word = paint.style(Style::Bad, format!("{:<9}", checked.outcome.word()));
    let id = paint.style(Style::Strong, short(&case.id, 100));
    output.line(format!("  {word} {id} › {}", place(checked)))?;
    for difference in &checked.differences {
        output.line(format!("            {}", visible(&difference.field)))?;
        let room = output.width.saturating_sub(24).max(20);
        for (sign, word, text, style) in [
            ('-', "expected", &difference.expected, Style::Good),
            ('+', "found   ", &difference.found, Style::Bad),
        ] {
            let text = if text.is_empty() { "nothing" } else { text };
            for (at, line) in wrap(text, room).into_iter().enumerate() {
                let head = if at == 0 { format!("{sign} {word}") } else { format!("{:10}", "") };
                output.line(format!("            {}  {line}", paint.style(style, head)))?;
            }
        }
    }
    Ok(())
}
