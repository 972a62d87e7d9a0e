//! Reads data files, collects the problems found in them, and writes the generated code.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display, Formatter};
use std::path::Path;
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

/// The problems of all data files, each with file and line.
#[derive(Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Adds a problem at a byte offset of a file.
    pub fn add(&mut self, source: &Source, offset: usize, message: impl Display) {
        let line = 1 + source.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        self.0.push(format!("{}:{line}: {message}", source.path));
    }

    /// Prints all problems and ends the build if there are any.
    pub fn report(self) {
        for problem in &self.0 {
            println!("cargo::error={problem}");
        }
        if !self.0.is_empty() {
            std::process::exit(1);
        }
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

    /// Parses the file as TOML.
    pub fn parse<T: DeserializeOwned + Default>(&self, problems: &mut Problems) -> T {
        toml::from_str(&self.text).unwrap_or_else(|error: toml::de::Error| {
            problems.add(self, error.span().map_or(0, |span| span.start), error.message());
            T::default()
        })
    }

    /// The lines of a plain word list, without comments.
    pub fn words(&self, problems: &mut Problems) -> Vec<&str> {
        let (mut words, mut offset) = (BTreeSet::new(), 0);
        for line in self.text.split_inclusive('\n') {
            let word = line.trim();
            if !word.is_empty() && !word.starts_with('#') && !words.insert(word) {
                problems.add(self, offset, format!("duplicate word `{word}`"));
            }
            offset += line.len();
        }
        words.into_iter().collect()
    }

    /// Checks that an entry has examples.
    pub fn check_examples(
        &self,
        offset: usize,
        found: &[String],
        not_found: &[String],
        problems: &mut Problems,
    ) {
        for (key, examples) in [("found", found), ("not_found", not_found)] {
            if examples.is_empty() {
                problems.add(self, offset, format!("`{key}` needs at least one example"));
            }
        }
    }
}

/// The functions of Rust files that data may refer to by name: each has the signature.
#[derive(Default)]
pub struct Functions(Vec<(String, String)>);

impl Functions {
    /// Adds the functions of a file, as items of a Rust module.
    pub fn add(mut self, path: &str, module: &str, signature: &str) -> io::Result<Self> {
        let source = Source::read(path)?;
        for line in source.text.lines() {
            let name = line.strip_suffix(signature).and_then(|start| start.split_once("fn "));
            if let Some((_, name)) = name.filter(|(visibility, _)| visibility.starts_with("pub")) {
                self.0.push((name.to_owned(), format!("{module}::{name}")));
            }
        }
        Ok(self)
    }

    /// The path of the function with a name.
    pub fn resolve(&self, source: &Source, name: &Spanned<String>, problems: &mut Problems) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name.get_ref());
        if found.is_none() {
            let known: Vec<&str> = self.0.iter().map(|(known, _)| known.as_str()).collect();
            let message = format!("unknown check `{}`; known are {}", name.get_ref(), known.join(", "));
            problems.add(source, name.span().start, message);
        }
        found.map_or("", |(_, path)| path)
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
