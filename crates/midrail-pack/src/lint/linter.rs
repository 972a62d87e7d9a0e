//! The packs that lint reads, and the findings that it collects.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::compile::{CompiledGuard, Trust, compile};
use crate::diagnostic::{Diagnostic, DiagnosticLevel, Lines};
use crate::document::PackDocument;
use crate::expr::{Expected, Expression};
use crate::issue::Issue;
use crate::layers::{Layer, Placed};
use crate::names::event_expression;

/// A probable mistake in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// A stable code.
    pub code: &'static str,
    /// Its severity.
    pub severity: DiagnosticLevel,
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The same for a `DiagnosticReport` of the file.
    #[serde(skip)]
    pub problem: Diagnostic,
}

/// A guardrail of a pack, regardless of other packs.
pub(super) struct Found<'d> {
    /// The index of its document.
    pub(super) document: usize,
    pub(super) guard: CompiledGuard<'d>,
}

impl<'d> Found<'d> {
    pub(super) fn id(&self) -> &str {
        &self.guard.entry.spec.id
    }

    /// The place of a key of the guardrail.
    pub(super) fn at(&self, key: &str) -> String {
        format!("{}/{key}", self.guard.at)
    }

    /// Its valid conditions and checks: key, source and expression.
    pub(super) fn expressions(&self) -> impl Iterator<Item = (&'static str, &'d str, Expression)> {
        let guard = self.guard.guard;
        [("when", &guard.when), ("check", &guard.check)].into_iter().filter_map(|(key, source)| {
            let source = source.as_deref()?;
            Some((key, source, event_expression(source, Expected::Bool).ok()?))
        })
    }
}

/// The packs, and the guardrails of each.
pub(super) struct Packs<'d> {
    pub(super) documents: &'d [(Layer, PackDocument)],
    pub(super) guards: Vec<Found<'d>>,
}

impl<'d> Packs<'d> {
    pub(super) fn new(documents: &'d [(Layer, PackDocument)]) -> Self {
        let guards = documents.iter().enumerate().flat_map(|(at, (_, document))| {
            let compiled = compile(&document.pack, Trust::Unchecked);
            let guards = compiled.map(|compiled| compiled.entries).unwrap_or_default();
            guards.into_iter().map(move |guard| Found { document: at, guard })
        });
        Packs { documents, guards: guards.collect() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &'d PackDocument)> + use<'d> {
        self.documents.iter().map(|(_, document)| document).enumerate()
    }
}

/// The findings so far.
pub(super) struct Findings<'d> {
    documents: &'d [(Layer, PackDocument)],
    /// The lines of each document.
    lines: Vec<Lines>,
    /// Guardrails that a higher layer locks under the same id: document and place.
    pub(super) redefined: BTreeSet<(usize, String)>,
    found: Vec<LintFinding>,
}

impl<'d> Findings<'d> {
    pub(super) fn new(documents: &'d [(Layer, PackDocument)]) -> Self {
        let lines = documents.iter().map(|(_, document)| Lines::new(&document.source)).collect();
        Findings { documents, lines, redefined: BTreeSet::new(), found: Vec::new() }
    }

    pub(super) fn add(&mut self, code: &'static str, severity: DiagnosticLevel, at: usize, issue: Issue) {
        let Some(((_, document), lines)) = self.documents.get(at).zip(self.lines.get(at)) else { return };
        let problem = document.locate(issue).with_severity(severity);
        let (line, column) = lines.position(&document.source, problem.span.start);
        let (path, message, help) = (document.path.clone(), problem.message.clone(), problem.help.clone());
        self.found.push(LintFinding { code, severity, path, line, column, message, help, problem });
    }

    pub(super) fn warn(&mut self, code: &'static str, at: usize, issue: Issue) {
        self.add(code, DiagnosticLevel::Warning, at, issue);
    }

    /// Adds a finding for each guardrail with an issue.
    pub(super) fn each(
        &mut self,
        packs: &Packs<'_>,
        code: &'static str,
        severity: DiagnosticLevel,
        issue: impl Fn(&Found<'_>) -> Option<Issue>,
    ) {
        for found in &packs.guards {
            if let Some(issue) = issue(found) {
                self.add(code, severity, found.document, issue);
            }
        }
    }

    /// Whether a guardrail was reported as locked by a higher layer.
    pub(super) fn is_redefined(&self, placed: &Placed<'_>) -> bool {
        !self.redefined.is_empty() && self.redefined.contains(&(placed.member, placed.guard.at.clone()))
    }

    /// The findings by file and place.
    pub(super) fn sorted(mut self) -> Vec<LintFinding> {
        self.found.sort_by(|left, right| {
            let key = |lint: &LintFinding| (lint.path.clone(), lint.line, lint.column, lint.code);
            key(left).cmp(&key(right))
        });
        self.found
    }
}

/// The span of a quoted text in an expression, without the quotes.
pub(super) fn quoted_span(source: &str, text: &str) -> Option<std::ops::Range<usize>> {
    let quoted = ["'", "\""].map(|quote| format!("{quote}{text}{quote}"));
    let start = quoted.iter().find_map(|quoted| source.find(quoted))? + 1;
    Some(start..start + text.len())
}
