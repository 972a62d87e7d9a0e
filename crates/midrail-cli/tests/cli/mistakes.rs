//! The mistakes of pack authors, as `midrail lint FILE` reports them. The table is a test of midrail-pack.

use std::fs;
use std::path::Path;

use crate::world::World;

/// A pack and the report that is expected for it.
fn mistakes(table: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    table.split("\n## ").skip(1).map(|section| {
        let block = |language: &str| {
            let (_, rest) = section.split_once(&format!("```{language}\n")).unwrap();
            rest.split_once("```").unwrap().0
        };
        (section.lines().next().unwrap(), block("yaml"), block("text"))
    })
}

#[test]
fn lint_reports_every_mistake_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../midrail-pack/tests/packs/mistakes.md");
    let table = fs::read_to_string(path).unwrap();
    let world = World::new();
    let mut number = 0;
    for (title, pack, report) in mistakes(&table) {
        world.write("pack.yaml", pack);
        let ended = world.run(&["lint", "--strict", "pack.yaml"]);
        assert_eq!(ended.code, 1, "{title}\n{}{}", ended.out, ended.err);
        for line in report.lines() {
            assert!(ended.out.contains(line), "{title}: `{line}` is not in:\n{}", ended.out);
        }
        number += 1;
    }
    assert!(number >= 60, "{number} mistakes");
}

#[test]
fn packs_that_cannot_be_found_are_reported_with_help() {
    let world = World::new();
    world.write("pack.yaml", "pack: p\nextends: defaults\n");
    let ended = world.run(&["lint", "pack.yaml"]).code(1);
    let all = format!("{}{}", ended.out, ended.err);
    assert!(all.contains("pack.yaml:2:10") && all.contains("defaults") && all.contains("help: "), "{all}");
    world.run(&["lint", "missing.yaml"]).code(1).complains("missing.yaml");
}
