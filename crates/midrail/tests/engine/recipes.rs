//! The recipes of the cookbook: each is a short pack with tests, one of them a near miss, and a part of the page.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use midrail::cases::{CaseSet, read};
use midrail::pack::{PackDocument, lint};
use midrail::recipes::RECIPES;
use midrail::{Load, shipped};

const COMMAND: &str = "MIDRAIL_WRITE=1 cargo test -p midrail --test engine recipes";

/// The most lines of a recipe without its tests.
const MAX_LINES: usize = 15;

#[test]
fn every_recipe_is_short_and_its_tests_pass() {
    for recipe in RECIPES {
        let lines = recipe.pack().lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", recipe.name);
        assert!(!recipe.title().is_empty() && recipe.text.contains("near miss"), "{}", recipe.name);
        assert!(shipped::pack(recipe.name).is_none(), "{} is also a shipped pack", recipe.name);
        let path = format!("packs/recipes/{}.yaml", recipe.name);
        let document = PackDocument::read(&path, recipe.text, None).unwrap();
        assert_eq!(document.first().unwrap().pack.pack, recipe.name);
        let sets = read(Path::new(&path), recipe.text).unwrap_or_else(|report| panic!("{report}"));
        for result in sets.iter().flat_map(CaseSet::run) {
            assert!(result.is_good(), "{}: {}: {:#?}", recipe.name, result.id, result.checks);
        }
    }
}

#[test]
fn every_recipe_lints_clean() {
    for recipe in RECIPES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack.yaml");
        fs::write(&path, recipe.text).unwrap();
        let documents = Load { packs: vec![path], ..Load::default() }.documents().unwrap().documents;
        let found = lint(&documents);
        assert!(found.is_empty(), "{}: {found:#?}", recipe.name);
    }
}

#[test]
fn every_file_is_a_recipe() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/recipes");
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(files, RECIPES.len());
}

#[test]
fn cookbook_is_fresh() {
    let mut text = "<!-- Generated from packs/recipes. -->\n\n# Cookbook\n\n".to_owned();
    text += "Each recipe is a pack with tests. `midrail init --recipe NAME` adds it to your project as `.midrail/NAME.yaml`, where you \
             can change it; `midrail test .midrail` runs its tests.\n\n| need | recipe |\n|---|---|\n";
    for recipe in RECIPES {
        writeln!(text, "| {} | [{}](#{}) |", recipe.title(), recipe.name, recipe.name).unwrap();
    }
    for recipe in RECIPES {
        let body = recipe.text.split_once('\n').unwrap().1;
        write!(text, "\n## {}\n\n{}.\n\n```yaml\n{}```\n", recipe.name, recipe.title(), body).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook/README.md");
    if std::env::var_os("MIDRAIL_WRITE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "docs/cookbook/README.md is stale; regenerate it with `{COMMAND}`");
}
