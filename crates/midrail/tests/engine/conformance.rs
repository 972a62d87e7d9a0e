//! docs/reference/conformance.md: the requirements of the specifications, and what holds them.
//! `MIDRAIL_WRITE=1 cargo test -p midrail --test engine conformance` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use midrail::cases::{CaseSet, read};
use midrail::pack::{decode, yaml};
use serde::Deserialize;

use crate::reference::assert_fresh;

const FILE: &str = "docs/reference/conformance.yaml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conformance {
    specifications: Vec<Specification>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Specification {
    id: String,
    title: String,
    requirements: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    section: String,
    text: String,
    held_by: Vec<String>,
    difference: Option<Deviation>,
}

/// A deliberate difference from a specification.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    how: String,
    why: String,
    setting: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn conformance() -> Conformance {
    let text = fs::read_to_string(repository().join(FILE)).unwrap();
    let nodes = yaml::parse(&text).unwrap();
    decode(nodes.first().unwrap()).unwrap()
}

/// The cases of a file, by id, and whether they pass.
fn results(file: &Path) -> BTreeMap<String, bool> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let sets = read(file, &text).unwrap_or_else(|report| panic!("{report}"));
    let results = sets.iter().flat_map(CaseSet::run);
    results.map(|result| (result.id.clone(), result.is_good())).collect()
}

/// Whether a file of tests has a test of this name.
fn has_test(file: &Path, name: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let start = format!("fn {name}(");
    text.split("#[test]").skip(1).any(|test| {
        let body = test.find('{').unwrap_or(test.len());
        test.get(..body).is_some_and(|head| head.contains(&start))
    })
}

#[test]
fn every_requirement_is_held() {
    let mut cases: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    let mut problems = Vec::new();
    for requirement in conformance().specifications.iter().flat_map(|it| &it.requirements) {
        assert!(!requirement.held_by.is_empty(), "nothing holds {}", requirement.id);
        for reference in &requirement.held_by {
            let (file, name) = reference.split_once('#').unwrap();
            let path = repository().join(file);
            let is_held = if file.ends_with(".rs") {
                has_test(&path, name)
            } else {
                let known = cases.entry(file.to_owned()).or_insert_with(|| results(&path));
                known.get(name) == Some(&true)
            };
            if !is_held {
                problems.push(format!("{}: {reference} does not exist or fails", requirement.id));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn requirements_are_numbered_by_specification() {
    let mut known = BTreeSet::new();
    for specification in conformance().specifications {
        for (i, requirement) in specification.requirements.iter().enumerate() {
            assert_eq!(requirement.id, format!("{}-{:02}", specification.id, i + 1));
            assert!(known.insert(requirement.text.clone()), "twice: {}", requirement.text);
        }
    }
    assert!(known.len() >= 179, "only {} requirements", known.len());
}

/// A link to a case or a test, by its name.
fn link(reference: &str) -> String {
    let (file, name) = reference.split_once('#').unwrap();
    format!("[{}](../../{file})", name.replace('|', "\\|"))
}

#[test]
fn conformance_page_is_fresh() {
    let conformance = conformance();
    let mut text = format!(
        "<!-- Generated from {FILE}. -->\n\n# Conformance\n\n\
         Midrail implements five specifications. This page lists their requirements, the cases and tests that hold them, and \
         every deliberate difference with the setting that restores the original behaviour. A test checks that all of them \
         exist and that the cases pass.\n\n| specification | requirements | deliberate differences |\n|---|---|---|\n"
    );
    for specification in &conformance.specifications {
        let differences = specification.requirements.iter().filter(|it| it.difference.is_some()).count();
        let (id, title, all) = (&specification.id, &specification.title, specification.requirements.len());
        writeln!(text, "| {id}: {title} | {all} | {differences} |").unwrap();
    }
    for specification in &conformance.specifications {
        writeln!(text, "\n## {}: {}\n", specification.id, specification.title).unwrap();
        text += "| number | section | requirement | held by |\n|---|---|---|---|\n";
        for requirement in &specification.requirements {
            let Requirement { id, section, text: what, .. } = requirement;
            let mark = if requirement.difference.is_some() { " *" } else { "" };
            let links: Vec<String> = requirement.held_by.iter().map(|it| link(it)).collect();
            writeln!(text, "| {id}{mark} | {section} | {what} | {} |", links.join(", ")).unwrap();
        }
        writeln!(text, "\n### Differences from {}\n", specification.id).unwrap();
        text += "| number | difference | reason | to restore the original |\n|---|---|---|---|\n";
        for requirement in &specification.requirements {
            if let Some(Deviation { how, why, setting }) = &requirement.difference {
                writeln!(text, "| {} | {how} | {why} | {setting} |", requirement.id).unwrap();
            }
        }
    }
    assert!(!text.contains("partial"));
    assert_fresh("conformance.md", &text);
}
