//! The property of every import on recorded commands, where the corpora are at hand, and on the commands of the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use midrail::Effect;
use serde_json::Value;

use crate::decided::host_matches;
use crate::world::{decide, engine, import};

const DENIED: [&str; 14] = [
    "git push *",
    "rm *",
    "curl *",
    "sudo *",
    "docker run *",
    "chmod 777 *",
    "kubectl delete *",
    "npm publish",
    "git * --force",
    "tar -x *",
    "find * -delete",
    "ssh *",
    "dd *",
    "systemctl stop *",
];

/// The commands of a line as a host splits it. `None`: the line has quotes or expansions, which hosts read differently.
fn parts(line: &str) -> Option<Vec<String>> {
    if line.contains([
        '"', '\'', '$', '`', '(', ')', '{', '}', '<', '>', '\\', '\n', '#', '!', '[', ']', '*', '?', '=',
    ]) {
        return None;
    }
    let line = line.replace("&&", ";").replace("||", ";").replace(['|', '&'], ";");
    Some(line.split(';').map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect())
}

fn files() -> Vec<PathBuf> {
    let folder =
        std::env::var_os("MIDRAIL_TEST_CORPORA").map_or(PathBuf::from("/work/shared/corpora"), PathBuf::from);
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Vec<PathBuf> =
        entries.filter(|path| name(path).starts_with("cmd-") && name(path).ends_with(".jsonl")).collect();
    files.sort();
    files
}

#[test]
fn denied_commands_of_the_corpora_are_blocked() {
    let files = files();
    if files.is_empty() {
        eprintln!("skipped: no corpora here; set MIDRAIL_TEST_CORPORA to their folder");
        return;
    }
    let rules: Vec<String> = DENIED.iter().map(|pattern| format!("\"Bash({pattern})\"")).collect();
    let settings = format!("{{\"permissions\": {{\"deny\": [{}]}}}}", rules.join(", "));
    let engine = engine(&import("claude-code", &settings).yaml);
    let (mut denied, mut missed) = (0, Vec::new());
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let Some(command) = record["command"].as_str() else { continue };
            let Some(parts) = parts(command) else { continue };
            if !parts.iter().any(|part| DENIED.iter().any(|pattern| host_matches(pattern, part))) {
                continue;
            }
            denied += 1;
            if decide(&engine, command) < Effect::Block {
                missed.push(command.to_owned());
            }
        }
    }
    assert!(denied >= 300, "only {denied} commands are denied by the host");
    assert!(missed.is_empty(), "{} of {denied}: {missed:#?}", missed.len());
}
