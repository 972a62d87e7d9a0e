//! What the guides show works: their packs load, and their cases pass.

use std::fs;
use std::path::{Path, PathBuf};

use midrail::cases::{CaseSet, markdown_blocks, read};
use midrail::pack::PackDocument;

fn pages() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A build without the feature refuses the packs of this page.
    let is_supported = |path: &PathBuf| cfg!(feature = "cedar") || !path.ends_with("docs/guide/cedar.md");
    let guides = fs::read_dir(repository.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    guides
        .chain([repository.join("README.md")])
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .filter(is_supported)
        .collect()
}

#[test]
fn every_yaml_block_is_a_pack_or_cases() {
    let mut packs = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for block in markdown_blocks(&text).filter(|block| !block.starts_with("cases:")) {
            PackDocument::read(&path.display().to_string(), block, None)
                .unwrap_or_else(|report| panic!("{}:\n{report}", path.display()));
            packs += 1;
        }
    }
    assert!(packs >= 5, "only {packs} packs are shown");
}

#[test]
fn every_case_and_every_test_of_a_pack_passes() {
    let mut count = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        let sets = read(&path, &text).unwrap_or_else(|report| panic!("{report}"));
        for result in sets.iter().flat_map(CaseSet::run) {
            assert!(result.is_good(), "{}: {}: {:#?}", path.display(), result.id, result.checks);
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} cases are shown");
}

/// Everything that an agent is held to fits on one page. The tests of the pack itself run above.
#[test]
fn a_whole_definition_takes_less_than_forty_lines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/definition.md");
    let text = fs::read_to_string(path).unwrap();
    let block = markdown_blocks(&text).next().unwrap();
    let (definition, tests) = block.split_once("\ntests:\n").unwrap();
    assert!(definition.lines().count() < 40, "{}", definition.lines().count());
    let document = PackDocument::read("definition.yaml", block, None).unwrap();
    let agents = &document.first().unwrap().pack.agents;
    assert!(agents.values().all(|agent| agent.completion.is_some() && !agent.guardrails.is_empty()));
    assert!(agents.len() == 1 && !tests.is_empty());
}
