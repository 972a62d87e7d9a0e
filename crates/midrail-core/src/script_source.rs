//! Files whose content determines what a command does, and their names in facts.

use crate::path::Place;

/// A file whose content a command obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSource {
    /// As the command spells it, seen from the folder that it starts in.
    pub path: String,
    /// Its place relative to the root.
    pub place: String,
    /// Whether it is run, and not only read by a program that runs it.
    pub is_run: bool,
    /// It came from the network, and was not inspected since.
    pub is_fetched: bool,
    /// It was in the project before the session. Such files are read within tighter limits.
    pub is_project: bool,
}

impl ScriptSource {
    /// A file at a place. `None` if its name cannot be encoded.
    pub fn new(path: &str, place: &Place, is_run: bool, is_fetched: bool) -> Option<Self> {
        let is_plain = |text: &str| !text.contains(['\t', '\n']);
        let place = place.key.clone();
        let is_usable = is_plain(path) && is_plain(&place);
        let file = ScriptSource { path: path.to_owned(), place, is_run, is_fetched, is_project: false };
        is_usable.then_some(file)
    }

    /// The same file as one that was in the project before the session.
    #[must_use]
    pub fn of_project(self) -> Self {
        ScriptSource { is_project: true, ..self }
    }

    /// The files as the name of a fact, one line each.
    pub fn encode(files: &[ScriptSource]) -> String {
        let lines: Vec<String> = files.iter().map(ScriptSource::line).collect();
        lines.join("\n")
    }

    /// The files in the name of a fact.
    pub fn decode(key: &str) -> Vec<ScriptSource> {
        key.lines().map(ScriptSource::from_line).collect()
    }

    fn line(&self) -> String {
        match (self.is_run, self.is_fetched) {
            _ if self.is_project => format!("{}\t{}\tproject", self.path, self.place),
            (true, false) if self.path == self.place => self.path.clone(),
            (true, false) => format!("{}\t{}", self.path, self.place),
            (true, true) => format!("{}\t{}\tfetched", self.path, self.place),
            (false, false) => format!("{}\t{}\tread", self.path, self.place),
            (false, true) => format!("{}\t{}\tread fetched", self.path, self.place),
        }
    }

    fn from_line(line: &str) -> ScriptSource {
        let mut fields = line.split('\t');
        let path = fields.next().unwrap_or_default().to_owned();
        let place = fields.next().map_or_else(|| path.clone(), str::to_owned);
        let marks = fields.next().unwrap_or_default();
        ScriptSource {
            path,
            place,
            is_run: !marks.starts_with("read"),
            is_fetched: marks.ends_with("fetched"),
            is_project: marks == "project",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_files_decode_to_the_same_files() {
        let files: Vec<ScriptSource> = [("a.sh", "a.sh", true, false), ("b", "src/b", true, false)]
            .into_iter()
            .chain([("c", "c", true, true), ("d", "d", false, false), ("e", "/e", false, true)])
            .map(|(path, place, is_run, is_fetched)| ScriptSource {
                path: path.to_owned(),
                place: place.to_owned(),
                is_run,
                is_fetched,
                is_project: false,
            })
            .collect();
        let project: Vec<ScriptSource> =
            files.iter().take(1).cloned().map(ScriptSource::of_project).collect();
        assert_eq!(ScriptSource::decode(&ScriptSource::encode(&project)), project);
        assert_eq!(ScriptSource::decode(&ScriptSource::encode(&files)), files);
        assert_eq!(ScriptSource::encode(&files[..1]), "a.sh");
    }
}
