//! The tables, by theme, and their index by program.

mod cloud;
mod clusters;
mod containers;
mod databases;
mod disks;
mod exposure;
mod files;
mod git;
mod infrastructure;
mod midrail;
mod network;
mod packages;
mod services;
mod storage;
mod system;
mod traces;

use std::sync::OnceLock;

use midrail_core::Severity;

use super::condition::Compiled;
use super::rule::{Loss, Rule, Targets, rule};

/// All tables.
pub(super) const TABLES: &[&[Rule]] = &[
    cloud::RULES,
    clusters::RULES,
    containers::RULES,
    databases::RULES,
    disks::RULES,
    exposure::RULES,
    files::RULES,
    git::RULES,
    infrastructure::RULES,
    midrail::RULES,
    network::RULES,
    packages::RULES,
    services::RULES,
    storage::RULES,
    system::RULES,
    traces::RULES,
];

/// `> file`. Which program writes does not matter.
pub(super) const OVERWRITE: Rule =
    rule("overwrite", &[], Severity::High, "Empties or replaces a file that other things rely on")
        .hits(Loss::Write, Targets::Operands(0))
        .safer("write to a new file inside the project");

/// `>> file`.
pub(super) const APPEND: Rule =
    rule("append", &[], Severity::Medium, "Changes a file that gives access or runs by itself")
        .hits(Loss::Write, Targets::Operands(0))
        .safer("leave the change of this file to the user");

/// The rows of one program, and the same rows read once they are needed.
struct Entry {
    program: &'static str,
    rules: Vec<&'static Rule>,
    compiled: OnceLock<Vec<Compiled>>,
}

/// The rows about a program. A process that judges one command looks up few programs, so each letter of the alphabet has
/// an index of its own.
pub(super) fn of(program: &str) -> &'static [Compiled] {
    static INDEX: [OnceLock<Vec<Entry>>; 256] = [const { OnceLock::new() }; 256];
    let Some(initial) = program.bytes().next() else { return &[] };
    let Some(index) = INDEX.get(usize::from(initial)).map(|index| index.get_or_init(|| build(initial)))
    else {
        return &[];
    };
    let find = |name: &str| index.binary_search_by(|entry| entry.program.cmp(name)).ok();
    // `mkfs.ext4` falls under `mkfs.*`.
    let found = find(program).or_else(|| {
        let (family, _) = program.split_once('.')?;
        if family.len() > 32 { None } else { find(&format!("{family}.*")) }
    });
    let Some(entry) = found.and_then(|at| index.get(at)) else { return &[] };
    entry.compiled.get_or_init(|| entry.rules.iter().map(|rule| Compiled::new(rule)).collect())
}

fn build(initial: u8) -> Vec<Entry> {
    let mut pairs: Vec<(&'static str, &'static Rule)> = Vec::new();
    for rule in TABLES.iter().copied().flatten() {
        let named = rule.programs.iter().filter(|program| program.as_bytes().first() == Some(&initial));
        pairs.extend(named.map(|program| (*program, rule)));
    }
    // Stable: the rows of a program keep their order.
    pairs.sort_by_key(|(program, _)| *program);
    let mut index: Vec<Entry> = Vec::new();
    for (program, rule) in pairs {
        match index.last_mut() {
            Some(entry) if entry.program == program => entry.rules.push(rule),
            _ => index.push(Entry { program, rules: vec![rule], compiled: OnceLock::new() }),
        }
    }
    index
}
