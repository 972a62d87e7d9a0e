//! Compiles the rows and word lists of `data` into static tables with perfect hashes, and reports every mistake in them with
//! its file and line.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

#[path = "src/tables/hash.rs"]
mod hash;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Formatter, Result as Written, Write as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

type Text = String;
type List = Rows<String>;

// The `Debug` form of rows is the Rust expression of the table that they become.

/// Several values.
#[derive(Deserialize, Default)]
struct Rows<T>(Vec<T>);

impl<T> Deref for Rows<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Debug> Debug for Rows<T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        write!(out, "&{:?}", self.0)
    }
}

/// The ids of dangers in the row of a program.
#[derive(Deserialize, Default)]
struct Ids(Vec<String>);

impl Debug for Ids {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        let items: Vec<String> = self.0.iter().map(|id| format!("&{}", constant(id))).collect();
        write!(out, "&[{}]", items.join(", "))
    }
}

/// Conditions of a rule, in the language of `condition.rs`.
#[derive(Deserialize, Default)]
struct Conditions(Vec<String>);

impl Debug for Conditions {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        let items: Vec<String> = self.0.iter().map(|text| condition(text)).collect();
        write!(out, "&[{}]", items.join(", "))
    }
}

/// Command lines that only tests read.
#[derive(Deserialize, Default)]
struct Examples(Vec<String>);

impl Debug for Examples {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        out.write_str("()")
    }
}

/// What the options of a program with a fixed meaning are, by name.
#[derive(Deserialize, Default)]
struct OptionUses(Vec<(String, OptionUse)>);

/// What an option is.
#[derive(Deserialize, Default, Debug)]
struct OptionUse {
    takes_value: bool,
    is_global: bool,
    is_flag: bool,
}

impl OptionUses {
    fn change(&mut self, option: &str, change: fn(&mut OptionUse)) {
        match self.0.iter_mut().find(|(name, _)| name == option) {
            Some((_, it)) => change(it),
            None => {
                let mut it = OptionUse::default();
                change(&mut it);
                self.0.push((option.to_owned(), it));
            }
        }
    }
}

impl Debug for OptionUses {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        let mut map = phf_codegen::OrderedMap::new();
        for (name, it) in &self.0 {
            map.entry(name.as_str(), format!("{it:?}"));
        }
        write!(out, "{}", map.build())
    }
}

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, Debug, Default)]
        #[serde(deny_unknown_fields, default)]
        struct $name { $($(#[$note])* $field: $type,)* }
    )*};
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident {
        $(#[$head:meta])* $first:ident, $($(#[$note:meta])* $variant:ident,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, Clone, Copy, Default)]
        #[serde(rename_all = "kebab-case")]
        enum $name { $(#[$head])* #[default] $first, $($(#[$note])* $variant,)* }

        impl Debug for $name {
            fn fmt(&self, out: &mut Formatter<'_>) -> Written {
                out.write_str(match self {
                    $name::$first => concat!(stringify!($name), "::", stringify!($first)),
                    $($name::$variant => concat!(stringify!($name), "::", stringify!($variant)),)*
                })
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
        let is_unsupported = self.abbreviates && !matches!(self.style, Style::Usual);
        let shortened =
            is_unsupported.then(|| format!("`{name}` may shorten options, but spells them unusually"));
        bare.chain(both).chain(shortened).collect()
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

impl Row for Library {
    fn subjects(&self) -> Vec<String> {
        vec![format!("library `{}`", self.id)]
    }

    fn mistakes(&self) -> Vec<String> {
        missing(&self.id, [&self.reason, &self.safer], [&self.stops, &self.passes])
    }
}

impl Row for Loads {
    fn subjects(&self) -> Vec<String> {
        self.programs.iter().map(|name| format!("files that `{name}` loads")).collect()
    }
}

impl Row for Escapes {
    fn subjects(&self) -> Vec<String> {
        self.programs.iter().map(|name| format!("texts that `{name}` hands to a shell")).collect()
    }
}

impl Row for SqlRule {
    fn subjects(&self) -> Vec<String> {
        let words = self.drops.iter().chain(self.functions.iter());
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
    library: Vec<Spanned<Library>>,
    loads: Vec<Spanned<Loads>>,
    escapes: Vec<Spanned<Escapes>>,
    sql: Vec<Spanned<SqlRule>>,
    sql_start: Vec<Spanned<SqlStart>>,
    loss: Vec<Spanned<LossRow>>,
    language: Vec<Spanned<LanguageRow>>,
    functions: Vec<Spanned<Functions>>,
    prompt: Vec<Spanned<Prompt>>,
    command_names: BTreeMap<String, String>,
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
        let marks = values(&words).fold(0, |marks, word| marks | hash::mark(word));
        let list = slice(&words);
        writeln!(
            code,
            "pub(crate) const {name}: &crate::words::Words = &crate::words::Words::new({list}, {marks});"
        )?;
    }
    Ok(code + "}\n")
}

/// The rows without their places.
fn values<T>(rows: &[Spanned<T>]) -> impl Iterator<Item = &T> {
    rows.iter().map(Spanned::as_ref)
}

/// The rows as the expression of a slice.
fn slice<T: Debug>(rows: &[Spanned<T>]) -> String {
    format!("&{:?}", values(rows).collect::<Vec<_>>())
}

impl Data {
    fn check(&self, source: &Source, checks: &mut Checks) {
        checks.check(source, &self.program);
        checks.check(source, &self.danger);
        checks.check(source, &self.windows);
        checks.check(source, &self.library);
        checks.check(source, &self.loads);
        checks.check(source, &self.escapes);
        checks.check(source, &self.sql);
        checks.check(source, &self.functions);
        checks.check(source, &self.prompt);
    }

    /// Checks what rows say about each other.
    fn check_references(&self, checks: &mut Checks) {
        let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut mistakes = Vec::new();
        for program in values(&self.program) {
            for id in &program.dangers.0 {
                if !checks.places.contains_key(&format!("danger `{id}`")) {
                    let name = program.names.first().map_or("", String::as_str);
                    let place = checks.place_of(&format!("program `{name}`"));
                    mistakes.push(format!("{place}: `{name}` has an unknown danger `{id}`"));
                }
                known.entry(id).or_default().extend(options(program));
            }
        }
        for rule in values(&self.danger) {
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

    /// Collects the words after which the rest of a subcommand follows, from dangers and runs.
    fn fill_prefixes(&mut self) {
        let dangers: BTreeMap<&str, &Rule> =
            values(&self.danger).map(|rule| (rule.id.as_str(), rule)).collect();
        for program in self.program.iter_mut().map(Spanned::get_mut) {
            let rules = program.dangers.0.iter().filter_map(|id| dangers.get(id.as_str()));
            let conditions = rules.flat_map(|rule| &rule.when.0);
            let subcommands = program.runs.iter().flat_map(|run| run.subcommands.iter());
            let prefixes: BTreeSet<String> =
                conditions.chain(subcommands).flat_map(|it| prefixes(it)).collect();
            program.prefixes = Rows(prefixes.into_iter().collect());
        }
    }

    /// Collects the options whose meaning does not depend on the subcommand.
    fn fill_uses(&mut self) {
        for program in self.program.iter_mut().map(Spanned::get_mut) {
            let mut uses = OptionUses::default();
            // Programs that spell options unusually accept them with one dash or two.
            let is_usual = matches!(program.style, Style::Usual);
            let name =
                |option: &String| if is_usual { option } else { option.trim_start_matches('-') }.to_owned();
            valued(program).for_each(|option| uses.change(&name(option), |it| it.takes_value = true));
            program.globals.iter().for_each(|option| uses.change(&name(option), |it| it.is_global = true));
            let flags = program.flags.iter().chain(program.dry_runs.iter());
            flags.for_each(|option| uses.change(&name(option), |it| it.is_flag = true));
            program.uses = uses;
        }
    }

    fn tables(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        for rule in values(&self.danger) {
            writeln!(out, "static {}: Rule = {rule:?};", constant(&rule.id))?;
        }
        let mut programs = Vec::new();
        for (index, program) in values(&self.program).enumerate() {
            writeln!(out, "static PROGRAM_{index}: Program = {program:?};")?;
            programs.extend(program.names.iter().map(|name| (name.as_str(), format!("&PROGRAM_{index}"))));
        }
        writeln!(out, "pub(crate) static UNKNOWN: Program = {:?};", Program::default())?;
        writeln!(out, "pub(crate) static WINDOWS_RULES: &[WindowsRule] = {};", slice(&self.windows))?;
        writeln!(out, "pub(crate) static LIBRARIES: &[Library] = {};", slice(&self.library))?;
        writeln!(out, "pub(crate) static LOSSES: &[LossRow] = {};", slice(&self.loss))?;
        writeln!(out, "pub(crate) static NO_LANGUAGE: LanguageRow = {:?};", LanguageRow::default())?;
        writeln!(out, "pub(crate) static LANGUAGES: &[LanguageRow] = {};", slice(&self.language))?;
        out += &buckets(&programs);
        out += &map("COMMAND_NAMES", "&'static [CommandName]", self.command_names());
        let prompts = values(&self.prompt).flat_map(|row| keyed(&row.programs, row));
        out += &map("PROMPTS", "Prompt", prompts);
        let meaning = |rule: &SqlRule| format!("{:?}", (rule.severity, &rule.reason));
        let sql = values(&self.sql).map(|rule| (rule.id.as_str(), meaning(rule)));
        out += &map("SQL_RULES", "(Severity, &'static str)", sql);
        let loads = values(&self.loads).flat_map(|row| keyed(&row.programs, &row.files));
        out += &map("LOADS", "List", loads);
        let escapes = values(&self.escapes).flat_map(|row| keyed(&row.programs, row));
        out += &map("ESCAPES", "Escapes", escapes);
        let languages = values(&self.language).filter_map(|row| Some((&row.programs, row.name?)));
        let interpreters = languages.flat_map(|(programs, name)| keyed(programs, name));
        out += &map("INTERPRETERS", "Language", interpreters);
        let dropped = values(&self.sql).flat_map(|rule| keyed(&rule.drops, &rule.id));
        out += &map("SQL_OBJECTS", "&'static str", dropped);
        let called = values(&self.sql).flat_map(|rule| keyed(&rule.functions, &rule.id));
        out += &map("SQL_FUNCTIONS", "&'static str", called);
        let starts = values(&self.sql_start).flat_map(|row| keyed(&row.words, row));
        out += &map("SQL_STARTS", "SqlStart", starts);
        out += &self.effects("FUNCTIONS", |row| &row.names);
        out += &self.effects("METHODS", |row| &row.methods);
        let path_methods = values(&self.functions).flat_map(|row| keyed(&row.path_methods, &row.effect));
        out += &map("PATH_METHODS", "Effect", path_methods);
        Ok(out)
    }

    /// The other names of commands, by program.
    fn command_names(&self) -> impl Iterator<Item = (&str, String)> {
        let mut programs: BTreeMap<&str, Rows<CommandName>> = BTreeMap::new();
        for (name, usual) in &self.command_names {
            let (program, words) = name.split_once(' ').unwrap_or((name, ""));
            let words = Rows(words.split_ascii_whitespace().map(str::to_owned).collect());
            programs.entry(program).or_default().0.push(CommandName { words, usual: usual.clone() });
        }
        programs.into_iter().map(|(program, names)| (program, format!("{names:?}")))
    }

    /// The map of functions: what each does in which language.
    fn effects(&self, name: &str, names: fn(&Functions) -> &List) -> String {
        let mut effects: BTreeMap<&str, Rows<(Language, Effect)>> = BTreeMap::new();
        for row in values(&self.functions) {
            for function in names(row).iter() {
                effects.entry(function).or_default().0.push((row.language, row.effect));
            }
        }
        let entries = effects.iter().map(|(name, effects)| (*name, format!("{effects:?}")));
        map(name, "&'static [(Language, Effect)]", entries)
    }
}

/// The same value for each key.
fn keyed(keys: &[String], value: impl Debug) -> impl Iterator<Item = (&str, String)> {
    keys.iter().map(move |key| (key.as_str(), format!("{value:?}")))
}

/// The table of programs, in buckets by name.
fn buckets(programs: &[(&str, String)]) -> String {
    let count = (2 * programs.len()).next_power_of_two();
    let mut buckets: BTreeMap<usize, String> = (0..count).map(|at| (at, String::new())).collect();
    for (name, row) in programs {
        *buckets.entry(hash::bucket(name, count)).or_default() += &format!("({name:?}, {row}), ");
    }
    let buckets: Vec<String> = buckets.values().map(|bucket| format!("&[{bucket}]")).collect();
    format!("pub(crate) static PROGRAMS: Programs = Programs(&[{}]);\n", buckets.join(", "))
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
    let mut lists = vec![
        &program.values,
        &program.pairs,
        &program.globals,
        &program.folders,
        &program.flags,
        &program.dry_runs,
    ];
    lists.extend(program.files.iter().flat_map(|it| [&it.reads, &it.names, &it.writes]));
    lists.extend(program.client.iter().flat_map(|it| [&it.statements, &it.files]));
    lists.extend(program.recipes.iter().map(|it| &it.options));
    lists.extend(program.runs.iter().flat_map(|it| [&it.values, &it.code]));
    lists.extend(program.options.iter().map(|it| &it.values));
    lists.extend(program.contacts.iter().map(|it| &it.options));
    lists.extend(program.uploads.iter().flat_map(|it| [&it.options, &it.values]));
    lists.extend(program.formats.iter().flat_map(|it| [&it.with, &it.without]));
    lists.into_iter().flat_map(|list| list.iter()).map(String::as_str)
}

/// The options of a program that take a value wherever they are.
fn valued(program: &Program) -> impl Iterator<Item = &String> {
    let mut lists = vec![&program.values, &program.pairs, &program.folders];
    lists.extend(program.files.iter().flat_map(|it| [&it.reads, &it.names, &it.writes]));
    lists.extend(program.client.iter().flat_map(|it| [&it.statements, &it.files]));
    lists.extend(program.recipes.iter().map(|it| &it.options));
    lists.extend(program.contacts.iter().map(|it| &it.options));
    lists.extend(program.runs.iter().filter(|run| run.subcommands.is_empty()).map(|run| &run.code));
    lists.into_iter().flat_map(|list| list.iter())
}

/// The plain words at the beginning of a condition that other words follow.
fn prefixes(condition: &str) -> impl Iterator<Item = String> {
    let is_word =
        |word: &&str| word.starts_with(|letter: char| letter.is_alphanumeric()) && !word.contains('*');
    let words: Vec<&str> =
        condition.split_ascii_whitespace().take_while(|it| is_word(it) || *it == "...").collect();
    let count = words.len().saturating_sub(1);
    words
        .into_iter()
        .take(count)
        .filter(is_word)
        .flat_map(|it| it.split('|'))
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
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
    let mistakes = build().unwrap_or_else(|error| vec![error.to_string()]);
    mistakes.iter().for_each(|mistake| println!("cargo::error={mistake}"));
    if mistakes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
    let mut data: Data = checks.parse(&source);
    data.fill_prefixes();
    data.fill_uses();
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
