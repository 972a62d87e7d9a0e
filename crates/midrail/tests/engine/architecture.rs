//! The invariants of ARCHITECTURE.md that the compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates in the order of their dependencies: a crate depends only on crates before it.
const CRATES: &[&str] = &[
    "midrail-core",
    "midrail-shell",
    "midrail-scan",
    "midrail-guardrails",
    "midrail-pack",
    "midrail-sandbox",
    "midrail-store",
    "midrail",
    "midrail-adapters",
    "midrail-service",
    "midrail-cli",
];

fn manifest(name: &str) -> String {
    fs::read_to_string(repository().join("crates").join(name).join("Cargo.toml")).unwrap()
}

fn sources(name: &str) -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    collect(&repository().join("crates").join(name).join("src"), &mut found);
    found
}

#[test]
fn dependencies_follow_the_list() {
    for (at, name) in CRATES.iter().enumerate() {
        let manifest = manifest(name);
        for below in &CRATES[at..] {
            let depends =
                manifest.lines().any(|line| line.trim_start().starts_with(&format!("{below}.workspace")));
            assert!(!depends, "{name} depends on {below}");
        }
    }
}

#[test]
fn all_crates_are_listed() {
    let mut crates: Vec<String> = fs::read_dir(repository().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    crates.sort();
    let mut listed: Vec<&str> = CRATES.to_vec();
    listed.sort_unstable();
    assert_eq!(crates, listed);
    let map = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    for name in CRATES {
        assert!(map.contains(&format!("| `{name}` |")), "ARCHITECTURE.md does not list {name}");
    }
}

#[test]
fn pure_crates_forbid_io() {
    for name in &CRATES[..5] {
        let lints = fs::read_to_string(repository().join("crates").join(name).join("clippy.toml")).unwrap();
        for forbidden in
            ["std::fs::read", "SystemTime::now", "env::var", "TcpStream", "Command::new", "HashMap"]
        {
            assert!(lints.contains(forbidden), "clippy.toml of {name} allows {forbidden}");
        }
        let manifest = manifest(name);
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        for impure in ["rusqlite", "getrandom", "tempfile", "notify"] {
            assert!(!normal.contains(impure), "{name} depends on {impure}");
        }
    }
}

#[test]
fn crates_share_lints_and_only_two_use_an_async_runtime() {
    for name in CRATES {
        assert!(manifest(name).contains("[lints]\nworkspace = true"), "{name} has lints of its own");
    }
    for name in CRATES {
        let manifest = manifest(name);
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        let uses_runtime = normal.contains("tokio") || normal.contains("axum");
        assert_eq!(
            uses_runtime,
            ["midrail-store", "midrail-service"].contains(name),
            "{name} and async runtimes"
        );
    }
    let optional =
        manifest("midrail-store").lines().any(|line| line.starts_with("tokio") && line.contains("optional"));
    assert!(optional, "the runtime of the PostgreSQL store is not optional");
}

#[test]
fn every_file_starts_with_a_sentence() {
    for name in CRATES {
        for (path, text) in sources(name) {
            assert!(text.starts_with("//!"), "{} has no `//!` sentence", path.display());
        }
    }
}

#[test]
fn adapters_name_no_guardrail() {
    for (path, text) in sources("midrail-adapters") {
        // A plain word such as `command` is a word of hosts, too.
        for page in midrail::guardrails::CATALOGUE.iter().filter(|page| page.id.contains(['-', '_'])) {
            assert!(!text.contains(page.id), "{} names {}", path.display(), page.id);
        }
    }
}

#[test]
fn decide_fits_on_two_screens() {
    let text = fs::read_to_string(repository().join("crates/midrail-core/src/decide.rs")).unwrap();
    assert!(text.lines().count() <= 110, "decide.rs has grown to {} lines", text.lines().count());
}

#[test]
fn documents_name_no_machine() {
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

#[test]
fn modules_are_not_named_mod() {
    for name in CRATES {
        for (path, _) in sources(name) {
            assert!(path.file_name().is_some_and(|file| file != "mod.rs"), "{}", path.display());
        }
    }
}

/// Crates whose files still import each other in a circle.
const WITH_CIRCLES: &[&str] = &[];

#[test]
fn no_import_circles() {
    for name in CRATES.iter().filter(|name| !WITH_CIRCLES.contains(name)) {
        let circles = circles::find(&repository().join("crates").join(name).join("src"));
        assert!(circles.is_empty(), "{name}: files import each other in a circle: {circles:?}");
    }
}

/// Import circles between the files of a crate.
mod circles {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    type Module = Vec<String>;
    type Graph = BTreeMap<Module, BTreeSet<Module>>;

    /// Groups of files that import each other, by module path.
    pub(super) fn find(source: &Path) -> Vec<Vec<String>> {
        let texts = modules(source);
        let graph: Graph =
            texts.iter().map(|(module, text)| (module.clone(), imports(module, text, &texts))).collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for module in graph.keys() {
            let reached = reachable(&graph, module);
            let circle: Vec<String> = reached
                .iter()
                .filter(|other| *other != module && reachable(&graph, other).contains(module))
                .chain([module])
                .map(|module| module.join("::"))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reachable(graph: &Graph, from: &Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut pending: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
        while let Some(module) = pending.pop() {
            if reached.insert(module.clone()) {
                pending.extend(graph.get(module).into_iter().flatten());
            }
        }
        reached
    }

    /// The production modules of a crate with their code: without tests, comments and strings.
    fn modules(source: &Path) -> BTreeMap<Module, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![(source.to_owned(), Module::new())];
        while let Some((folder, parent)) = pending.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                let mut module = parent.clone();
                if !(parent.is_empty() && matches!(stem.as_str(), "lib" | "main")) {
                    module.push(stem.clone());
                }
                if stem == "tests" || (parent.is_empty() && stem == "bin") {
                    continue;
                }
                if path.is_dir() {
                    pending.push((path, module));
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    found.insert(module, code(&fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found
    }

    fn code(text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            if line.trim_start().starts_with("#[cfg(test)]") {
                let mut item = lines.next().unwrap_or_default();
                while item.trim_start().starts_with("#[") {
                    item = lines.next().unwrap_or_default();
                }
                let is_one_line = item.trim_end().ends_with(';');
                let end = format!("{}}}", " ".repeat(indent));
                while !is_one_line && !item.starts_with(&end) {
                    let Some(next) = lines.next() else { break };
                    item = next;
                }
                continue;
            }
            out.push_str(line.split("//").next().unwrap_or_default());
            out.push('\n');
        }
        out.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
    }

    /// The modules that the code of a module names.
    fn imports(module: &Module, text: &str, all: &BTreeMap<Module, String>) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        let mut paths: Vec<String> = Vec::new();
        let mut rest = text;
        let mut body = String::new();
        while let Some((before, after)) = split_use(rest) {
            body.push_str(before);
            let (list, behind) = after.split_once(';').unwrap_or((after, ""));
            paths.extend(expand("", list));
            rest = behind;
        }
        body.push_str(rest);
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        // `commands::man::run` after `use crate::commands`
        let imported: BTreeMap<String, String> = paths
            .iter()
            .filter_map(|path| Some((path.rsplit("::").next()?.to_owned(), path.clone())))
            .collect();
        let whole = |path: &str| match path.split_once("::") {
            Some((first, rest)) if imported.contains_key(first) => format!("{}::{rest}", imported[first]),
            _ => path.to_owned(),
        };
        paths.extend(body.split(|c| !is_path(c)).filter(|word| word.contains("::")).map(whole));
        for path in paths {
            let mut parts = path.split("::").map(str::trim).peekable();
            let mut base = match parts.peek().copied() {
                Some("crate") => {
                    parts.next();
                    Module::new()
                }
                Some("self" | "super") => {
                    let mut base = module.clone();
                    while let Some("self" | "super") = parts.peek().copied() {
                        if parts.next() == Some("super") {
                            base.pop();
                        }
                    }
                    base
                }
                Some(first) if all.contains_key(&child(module, first)) => module.clone(),
                _ => continue,
            };
            for part in parts {
                if !all.contains_key(&child(&base, part)) {
                    break;
                }
                base.push(part.to_owned());
            }
            if base != *module && all.contains_key(&base) {
                found.insert(base);
            }
        }
        found
    }

    fn child(module: &Module, name: &str) -> Module {
        module.iter().cloned().chain([name.to_owned()]).collect()
    }

    fn split_use(text: &str) -> Option<(&str, &str)> {
        let is_start =
            |at: usize| text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let at = text.match_indices("use ").map(|(at, _)| at).find(|at| is_start(*at))?;
        Some((&text[..at], &text[at + 4..]))
    }

    /// The paths of a `use` tree.
    fn expand(prefix: &str, tree: &str) -> Vec<String> {
        let tree = tree.trim();
        let Some((head, list)) = tree.split_once('{') else {
            let path = tree.split(" as ").next().unwrap_or_default();
            return vec![format!("{prefix}{}", path.trim())];
        };
        let list = list.trim_end().strip_suffix('}').unwrap_or(list);
        let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
        let prefix = format!("{prefix}{}", head.trim());
        for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    let part = list[start..at].trim();
                    if !part.is_empty() {
                        found.extend(expand(&prefix, part));
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        found
    }
}

/// Every test that SECURITY.md names, to hold a promise, exists.
#[test]
fn promises_name_existing_tests() {
    let text = fs::read_to_string(repository().join("SECURITY.md")).unwrap();
    let promises = text.split("## Promises").nth(1).unwrap();
    let is_test = |name: &&str| name.len() > 12 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let named: Vec<&str> = promises.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 40, "{}", named.len());
    let mut all = String::new();
    for folder in CRATES {
        for path in super::language::files(&repository().join("crates").join(folder), &["rs"]) {
            all.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    for name in named {
        assert!(all.contains(&format!("fn {name}(")), "SECURITY.md names `{name}`, which is no test");
    }
}
