//! The invariants of ARCHITECTURE.md that the compiler does not hold.

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates, highest first. Dependencies point up this list only.
const HOUSE: &[&str] = &[
    "midrail-core",
    "midrail-detect",
    "midrail-guardrails",
    "midrail-pack",
    "midrail-store",
    "midrail",
    "midrail-doors",
    "midrail-service",
    "midrail-cli",
];

fn manifest(name: &str) -> String {
    fs::read_to_string(repository().join("crates").join(name).join("Cargo.toml")).unwrap()
}

fn sources(name: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&repository().join("crates").join(name).join("src"), &mut found);
    found
}

#[test]
fn dependencies_point_up_the_list_only() {
    for (at, name) in HOUSE.iter().enumerate() {
        let manifest = manifest(name);
        for below in &HOUSE[at..] {
            let depends =
                manifest.lines().any(|line| line.trim_start().starts_with(&format!("{below}.workspace")));
            assert!(!depends, "{name} depends on {below}");
        }
    }
}

#[test]
fn the_list_is_the_whole_house() {
    let mut crates: Vec<String> = fs::read_dir(repository().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    crates.sort();
    let mut house: Vec<&str> = HOUSE.to_vec();
    house.sort_unstable();
    assert_eq!(crates, house);
    let map = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    for name in HOUSE {
        assert!(map.contains(&format!("| `{name}` |")), "ARCHITECTURE.md does not tell of {name}");
    }
}

#[test]
fn the_pure_crates_stand_behind_the_fence() {
    for name in &HOUSE[..4] {
        let fence = fs::read_to_string(repository().join("crates").join(name).join("clippy.toml")).unwrap();
        for forbidden in
            ["std::fs::read", "SystemTime::now", "env::var", "TcpStream", "Command::new", "HashMap"]
        {
            assert!(fence.contains(forbidden), "the fence of {name} lets {forbidden} pass");
        }
        let manifest = manifest(name);
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        for impure in ["rusqlite", "getrandom", "tempfile", "notify"] {
            assert!(!normal.contains(impure), "{name} depends on {impure}");
        }
    }
}

#[test]
fn every_crate_takes_the_common_lints_and_two_know_an_async_runtime() {
    for name in HOUSE {
        assert!(manifest(name).contains("[lints]\nworkspace = true"), "{name} has lints of its own");
    }
    for name in HOUSE {
        let manifest = manifest(name);
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        let knows_it = normal.contains("tokio") || normal.contains("axum");
        assert_eq!(
            knows_it,
            ["midrail-store", "midrail-service"].contains(name),
            "{name} and async runtimes"
        );
    }
    let optional =
        manifest("midrail-store").lines().any(|line| line.starts_with("tokio") && line.contains("optional"));
    assert!(optional, "the runtime of the PostgreSQL store is not optional");
}

#[test]
fn every_file_says_what_lives_in_it() {
    for name in HOUSE {
        for (path, text) in sources(name) {
            assert!(text.starts_with("//!"), "{} opens without a `//!` sentence", path.display());
        }
    }
}

#[test]
fn doors_know_no_guardrails_name() {
    for (path, text) in sources("midrail-doors") {
        // A plain word such as `command` is a word of hosts, too.
        for page in midrail::CATALOGUE.iter().filter(|page| page.id.contains(['-', '_'])) {
            assert!(!text.contains(page.id), "{} names {}", path.display(), page.id);
        }
    }
}

#[test]
fn the_law_fits_on_two_screens() {
    let law = fs::read_to_string(repository().join("crates/midrail-core/src/decide.rs")).unwrap();
    assert!(law.lines().count() <= 110, "decide.rs has grown to {} lines", law.lines().count());
}

#[test]
fn nothing_of_this_machine_is_in_the_documents() {
    for folder in ["docs", "packs", "corpus", "examples", "schema"] {
        let mut stack = vec![repository().join(folder)];
        while let Some(path) = stack.pop() {
            if path.is_dir() {
                stack.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                let text = fs::read_to_string(&path).unwrap_or_default();
                assert!(!text.contains("/home/") && !text.contains("/root/"), "{}", path.display());
            }
        }
    }
}
