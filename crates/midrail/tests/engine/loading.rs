//! Packs from disk: files, folders, what they extend, environments, the cache, and everything that can be wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::{Effect, Engine, Load, LoadError, LoadedPolicy};
use serde_json::json;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn load(path: &Path) -> Result<LoadedPolicy, LoadError> {
    Load { packs: vec![path.to_owned()], ..Load::default() }.load()
}

fn problem(path: &Path) -> String {
    match load(path) {
        Ok(_) => panic!("{} loads", path.display()),
        Err(error) => error.to_string(),
    }
}

fn effect(loaded: LoadedPolicy, tool: &str) -> Effect {
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap());
    engine.session("s").check(tool, json!({})).effect
}

#[test]
fn a_folder_is_all_of_its_packs() {
    let folder = folder();
    write(folder.path(), "a.yaml", "pack: a\nguardrails:\n  - {id: no-x, tools: x}\n");
    write(folder.path(), "b.json", r#"{"pack": "b", "guardrails": [{"id": "no-y", "tools": ["y"]}]}"#);
    write(folder.path(), "notes.txt", "not a pack");
    for (tool, expected) in [("x", Effect::Block), ("y", Effect::Block), ("z", Effect::Allow)] {
        assert_eq!(effect(load(folder.path()).unwrap(), tool), expected);
    }
    // The always-on built-ins are there too.
    assert!(load(folder.path()).unwrap().policy.get("builtin-004").is_some());
}

#[test]
fn a_pack_replaces_what_it_extends() {
    let folder = folder();
    write(
        folder.path(),
        "base.yaml",
        "pack: base\nguardrails:\n  - {id: g, tools: x}\n  - {id: h, tools: y}\n",
    );
    let pack = write(
        folder.path(),
        "own.yaml",
        "pack: own\nextends: base.yaml\nguardrails:\n  - {id: g, tools: x, effect: warn}\n",
    );
    assert_eq!(effect(load(&pack).unwrap(), "x"), Effect::Warn);
    assert_eq!(effect(load(&pack).unwrap(), "y"), Effect::Block);
    let shipped = write(folder.path(), "shipped.yaml", "pack: own\nextends: default\n");
    assert!(load(&shipped).unwrap().policy.get("safety-002").is_some());
}

const DESTRUCTIVE: &str = "rm -rf /var/lib/postgresql";

fn effect_of_command(loaded: LoadedPolicy, command: &str) -> Effect {
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap());
    engine.session("s").check("Bash", json!({"command": command})).effect
}

#[test]
fn packs_add_to_the_default_pack() {
    let folder = folder();
    let pack = "pack: p\nguardrails:\n  - {id: no-x, tools: x}\n";
    let named = write(folder.path(), "p.yaml", pack);
    write(folder.path(), "project/.midrail/pack.yaml", pack);
    let project = Load { folder: Some(folder.path().join("project")), ..Load::default() };
    for loaded in [load(&named), project.load()] {
        let loaded = loaded.unwrap();
        assert!(loaded.policy.get("no-x").is_some() && loaded.unprotected().is_empty());
        assert_eq!(effect_of_command(loaded, DESTRUCTIVE), Effect::Block);
    }
    let exact = Load { packs: vec![named], is_exact: true, ..Load::default() }.load().unwrap();
    assert_eq!(effect_of_command(exact, DESTRUCTIVE), Effect::Allow);
}

#[test]
fn default_pack_is_counted_once_and_can_be_changed() {
    let folder = folder();
    let extending = write(folder.path(), "e.yaml", "pack: e\nextends: default\n");
    let loaded = load(&extending).unwrap();
    assert_eq!(loaded.documents.iter().filter(|(_, document)| document.pack.pack == "default").count(), 1);
    let changing =
        write(folder.path(), "c.yaml", "pack: c\nguardrails:\n  - {use: safety-001, mode: shadow}\n");
    let loaded = load(&changing).unwrap();
    assert_eq!(loaded.unprotected(), ["destructive-command (safety-001): it runs in shadow mode"]);
}

#[test]
fn narrowed_guardrails_of_the_default_pack_are_not_protected() {
    let folder = folder();
    let unprotected = |guardrails: &str| {
        let path = write(folder.path(), "n.yaml", &format!("pack: n\nguardrails:\n{guardrails}"));
        load(&path).unwrap().unprotected()
    };
    for (guardrail, loss) in [
        ("{use: safety-001, tools: 'mcp__*'}", "it checks only the tools `mcp__*`"),
        ("{use: safety-001, on: after_tool}", "it does not check before_tool"),
        ("{use: safety-001, when: \"tool.name == 'Bsh'\"}", "it applies only when `tool.name == 'Bsh'`"),
        ("{use: safety-001, mode: shadow}", "it runs in shadow mode"),
        ("{use: safety-001, effect: allow}", "its effect is allow instead of up to block"),
        ("{use: safety-001, with: {ignore: ['*']}}", "`ignore: *` exempts everything"),
        ("{use: safety-002, with: {paths: [customer.csv]}}", "its list `paths` lacks `.env`"),
        ("{use: secret-redaction, on: before_tool}", "it does not check after_tool"),
    ] {
        let lost = unprotected(&format!("  - {guardrail}\n"));
        assert!(lost.len() == 1 && lost[0].contains(loss), "{guardrail}: {lost:?}");
    }
    for guardrail in [
        "{id: mcp, use: safety-001, tools: 'mcp__*'}",
        "{id: own-files, use: safety-002, with: {paths: [customer.csv]}}",
        "{id: arguments, use: secret-redaction, on: before_tool}",
        "{use: safety-001, with: {allow: ['make clean'], ignore: [rm-file]}}",
        "{use: safety-004, effect: block}",
    ] {
        assert_eq!(unprotected(&format!("  - {guardrail}\n")), [""; 0], "{guardrail}");
    }
}

#[test]
fn pack_can_omit_the_default_pack() {
    let folder = folder();
    let path =
        write(folder.path(), "n.yaml", "pack: n\nextends: none\nguardrails:\n  - {id: no-x, tools: x}\n");
    let loaded = load(&path).unwrap();
    assert!(loaded.unprotected().contains(&"destructive-command (safety-001)".to_owned()));
    assert!(loaded.policy.get("self-protection").is_some());
    assert_eq!(loaded.missing_default().len(), 1);
    assert_eq!(effect_of_command(loaded, DESTRUCTIVE), Effect::Allow);
}

#[test]
fn folder_with_the_name_of_a_pack_is_an_error() {
    let folder = folder();
    fs::create_dir_all(folder.path().join(".midrail/pack.yaml")).unwrap();
    let load = Load { folder: Some(folder.path().to_owned()), ..Load::default() };
    let error = load.load().err().unwrap().to_string();
    assert!(error.contains("pack.yaml"), "{error}");
}

#[test]
fn an_environment_changes_a_pack_and_an_unknown_one_is_an_error() {
    let folder = folder();
    let text = "pack: p\nguardrails:\n  - {id: g, tools: x, effect: warn}\nenv:\n  prod:\n    guardrails:\n      - {id: g, effect: block}\n";
    let path = write(folder.path(), "p.yaml", text);
    let in_env =
        |env: &str| Load { packs: vec![path.clone()], env: Some(env.into()), ..Load::default() }.load();
    assert_eq!(effect(load(&path).unwrap(), "x"), Effect::Warn);
    assert_eq!(effect(in_env("prod").unwrap(), "x"), Effect::Block);
    assert!(in_env("prud").err().unwrap().to_string().contains("`prud`"));
}

#[test]
fn cached_policy_is_the_same() {
    let folder = folder();
    let path = write(
        folder.path(),
        "p.yaml",
        "pack: p\nguardrails:\n  - {id: g, tools: x, check: \"tool.args.n > 1\"}\n",
    );
    let cache = midrail::load::PolicyCache { folder: folder.path().join("cache"), key: [7; 32] };
    let cached = Load { packs: vec![path.clone()], cache: Some(cache), ..Load::default() };
    let first = cached.load().unwrap();
    assert!(!first.documents.is_empty());
    let second = cached.load().unwrap();
    assert!(second.documents.is_empty(), "the second load reads the text again");
    assert_eq!(first.policy.revision(), second.policy.revision());
    assert_eq!(effect(first, "x"), effect(second, "x"));
    // A broken or forged cache is read past, a changed pack is read anew.
    for content in ["garbage", "0000\n[]", "[]"] {
        for entry in fs::read_dir(folder.path().join("cache")).unwrap() {
            fs::write(entry.unwrap().path(), content).unwrap();
        }
        assert_eq!(effect(cached.load().unwrap(), "x"), Effect::Block, "{content}");
    }
    assert_eq!(effect(cached.load().unwrap(), "x"), Effect::Block);
    fs::write(&path, "pack: p\nguardrails:\n  - {id: g, tools: z}\n").unwrap();
    assert_eq!(effect(cached.load().unwrap(), "x"), Effect::Allow);
}

#[test]
fn cached_policy_follows_the_files_that_it_is_built_on() {
    let folder = folder();
    let path = write(folder.path(), "p.yaml", "pack: p\nextends: [base.yaml, default]\n");
    let base = |tool: &str| format!("pack: b\nguardrails:\n  - {{id: g, tools: {tool}}}\n");
    write(folder.path(), "base.yaml", &base("x"));
    let cache = midrail::load::PolicyCache { folder: folder.path().join("cache"), key: [7; 32] };
    let cached = Load { packs: vec![path.clone()], cache: Some(cache), ..Load::default() };
    let load_twice = |what: &str| {
        assert!(!cached.load().unwrap().documents.is_empty(), "{what}: an old policy was used");
        let second = cached.load().unwrap();
        assert!(second.documents.is_empty(), "{what}: the second load reads the texts again");
        assert_eq!(second.mark, cached.documents().unwrap().mark, "{what}: a change would not be seen");
        second
    };
    assert_eq!(effect(load_twice("new"), "x"), Effect::Block);
    write(folder.path(), "base.yaml", &base("y"));
    let changed = load_twice("changed");
    assert_eq!(effect(changed, "x"), Effect::Allow);
    assert_eq!(effect(cached.load().unwrap(), "y"), Effect::Block);
    // A file may come and take the place of a shipped pack.
    write(folder.path(), "default", &base("z"));
    assert_eq!(effect(load_twice("added"), "z"), Effect::Block);
    fs::remove_file(folder.path().join("default")).unwrap();
    assert_eq!(effect(cached.load().unwrap(), "z"), Effect::Allow);
    fs::remove_file(folder.path().join("base.yaml")).unwrap();
    assert!(cached.load().err().unwrap().to_string().contains("base.yaml"));
}

#[test]
fn cached_policy_follows_its_scripts() {
    let folder = folder();
    let path = write(folder.path(), "p.yaml", "pack: p\nguardrails:\n  - {id: g, script: g.js}\n");
    write(folder.path(), "g.js", "import './part.js';\nexport default { beforeTool() {} };\n");
    write(folder.path(), "part.js", "export const part = 1;\n");
    let cache = midrail::load::PolicyCache { folder: folder.path().join("cache"), key: [7; 32] };
    let cached = Load { packs: vec![path.clone()], cache: Some(cache), ..Load::default() };
    let mut revisions = vec![cached.load().unwrap().policy.revision().clone()];
    assert!(cached.load().unwrap().documents.is_empty(), "the second load reads the texts again");
    for file in ["part.js", "g.js"] {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        write(folder.path(), file, &format!("{text}// changed\n"));
        let loaded = cached.load().unwrap();
        assert!(!revisions.contains(loaded.policy.revision()), "{file}: the old script stays");
        revisions.push(loaded.policy.revision().clone());
    }
    // The scripts of a neighbouring tool may appear at any time.
    write(folder.path(), "p.yaml", "pack: p\nscripts: {deft: true}\n");
    for _ in 0..2 {
        assert!(!cached.load().unwrap().documents.is_empty());
    }
}

#[test]
fn every_problem_of_a_file_is_reported() {
    let folder = folder();
    let root = folder.path();
    assert!(problem(&root.join("missing.yaml")).contains("could not read"));
    assert!(problem(&root.join("missing")).contains("could not read"));
    assert!(problem(&write(root, "pack.toml", "x")).contains("ends in `.yaml`"));
    assert!(problem(&write(root, "large.yaml", &"#".repeat(2 << 20))).contains("larger than"));
    fs::write(root.join("latin.yaml"), b"pack: caf\xe9\n").unwrap();
    assert!(problem(&root.join("latin.yaml")).contains("not UTF-8: byte 9"));
    fs::create_dir(root.join("empty")).unwrap();
    assert!(problem(&root.join("empty")).contains("there is no pack in"));
    assert!(problem(&write(root, "nobase.yaml", "pack: p\nextends: other.yaml\n")).contains("`other.yaml`"));
    let problems = problem(&write(root, "bad.yaml", "pack: p\nguardrail: []\nmode: loud\n"));
    assert!(problems.contains("bad.yaml:"), "{problems}");
}

#[test]
fn circle_of_packs_is_reported() {
    let folder = folder();
    write(folder.path(), "a.yaml", "pack: a\nextends: b.yaml\n");
    write(folder.path(), "b.yaml", "pack: b\nextends: ./a.yaml\n");
    let text = problem(&folder.path().join("a.yaml"));
    assert!(text.contains("in a circle") && text.contains("b.yaml"), "{text}");
    let own = write(folder.path(), "self.yaml", "pack: s\nextends: self.yaml\n");
    assert!(problem(&own).contains("in a circle"));
}
