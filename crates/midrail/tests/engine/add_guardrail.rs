//! Adding a guardrail as CONTRIBUTING.md describes: two files and one line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use midrail::guardrails::CATALOGUE;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> PathBuf {
    repository().join("crates/midrail-guardrails/src")
}

/// The names of the files in the folder of the guardrails with this ending.
fn stems(ending: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(sources()).unwrap().map(|entry| entry.unwrap().path());
    let fitting = paths.filter(|path| path.extension().is_some_and(|it| it == ending));
    fitting.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_guardrail_is_two_files_and_one_line() {
    let lib = fs::read_to_string(sources().join("lib.rs")).unwrap();
    let declared = |name: &str| lib.lines().filter(|line| *line == format!("mod {name};")).count();
    let guardrails: BTreeSet<String> = stems("rs")
        .into_iter()
        .filter(|name| {
            let text = fs::read_to_string(sources().join(format!("{name}.rs"))).unwrap();
            text.contains("pub(crate) const BUILTIN: Builtin")
        })
        .collect();
    assert_eq!(guardrails, stems("md"), "every guardrail has a page, and every page a guardrail");
    assert_eq!(guardrails.len(), CATALOGUE.len(), "the catalogue contains every guardrail");
    for name in &guardrails {
        assert_eq!(declared(name), 1, "lib.rs declares `mod {name};` once");
        let named = lib.matches(&format!("{name}::BUILTIN")).count();
        assert_eq!(named, 0, "lib.rs does not list {name}");
    }
}

#[test]
fn other_crates_name_no_numbered_guardrail() {
    let ids: Vec<&str> = CATALOGUE.iter().filter(|it| it.name != it.id).map(|it| it.id).collect();
    let mut pending = vec![repository().join("crates")];
    while let Some(path) = pending.pop() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["midrail-guardrails", "tests", "target"].contains(&name.as_str()) {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        if !name.ends_with(".rs") || name.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let found = ids.iter().find(|id| line.contains(&format!("\"{id}\"")));
            assert!(found.is_none(), "{} names the guardrail {found:?}", path.display());
        }
    }
}

/// The code of a guardrail that blocks one tool, with the constant from CONTRIBUTING.md.
const CODE: &str = r#"//! my-check: blocks calls of one tool.

use midrail_core::{Category, Context, EventKind, Fault, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builtin::Builtin;

CONSTANT
/// The settings of my-check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MyCheck {
    /// The tool.
    pub tool: String,
}

impl Guardrail for MyCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.tool()? == self.tool {
            return Ok(Verdict::block("This tool is not allowed.").advise("Use another tool."));
        }
        Ok(Verdict::allow())
    }
}
"#;

const PAGE: &str = "# my-check

Blocks calls of one tool.

## Settings

| setting | default | meaning |
|---|---|---|
| `tool` | none | the tool |

## Triggers on

```yaml
cases:
  - id: call of the tool
    guardrails:
      - {use: my-check, with: {tool: fetch}}
    events:
      - {before_tool: fetch, expect: {effect: block, by: my-check}}
```

## Allows

```yaml
cases:
  - id: call of a tool with a similar name
    guardrails:
      - {use: my-check, with: {tool: fetch}}
    events:
      - {before_tool: fetched, expect: {effect: allow}}
```

## Limits

It compares the exact name of the tool.
";

#[test]
#[ignore = "compiles a copy of the workspace: `scripts/campaign.sh guardrail` runs it"]
fn guardrail_added_as_described_compiles_is_documented_and_tested() {
    let guide = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, block) = guide.split_once("```rust\n").unwrap();
    let constant: String =
        block.split("```").next().unwrap().lines().map(|line| format!("{}\n", line.trim())).collect();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("midrail");
    copy_folder(&repository(), &copy);
    let guardrails = copy.join("crates/midrail-guardrails/src");
    fs::write(guardrails.join("my_check.rs"), CODE.replace("CONSTANT\n", &constant)).unwrap();
    fs::write(guardrails.join("my_check.md"), PAGE).unwrap();
    let lib = fs::read_to_string(guardrails.join("lib.rs")).unwrap();
    fs::write(
        guardrails.join("lib.rs"),
        lib.replacen("mod middleware;\n", "mod middleware;\nmod my_check;\n", 1),
    )
    .unwrap();
    // The same packages every time, so that dependencies are compiled once.
    let packages = ["test", "--locked", "-p", "midrail", "-p", "midrail-cli", "-p", "midrail-guardrails"];
    let test = |more: &[&str], writes: bool| cargo(&copy, &[&packages[..], more].concat(), writes);
    test(&["--test", "engine", "--", "reference::"], true);
    let groups = ["reference::", "cases::", "add_guardrail::", "explain::"];
    test(&[&["--test", "engine", "--test", "cli", "--"][..], &groups].concat(), false);
    test(&["--lib", "catalogue"], false);
    let program = copy.join("target/debug/midrail");
    let explained = Command::new(program).current_dir(&copy).args(["explain", "my-check"]).output().unwrap();
    assert!(explained.status.success() && String::from_utf8_lossy(&explained.stdout).contains("my-check"));
    assert!(copy.join("docs/reference/guardrails/my-check.md").exists());
}

fn cargo(folder: &Path, args: &[&str], writes: bool) {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).args(args).env("CARGO_TARGET_DIR", folder.join("target"));
    if writes {
        command.env("MIDRAIL_WRITE", "1");
    } else {
        command.env_remove("MIDRAIL_WRITE");
    }
    assert!(command.status().unwrap().success(), "cargo {args:?}");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let is_folder = entry.file_type().unwrap().is_dir();
        match entry.file_name().to_str() {
            Some("target" | ".git" | "node_modules") => {}
            _ if is_folder => copy_folder(&entry.path(), &target),
            _ => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
