//! The generated pages of docs/reference. `MIDRAIL_WRITE=1 cargo test -p midrail --test engine reference` writes them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use midrail::guardrails::{Builtin, CATALOGUE};
use midrail::pack::{ALERT_NAMES, EVENT_NAMES};

const COMMAND: &str = "MIDRAIL_WRITE=1 cargo test -p midrail --test engine reference";

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

fn is_writing() -> bool {
    std::env::var_os("MIDRAIL_WRITE").is_some()
}

pub(crate) fn assert_fresh(name: &str, text: &str) {
    let path = reference().join(name);
    if is_writing() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "docs/reference/{name} is stale; regenerate it with `{COMMAND}`");
}

fn events(builtin: &Builtin) -> String {
    builtin.on.iter().map(|kind| format!("`{}`", kind.as_str())).collect::<Vec<_>>().join(", ")
}

#[test]
fn guardrail_index_is_fresh() {
    let mut text = "<!-- Generated from the pages of the guardrails. -->\n\n# Guardrails\n\n".to_owned();
    text += "Packs accept the name and the id of a guardrail. Guardrails marked with * are always on.\n\n\
             | name | id | category | events | summary |\n|---|---|---|---|---|\n";
    for builtin in CATALOGUE {
        let Builtin { name, id, .. } = builtin;
        let mark = if builtin.always_on { " *" } else { "" };
        let (category, events, summary) = (builtin.category.as_str(), events(builtin), builtin.summary());
        let summary = summary.replace('\n', " ");
        writeln!(
            text,
            "| [{name}](guardrails/{name}.md){mark} | `{id}` | {category} | {events} | {summary} |"
        )
        .unwrap();
    }
    assert_fresh("guardrails.md", &text);
}

#[test]
fn guardrail_pages_are_fresh() {
    for builtin in CATALOGUE {
        let mut text = format!("<!-- Generated from the page of the guardrail. -->\n\n{}", builtin.page);
        let always = if builtin.always_on { ", always on" } else { "" };
        let (category, priority, events) = (builtin.category.as_str(), builtin.priority, events(builtin));
        writeln!(text, "\n---\n\nCategory {category}, priority {priority}, on {events}{always}.").unwrap();
        assert_fresh(&format!("guardrails/{}.md", builtin.name), &text);
    }
    let known: BTreeSet<String> = CATALOGUE.iter().map(|builtin| format!("{}.md", builtin.name)).collect();
    for entry in fs::read_dir(reference().join("guardrails")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !known.contains(&name) && is_writing() {
            fs::remove_file(entry.path()).unwrap();
        } else {
            assert!(known.contains(&name), "{name} belongs to no guardrail; remove it with `{COMMAND}`");
        }
    }
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
    assert_fresh("expressions.md", &text);
}
