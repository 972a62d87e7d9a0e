//! Compiles the phrases, word sets, marks and look-alikes of injected instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Deserialize;
use toml::Spanned;

use crate::choices::Counts;
use crate::source::{Severity, Source, examples, write};
use crate::{vocabulary, word_lists};

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    kind: String,
    code: String,
    severity: Severity,
    explanation: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LookAlikes {
    look_alikes: BTreeMap<char, String>,
    capitals: BTreeMap<char, String>,
}

/// Sets of words by name.
type WordSets = BTreeMap<String, Spanned<Vec<String>>>;

/// Writes the tables of injected instructions.
pub fn compile() -> io::Result<()> {
    let source = Source::read("data/injection/word_sets.toml")?;
    let sets: WordSets = source.parse();
    for (name, words) in &sets {
        if name.contains('_') {
            source.problem(words.span().start, format!("`{name}`: an underscore would part the name"));
        }
        for word in words.get_ref() {
            check_set(&source, words.span().start, word, &sets);
        }
    }
    let mut code = word_lists::compile(&Source::read("data/injection/words.toml")?);
    let source = Source::read("data/injection/look_alikes.toml")?;
    let look_alikes: LookAlikes = source.parse();
    for (name, letters) in [("LOOK_ALIKES", &look_alikes.look_alikes), ("CAPITALS", &look_alikes.capitals)] {
        code.push_str(&letter_map(&source, name, letters));
    }
    write("injection_words.rs", code)?;
    let families = families()?;
    let rows = phrases(&sets, &families)?;
    let sets = sets.into_iter().map(|(name, words)| (name, words.into_inner())).collect();
    vocabulary::compile(&rows, &sets)
}

/// Writes the families, and returns their kinds.
fn families() -> io::Result<BTreeSet<String>> {
    let families = Source::read("data/injection/families.toml")?.entries::<Family>("family");
    let (mut code, mut names) = (String::new(), Vec::new());
    for (order, (_, Family { kind, code: intent, severity, explanation })) in families.iter().enumerate() {
        names.push(format!("&{}", constant(kind)));
        code.push_str(&format!(
            "pub(super) static {}: Family = Family {{ order: {order}, kind: {kind:?}, code: {intent:?}, \
             severity: Severity::{severity:?}, explanation: {explanation:?} }};\n",
            constant(kind)
        ));
    }
    code.push_str(&format!("static FAMILIES: &[&Family] = &[{}];\n", names.join(", ")));
    write("injection_families.rs", code)?;
    Ok(families.into_iter().map(|(_, family)| family.kind).collect())
}

/// The name of a constant in Rust: `FAKE_TAG` for `fake-tag`.
fn constant(kind: &str) -> String {
    kind.replace('-', "_").to_uppercase()
}

/// Writes the rows, and returns their patterns.
fn phrases(sets: &WordSets, families: &BTreeSet<String>) -> io::Result<Vec<vocabulary::Row>> {
    let (mut rows, mut code, mut tests, mut seen) =
        (Vec::new(), String::new(), String::new(), BTreeSet::new());
    for source in Source::read_folder("data/injection/phrases")? {
        for (offset, phrase) in source.entries::<Phrase>("phrase") {
            source.check_examples(offset, &phrase.found, &phrase.not_found);
            for pattern in &phrase.patterns {
                check_pattern(&source, pattern, sets);
                if !seen.insert(pattern.get_ref().clone()) {
                    source.problem(pattern.span().start, "duplicate pattern");
                }
            }
            if !families.contains(phrase.kind.get_ref()) {
                let known: Vec<&str> = families.iter().map(String::as_str).collect();
                let message =
                    format!("unknown kind `{}`; known are {}", phrase.kind.get_ref(), known.join(", "));
                source.problem(phrase.kind.span().start, message);
            }
            tests.push_str(&examples(rows.len(), &phrase.found, &phrase.not_found));
            let patterns: Vec<String> = phrase.patterns.into_iter().map(Spanned::into_inner).collect();
            code.push_str(&format!(
                "Row {{ family: &family::{}, counts: Counts::{:?} }},\n",
                constant(phrase.kind.get_ref()),
                phrase.counts
            ));
            rows.push(vocabulary::Row { counts: phrase.counts, patterns });
        }
    }
    write("injection_phrases.rs", format!("pub(super) static ROWS: [Row; {}] = [\n{code}];\n", rows.len()))?;
    write(
        "injection_examples.rs",
        format!("const EXAMPLES: &[(usize, &[&str], &[&str])] = &[\n{tests}];\n"),
    )?;
    Ok(rows)
}

/// Checks the steps of a pattern: known word sets, gaps that are numbers, and at least one step.
fn check_pattern(source: &Source, pattern: &Spanned<String>, sets: &WordSets) {
    let (offset, mut steps) = (pattern.span().start, 0);
    for item in pattern.get_ref().split_whitespace() {
        if let Some(gap) = item.strip_prefix('~') {
            if gap.parse::<usize>().is_err() {
                source.problem(offset, format!("`{item}`: a number has to follow `~`"));
            }
            continue;
        }
        steps += usize::from(!item.starts_with('!') && item != "*");
        for word in item.split('|') {
            let word = word.trim_start_matches(['^', '!', ':']);
            if word.is_empty() {
                source.problem(offset, format!("`{item}` has an empty word"));
            }
            check_set(source, offset, word, sets);
        }
    }
    if steps == 0 {
        source.problem(
            offset,
            "a pattern needs at least one step with words, by which texts are searched for it",
        );
    }
}

fn check_set(source: &Source, offset: usize, word: &str, sets: &WordSets) {
    if let Some(name) = word.strip_prefix('@').filter(|name| !sets.contains_key(*name)) {
        source.problem(offset, format!("unknown word set `@{name}`"));
    }
}

fn letter_map(source: &Source, name: &str, letters: &BTreeMap<char, String>) -> String {
    let (mut map, mut seen) = (phf_codegen::Map::<char>::new(), BTreeSet::new());
    for (letter, alike) in letters {
        for other in alike.chars() {
            if seen.insert(other) {
                map.entry(other, format!("{letter:?}"));
            } else {
                source.problem(0, format!("duplicate letter `{other}`"));
            }
        }
    }
    format!("pub(super) static {name}: phf::Map<char, char> = {};\n", map.build())
}
