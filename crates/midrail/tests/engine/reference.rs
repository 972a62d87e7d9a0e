//! The generated pages of docs/reference. `MIDRAIL_WRITE=1 cargo test -p midrail --test engine reference` writes them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use midrail::pack::{ALERT_NAMES, EVENT_NAMES};

fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("MIDRAIL_WRITE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let how = "MIDRAIL_WRITE=1 cargo test -p midrail --test engine reference";
    assert!(found == text, "docs/reference/{name} is stale; write it anew with `{how}`");
}

#[test]
fn guardrails_page_is_fresh() {
    let mut text = "<!-- Generated from the pages beside the guardrails. -->\n\n# Guardrails\n\n".to_owned();
    text += "| id | category | priority | asked | always on |\n|---|---|---|---|---|\n";
    for page in midrail::CATALOGUE {
        let on: Vec<&str> = page.on.iter().map(|kind| kind.word()).collect();
        let always = if page.always_on { "yes" } else { "" };
        let (category, on) = (page.category.word(), on.join(", "));
        writeln!(text, "| {} | {category} | {} | {on} | {always} |", page.id, page.priority).unwrap();
    }
    for page in midrail::CATALOGUE {
        // Every heading one step down, so that the page has one title.
        let body = page.page.lines().map(|line| match line.strip_prefix('#') {
            Some(_) => format!("#{line}"),
            None => line.to_owned(),
        });
        let body: Vec<String> = body.collect();
        write!(text, "\n{}\n", body.join("\n")).unwrap();
    }
    hold("guardrails.md", &text);
}

#[test]
fn expressions_page_is_fresh() {
    let mut text =
        "<!-- Generated from the names that expressions know. -->\n\n# Names in expressions\n\n".to_owned();
    text += "What expressions in `when`, `check` and keys can speak of. A name that stands for nothing in an event is \
             unknown: a condition then counts as true, and a check takes `on_missing`.\n\n| name | is | means |\n|---|---|---|\n";
    for term in EVENT_NAMES.terms() {
        writeln!(text, "| `{}` | {} | {} |", term.name, term.kind.noun(), term.doc).unwrap();
    }
    text += "\n## In conditions of alerts\n\n| name | is | means |\n|---|---|---|\n";
    for term in ALERT_NAMES.terms() {
        writeln!(text, "| `{}` | {} | {} |", term.name, term.kind.noun(), term.doc).unwrap();
    }
    hold("expressions.md", &text);
}
