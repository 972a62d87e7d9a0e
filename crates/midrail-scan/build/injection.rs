//! Compiles the phrases, word sets, marks and look-alikes of injected instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Deserialize;
use toml::Spanned;

use crate::source::{Problems, Severity, Source, examples, slice, write};
use crate::word_lists::{self, WordLists};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    phrase: Vec<Spanned<Phrase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    kind: Spanned<String>,
    #[serde(default)]
    counts: Counts,
    patterns: Vec<Spanned<String>>,
    found: Vec<String>,
    not_found: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    family: Vec<Family>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    kind: String,
    code: String,
    severity: Severity,
    explanation: String,
}

#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "lowercase")]
enum Counts {
    #[default]
    Anywhere,
    Weak,
    Alone,
    Hidden,
    Tagged,
    Address,
    Name,
    Order,
    Request,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LookAlikes {
    look_alikes: BTreeMap<char, String>,
    capitals: BTreeMap<char, String>,
}

/// Writes the tables of injected instructions.
pub fn compile(problems: &mut Problems) -> io::Result<()> {
    let source = Source::read("data/injection/word_sets.toml")?;
    let sets: BTreeMap<String, Spanned<Vec<String>>> = source.parse(problems);
    let mut map = phf_codegen::Map::<&str>::new();
    for (name, words) in &sets {
        for word in words.get_ref() {
            check_set(&source, words.span().start, word, &sets, problems);
        }
        map.entry(name, slice(words.get_ref()));
    }
    let mut code = format!(
        "/// Sets of words that phrases use as `@name`.\n\
         pub(super) static WORD_SETS: phf::Map<&'static str, &'static [&'static str]> = {};\n",
        map.build()
    );
    let source = Source::read("data/injection/words.toml")?;
    let lists: WordLists = source.parse(problems);
    code.push_str(&word_lists::compile(&source, &lists, problems));
    let source = Source::read("data/injection/look_alikes.toml")?;
    let look_alikes: LookAlikes = source.parse(problems);
    for (name, letters) in [("LOOK_ALIKES", &look_alikes.look_alikes), ("CAPITALS", &look_alikes.capitals)] {
        code.push_str(&letter_map(&source, name, letters, problems));
    }
    write("injection_words.rs", code)?;
    let families = families(problems)?;
    phrases(&sets, &families, problems)
}

/// Writes the families, and returns their kinds.
fn families(problems: &mut Problems) -> io::Result<BTreeSet<String>> {
    let file: FamilyFile = Source::read("data/injection/families.toml")?.parse(problems);
    let (mut code, mut names) = (String::new(), Vec::new());
    for (order, Family { kind, code: intent, severity, explanation }) in file.family.iter().enumerate() {
        names.push(format!("&{}", constant(kind)));
        code.push_str(&format!(
            "pub(super) static {}: Family = Family {{ order: {order}, kind: {kind:?}, code: {intent:?}, \
             severity: Severity::{severity:?}, explanation: {explanation:?} }};\n",
            constant(kind)
        ));
    }
    code.push_str(&format!("static FAMILIES: &[&Family] = &[{}];\n", names.join(", ")));
    write("injection_families.rs", code)?;
    Ok(file.family.into_iter().map(|family| family.kind).collect())
}

/// The name of a constant in Rust: `FAKE_TAG` for `fake-tag`.
fn constant(kind: &str) -> String {
    kind.replace('-', "_").to_uppercase()
}

fn phrases(
    sets: &BTreeMap<String, Spanned<Vec<String>>>,
    families: &BTreeSet<String>,
    problems: &mut Problems,
) -> io::Result<()> {
    let (mut rows, mut tests, mut seen) = (Vec::new(), String::new(), BTreeSet::new());
    for source in Source::read_folder("data/injection/phrases")? {
        let file: File = source.parse(problems);
        for entry in file.phrase {
            let (offset, phrase) = (entry.span().start, entry.into_inner());
            source.check_examples(offset, &phrase.found, &phrase.not_found, problems);
            for pattern in &phrase.patterns {
                check_pattern(&source, pattern, sets, problems);
                if !seen.insert(pattern.get_ref().clone()) {
                    problems.add(&source, pattern.span().start, "duplicate pattern");
                }
            }
            if !families.contains(phrase.kind.get_ref()) {
                let known: Vec<&str> = families.iter().map(String::as_str).collect();
                let message = format!("unknown kind; known are {}", known.join(", "));
                problems.add(&source, phrase.kind.span().start, message);
            }
            tests.push_str(&examples(rows.len(), &phrase.found, &phrase.not_found));
            let patterns: Vec<String> = phrase.patterns.into_iter().map(Spanned::into_inner).collect();
            rows.push(format!(
                "Row {{ family: &family::{}, counts: Counts::{:?}, patterns: {} }},\n",
                constant(phrase.kind.get_ref()),
                phrase.counts,
                slice(&patterns)
            ));
        }
    }
    write(
        "injection_phrases.rs",
        format!("pub(super) static ROWS: [Row; {}] = [\n{}];\n", rows.len(), rows.concat()),
    )?;
    write("injection_examples.rs", format!("const EXAMPLES: &[(usize, &[&str], &[&str])] = &[\n{tests}];\n"))
}

/// Checks the steps of a pattern: known word sets, gaps that are numbers, and at least one step.
fn check_pattern(
    source: &Source,
    pattern: &Spanned<String>,
    sets: &BTreeMap<String, Spanned<Vec<String>>>,
    problems: &mut Problems,
) {
    let (offset, mut steps) = (pattern.span().start, 0);
    for item in pattern.get_ref().split_whitespace() {
        if let Some(gap) = item.strip_prefix('~') {
            if gap.parse::<usize>().is_err() {
                problems.add(source, offset, format!("`{item}`: a number has to follow `~`"));
            }
            continue;
        }
        steps += usize::from(!item.starts_with('!'));
        for word in item.split('|') {
            let word = word.trim_start_matches(['^', '!', ':']);
            if word.is_empty() {
                problems.add(source, offset, format!("`{item}` has an empty word"));
            }
            check_set(source, offset, word, sets, problems);
        }
    }
    if steps == 0 {
        problems.add(source, offset, "a pattern needs at least one step");
    }
}

fn check_set(
    source: &Source,
    offset: usize,
    word: &str,
    sets: &BTreeMap<String, Spanned<Vec<String>>>,
    problems: &mut Problems,
) {
    if let Some(name) = word.strip_prefix('@').filter(|name| !sets.contains_key(*name)) {
        problems.add(source, offset, format!("unknown word set `@{name}`"));
    }
}

fn letter_map(
    source: &Source,
    name: &str,
    letters: &BTreeMap<char, String>,
    problems: &mut Problems,
) -> String {
    let (mut map, mut seen) = (phf_codegen::Map::<char>::new(), BTreeSet::new());
    for (letter, alike) in letters {
        for other in alike.chars() {
            if seen.insert(other) {
                map.entry(other, format!("{letter:?}"));
            } else {
                problems.add(source, 0, format!("duplicate letter `{other}`"));
            }
        }
    }
    format!("pub(super) static {name}: phf::Map<char, char> = {};\n", map.build())
}
