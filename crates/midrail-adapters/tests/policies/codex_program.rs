//! The real Codex, where it is installed: `codex execpolicy check` gives the verdict of the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::samples::samples;
use crate::world::{decide, engine, import};

/// The program that `MIDRAIL_TEST_CODEX` names, or the one of the compatibility kit.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("MIDRAIL_TEST_CODEX").map(PathBuf::from);
    let installed = || {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/compat");
        let lab = std::env::var_os("MIDRAIL_COMPAT_LAB").map_or(PathBuf::from(default), PathBuf::from);
        let folder = lab.join("npm/codex/node_modules/@openai/codex-linux-x64/vendor");
        fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path().join("bin/codex")))
            .find(|it| it.exists())
    };
    named.or_else(installed).filter(|path| path.exists())
}

/// The decision of Codex on a command of plain words. `None`: it rejects the file.
fn host_verdict(codex: &Path, rules: &Path, home: &Path, command: &str) -> Option<String> {
    let mut process = Command::new(codex);
    process.args(["execpolicy", "check", "--rules"]).arg(rules).arg("--").args(command.split(' '));
    let output = process.env_clear().env("HOME", home).env("CODEX_HOME", home).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(answer["decision"].as_str().unwrap_or("-").to_owned())
}

#[test]
fn verdicts_are_those_of_the_real_codex() {
    let Some(codex) = program() else {
        eprintln!("skipped: no codex here; set MIDRAIL_TEST_CODEX to its path");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("a.rules");
    let mut compared = 0;
    for sample in samples("codex") {
        fs::write(&rules, &sample.text).unwrap();
        let yaml = import("codex", &sample.text).yaml;
        let engine = engine(&yaml);
        for (written, command) in &sample.calls {
            // `check` takes words, and compares programs without their folder only on request.
            if command.contains(['\'', '"'])
                || sample.text.contains("network_rule")
                || command.starts_with("/usr/bin")
            {
                continue;
            }
            let Some(verdict) = host_verdict(&codex, &rules, folder.path(), command) else { continue };
            let expected = match written.trim_end_matches('!') {
                "deny" => "forbidden",
                "ask" => "prompt",
                other => other,
            };
            // What Midrail cannot read is a rule for Codex all the same.
            if sample.left_out == 0 {
                assert_eq!(verdict, expected, "{}: {command}", sample.name);
            }
            let effect = decide(&engine, command);
            if verdict == "forbidden" && sample.left_out == 0 {
                assert!(effect >= midrail::Effect::Block, "{}: {command}: {effect:?}", sample.name);
            }
            compared += 1;
        }
    }
    assert!(compared >= 25, "only {compared} verdicts were compared");
}
