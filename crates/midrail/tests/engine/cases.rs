//! The corpus, the pages of the guardrails and the shipped packs decide as they say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use midrail::cases::{CaseSet, read};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(repository().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    files.sort();
    files
}

fn run(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let sets: Vec<CaseSet> = read(path, &text).unwrap_or_else(|report| panic!("{report}"));
    let mut count = 0;
    let mut misses = Vec::new();
    for result in sets.iter().flat_map(CaseSet::run) {
        count += 1;
        if !result.is_good() {
            misses.push(format!("{}: {}: {:#?}", path.display(), result.id, result.checks));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    count
}

#[test]
fn the_corpus_passes() {
    let count: usize = files("corpus", "yaml").iter().map(|path| run(path)).sum();
    assert!(count >= 40, "only {count} cases were found");
}

/// The attempts are decided by `the_corpus_passes`; this counts them.
#[test]
fn every_attempt_to_disable_midrail_is_stopped() {
    let text = fs::read_to_string(repository().join("corpus/switch_off.yaml")).unwrap();
    let calls: BTreeSet<&str> = text.lines().filter(|line| line.contains("before_tool:")).collect();
    let count = |end: &str| calls.iter().filter(|line| line.ends_with(end)).count();
    let stopped = count("expect: {effect: block, by: self-protection}}")
        + count("expect: {effect: escalate, by: self-protection}}");
    assert!(stopped >= 300, "only {stopped} attempts");
    assert!(count("expect: allow}") >= 80, "too few everyday calls");
    assert_eq!(calls.len(), stopped + count("expect: allow}"));
}

#[test]
fn every_guardrails_page_passes() {
    // A build without the feature refuses the guardrails of this page.
    let is_supported = |path: &PathBuf| cfg!(feature = "cedar") || !path.ends_with("cedar.md");
    for path in files("crates/midrail-guardrails/src", "md").into_iter().filter(is_supported) {
        assert!(run(&path) >= 2, "{} shows too little", path.display());
    }
}

#[test]
fn every_shipped_pack_passes_its_tests() {
    for path in files("packs", "yaml") {
        assert!(run(&path) >= 3, "{} has too few tests", path.display());
    }
}

/// The default pack shows the table of protected files; without `with:` the same table holds.
#[test]
fn the_default_pack_shows_the_table_of_protected_files() {
    let text = fs::read_to_string(repository().join("packs/default.yaml")).unwrap();
    let document = midrail::pack::PackDocument::read("default.yaml", &text, None).unwrap();
    let pack = document.first().unwrap().pack.clone();
    let guard = pack.guardrails.iter().find(|guard| guard.uses.as_deref() == Some("safety-002")).unwrap();
    let shown: midrail::guardrails::SensitiveFile =
        serde_json::from_value(guard.with.clone().unwrap()).unwrap();
    assert_eq!(shown, midrail::guardrails::SensitiveFile::default());
}

#[test]
fn every_pack_file_is_shipped() {
    let names: Vec<String> = files("packs", "yaml")
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let shipped: Vec<&str> = midrail::shipped::PACKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, shipped);
}
