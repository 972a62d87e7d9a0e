//! Compiles national ids, documents, lengths of numbers, and the words of personal data.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Deserialize;
use toml::Spanned;

use crate::choices::NeedsWord;
use crate::source::{List, Source, examples, slice, write};
use crate::word_lists::{self, WordLists, byte_set, letter_pairs, word_set};
use crate::word_sign::{THREES, three_number};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    kind: String,
    #[serde(default)]
    countries: Vec<String>,
    description: String,
    #[serde(default)]
    shapes: Vec<String>,
    lengths: Option<(usize, usize)>,
    #[serde(default)]
    rules: List<Rule>,
    needs_word: NeedsWord,
    words: Vec<String>,
    also: Option<Vec<String>>,
    found: Vec<String>,
    not_found: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Numbers {
    calling_codes: BTreeMap<String, (usize, usize)>,
    iban_lengths: BTreeMap<String, usize>,
    card_issuer: Vec<Spanned<CardIssuer>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardIssuer {
    name: String,
    first: u32,
    last: Option<u32>,
    lengths: Vec<usize>,
    #[serde(default)]
    common: bool,
}

type Text = String;

macro_rules! rules {
    ($(#[$doc:meta])* enum $enum:ident { $($variants:tt)* } $(#[$note:meta])* struct $struct:ident { $($fields:tt)* }) => {
        #[derive(Deserialize, Debug)]
        #[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
        enum $enum { $($variants)* }

        #[derive(Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        struct $struct { $($fields)* }
    };
}

include!("../data/personal/rules.rs.in");

/// All texts before names, those with the same last bytes together, the longest first.
fn name_triggers(lists: &WordLists) -> String {
    let names = [
        ("before_one_word", "OneWord"),
        ("before_two_words", "TwoWords"),
        ("before_given_name", "GivenName"),
    ];
    let mut triggers: Vec<(String, &str)> = Vec::new();
    for (name, then) in names {
        triggers.extend(lists.get(name).into_iter().flat_map(|list| list.texts()).map(|text| (text, then)));
    }
    let number = |trigger: &str| three_number(*trigger.as_bytes().last_chunk().unwrap_or(&[0; 3]));
    triggers.sort_by_key(|(trigger, _)| (number(trigger), std::cmp::Reverse(trigger.len())));
    let starts: Vec<usize> = (0..=THREES)
        .map(|wanted| triggers.partition_point(|(trigger, _)| number(trigger) < wanted))
        .collect();
    let mut all = String::new();
    for (trigger, then) in triggers {
        all.push_str(&format!("({trigger:?}, super::name_triggers::Then::{then}), "));
    }
    format!(
        "pub(super) static TRIGGERS: &[(&str, super::name_triggers::Then)] = &[{all}];\n\
         /// Where the triggers begin whose last bytes have a number.\n\
         pub(super) static TRIGGER_STARTS: [u16; {}] = {starts:?};\n",
        starts.len()
    )
}

/// The letters around the number of a house, which exclude most words.
fn street_letters(lists: &WordLists) -> String {
    let words = |names: &[&str]| {
        names.iter().filter_map(|name| lists.get(*name)).flat_map(|list| list.texts()).collect::<Vec<_>>()
    };
    let (after, before) =
        (words(&["street_after_number"]), words(&["street_before_number", "street_endings", "post_boxes"]));
    let first_two = |word: &[u8]| [word.first().copied(), word.get(1).copied()];
    let last_two = |word: &[u8]| [word.iter().rev().nth(1).copied(), word.last().copied()];
    format!(
        "/// The first letters of words between a number and a street's name.\n\
         pub(super) static STREET_STARTS: crate::words::LetterPairs = {};\n\
         /// The last letters of words before a number of a house or a post box.\n\
         pub(super) static STREET_ENDS: crate::words::LetterPairs = {};\n\
         /// The last letters of the endings of streets.\n\
         pub(super) static STREET_ENDING_ENDS: crate::words::LetterPairs = {};\n",
        letter_pairs(after.iter().map(String::as_str), first_two),
        letter_pairs(before.iter().map(String::as_str), last_two),
        letter_pairs(words(&["street_endings"]).iter().map(String::as_str), last_two),
    )
}

/// Writes the tables of personal data.
pub fn compile() -> io::Result<()> {
    let source = Source::read("data/personal/words.toml")?;
    let mut words = word_lists::compile(&source);
    words.push_str(&name_triggers(&source.parse()));
    words.push_str(&street_letters(&source.parse()));
    for name in ["given_names", "top_level_domains", "example_domains"] {
        let source = Source::read(&format!("data/personal/{name}.txt"))?;
        let set = byte_set(&source.words());
        let name = name.to_uppercase();
        words.push_str(&format!("pub(super) static {name}: crate::words::Words = {set};\n"));
    }
    words.push_str(&numbers()?);
    write("personal_words.rs", words)?;
    let mut tests = String::new();
    write("identities.rs", identities(&mut tests)?)?;
    write("personal_examples.rs", format!("const EXAMPLES: &[(&str, &[&str], &[&str])] = &[\n{tests}];\n"))
}

fn identities(tests: &mut String) -> io::Result<String> {
    let mut code = Vec::new();
    let mut seen = BTreeSet::new();
    // The identities of each shape, where `X` is spelled out as a digit and as a letter.
    let mut shapes: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for source in Source::read_folder("data/personal/identities")? {
        for (offset, identity) in source.entries::<Identity>("identity") {
            source.check_examples(offset, &identity.found, &identity.not_found);
            let index = code.len();
            for shape in &identity.shapes {
                if !seen.insert((identity.kind.clone(), shape.clone(), format!("{:?}", identity.rules))) {
                    source.problem(offset, format!("duplicate shape of `{}`", identity.kind));
                }
                for shape in spell_out(shape.as_bytes()) {
                    shapes.entry(shape).or_default().push(index);
                }
            }
            let code_of_kind = identity.kind.split('-').next().unwrap_or_default();
            let country = if code_of_kind == "uk" { "gb" } else { code_of_kind };
            if !identity.countries.is_empty() && !identity.countries.iter().any(|known| known == country) {
                source.problem(offset, format!("`kind` must begin with one of {:?}", identity.countries));
            }
            if identity.needs_word != NeedsWord::Never && identity.words.is_empty() {
                source.problem(offset, "`needs_word` needs `words`");
            }
            tests.push_str(&examples(&identity.kind, &identity.found, &identity.not_found));
            let also =
                identity.also.as_ref().map_or("None".to_owned(), |also| format!("Some({})", word_set(also)));
            code.push(format!(
                "Identity {{ kind: {:?}, countries: {}, description: {:?}, lengths: {:?}, rules: {:?}, \
                 needs_word: NeedsWord::{:?}, words: {}, also: {also} }},\n",
                identity.kind,
                slice(&identity.countries),
                identity.description,
                identity.lengths,
                identity.rules,
                identity.needs_word,
                word_set(&identity.words),
            ));
        }
    }
    let shapes: Vec<(Vec<u8>, String)> =
        shapes.into_iter().map(|(shape, indexes)| (shape, format!("&{indexes:?}"))).collect();
    let mut map = phf_codegen::Map::<&[u8]>::new();
    shapes.iter().for_each(|(shape, indexes)| _ = map.entry(shape, indexes.as_str()));
    Ok(format!(
        "static IDENTITIES: [Identity; {}] = [\n{}];\n\
         static SHAPES: phf::Map<&'static [u8], &'static [u16]> = {};\n",
        code.len(),
        code.concat(),
        map.build()
    ))
}

/// All shapes without `X` that a shape with it means.
fn spell_out(shape: &[u8]) -> Vec<Vec<u8>> {
    shape.iter().fold(vec![Vec::new()], |shapes, byte| {
        let choices: &[u8] = if *byte == b'X' { b"9A" } else { std::slice::from_ref(byte) };
        choices
            .iter()
            .flat_map(|choice| shapes.iter().map(|shape| [shape, &[*choice][..]].concat()))
            .collect()
    })
}

fn numbers() -> io::Result<String> {
    let source = Source::read("data/personal/numbers.toml")?;
    let numbers: Numbers = source.parse();
    let mut codes = phf_codegen::Map::<u32>::new();
    for (code, lengths) in &numbers.calling_codes {
        match code.parse() {
            Ok(number) => _ = codes.entry(number, format!("{lengths:?}")),
            Err(_) => source.problem(0, format!("calling code `{code}` is not a number")),
        }
        if numbers.calling_codes.keys().any(|other| other != code && other.starts_with(code.as_str())) {
            source.problem(0, format!("calling code `{code}` is the start of another one"));
        }
    }
    let mut ibans = phf_codegen::Map::<&[u8]>::new();
    for (country, length) in &numbers.iban_lengths {
        ibans.entry(country.as_bytes(), length.to_string());
    }
    let mut issuers = String::new();
    for entry in &numbers.card_issuer {
        let issuer = entry.get_ref();
        let (first, last) = (issuer.first, issuer.last.unwrap_or(issuer.first));
        if last < first || first.to_string().len() != last.to_string().len() {
            let message = format!("`first` and `last` of {} are not a range", issuer.name);
            source.problem(entry.span().start, message);
        }
        issuers.push_str(&format!(
            "super::finance::Issuer {{ first_digits: {first}..={last}, digits: {}, lengths: &{:?}, is_common: {} }},\n",
            first.to_string().len(),
            issuer.lengths,
            issuer.common
        ));
    }
    Ok(format!(
        "/// The fewest and the most digits after a calling code.\n\
         pub(super) static CALLING_CODES: phf::Map<u32, (usize, usize)> = {};\n\
         /// Lengths of IBANs by country.\n\
         pub(super) static IBAN_LENGTHS: phf::Map<&'static [u8], usize> = {};\n\
         /// Issuers of payment cards.\n\
         pub(super) static CARD_ISSUERS: &[super::finance::Issuer] = &[\n{issuers}];\n",
        codes.build(),
        ibans.build()
    ))
}
