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

    /// The first words of SQL statements.
    SqlStart {
        /// The words.
        words: List,
        /// One of these must follow.
        next: List,
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
        ("--", ..) => "TermKind::EndOfOptions".to_owned(),
        ("{}", ..) => "TermKind::MoreArguments".to_owned(),
        (_, Some("-"), _) => {
            let options: Vec<String> = term.split('|').map(option_pattern).collect();
            format!("TermKind::Option(&[{}])", options.join(", "))
        }
        (_, Some("@"), rest) => format!("TermKind::Operand(&[{}])", patterns(rest)),
        (_, Some("<"), rest) => format!("TermKind::Input(&[{}])", patterns(rest)),
        (_, Some(">"), rest) => format!("TermKind::Source(&[{}])", patterns(rest)),
        _ => format!("TermKind::Word(&[{}])", patterns(term)),
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

/// A row that has a name, and rules of its own.
trait Row {
    /// What it defines. Nothing may be defined twice.
    fn subjects(&self) -> Vec<String> {
        Vec::new()
    }

    fn mistakes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Row for Program {
    fn subjects(&self) -> Vec<String> {
        self.names.iter().map(|name| format!("program `{name}`")).collect()
    }

    fn mistakes(&self) -> Vec<String> {
        let Some(name) = self.names.first() else { return vec!["a program without `names`".to_owned()] };
        let bare = options(self).filter(|option| !option.starts_with(['-', '+']));
        let bare = bare.map(|option| format!("`{option}` of `{name}` is no option: it has no dash"));
        let is_both = |flag: &&String| self.values.contains(flag) || self.folders.contains(flag);
        let both = self.flags.iter().filter(is_both);
        let both = both.map(|flag| format!("`{flag}` of `{name}` is both a flag and an option with a value"));
        bare.chain(both).collect()
    }
}

impl Row for Rule {
    fn subjects(&self) -> Vec<String> {
        vec![format!("danger `{}`", self.id)]
    }

    fn mistakes(&self) -> Vec<String> {
        missing(&self.id, [&self.reason, &self.safer], [&self.stops, &self.passes])
    }
}

impl Row for WindowsRule {
    fn mistakes(&self) -> Vec<String> {
        missing(&self.id, [&self.reason, &self.safer], [&self.stops, &self.passes])
    }
}

impl Row for SqlRule {
    fn subjects(&self) -> Vec<String> {
        let words = self.drops.iter().chain(&self.functions);
        let words = words.map(|word| format!("word `{word}` of SQL"));
        words.chain([format!("danger `{}`", self.id)]).collect()
    }

    fn mistakes(&self) -> Vec<String> {
        missing(&self.id, [&self.reason, &self.id], [&self.stops, &self.passes])
    }
}

impl Row for Functions {
    fn subjects(&self) -> Vec<String> {
        let functions = self.names.iter().map(|name| format!("function `{name}` of {:?}", self.language));
        let methods = self.methods.iter().map(|name| format!("method `{name}` of {:?}", self.language));
        functions.chain(methods).collect()
    }
}

impl Row for Prompt {
    fn subjects(&self) -> Vec<String> {
        self.programs.iter().map(|name| format!("prompt of `{name}`")).collect()
    }
}

/// What a danger lacks.
fn missing(id: &str, [reason, safer]: [&String; 2], [stops, passes]: [&Examples; 2]) -> Vec<String> {
    let texts = [("`id`", id.is_empty()), ("`reason`", reason.is_empty()), ("`safer`", safer.is_empty())];
    let examples = [("`stops` example", stops.0.is_empty()), ("`passes` example", passes.0.is_empty())];
    let missing = texts.into_iter().chain(examples).filter(|(_, is_missing)| *is_missing);
    missing.map(|(name, _)| format!("danger `{id}` has no {name}")).collect()
}

/// The rows of all data files.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Data {
    program: Vec<Spanned<Program>>,
    danger: Vec<Spanned<Rule>>,
    windows: Vec<Spanned<WindowsRule>>,
    sql: Vec<Spanned<SqlRule>>,
    sql_start: Vec<Spanned<SqlStart>>,
    loss: Vec<Spanned<LossRow>>,
    language: Vec<Spanned<LanguageRow>>,
    functions: Vec<Spanned<Functions>>,
    prompt: Vec<Spanned<Prompt>>,
}

impl<T: Literal> Literal for Spanned<T> {
    fn literal(&self) -> String {
        self.as_ref().literal()
    }
}

/// What was found while rows were checked.
#[derive(Default)]
struct Checks {
    /// Where each subject was defined.
    places: BTreeMap<String, String>,
    mistakes: Vec<String>,
}

/// Data files, one after the other, and the name and the first byte of each, for the places of mistakes.
#[derive(Default)]
struct Source {
    text: String,
    files: Vec<(String, usize)>,
}

impl Checks {
    fn parse<T: DeserializeOwned + Default>(&mut self, source: &Source) -> T {
        toml::from_str(&source.text).unwrap_or_else(|error| {
            let place = source.place(error.span().map_or(0, |span| span.start));
            self.mistakes.push(format!("{place}: {}", error.message()));
            T::default()
        })
    }

    fn define(&mut self, subject: String, place: &str) {
        if let Some(first) = self.places.get(&subject) {
            self.mistakes.push(format!("{place}: {subject} is defined twice, first at {first}"));
        }
        self.places.insert(subject, place.to_owned());
    }

    fn check<T: Row>(&mut self, source: &Source, rows: &[Spanned<T>]) {
        for row in rows {
            let place = source.place(row.span().start);
            row.as_ref().subjects().into_iter().for_each(|subject| self.define(subject, &place));
            self.mistakes.extend(row.as_ref().mistakes().iter().map(|mistake| format!("{place}: {mistake}")));
        }
    }

    fn place_of(&self, subject: &str) -> &str {
        self.places.get(subject).map_or("", String::as_str)
    }
}

impl Source {
    fn read(paths: &[PathBuf]) -> io::Result<Source> {
        let mut source = Source::default();
        for path in paths {
            source.files.push((path.display().to_string(), source.text.len()));
            source.text += &fs::read_to_string(path)?;
        }
        Ok(source)
    }

    fn place(&self, byte: usize) -> String {
        let file = self.files.iter().rev().find(|(_, start)| *start <= byte);
        let (name, start) = file.map_or(("", 0), |(name, start)| (name.as_str(), *start));
        let line = self.text.bytes().take(byte).skip(start).filter(|byte| *byte == b'\n').count() + 1;
        format!("{name}:{line}")
    }
}

/// The constants of a file of word lists: each key is a list.
fn words(path: &Path, checks: &mut Checks) -> Result<String, Box<dyn std::error::Error>> {
    let source = Source::read(&[path.to_owned()])?;
    let lists: BTreeMap<String, Vec<Spanned<String>>> = checks.parse(&source);
    let module = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut code = format!("pub(crate) mod {module} {{\n");
    for (name, words) in lists {
        for word in &words {
            let subject = format!("word `{}` of `{module}.{name}`", word.as_ref());
            checks.define(subject, &source.place(word.span().start));
        }
        let name = name.to_ascii_uppercase().replace('-', "_");
        writeln!(code, "pub(crate) const {name}: &[&str] = {};", words.literal())?;
    }
    Ok(code + "}\n")
}

impl Data {
    fn check(&self, source: &Source, checks: &mut Checks) {
        checks.check(source, &self.program);
        checks.check(source, &self.danger);
        checks.check(source, &self.windows);
        checks.check(source, &self.sql);
        checks.check(source, &self.functions);
        checks.check(source, &self.prompt);
    }

    /// Checks what rows say about each other.
    fn check_references(&self, checks: &mut Checks) {
        let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut mistakes = Vec::new();
        for program in self.program.iter().map(Spanned::as_ref) {
            for id in &program.dangers.0 {
                if !checks.places.contains_key(&format!("danger `{id}`")) {
                    let name = program.names.first().map_or("", String::as_str);
                    let place = checks.place_of(&format!("program `{name}`"));
                    mistakes.push(format!("{place}: `{name}` has an unknown danger `{id}`"));
                }
                known.entry(id).or_default().extend(options(program));
            }
        }
        for rule in self.danger.iter().map(Spanned::as_ref) {
            let id = &rule.id;
            let place = checks.place_of(&format!("danger `{id}`"));
            let Some(options) = known.get(id.as_str()) else {
                mistakes.push(format!("{place}: no program has the danger `{id}`"));
                continue;
            };
            let conditions = rule.when.0.iter().chain(&rule.unless.0);
            for option in conditions.flat_map(|text| options_in(text)).filter(|it| !options.contains(it)) {
                let mistake =
                    format!("danger `{id}` depends on `{option}`, which no program with this danger has");
                mistakes.push(format!("{place}: {mistake}"));
            }
        }
        checks.mistakes.extend(mistakes);
    }

    fn tables(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        for rule in &self.danger {
            let rule = rule.as_ref();
            writeln!(out, "static {}: Rule = {};", constant(&rule.id), rule.literal())?;
        }
        let mut programs = Vec::new();
        for (index, program) in self.program.iter().map(Spanned::as_ref).enumerate() {
            writeln!(out, "static PROGRAM_{index}: Program = {};", program.literal())?;
            programs.extend(program.names.iter().map(|name| (name.as_str(), format!("&PROGRAM_{index}"))));
        }
        writeln!(out, "pub(crate) static UNKNOWN: Program = {};", Program::default().literal())?;
        writeln!(out, "pub(crate) static WINDOWS_RULES: &[WindowsRule] = {};", self.windows.literal())?;
        writeln!(out, "pub(crate) static LOSSES: &[LossRow] = {};", self.loss.literal())?;
        writeln!(out, "pub(crate) static NO_LANGUAGE: LanguageRow = {};", LanguageRow::default().literal())?;
        writeln!(out, "pub(crate) static LANGUAGES: &[LanguageRow] = {};", self.language.literal())?;
        out += &map("PROGRAMS", "&'static Program", programs);
        out += &map(
            "PROMPTS",
            "Prompt",
            self.prompt.iter().map(Spanned::as_ref).flat_map(|row| keyed(&row.programs, row.literal())),
        );
        let meaning = |rule: &SqlRule| format!("({}, {:?})", rule.severity.literal(), rule.reason);
        let sql = self.sql.iter().map(Spanned::as_ref).map(|rule| (rule.id.as_str(), meaning(rule)));
        out += &map("SQL_RULES", "(Severity, &'static str)", sql);
        let dropped =
            self.sql.iter().map(Spanned::as_ref).flat_map(|rule| keyed(&rule.drops, rule.id.literal()));
        out += &map("SQL_OBJECTS", "&'static str", dropped);
        let called =
            self.sql.iter().map(Spanned::as_ref).flat_map(|rule| keyed(&rule.functions, rule.id.literal()));
        out += &map("SQL_FUNCTIONS", "&'static str", called);
        let starts =
            self.sql_start.iter().map(Spanned::as_ref).flat_map(|row| keyed(&row.words, row.next.literal()));
        out += &map("SQL_STARTS", "&'static [&'static str]", starts);
        out += &self.effects("FUNCTIONS", |row| &row.names);
        out += &self.effects("METHODS", |row| &row.methods);
        let path_methods = self
            .functions
            .iter()
            .map(Spanned::as_ref)
            .flat_map(|row| keyed(&row.path_methods, row.effect.literal()));
        out += &map("PATH_METHODS", "Effect", path_methods);
        Ok(out)
    }

    /// The map of functions: what each does in which language.
    fn effects(&self, name: &str, names: fn(&Functions) -> &List) -> String {
        let mut effects: BTreeMap<&str, String> = BTreeMap::new();
        for row in self.functions.iter().map(Spanned::as_ref) {
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
    let source = Source::read(&[files("data/programs")?, files("data")?].concat())?;
    let mut checks = Checks::default();
    let data: Data = checks.parse(&source);
    data.check(&source, &mut checks);
    data.check_references(&mut checks);
    let mut lists = String::new();
    for path in files("data/words")? {
        lists += &words(&path, &mut checks)?;
    }
    if checks.mistakes.is_empty() {
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("tables.rs"), data.tables()?)?;
        fs::write(out.join("words.rs"), lists)?;
    }
    Ok(checks.mistakes)
}
