//! What is shipped is worth installing: every pack lints clean, has tests and a page, and the page's examples are true.

use std::fs;
use std::path::{Path, PathBuf};

use midrail::cases::{CaseSet, markdown_blocks, read};
use midrail::pack::{PackDocument, lint};
use midrail::{Load, shipped};

fn page_of(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/packs").join(name).with_extension("md");
    let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("docs/packs/{name}.md is missing"));
    (path, text)
}

fn run(sets: &[CaseSet], of: &str) -> usize {
    let results: Vec<_> = sets.iter().flat_map(CaseSet::run).collect();
    for result in &results {
        assert!(result.is_good(), "{of}: {}: {:#?}", result.id, result.checks);
    }
    results.len()
}

#[test]
fn every_pack_lints_clean_by_its_name() {
    for (name, _) in shipped::PACKS {
        for spelling in [(*name).to_owned(), format!("midrail:{name}")] {
            let load = Load { packs: vec![spelling.clone().into()], ..Load::default() };
            let documents = load.documents().unwrap_or_else(|error| panic!("{spelling}: {error}")).documents;
            let found = lint(&documents);
            assert!(found.is_empty(), "{spelling}: {found:#?}");
            assert!(load.load().is_ok(), "{spelling} makes no policy");
        }
    }
}

#[test]
fn every_pack_has_a_description_and_a_dozen_tests() {
    for (name, text) in shipped::PACKS {
        let pack = PackDocument::read(name, text, None).unwrap().first().unwrap().pack.clone();
        assert_eq!(pack.pack, *name);
        assert!(pack.description.is_some() && pack.version.is_some(), "{name} does not say what it is");
        assert!(pack.tests.len() >= 12, "{name} has only {} tests", pack.tests.len());
        let has = |what: &str| text.contains(what);
        assert!(
            has("expect: allow}") && has("sh -c") | has("bash -c"),
            "{name} shows no near miss or no evasion"
        );
    }
}

#[test]
fn every_pack_has_a_page_whose_examples_are_true() {
    for (name, _) in shipped::PACKS {
        let (path, text) = page_of(name);
        for section in ["## Blocks", "## Allows", "## Adapt", "## Limits"] {
            assert!(text.contains(&format!("\n{section}\n")), "{} has no `{section}`", path.display());
        }
        let sets = read(&path, &text).unwrap_or_else(|report| panic!("{report}"));
        // The packs that a page shows have tests of their own.
        let cases: Vec<_> = sets.into_iter().filter(|set| !set.has_pack()).collect();
        assert!(cases.iter().all(|set| set.cases.iter().all(|case| !case.packs.is_empty())), "{name}");
        assert!(run(&cases, name) >= 2, "docs/packs/{name}.md shows too little");
        // A pack that builds on another one is read from where it lies.
        let folder = tempfile::tempdir().unwrap();
        let mut adapted = 0;
        for block in markdown_blocks(&text).filter(|block| !block.starts_with("cases:")) {
            let file = folder.path().join("pack.yaml");
            fs::write(&file, block).unwrap();
            let load = Load { packs: vec![file.clone()], ..Load::default() };
            let documents = load.documents().unwrap_or_else(|error| panic!("{name}: {error}")).documents;
            let found = lint(&documents);
            assert!(found.is_empty(), "{name}: {found:#?}");
            adapted += run(&read(&file, block).unwrap(), name);
        }
        assert!(adapted >= 1, "docs/packs/{name}.md does not show how to adapt it");
    }
}

#[test]
fn every_pack_has_a_page_and_is_in_the_index() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let index = fs::read_to_string(repository.join("docs/packs/README.md")).unwrap();
    for (name, _) in shipped::PACKS {
        assert!(
            index.contains(&format!("[`{name}`]({name}.md)")),
            "docs/packs/README.md does not list {name}"
        );
    }
    let pages = fs::read_dir(repository.join("docs/packs")).unwrap().map(|entry| entry.unwrap().path());
    for path in pages.filter(|path| !path.ends_with("README.md")) {
        let name = path.file_stem().unwrap().to_string_lossy();
        assert!(shipped::pack(&name).is_some(), "{} documents no pack", path.display());
    }
}
