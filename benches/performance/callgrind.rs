//! Counts instructions with callgrind, by function.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "the benchmark and the test of the budget use some of it each"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where valgrind is. A fixed environment costs the same on every machine.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Instructions by the name of the function that executes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Instructions(pub(crate) BTreeMap<String, i64>);

impl Instructions {
    /// All instructions except those of SHA-256. Callgrind does not know the SHA instructions of the processor, so a program
    /// that it runs uses the slow implementation.
    pub(crate) fn without_sha256(&self) -> i64 {
        self.0.iter().filter(|(name, _)| !is_sha256(name)).map(|(_, count)| count).sum()
    }

    /// The instructions of SHA-256.
    pub(crate) fn sha256(&self) -> i64 {
        self.0.iter().filter(|(name, _)| is_sha256(name)).map(|(_, count)| count).sum()
    }

    /// The difference to a shorter run, per repetition.
    pub(crate) fn per_repetition(&self, shorter: &Instructions, repetitions: i64) -> Instructions {
        let mut all = self.0.clone();
        for (name, count) in &shorter.0 {
            *all.entry(name.clone()).or_default() -= count;
        }
        all.retain(|_, count| {
            *count /= repetitions;
            *count != 0
        });
        Instructions(all)
    }
}

fn is_sha256(name: &str) -> bool {
    name.contains("sha2") || name.contains("compress256")
}

pub(crate) fn is_installed() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").env("PATH", PATH).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Counts the instructions of a program. `prepare` adds it and its arguments to the command.
pub(crate) fn count(input: &[u8], prepare: impl FnOnce(&mut Command)) -> Instructions {
    count_within(None, input, prepare)
}

/// The same within calls of one function, with all that it calls.
pub(crate) fn count_within(
    function: Option<&str>,
    input: &[u8],
    prepare: impl FnOnce(&mut Command),
) -> Instructions {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .args(function.map(|function| format!("--toggle-collect={function}")));
    prepare(&mut command);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A program may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    read(&file)
}

/// Reads the own costs of all functions. A line after `calls=` is the cost of what a function calls.
fn read(file: &Path) -> Instructions {
    let mut found = Instructions::default();
    let text = fs::read(file).unwrap();
    let (mut function, mut is_call) = (String::new(), false);
    for line in String::from_utf8_lossy(&text).lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            name.clone_into(&mut function);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<i64>().ok());
            if !std::mem::take(&mut is_call) {
                *found.0.entry(function.clone()).or_default() += cost.unwrap_or(0);
            }
        }
    }
    found
}
