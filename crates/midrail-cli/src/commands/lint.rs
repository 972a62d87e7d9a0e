//! `midrail lint`: errors and likely mistakes in packs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use midrail::LoadError;
use midrail::pack::{Diagnostic, DiagnosticLevel, DiagnosticReport, Layer, LintFinding, PackDocument, lint};
use serde_json::{Value, json};

use crate::error::{CliResult, count};
use crate::exit::{self, Exit};
use crate::input::PackArgs;
use crate::output::Output;
use crate::paint::Style;

/// Find errors and likely mistakes in packs.
///
/// For example prerequisites that can never be met, guardrails that are never reached, conditions that are never
/// true, unused names, and overlapping locks.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::LINT)]
pub(crate) struct Args {
    /// A pack file or a directory of packs, like `--pack` [default: the packs of the current directory]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    packs: PackArgs,
    /// Exit with 1 on warnings, too
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let mut load = args.packs.here();
    load.packs.extend(args.files.iter().cloned());
    let (reports, lints, documents) = match load.documents() {
        Ok(loaded) => {
            let broken = loaded.script_problems(false);
            let mut lints = lint(&loaded.documents);
            if broken.is_empty() {
                let failed = loaded.script_problems(true).into_iter();
                lints.extend(failed.flat_map(|report| warnings(&report, "dry-run", DRY_RUN)));
            }
            let omitted = loaded.missing_default().into_iter();
            lints.extend(omitted.flat_map(|report| warnings(&report, "no-default-pack", "")));
            let unread = load.unread_scripts(&loaded).into_iter();
            lints.extend(unread.flat_map(|report| warnings(&report, "unread-script", "")));
            (broken, lints, loaded.documents)
        }
        Err(LoadError::Problems(reports)) => (reports, Vec::new(), Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let broken = reports.iter().map(|report| report.problems.len()).sum::<usize>();
    let of = |severity| lints.iter().filter(|lint| lint.severity == severity).count();
    let (errors, warnings, notes) =
        (broken + of(DiagnosticLevel::Error), of(DiagnosticLevel::Warning), of(DiagnosticLevel::Note));
    if output.is_json {
        let findings: Vec<Value> = reports.iter().flat_map(DiagnosticReport::plain).map(as_finding).collect();
        let findings: Vec<Value> = findings.into_iter().chain(lints.iter().map(|lint| json!(lint))).collect();
        output
            .json(&json!({"errors": errors, "warnings": warnings, "notes": notes, "findings": findings}))?;
    } else {
        for report in reports.iter().chain(&by_file(&lints, &documents)) {
            let text = report.render(output.paint.is_on());
            output.line(text)?;
        }
        output.line(summary(errors, warnings, notes, output))?;
    }
    Ok(Exit::good_if(errors == 0 && (warnings == 0 || !args.strict)))
}

/// The head of warnings about hooks that fail in a dry run without input. It may be intended.
const DRY_RUN: &str = "a hook fails in a dry run without input: ";

/// The problems of a script as warnings.
fn warnings(report: &DiagnosticReport, code: &'static str, before: &str) -> Vec<LintFinding> {
    let problems = report.plain().into_iter().zip(report.problems.clone());
    let lints = problems.map(|(plain, problem)| LintFinding {
        code,
        severity: DiagnosticLevel::Warning,
        path: plain.file,
        line: plain.line,
        column: plain.column,
        message: format!("{before}{}", plain.message),
        help: plain.help,
        problem: Diagnostic { severity: DiagnosticLevel::Warning, ..problem },
    });
    lints.collect()
}

/// A problem of a pack in the format of a lint finding.
fn as_finding(problem: midrail::pack::diagnostic::DiagnosticRecord) -> Value {
    json!({
        "code": "problem", "severity": DiagnosticLevel::Error, "path": problem.file, "line": problem.line,
        "column": problem.column, "message": problem.message, "help": problem.help,
    })
}

fn by_file(lints: &[LintFinding], documents: &[(Layer, PackDocument)]) -> Vec<DiagnosticReport> {
    let mut files: BTreeMap<&str, Vec<Diagnostic>> = BTreeMap::new();
    for lint in lints {
        let message = format!("{} [{}]", lint.message, lint.code);
        files.entry(&lint.path).or_default().push(Diagnostic { message, ..lint.problem.clone() });
    }
    let source = |path: &str| match documents.iter().find(|(_, document)| document.path == path) {
        Some((_, document)) if !document.source.is_empty() => document.source.clone(),
        _ => std::fs::read_to_string(path).unwrap_or_default(),
    };
    files.into_iter().map(|(path, problems)| DiagnosticReport::new(path, source(path), problems)).collect()
}

fn summary(errors: usize, warnings: usize, notes: usize, output: &Output) -> String {
    let paint = output.paint;
    let parts =
        [(errors, "error", Style::Bad), (warnings, "warning", Style::Caution), (notes, "note", Style::Note)];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(number, noun, style)| paint.style(style, count(number, noun))).collect();
    if parts.is_empty() { paint.style(Style::Good, "✓ no issues found") } else { parts.join(", ") }
}
