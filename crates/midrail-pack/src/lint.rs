//! Lint: probable mistakes in valid packs. They are never a reason to reject a pack.

mod cases;
mod commands;
mod definition;
mod facts;
mod flow;
mod linter;
mod locks;
mod narrowed;
mod needs;
mod patterns;
mod people;
mod placeholders;
mod prerequisites;
mod reach;
mod required;
mod selection;
mod settings;
mod traps;
mod unused;
mod values;
mod vouch;

pub use linter::LintFinding;

use crate::document::PackDocument;
use crate::layers::{Layer, Merged, members};
use crate::lint::linter::{Findings, Packs};

/// Returns the probable mistakes in packs, by file and place.
pub fn lint(documents: &[(Layer, PackDocument)]) -> Vec<LintFinding> {
    // Packs that contradict each other are reported when their policy is compiled; the rest is checked all the same.
    let mut merged = Merged::default();
    let _ = merged.add_all(members(documents));
    let packs = &Packs::new(documents);
    let mut findings = Findings::new(documents);
    let out = &mut findings;
    let needs = needs::needs(&merged);
    prerequisites::cycles(out, &needs);
    commands::never_met(out, &merged);
    commands::never_run(packs, out);
    prerequisites::not_allowed(packs, out, &needs);
    // Before the others, so that locked guardrails are not reported as duplicates.
    locks::overlapping(packs, out);
    narrowed::defaults(packs, out, &merged);
    reach::shadowed(out, &merged);
    reach::duplicates(out, &merged);
    unused::names(packs, out);
    unused::parts(packs, out);
    values::unknown(packs, out);
    values::without_tool(packs, out);
    patterns::impossible(packs, out);
    patterns::misplaced(packs, out);
    patterns::tools(packs, out);
    patterns::redacted(packs, out);
    selection::tools_without_commands(packs, out);
    selection::exceptions(packs, out);
    selection::changes_of_all_tools(packs, out);
    selection::values_of_changes(packs, out);
    selection::permissions(packs, out);
    placeholders::not_replaced(packs, out);
    settings::expressions(packs, out);
    settings::failing_open(packs, out);
    settings::without_effect(packs, out);
    required::never_judged(packs, out, &merged);
    required::ineffective(packs, out, &merged);
    people::roles(packs, out);
    people::timeouts(packs, out);
    people::thresholds(packs, out);
    people::channels(packs, out);
    cases::without_expectation(packs, out);
    cases::unknown_guardrails(packs, out);
    cases::unknown_outcomes(packs, out);
    facts::of_other_events(packs, out);
    facts::of_other_tools(packs, out);
    settings::of_other_effects(packs, out);
    traps::comments(packs, out);
    traps::shares(packs, out);
    definition::without_effect(packs, out);
    definition::wanted_texts(packs, out);
    definition::feedback_names(packs, out);
    definition::same_names(packs, out);
    flow::unused_labels(packs, out);
    vouch::of_project(packs, out);
    vouch::invalid(packs, out);
    findings.sorted()
}
