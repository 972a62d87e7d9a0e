//! Values and names in conditions that what they are compared with can never have.

use midrail_core::{EventKind, Risk};

use super::{DiagnosticLevel, Found, Issue, Linter};
use crate::diagnostic::nearest;
use crate::expr::{Expected, Expression};
use crate::names::{EVENT_NAMES, GLOBS};

/// The names that stand for one of a few words.
fn closed_sets() -> [(&'static str, Vec<&'static str>); 3] {
    [
        ("action.type", vec!["file_read", "file_write", "command", "network", "other"]),
        ("task.risk", [Risk::Low, Risk::Medium, Risk::High, Risk::Critical].map(Risk::as_str).to_vec()),
        ("event.kind", EventKind::ALL.iter().map(|kind| kind.as_str()).collect()),
    ]
}

/// Comparisons with a word that the name never stands for.
pub(super) fn unknown(linter: &mut Linter<'_>) {
    let sets = closed_sets();
    let mut found = Vec::new();
    for it in &linter.guards {
        for (part, source, expression) in expressions(it) {
            for (name, words) in &sets {
                for word in expression.equalities(name).into_iter().filter(|word| !words.contains(word)) {
                    let help = match nearest(word, words.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("it is one of {}", words.join(", ")),
                    };
                    let message = format!("`{name}` is never `{word}`");
                    let issue = Issue::new(format!("{}/{part}", it.guard.at), message).help(help);
                    found.push((it.document, Issue { span: quoted(source, word), ..issue }));
                }
            }
        }
    }
    for (document, issue) in found {
        linter.found("unknown-value", DiagnosticLevel::Warning, document, issue);
    }
}

/// Tools, and names that ask for one, where the guardrail is asked about events that have none.
pub(super) fn without_tool(linter: &mut Linter<'_>) {
    let mut found = Vec::new();
    for it in &linter.guards {
        let on = &it.guard.entry.spec.on;
        if on.is_empty() || on.iter().any(may_have_tool) {
            continue;
        }
        let kinds: Vec<&str> = on.iter().map(|kind| kind.as_str()).collect();
        let kinds = kinds.join(", ");
        let help = "ask it `on: before_tool`, or leave the tool out";
        if !it.guard.guard.tools.is_empty() {
            let message = format!("`tools` does nothing here: {kinds} has no tool");
            found.push((it.document, Issue::new(format!("{}/tools", it.guard.at), message).help(help)));
        }
        for (part, source, expression) in expressions(it) {
            let is_of_tool = |term: &str| term.starts_with("tool.") || term.starts_with("action.");
            for name in expression.names().iter().filter(|name| is_of_tool(name.term())) {
                let message = format!("`{name}` is never known here: {kinds} has no tool");
                let issue = Issue::new(format!("{}/{part}", it.guard.at), message).help(help);
                let text = name.to_string();
                let span = source.find(&text).map(|start| start..start + text.len());
                found.push((it.document, Issue { span, ..issue }));
            }
        }
    }
    for (document, issue) in found {
        linter.found("no-tool", DiagnosticLevel::Warning, document, issue);
    }
}

/// Whether an event of a kind can tell of a tool.
fn may_have_tool(kind: &EventKind) -> bool {
    match kind {
        EventKind::BeforeTool
        | EventKind::AfterTool
        | EventKind::OnError
        | EventKind::ApprovalDecided
        | EventKind::Observed
        | EventKind::Restored
        | EventKind::Administered => true,
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::BeforeModel
        | EventKind::ModelChunk
        | EventKind::AfterModel
        | EventKind::BeforeHandoff
        | EventKind::AfterHandoff
        | EventKind::BeforeStop => false,
    }
}

fn expressions<'g>(it: &'g Found<'_>) -> impl Iterator<Item = (&'static str, &'g str, Expression)> {
    let guard = it.guard.guard;
    [("when", &guard.when), ("check", &guard.check)].into_iter().filter_map(|(part, source)| {
        let source = source.as_deref()?;
        let expression = Expression::parse(source, &EVENT_NAMES, Expected::Bool, GLOBS).ok()?;
        Some((part, source, expression))
    })
}

/// Where a text stands in an expression, without its quotes.
fn quoted(source: &str, word: &str) -> Option<std::ops::Range<usize>> {
    let quoted = ["'", "\""].map(|quote| format!("{quote}{word}{quote}"));
    let start = quoted.iter().find_map(|quoted| source.find(quoted))? + 1;
    Some(start..start + word.len())
}
