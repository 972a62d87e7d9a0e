//! The examples in `data`, for tests.

use std::path::PathBuf;

/// The examples of one danger.
pub(crate) struct Example {
    pub(crate) id: String,
    pub(crate) stops: Vec<String>,
    pub(crate) passes: Vec<String>,
}

/// The examples of all rows of a kind: `danger`, `sql` or `windows`.
#[expect(clippy::disallowed_methods, reason = "tests read the data files")]
pub(crate) fn examples(kind: &str) -> Vec<Example> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in ["data", "data/programs"] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
        paths.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let mut examples = Vec::new();
    for path in paths {
        let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let dangers = table.get(kind).and_then(toml::Value::as_array);
        for danger in dangers.into_iter().flatten() {
            let list = |key: &str| {
                let lines = danger[key].as_array().unwrap().iter();
                lines.map(|line| line.as_str().unwrap().to_owned()).collect()
            };
            let id = danger["id"].as_str().unwrap().to_owned();
            examples.push(Example { id, stops: list("stops"), passes: list("passes") });
        }
    }
    examples
}
