//! What is allowed in packs and hardly meant: found when asked for, and never a reason to refuse a pack.

mod definition;
mod locks;
mod needs;
mod people;
mod prerequisites;
mod reach;
mod required;
mod settings;
mod unused;
mod values;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::compile::{CompiledGuard, Issue, Trust, compile};
use crate::diagnostic::{Diagnostic, DiagnosticLevel, Lines};
use crate::document::PackDocument;
use crate::layers::{Layer, Merged, Placed, members};

/// Something that is hardly meant so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// What was found, as one word that stays the same.
    pub code: &'static str,
    /// How much is wrong.
    pub severity: DiagnosticLevel,
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was found, in words.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The same for a `DiagnosticReport` of the file.
    #[serde(skip)]
    pub problem: Diagnostic,
}

/// Everything in these packs that is hardly meant so, by file and place.
pub fn lint(documents: &[(Layer, PackDocument)]) -> Vec<LintFinding> {
    // Packs that do not go together are told when their policy is made; what fits is looked at all the same.
    let mut merged = Merged::default();
    let _ = merged.add_all(members(documents));
    let guards = documents.iter().enumerate().flat_map(|(at, (_, document))| {
        let compiled =
            compile(&document.pack, Trust::Unchecked).map(|compiled| compiled.entries).unwrap_or_default();
        compiled.into_iter().map(move |guard| Found { document: at, guard })
    });
    let lines = documents.iter().map(|(_, document)| Lines::new(&document.source));
    let mut linter = Linter {
        documents,
        lines: lines.collect(),
        guards: guards.collect(),
        redefined: BTreeSet::new(),
        lints: Vec::new(),
    };
    let needs = needs::of(&merged);
    prerequisites::cycles(&mut linter, &needs);
    prerequisites::not_allowed(&mut linter, &needs);
    // First, so that what is locked is told as that and not as a copy of it.
    locks::overlapping(&mut linter);
    reach::shadowed(&mut linter, &merged);
    reach::duplicates(&mut linter, &merged);
    unused::names(&mut linter);
    unused::parts(&mut linter);
    values::unknown(&mut linter);
    values::without_tool(&mut linter);
    settings::expressions(&mut linter);
    settings::failing_open(&mut linter);
    settings::without_effect(&mut linter);
    required::never_judged(&mut linter, &merged);
    required::in_vain(&mut linter, &merged);
    people::roles(&mut linter);
    people::timeouts(&mut linter);
    people::thresholds(&mut linter);
    people::channels(&mut linter);
    definition::without_effect(&mut linter);
    definition::feedback_names(&mut linter);
    definition::same_names(&mut linter);
    let mut lints = linter.lints;
    lints.sort_by(|left, right| {
        let place = |lint: &LintFinding| (lint.line, lint.column);
        left.path.cmp(&right.path).then(place(left).cmp(&place(right))).then(left.code.cmp(right.code))
    });
    lints
}

/// A guardrail as its pack says it, whatever became of it among the others.
struct Found<'d> {
    /// The place of its document.
    document: usize,
    guard: CompiledGuard<'d>,
}

impl Found<'_> {
    fn id(&self) -> &str {
        &self.guard.entry.spec.id
    }
}

struct Linter<'d> {
    documents: &'d [(Layer, PackDocument)],
    /// Where the lines of each document start.
    lines: Vec<Lines>,
    guards: Vec<Found<'d>>,
    /// Guardrails that a higher layer locks under the same id: document and place.
    redefined: BTreeSet<(usize, String)>,
    lints: Vec<LintFinding>,
}

impl<'d> Linter<'d> {
    fn found(&mut self, code: &'static str, severity: DiagnosticLevel, at: usize, issue: Issue) {
        let Some((_, document)) = self.documents.get(at) else { return };
        let problem = document.locate(issue).with_severity(severity);
        let (line, column) = match self.lines.get(at) {
            Some(lines) => lines.position(&document.source, problem.span.start),
            None => problem.position(&document.source),
        };
        self.lints.push(LintFinding {
            code,
            severity,
            path: document.path.clone(),
            line,
            column,
            message: problem.message.clone(),
            help: problem.help.clone(),
            problem,
        });
    }

    /// A finding about each guardrail for which there is one.
    fn each_guard(
        &mut self,
        code: &'static str,
        severity: DiagnosticLevel,
        issue: impl Fn(&Found<'d>) -> Option<Issue>,
    ) {
        let issues: Vec<_> = self.guards.iter().filter_map(|it| Some((it.document, issue(it)?))).collect();
        for (document, issue) in issues {
            self.found(code, severity, document, issue);
        }
    }

    /// Whether a guardrail was told of as one that a higher layer locks.
    fn is_redefined(&self, placed: &Placed<'_>) -> bool {
        !self.redefined.is_empty() && self.redefined.contains(&(placed.member, placed.guard.at.clone()))
    }

    fn packs(&self) -> impl Iterator<Item = (usize, &'d PackDocument)> + use<'d> {
        self.documents.iter().map(|(_, document)| document).enumerate()
    }
}
