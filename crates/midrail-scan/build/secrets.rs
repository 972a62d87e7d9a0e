//! Compiles the formats and words of secrets.

use std::collections::BTreeSet;
use std::io;

use serde::Deserialize;
use toml::Spanned;

use crate::choices::{Position, Span};
use crate::keywords::{Keyword, write_keywords};
use crate::source::{Severity, Source, examples, slice, write};
use crate::word_lists::{self, WordLists};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Format {
    kind: String,
    description: String,
    position: Position,
    keywords: Vec<String>,
    pattern: Spanned<String>,
    #[serde(default)]
    any_case: bool,
    #[serde(default)]
    bytes_before: usize,
    window: Option<usize>,
    #[serde(default)]
    span: Span,
    #[serde(default)]
    generic: bool,
    #[serde(default)]
    min_entropy: f64,
    #[serde(default)]
    allow_dummies: bool,
    #[serde(default)]
    name_contains: Vec<String>,
    line_contains: Option<String>,
    #[serde(default)]
    not_after: Vec<String>,
    #[serde(default)]
    ends_at_space: bool,
    check: Option<Spanned<String>>,
    #[serde(default)]
    severity: Severity,
    found: Vec<String>,
    not_found: Vec<String>,
}

/// The functions of `src/secrets/checks.rs` that a format may name.
const CHECKS: &[&str] = &[
    "aws_key_id",
    "crc32",
    "encoded_web_token",
    "letters_and_digits",
    "mixed_password",
    "nkey",
    "not_dashed_words",
    "not_words",
    "password",
    "pypi_macaroon",
    "some_digits",
    "symbol",
    "token",
    "user_and_password",
    "wallet_phrase",
];

/// The search skips shorter words without compiling a pattern: `SHORTEST_KEY` in `src/secrets/engine.rs`.
const SHORTEST_KEY: usize = 11;

/// Writes the tables of secrets.
pub fn compile() -> io::Result<()> {
    let (mut formats, mut tests, mut keywords) = (Vec::new(), String::new(), Vec::new());
    let (mut seen, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for source in Source::read_folder("data/secrets/formats")? {
        for (offset, format) in source.entries::<Format>("format") {
            validate(&source, offset, &format);
            let id = (format.kind.clone(), format.pattern.get_ref().clone(), format.keywords.clone());
            if !seen.insert(id) {
                source.problem(offset, format!("duplicate format of `{}`", format.kind));
            }
            let index = formats.len();
            let any_case = format.any_case || format.position == Position::Assigned;
            let lead = format!("Lead::Format({index})");
            keywords.extend(format.keywords.iter().map(|text| Keyword::new(text, any_case, &lead)));
            tests.push_str(&examples(index, &format.found, &format.not_found));
            texts.extend([format.kind.clone(), format.description.clone()]);
            let check = format.check.as_ref().map_or("any", |check| check.get_ref());
            formats.push(code(&format, any_case, check));
        }
    }
    let source = Source::read("data/secrets/words.toml")?;
    let lists: WordLists = source.parse();
    if let Some(list) = lists.get("assignment_keywords") {
        keywords.extend(list.words.iter().map(|text| Keyword::new(text.get_ref(), true, "Lead::Name")));
    }
    if let Some(list) = lists.get("generic_texts") {
        texts.extend(list.words.iter().map(|text| text.get_ref().clone()));
    }
    for (text, any_case, lead) in [
        ("-----BEGIN ", false, "Lead::Pem"),
        ("---- BEGIN ", false, "Lead::Pem"),
        ("eyJ", false, "Lead::Jwt"),
        ("://", false, "Lead::Url"),
        ("insert into ", true, "Lead::Insert"),
    ] {
        keywords.push(Keyword::new(text, any_case, lead));
    }
    write_keywords(&keywords)?;
    let mut texts_set = phf_codegen::Set::<&str>::new();
    texts.iter().for_each(|text| _ = texts_set.entry(text));
    let formats = format!(
        "pub(super) static FORMATS: [Format; {}] = [\n{}];\n\
         /// The kinds and descriptions of all secrets.\n\
         pub(super) static SECRET_TEXTS: phf::Set<&'static str> = {};\n",
        formats.len(),
        formats.concat(),
        texts_set.build()
    );
    write("secret_formats.rs", formats)?;
    write("secret_words.rs", word_lists::compile(&source))?;
    write("secret_examples.rs", format!("const EXAMPLES: &[(usize, &[&str], &[&str])] = &[\n{tests}];\n"))
}

fn validate(source: &Source, offset: usize, format: &Format) {
    source.check_examples(offset, &format.found, &format.not_found);
    // The search looks up three bytes, and keeps lengths in one.
    if format.keywords.is_empty() || format.keywords.iter().any(|text| !(3..=255).contains(&text.len())) {
        source.problem(offset, "`keywords` needs at least one keyword, each of 3 to 255 bytes");
    }
    if let Some(check) = format.check.as_ref().filter(|check| !CHECKS.contains(&check.get_ref().as_str())) {
        let message = format!("unknown check `{}`; known are {}", check.get_ref(), CHECKS.join(", "));
        source.problem(check.span().start, message);
    }
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    let problem = match parser.parse(format.pattern.get_ref()) {
        Err(error) => {
            let message = error.to_string();
            let reason = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("invalid pattern: {reason}")
        }
        Ok(pattern) => {
            let is_long = pattern.properties().minimum_len().is_some_and(|length| length >= SHORTEST_KEY);
            if is_long || format.position != Position::Start {
                return;
            }
            format!(
                "the pattern of a key that begins with its keyword must match {SHORTEST_KEY} bytes or more"
            )
        }
    };
    source.problem(format.pattern.span().start, problem);
}

fn code(format: &Format, any_case: bool, check: &str) -> String {
    format!(
        "Format {{ kind: {:?}, description: {:?}, pattern: {:?}, position: Position::{:?}, any_case: {any_case}, \
         bytes_before: {}, window: {}, span: Span::{:?}, is_generic: {}, min_entropy: {:.0}, allow_dummies: {}, \
         name_contains: {}, line_contains: {:?}, not_after: {}, ends_at_space: {}, \
         check: super::checks::{check}, severity: Severity::{:?} }},\n",
        format.kind,
        format.description,
        format.pattern.get_ref(),
        format.position,
        format.bytes_before,
        format.window.unwrap_or(256),
        format.span,
        format.generic,
        format.min_entropy * 10.0,
        format.allow_dummies,
        slice(&format.name_contains),
        format.line_contains,
        slice(&format.not_after),
        format.ends_at_space,
        format.severity,
    )
}
