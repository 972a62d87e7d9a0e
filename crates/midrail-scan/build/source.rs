//! Reads data files, reports the problems found in them with file and line, and writes the generated code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Display, Formatter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

/// Whether a data file has a problem.
static HAS_PROBLEM: AtomicBool = AtomicBool::new(false);

/// Ends the build if a problem was reported.
pub fn fail_on_problems() {
    if HAS_PROBLEM.load(Ordering::Relaxed) {
        std::process::exit(1);
    }
}

/// A data file.
pub struct Source {
    /// The path, relative to the crate.
    pub path: String,
    text: String,
}

impl Source {
    /// Reads one file.
    pub fn read(path: &str) -> io::Result<Self> {
        println!("cargo::rerun-if-changed={path}");
        Ok(Source { path: path.to_owned(), text: fs::read_to_string(path)? })
    }

    /// Reads the TOML files of a folder, in the order of their names.
    pub fn read_folder(folder: &str) -> io::Result<Vec<Self>> {
        println!("cargo::rerun-if-changed={folder}");
        let mut paths = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".toml") {
                paths.insert(format!("{folder}/{name}"));
            }
        }
        paths.iter().map(|path| Source::read(path)).collect()
    }

    /// Reports a problem at a byte offset.
    pub fn problem(&self, offset: usize, message: impl Display) {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        println!("cargo::error={}:{line}: {message}", self.path);
        HAS_PROBLEM.store(true, Ordering::Relaxed);
    }

    /// Parses the file as TOML.
    pub fn parse<T: DeserializeOwned + Default>(&self) -> T {
        toml::from_str(&self.text).unwrap_or_else(|error: toml::de::Error| {
            self.problem(error.span().map_or(0, |span| span.start), error.message());
            T::default()
        })
    }

    /// The entries of the file, each with its byte offset. All are in one array of tables.
    pub fn entries<T: DeserializeOwned>(&self, table: &str) -> Vec<(usize, T)> {
        let mut file: BTreeMap<String, Vec<Spanned<T>>> = self.parse();
        let entries = file.remove(table).unwrap_or_default();
        if let Some(other) = file.keys().next() {
            self.problem(0, format!("unknown table `{other}`, expected `{table}`"));
        }
        entries.into_iter().map(|entry| (entry.span().start, entry.into_inner())).collect()
    }

    /// The lines of a plain word list, without comments.
    pub fn words(&self) -> Vec<&str> {
        let (mut words, mut offset) = (BTreeSet::new(), 0);
        for line in self.text.split_inclusive('\n') {
            let word = line.trim();
            if !word.is_empty() && !word.starts_with('#') && !words.insert(word) {
                self.problem(offset, format!("duplicate word `{word}`"));
            }
            offset += line.len();
        }
        words.into_iter().collect()
    }

    /// Checks that an entry has examples.
    pub fn check_examples(&self, offset: usize, found: &[String], not_found: &[String]) {
        for (key, examples) in [("found", found), ("not_found", not_found)] {
            if examples.is_empty() {
                self.problem(offset, format!("`{key}` needs at least one example"));
            }
        }
    }
}

/// A list whose debug form is the Rust code of a static slice.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T: Debug> Debug for List<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "&{:?}", self.0)
    }
}

/// A severity of `midrail_core`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    #[default]
    High,
    Critical,
}

/// A slice of strings, as Rust code.
pub fn slice(texts: &[String]) -> String {
    format!("&{texts:?}")
}

/// Examples of an entry, as Rust code: the entry's index, and the texts in which it is found and not found.
pub fn examples(index: usize, found: &[String], not_found: &[String]) -> String {
    format!("({index}, {}, {}),\n", slice(found), slice(not_found))
}

/// Writes a generated file.
pub fn write(name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join(name), content)
}
