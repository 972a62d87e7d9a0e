//! The real Codex, where it is installed: `codex execpolicy check` gives the verdict of the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::codex::SAMPLES;
use crate::world::{decide, engine, import};

const LAB: &str = "/work/compat-lab/npm/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("MIDRAIL_TEST_CODEX").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(LAB))).filter(|path| path.exists())
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
    for sample in SAMPLES {
        fs::write(&rules, sample.text).unwrap();
        let yaml = import("codex", sample.text).yaml;
        let engine = engine(&yaml);
        for (command, written) in sample.calls {
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
