//! The real Codex, where it is installed: `codex execpolicy check` gives the verdict of the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::samples::samples;
use crate::world::{import, policy};

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

/// The words of a command. Only single quotes are used in the data.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (at, part) in command.split('\'').enumerate() {
        let mut pieces = if at % 2 == 0 { part.split(' ').collect() } else { vec![part] }.into_iter();
        words.last_mut().unwrap().push_str(pieces.next().unwrap_or_default());
        words.extend(pieces.map(str::to_owned));
    }
    words
}

/// The verdict of Codex on a command, in the words of the data. A rejected file has no rules.
fn host_verdict(codex: &Path, rules: &Path, home: &Path, command: &str) -> &'static str {
    let mut process = Command::new(codex);
    process.args(["execpolicy", "check", "--resolve-host-executables", "--rules"]).arg(rules);
    process.arg("--").args(words(command));
    let output = process.env_clear().env("HOME", home).env("CODEX_HOME", home).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["decision"].as_str() {
        Some("forbidden") => "deny",
        Some("prompt") => "ask",
        Some("allow") => "allow",
        _ => "-",
    }
}

/// How strict a verdict is. Without a rule, Codex asks or runs a command in its sandbox.
fn strictness(verdict: &str) -> usize {
    ["allow", "-", "ask", "deny"].iter().position(|it| *it == verdict.trim_end_matches('!')).unwrap()
}

#[test]
fn verdicts_are_those_of_the_real_codex() {
    let Some(codex) = program() else {
        eprintln!("skipped: no codex here; set MIDRAIL_TEST_CODEX to its path, or MIDRAIL_COMPAT_LAB");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (rules, exported) = (folder.path().join("a.rules"), folder.path().join("b.rules"));
    let (mut compared, mut problems) = (0, Vec::new());
    for sample in samples("codex") {
        fs::write(&rules, &sample.text).unwrap();
        let export = policy("codex").export(&import("codex", &sample.text).pack);
        fs::write(&exported, &export.text).unwrap();
        for (written, command) in &sample.calls {
            // `check` does not evaluate rules for the network.
            if command.contains("://") {
                continue;
            }
            compared += 1;
            let found = host_verdict(&codex, &rules, folder.path(), command);
            if found != written.trim_end_matches('!') {
                problems.push(format!("{}: `{command}` is {written}, but {found}", sample.name));
            }
            let found = host_verdict(&codex, &exported, folder.path(), command);
            let is_kept = strictness(found) >= strictness(written) || !export.left_out.is_empty();
            if !is_kept || found == "allow" && *written != "allow" {
                problems.push(format!("{}: `{command}` is {written}, but {found} after export", sample.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(compared >= 150, "only {compared} verdicts were compared");
}
