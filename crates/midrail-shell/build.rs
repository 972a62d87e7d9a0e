//! Compiles the rows and word lists of `data` into static tables with perfect hashes, and reports every mistake in them with
//! its file and line.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;
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

include!("data/rows.rs.in");

rows! {
    /// One kind of destructive SQL statement.
    SqlRule {
        /// The name in findings.
        id: Text,
        /// How bad it is.
        severity: Severity,
        /// What is lost, and what to do instead.
        reason: Text,
        /// The kinds of objects whose `DROP` it is about.
        drops: List,
        /// The functions whose calls it is about.
        functions: List,
        /// Statements that it must find.
        stops: Examples,
        /// Similar statements in which nothing must be found.
        passes: Examples,
    }

    /// Functions of a language, and what they do.
    Functions {
        /// Their language.
        language: Language,
        /// What calling one does.
        effect: Effect,
        /// Functions with their modules.
        names: List,
        /// Methods of any value.
        methods: List,
        /// Methods of a path, in any language.
        path_methods: List,
    }
}

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

/// The content of one data file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    program: Vec<Spanned<Program>>,
    danger: Vec<Spanned<Rule>>,
    windows: Vec<Spanned<WindowsRule>>,
    sql: Vec<Spanned<SqlRule>>,
    language: Vec<Spanned<LanguageRow>>,
    functions: Vec<Spanned<Functions>>,
    prompt: Vec<Spanned<Prompt>>,
}

/// All rows, and the mistakes in them.
#[derive(Default)]
struct Data {
    programs: Vec<Program>,
    rules: Vec<Rule>,
    windows: Vec<WindowsRule>,
    sql: Vec<SqlRule>,
    languages: Vec<LanguageRow>,
    functions: Vec<Functions>,
    prompts: Vec<Prompt>,
    /// The word lists: one module for each file.
    words: String,
    /// Where each named row was defined.
    places: BTreeMap<String, String>,
    mistakes: Vec<String>,
}

/// A data file that was parsed.
struct Source<T> {
    name: String,
    text: String,
    content: T,
}

impl<T> Source<T> {
    fn place<U>(&self, row: &Spanned<U>) -> String {
        format!("{}:{}", self.name, line_at(&self.text, row.span().start))
    }
}

impl Data {
    fn parse<T: DeserializeOwned + Default>(&mut self, path: &Path) -> io::Result<Source<T>> {
        let text = fs::read_to_string(path)?;
        let name = path.display().to_string();
        let content = toml::from_str(&text).unwrap_or_else(|error| {
            let line = error.span().map_or(1, |span| line_at(&text, span.start));
            self.mistakes.push(format!("{name}:{line}: {}", error.message()));
            T::default()
        });
        Ok(Source { name, text, content })
    }

    fn read_rows(&mut self, path: &Path) -> io::Result<()> {
        let mut source: Source<File> = self.parse(path)?;
        let file = std::mem::take(&mut source.content);
        for row in file.program {
            let place = source.place(&row);
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
            let place = source.place(&row);
            let rule = row.into_inner();
            self.define(&format!("danger `{}`", rule.id), &place);
            let texts =
                [("`id`", &rule.id), ("`reason`", &rule.reason), ("`safer` alternative", &rule.safer)];
            self.check_rule(&rule.id, &texts, [&rule.stops, &rule.passes], &place);
            self.rules.push(rule);
        }
        for row in file.windows {
            let place = source.place(&row);
            let rule = row.into_inner();
            let texts =
                [("`id`", &rule.id), ("`reason`", &rule.reason), ("`safer` alternative", &rule.safer)];
            self.check_rule(&rule.id, &texts, [&rule.stops, &rule.passes], &place);
            self.windows.push(rule);
        }
        for row in file.sql {
            let place = source.place(&row);
            let rule = row.into_inner();
            self.define(&format!("danger `{}`", rule.id), &place);
            for word in rule.drops.iter().chain(&rule.functions) {
                self.define(&format!("word `{word}` of SQL"), &place);
            }
            let texts = [("`id`", &rule.id), ("`reason`", &rule.reason)];
            self.check_rule(&rule.id, &texts, [&rule.stops, &rule.passes], &place);
            self.sql.push(rule);
        }
        for row in file.functions {
            let place = source.place(&row);
            let functions = row.into_inner();
            for (kind, names) in [("function", &functions.names), ("method", &functions.methods)] {
                for name in names {
                    self.define(&format!("{kind} `{name}` of {:?}", functions.language), &place);
                }
            }
            self.functions.push(functions);
        }
        for row in file.prompt {
            let place = source.place(&row);
            let prompt = row.into_inner();
            for name in &prompt.programs {
                self.define(&format!("prompt of `{name}`"), &place);
            }
            self.prompts.push(prompt);
        }
        self.languages.extend(file.language.into_iter().map(Spanned::into_inner));
        Ok(())
    }

    /// Reads a file of word lists: each key is a list, and becomes a constant.
    fn read_words(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let source: Source<BTreeMap<String, Vec<Spanned<String>>>> = self.parse(path)?;
        let module = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        writeln!(self.words, "pub(crate) mod {module} {{")?;
        for (name, words) in &source.content {
            for word in words {
                let subject = format!("word `{}` of `{module}.{name}`", word.as_ref());
                self.define(&subject, &source.place(word));
            }
            let words: Vec<&str> = words.iter().map(|word| word.as_ref().as_str()).collect();
            let name = name.to_ascii_uppercase().replace('-', "_");
            writeln!(self.words, "pub(crate) const {name}: &[&str] = &{words:?};")?;
        }
        writeln!(self.words, "}}")?;
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

    fn check_rule(&mut self, id: &str, texts: &[(&str, &String)], examples: [&Examples; 2], place: &str) {
        let [stops, passes] = examples;
        let empty = texts.iter().filter(|(_, text)| text.is_empty()).map(|(name, _)| *name);
        let missing = [("`stops` example", stops), ("`passes` example", passes)];
        let missing = missing.into_iter().filter(|(_, examples)| examples.0.is_empty()).map(|(name, _)| name);
        for what in empty.chain(missing) {
            self.mistakes.push(format!("{place}: danger `{id}` has no {what}"));
        }
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
        let mut programs = Vec::new();
        for (index, program) in self.programs.iter().enumerate() {
            writeln!(out, "static PROGRAM_{index}: Program = {};", program.literal())?;
            programs.extend(program.names.iter().map(|name| (name.as_str(), format!("&PROGRAM_{index}"))));
        }
        writeln!(out, "pub(crate) static UNKNOWN: Program = {};", Program::default().literal())?;
        writeln!(out, "pub(crate) static WINDOWS_RULES: &[WindowsRule] = {};", self.windows.literal())?;
        writeln!(out, "pub(crate) static LANGUAGES: &[LanguageRow] = {};", self.languages.literal())?;
        out += &map("PROGRAMS", "&'static Program", programs);
        out += &map(
            "PROMPTS",
            "Prompt",
            self.prompts.iter().flat_map(|row| keyed(&row.programs, row.literal())),
        );
        let meaning = |rule: &SqlRule| format!("({}, {:?})", rule.severity.literal(), rule.reason);
        let sql = self.sql.iter().map(|rule| (rule.id.as_str(), meaning(rule)));
        out += &map("SQL_RULES", "(Severity, &'static str)", sql);
        let dropped = self.sql.iter().flat_map(|rule| keyed(&rule.drops, rule.id.literal()));
        out += &map("SQL_OBJECTS", "&'static str", dropped);
        let called = self.sql.iter().flat_map(|rule| keyed(&rule.functions, rule.id.literal()));
        out += &map("SQL_FUNCTIONS", "&'static str", called);
        out += &self.effects("FUNCTIONS", |row| &row.names);
        out += &self.effects("METHODS", |row| &row.methods);
        let path_methods =
            self.functions.iter().flat_map(|row| keyed(&row.path_methods, row.effect.literal()));
        out += &map("PATH_METHODS", "Effect", path_methods);
        Ok(out)
    }

    /// The map of functions: what each does in which language.
    fn effects(&self, name: &str, names: fn(&Functions) -> &List) -> String {
        let mut effects: BTreeMap<&str, String> = BTreeMap::new();
        for row in &self.functions {
            for function in names(row) {
                let effect = format!("({}, {}), ", row.language.literal(), row.effect.literal());
                effects.entry(function).or_default().push_str(&effect);
            }
        }
        let entries = effects.into_iter().map(|(name, effects)| (name, format!("&[{effects}]")));
        map(name, "&'static [(Language, Effect)]", entries)
    }
}

/// The same value for each key.
fn keyed(keys: &[String], value: String) -> impl Iterator<Item = (&str, String)> {
    keys.iter().map(move |key| (key.as_str(), value.clone()))
}

/// A perfect hash map.
fn map<'k>(name: &str, values: &str, entries: impl IntoIterator<Item = (&'k str, String)>) -> String {
    let mut map = phf_codegen::Map::new();
    for (key, value) in entries {
        map.entry(key, value);
    }
    format!("pub(crate) static {name}: phf::Map<&'static str, {values}> = {};\n", map.build())
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
    println!("cargo::rerun-if-changed=data");
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

/// The data files of a folder, in order.
fn files(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    Ok(paths)
}

fn build() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut data = Data::default();
    for path in [files("data/programs")?, files("data")?].concat() {
        data.read_rows(&path)?;
    }
    for path in files("data/words")? {
        data.read_words(&path)?;
    }
    data.check_references();
    if data.mistakes.is_empty() {
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("tables.rs"), data.tables()?)?;
        fs::write(out.join("words.rs"), &data.words)?;
    }
    Ok(data.mistakes)
}
