//! Compiles the rows of `data/programs` into static tables with a perfect hash, and reports every mistake in them with its
//! file and line.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use serde::Deserialize;
use toml::Spanned;

type Text = String;
type List = Vec<String>;
type Rows<T> = Vec<T>;

/// The ids of dangers in the row of a program.
#[derive(Deserialize, Default)]
struct Ids(Vec<String>);

/// Conditions of a rule, in the language of `condition.rs`.
#[derive(Deserialize, Default)]
struct Conditions(Vec<String>);

/// Command lines that only tests read.
#[derive(Deserialize, Default)]
struct Examples(Vec<String>);

/// A value that can be written as a Rust expression.
trait Literal {
    fn literal(&self) -> String;
}

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, Default)]
        #[serde(deny_unknown_fields, default)]
        struct $name { $($(#[$note])* $field: $type,)* }

        impl Literal for $name {
            fn literal(&self) -> String {
                let fields = [$(format!("{}: {}", stringify!($field), self.$field.literal()),)*];
                format!("{} {{ {} }}", stringify!($name), fields.join(", "))
            }
        }
    )*};
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
        #[serde(rename_all = "kebab-case")]
        enum $name { $($(#[$note])* $variant,)* }

        impl Default for $name {
            /// The first one.
            fn default() -> Self {
                let all = [$($name::$variant,)*];
                let [first, ..] = all;
                first
            }
        }

        impl Literal for $name {
            fn literal(&self) -> String {
                format!("{}::{self:?}", stringify!($name))
            }
        }
    )*};
}

include!("data/programs.rs.in");

choices! {
    /// How bad a danger is.
    Severity { Medium, High, Critical, }
    /// How sure a match is.
    Confidence { High, Medium, }
}

impl Literal for bool {
    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for usize {
    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for String {
    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl<T: Literal> Literal for Vec<T> {
    fn literal(&self) -> String {
        let items: Vec<String> = self.iter().map(Literal::literal).collect();
        format!("&[{}]", items.join(", "))
    }
}

impl<T: Literal> Literal for Option<T> {
    fn literal(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), |value| format!("Some({})", value.literal()))
    }
}

impl Literal for Examples {
    fn literal(&self) -> String {
        "()".to_owned()
    }
}

impl Literal for Ids {
    fn literal(&self) -> String {
        let items: Vec<String> = self.0.iter().map(|id| format!("&{}", constant(id))).collect();
        format!("&[{}]", items.join(", "))
    }
}

impl Literal for Conditions {
    fn literal(&self) -> String {
        let items: Vec<String> = self.0.iter().map(|text| condition(text)).collect();
        format!("&[{}]", items.join(", "))
    }
}

/// The name of the static of a danger.
fn constant(id: &str) -> String {
    format!("DANGER_{}", id.to_ascii_uppercase().replace('-', "_"))
}

/// A condition as a Rust expression.
fn condition(text: &str) -> String {
    let mut terms = Vec::new();
    let mut is_anywhere = false;
    for word in text.split_ascii_whitespace() {
        if word == "..." {
            is_anywhere = true;
            continue;
        }
        let term = word.strip_prefix('!').unwrap_or(word);
        let is_denied = term.len() < word.len();
        terms.push(format!(
            "Term {{ kind: {}, is_denied: {is_denied}, is_anywhere: {is_anywhere} }}",
            kind(term)
        ));
        is_anywhere = false;
    }
    format!("Condition(&[{}])", terms.join(", "))
}

fn kind(term: &str) -> String {
    let patterns = |text: &str| text.split('|').map(pattern).collect::<Vec<_>>().join(", ");
    match (term, term.get(..1), term.get(1..).unwrap_or_default()) {
        ("--", ..) => "Kind::EndOfOptions".to_owned(),
        ("{}", ..) => "Kind::MoreArguments".to_owned(),
        (_, Some("-"), _) => {
            let options: Vec<String> = term.split('|').map(option_pattern).collect();
            format!("Kind::Option(&[{}])", options.join(", "))
        }
        (_, Some("@"), rest) => format!("Kind::Operand(&[{}])", patterns(rest)),
        (_, Some("<"), rest) => format!("Kind::Input(&[{}])", patterns(rest)),
        (_, Some(">"), rest) => format!("Kind::Source(&[{}])", patterns(rest)),
        _ => format!("Kind::Word(&[{}])", patterns(term)),
    }
}

fn option_pattern(text: &str) -> String {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, format!("Some({})", pattern(value))),
        None => (text, "None".to_owned()),
    };
    format!("OptionPattern {{ name: {}, value: {value} }}", pattern(name))
}

fn pattern(text: &str) -> String {
    format!("Pattern::{}({text:?})", if text.contains('*') { "Like" } else { "Exactly" })
}

/// One file of `data/programs`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    program: Vec<Spanned<Program>>,
    #[serde(default)]
    danger: Vec<Spanned<Rule>>,
}

/// All rows, and the mistakes in them.
#[derive(Default)]
struct Data {
    programs: Vec<Program>,
    rules: Vec<Rule>,
    /// Where each program and each danger was defined.
    places: BTreeMap<String, String>,
    mistakes: Vec<String>,
}

impl Data {
    fn read(&mut self, path: &Path) -> io::Result<()> {
        let text = fs::read_to_string(path)?;
        let name = path.display();
        let file: File = match toml::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                let line = error.span().map_or(1, |span| line_at(&text, span.start));
                self.mistakes.push(format!("{name}:{line}: {}", error.message()));
                return Ok(());
            }
        };
        for row in file.program {
            let place = format!("{name}:{}", line_at(&text, row.span().start));
            let program = row.into_inner();
            if program.names.is_empty() {
                self.mistakes.push(format!("{place}: a program without `names`"));
            }
            for name in &program.names {
                self.define(&format!("program `{name}`"), &place);
            }
            self.check_options(&program, &place);
            self.programs.push(program);
        }
        for row in file.danger {
            let place = format!("{name}:{}", line_at(&text, row.span().start));
            let rule = row.into_inner();
            self.define(&format!("danger `{}`", rule.id), &place);
            self.check_rule(&rule, &place);
            self.rules.push(rule);
        }
        Ok(())
    }

    fn define(&mut self, subject: &str, place: &str) {
        if let Some(first) = self.places.insert(subject.to_owned(), place.to_owned()) {
            self.mistakes.push(format!("{place}: {subject} is defined twice, first at {first}"));
        }
    }

    fn check_options(&mut self, program: &Program, place: &str) {
        let name = program.names.first().map_or("", String::as_str);
        for option in options(program).filter(|option| !option.starts_with(['-', '+'])) {
            self.mistakes.push(format!("{place}: `{option}` of `{name}` is no option: it has no dash"));
        }
        for flag in &program.flags {
            if program.values.contains(flag) || program.folders.contains(flag) {
                let both = format!("{place}: `{flag}` of `{name}` is both a flag and an option with a value");
                self.mistakes.push(both);
            }
        }
    }

    fn check_rule(&mut self, rule: &Rule, place: &str) {
        let id = &rule.id;
        let mut lacks = |what: &str, is_lacking: bool| {
            if is_lacking {
                self.mistakes.push(format!("{place}: danger `{id}` has no {what}"));
            }
        };
        lacks("`id`", id.is_empty());
        lacks("`reason`", rule.reason.is_empty());
        lacks("`safer` alternative", rule.safer.is_empty());
        lacks("`stops` example", rule.stops.0.is_empty());
        lacks("`passes` example", rule.passes.0.is_empty());
    }

    /// Checks what rows say about each other.
    fn check_references(&mut self) {
        let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for program in &self.programs {
            for id in &program.dangers.0 {
                if !self.places.contains_key(&format!("danger `{id}`")) {
                    let name = program.names.first().map_or("", String::as_str);
                    let place = self.places.get(&format!("program `{name}`")).map_or("", String::as_str);
                    self.mistakes.push(format!("{place}: `{name}` has an unknown danger `{id}`"));
                }
                known.entry(id).or_default().extend(options(program));
            }
        }
        for rule in &self.rules {
            let place = self.places.get(&format!("danger `{}`", rule.id)).map_or("", String::as_str);
            let Some(options) = known.get(rule.id.as_str()) else {
                self.mistakes.push(format!("{place}: no program has the danger `{}`", rule.id));
                continue;
            };
            for option in rule.when.0.iter().chain(&rule.unless.0).flat_map(|text| options_in(text)) {
                if !options.contains(option) {
                    let mistake = format!(
                        "{place}: danger `{}` depends on `{option}`, which no program with this danger has",
                        rule.id
                    );
                    self.mistakes.push(mistake);
                }
            }
        }
    }

    fn tables(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        for rule in &self.rules {
            writeln!(out, "static {}: Rule = {};", constant(&rule.id), rule.literal())?;
        }
        let mut map = phf_codegen::Map::new();
        for (index, program) in self.programs.iter().enumerate() {
            writeln!(out, "static PROGRAM_{index}: Program = {};", program.literal())?;
            for name in &program.names {
                map.entry(name.as_str(), format!("&PROGRAM_{index}"));
            }
        }
        writeln!(out, "static UNKNOWN: Program = {};", Program::default().literal())?;
        let map = map.build();
        writeln!(out, "static PROGRAMS: phf::Map<&'static str, &'static Program> = {map};")?;
        Ok(out)
    }
}

/// All options that the row of a program documents.
fn options(program: &Program) -> impl Iterator<Item = &str> {
    let mut lists = vec![&program.values, &program.globals, &program.folders, &program.flags];
    lists.extend(program.files.iter().flat_map(|it| [&it.reads, &it.names, &it.writes]));
    lists.extend(program.client.iter().flat_map(|it| [&it.statements, &it.files]));
    lists.extend(program.recipes.iter().map(|it| &it.options));
    lists.extend(program.runs.iter().flat_map(|it| [&it.values, &it.code]));
    lists.extend(program.uploads.iter().flat_map(|it| [&it.options, &it.values]));
    lists.extend(program.formats.iter().flat_map(|it| [&it.with, &it.without]));
    lists.into_iter().flatten().map(String::as_str)
}

/// The options in a condition, without their values and without wildcards.
fn options_in(condition: &str) -> impl Iterator<Item = &str> {
    let terms = condition.split_ascii_whitespace().map(|word| word.strip_prefix('!').unwrap_or(word));
    terms
        .filter(|term| term.starts_with('-') && *term != "--")
        .flat_map(|term| term.split('|'))
        .map(|option| option.split('=').next().unwrap_or(option))
        .filter(|option| !option.contains('*'))
}

fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=data/programs");
    println!("cargo::rerun-if-changed=data/programs.rs.in");
    match build() {
        Ok(mistakes) if mistakes.is_empty() => ExitCode::SUCCESS,
        Ok(mistakes) => {
            mistakes.iter().for_each(|mistake| println!("cargo::error={mistake}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir("data/programs")? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut data = Data::default();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
        data.read(path)?;
    }
    data.check_references();
    if data.mistakes.is_empty() {
        let out = env::var("OUT_DIR")?;
        fs::write(Path::new(&out).join("programs.rs"), data.tables()?)?;
    }
    Ok(data.mistakes)
}
