//! Comparisons with values that a name never has.

use midrail_core::{EventKind, Risk};

use crate::diagnostic::did_you_mean;
use crate::expr::WEEKDAYS;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs, quoted_span};

/// The names with a fixed set of values.
pub(super) fn closed_sets() -> [(&'static str, Vec<&'static str>); 5] {
    let risks = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical].map(Risk::as_str);
    [
        ("action.type", vec!["file_read", "file_write", "command", "network", "other"]),
        ("task.risk", risks.to_vec()),
        ("signals.max_tool_risk", risks.to_vec()),
        ("time.weekday", WEEKDAYS.to_vec()),
        ("event.kind", EventKind::ALL.iter().map(|kind| kind.as_str()).collect()),
    ]
}

/// Comparisons with a value that the name never has.
pub(super) fn unknown(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let sets = closed_sets();
    for found in &packs.guards {
        for (key, source, expression) in found.expressions() {
            for (name, values) in &sets {
                for value in expression.equalities(name).into_iter().filter(|value| !values.contains(value)) {
                    let help =
                        did_you_mean(value, values.iter().copied(), |known| format!("it is one of {known}"));
                    let issue = Issue::new(found.at(key), format!("`{name}` is never `{value}`")).help(help);
                    let span = quoted_span(source, value);
                    out.warn("unknown-value", found.document, Issue { span, ..issue });
                }
            }
        }
    }
}

/// Tools, and names about tools, in guardrails for events without a tool.
pub(super) fn without_tool(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let on = &found.guard.entry.spec.on;
        if on.is_empty() || on.iter().any(may_have_tool) {
            continue;
        }
        let kinds = on.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
        let help = "use `on: before_tool`, or leave the tool out";
        if !found.guard.guard.tools.is_empty() {
            let message = format!("`tools` has no effect here: {kinds} has no tool");
            out.warn("no-tool", found.document, Issue::new(found.at("tools"), message).help(help));
        }
        for (key, source, expression) in found.expressions() {
            let is_about_tool = |term: &str| term.starts_with("tool.") || term.starts_with("action.");
            for name in expression.names().iter().filter(|name| is_about_tool(name.term())) {
                let message = format!("`{name}` is never known here: {kinds} has no tool");
                let issue = Issue::new(found.at(key), message).help(help);
                let text = name.to_string();
                let span = source.find(&text).map(|start| start..start + text.len());
                out.warn("no-tool", found.document, Issue { span, ..issue });
            }
        }
    }
}

/// Whether an event of a kind can have a tool.
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
        | EventKind::ToolsOffered
        | EventKind::BeforeModel
        | EventKind::ModelChunk
        | EventKind::AfterModel
        | EventKind::BeforeHandoff
        | EventKind::AfterHandoff
        | EventKind::BeforeStop => false,
    }
}
